import FoundationEssentials
import RosterCore

/// An entry of a budget in the ledger's file. Its times are milliseconds since 1970 and not uptimes, because the file
/// survives a restart.
struct BudgetSlot: Sendable, Equatable {
  private var began: Int64
  private var last: Int64
  private var requests: Int64
  private var open: Int64

  init(_ entry: Budget.Entry, at now: Date, uptime: Duration) {
    func moment(_ time: Duration) -> Int64 {
      Int64(((now + (time - uptime).seconds).timeIntervalSince1970 * 1000).rounded(.up))
    }
    (began, last) = (moment(entry.began), moment(entry.last))
    (requests, open) = (Int64(entry.requests), Int64(entry.open))
  }

  /// Converts to uptimes. A future time was stored by a wrong clock and counts as now. It then neither frees the budget
  /// nor blocks it for longer than a window. Requests that were open when the process ended may have reached upstream
  /// until now.
  func entry(at now: Date, _ uptime: Duration) -> Budget.Entry {
    func moment(_ stored: Int64) -> Duration {
      uptime + min(.zero, .seconds(Double(stored) / 1000 - now.timeIntervalSince1970))
    }
    return Budget.Entry(
      id: 0, began: moment(began), last: open > 0 ? uptime : moment(last), requests: Int(requests), open: 0)
  }

  // MARK: Bytes

  /// A power of two, so that no slot spans two blocks of a disk.
  static let size = 64
  static let empty = [UInt8](repeating: 0, count: size)

  /// The slot of an entry. Ids have no gaps, so that the entries of a budget never share a slot.
  static func slot(of id: Int) -> Int { 1 + id % rooms }

  var bytes: [UInt8] { Self.sealed([began, last, requests, open]) }

  /// nil if the slot has no entry.
  private init?(_ bytes: ArraySlice<UInt8>) {
    guard let numbers = Self.opened(bytes), (1...Int64(RequestBudget.maxRequests)).contains(numbers[2]) else {
      return nil
    }
    (began, last, requests, open) = (numbers[0], numbers[1], numbers[2], numbers[3])
  }

  /// The first slot of the file.
  static func header(_ upstream: String, rule: RequestBudget, wasShort: Bool) -> [UInt8] {
    sealed([magic, sum(Array(upstream.utf8)), sum(Array(rule.text.utf8)), wasShort ? 1 : 0])
  }

  static func file(
    _ upstream: String, rule: RequestBudget, wasShort: Bool, slots: [Int: BudgetSlot]
  ) -> [UInt8] {
    header(upstream, rule: rule, wasShort: wasShort) + (1...rooms).flatMap { slots[$0]?.bytes ?? empty }
  }

  /// The stored entries of this upstream, whatever its budget was. `wasShort` is returned only for an unchanged budget.
  static func read(
    _ file: [UInt8], of upstream: String, rule: RequestBudget
  ) -> (entries: [BudgetSlot], wasShort: Bool) {
    let slots = stride(from: 0, to: file.count - size + 1, by: size).map { file[$0..<$0 + size] }
    guard let head = slots.first.flatMap(opened), head[0] == magic, head[1] == sum(Array(upstream.utf8)) else {
      return ([], false)
    }
    let isSame = head[2] == sum(Array(rule.text.utf8))
    return (slots.dropFirst().compactMap(BudgetSlot.init), isSame && head[3] == 1)
  }

  /// Encodes numbers of 64 bits, the least significant byte first. The last number of a slot is the checksum of the
  /// others.
  private static func sealed(_ numbers: [Int64]) -> [UInt8] {
    let room = size / 8 - 1
    let bytes = (numbers + Array(repeating: 0, count: room - numbers.count)).flatMap(Self.bytes)
    return bytes + Self.bytes(sum(bytes))
  }

  /// nil for zeros, or if rosterd did not write the slot.
  private static func opened(_ slot: ArraySlice<UInt8>) -> [Int64]? {
    let numbers = stride(from: slot.startIndex, to: slot.endIndex, by: 8).map { start in
      (0..<8).reduce(Int64(0)) { $0 | Int64(slot[start + $1]) << ($1 * 8) }
    }
    return sum(Array(slot.dropLast(8))) == numbers.last ? numbers : nil
  }

  private static func bytes(_ number: Int64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }

  /// Larger than `Budget.maxEntries`.
  private static let rooms = 255
  /// "rostbdg1".
  private static let magic: Int64 = 0x3167_6462_7473_6f72
  /// With this key, zeros are not a valid slot.
  private static let sum = PageDigest(first: UInt64(bitPattern: magic), second: 0)
}
