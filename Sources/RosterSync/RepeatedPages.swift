/// Knows a list without end: upstream that does not know the parameter that pages are asked for with, or that gives
/// fresh cursors to what it has listed before, or to records without a key. Pure.
///
/// A page that is there twice proves nothing, since records move while they are pulled (P7): it takes more pages that
/// came again than others. Of pages that differ, and still bring no record that is new, it takes many in a row as well.
struct RepeatedPages: Sendable {
  /// What a page that was transferred brought.
  struct Page: Sendable, Equatable {
    /// Equal for pages of the same records.
    var likeness: Int
    /// Hashes of its keys.
    var keys: [Int] = []
    /// It has records that `where` passes over, whose keys nobody has read.
    var isSkipping = false
  }

  /// So many in a row: more than any one move of records makes.
  static let mostStale = 100

  /// Eight bytes a page, since nothing else of a pull grows with its pages.
  private var met: Set<Int> = []
  private var keys = MetKeys()
  private var pages = 0
  private var again = 0
  private var stale = 0

  /// True if several pages were transferred and all have the same records.
  var areAllAlike: Bool { met.count == 1 && again > 0 }

  /// - Parameter page: nil: it was not transferred.
  /// - Returns: Whether the list has no end.
  mutating func came(_ page: Page?) -> Bool {
    pages += 1
    guard let page else { return 2 * again > pages }
    if !met.insert(page.likeness).inserted { again += 1 }
    var isNew = page.isSkipping
    for key in page.keys where keys.insert(key) { isNew = true }
    stale = isNew ? 0 : stale + 1
    return 2 * again > pages || (stale > Self.mostStale && 2 * stale > pages)
  }
}

/// Keys that were met, in 128 KiB however many they are (a Bloom filter). One in thirty that are new is taken for one
/// that was met; where it is full it begins anew, and takes those that were met for new ones.
struct MetKeys: Sendable {
  private static let width = 20
  private static let probes = 3
  private static let mostKeys = (1 << width) / 8

  private var bits: [UInt64] = []
  private var count = 0

  /// Whether it is a new one.
  mutating func insert(_ hash: Int) -> Bool {
    if bits.isEmpty || count == Self.mostKeys {
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
