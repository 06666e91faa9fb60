/// Recognises a list without an end. Upstream may ignore the parameter that selects a page. It may also return fresh
/// cursors for old records, or for records without a key. Pure.
///
/// A single repeated page proves nothing, because records move during a pull. A list is endless if most of its
/// pages are repetitions. It is also endless after many successive pages that differ but have no new record.
struct RepeatedPages: Sendable {
  /// The records of a transferred page.
  struct Page: Sendable, Equatable {
    /// Equal for pages with the same records.
    var likeness: Int
    /// Hashes of the records' keys.
    var keys: [Int] = []
    /// True if the page has records that `where` skips, whose keys are not read.
    var isSkipping = false
    /// True if the page has no record at all. Empty pages between others are not repetitions.
    var isEmpty = false
  }

  /// Number of successive pages without a new record: more than a single move of records causes.
  static let maxStale = 100

  /// Likenesses of all pages. A page takes eight bytes, because all other memory of a pull does not grow with its
  /// pages.
  private var met: Set<Int> = []
  private var keys = MetKeys()
  private var pages = 0
  private var again = 0
  private var stale = 0
  /// True if the last page has the records of an earlier page, or is the second one in a row without a new record.
  /// False if it was not transferred.
  private(set) var isLastKnown = false

  /// True if a page had the records of an earlier one.
  var hasRepetition: Bool { again > 0 }

  /// True if several pages were transferred and all have the same records.
  var areAllAlike: Bool { met.count == 1 && again > 0 }

  /// - Parameter page: nil if the page was not transferred.
  /// - Returns: True if the list has no end.
  mutating func came(_ page: Page?) -> Bool {
    isLastKnown = false
    // Empty pages have a limit of their own, and do not make repetitions rare.
    if page?.isEmpty == true { return false }
    pages += 1
    guard let page else { return 2 * again > pages }
    let isAgain = !met.insert(page.likeness).inserted
    if isAgain { again += 1 }
    var isNew = page.isSkipping
    for key in page.keys where keys.insert(key) { isNew = true }
    stale = isNew ? 0 : stale + 1
    isLastKnown = isAgain || stale > 1
    return 2 * again > pages || (stale > Self.maxStale && 2 * stale > pages)
  }
}

/// Remembers keys in 128 KiB, whatever their number is (a Bloom filter). About one new key in thirty is mistaken for a
/// known one. When the filter is full it starts again, and treats known keys as new.
struct MetKeys: Sendable {
  private static let width = 20
  private static let probes = 3
  private static let maxKeys = (1 << width) / 8

  private var bits: [UInt64] = []
  private var count = 0

  /// Returns true if the key is new.
  mutating func insert(_ hash: Int) -> Bool {
    if bits.isEmpty || count == Self.maxKeys {
      bits = Array(repeating: 0, count: (1 << Self.width) / UInt64.bitWidth)
      count = 0
    }
    var rest = UInt(bitPattern: hash)
    var isNew = false
    for _ in 0..<Self.probes {
      let bit = Int(rest & (1 << Self.width - 1))
      let mask: UInt64 = 1 << UInt64(bit % UInt64.bitWidth)
      if bits[bit / UInt64.bitWidth] & mask == 0 { isNew = true }
      bits[bit / UInt64.bitWidth] |= mask
      rest >>= Self.width
    }
    if isNew { count += 1 }
    return isNew
  }
}
