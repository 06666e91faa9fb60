import FoundationEssentials
import Glibc
import RosterDecode
import RosterModel

@testable import RosterCache

/// The file of pulled pages after it was truncated, overwritten or had bits flipped. The pages that can be read are a
/// prefix of the appended ones, each complete, and further pages can be appended after them.
enum PulledTarget {
  private static let folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
  private static let path = "\(folder)/rosterd-fuzz-\(getpid()).pulled"

  private static let header = Int(PageSpool.headerLength)

  private struct Page: Equatable {
    var facts: [UInt8]
    var body: [UInt8]

    init(_ facts: EntryFacts, _ body: [UInt8]) {
      self.facts = []
      self.body = body
      facts.write(to: &self.facts)
    }
  }

  static func check(_ input: [UInt8]) {
    defer { unlink(path) }
    // The key comes from the input, so that the fuzzer, which sees comparisons, cannot construct pages of its own.
    let digest = PageDigest(first: UInt64(bitPattern: Int64(input.hashValue)), second: 0)
    var (choices, rest) = Choices.split(input)
    let parts = rest.parted(by: "\n%\n")
    let junk = parts.last ?? []
    checkFacts(junk)
    let pages = parts.enumerated().map { page($0, $1, digest, &choices) }
    var owner = PageSpool.Owner(feed: "f", cache: "c", epoch: Int64(choices.next(64)), source: -1)
    owner.guardedBelow = Int64(choices.next(64))
    let places = certain("append") {
      unlink(path)
      let file = try PageSpool(path, digest: digest)
      try file.write(owner)
      let half = pages.count / 2
      return try file.append(Array(pages[..<half])) + file.append(Array(pages[half...])) + [file.end]
    }
    let whole = bytes()
    let damage = damage(whole, junk, &choices)
    write(damage)
    let kept = places.dropFirst().count { whole[header..<Int($0)] == damage.dropFirst(header).prefix(Int($0) - header) }
    let expected = pages.map { Page($0.facts, $0.body) }
    certain("read") {
      try expect(expected.prefix(kept), digest)
      let file = try PageSpool(path, digest: digest)
      try file.scan { _, _ in }
      let found = try file.owner()
      promise(found == owner || whole.prefix(header) != damage.prefix(header), "another owner: \(found as Any)")
      let place = try file.append([pages[0]])
      promise(place == [places[kept]], "appended at \(place), not behind what is whole")
      try expect(expected.prefix(kept) + [expected[0]], digest)
    }
  }

  private static func expect(_ pages: some Collection<Page>, _ digest: PageDigest) throws {
    let file = try PageSpool(path, digest: digest)
    var places: [Int64] = []
    try file.scan { _, place in places.append(place) }
    let found = try places.map { place in
      let page = try file.page(at: place)
      return Page(page.facts, Array(page.body))
    }
    promise(found.elementsEqual(pages), "\(found.count) pages of \(pages.count), or others")
    promise(Int64(bytes().count) == file.end, "the file continues after its end")
  }

  /// Bytes that are the facts of a page are equal after they are read and written again.
  private static func checkFacts(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { bytes in
      var reader = FactsReader(bytes)
      guard let facts = EntryFacts(&reader, digest: 0) else { return }
      let written = Page(facts, []).facts
      written.withUnsafeBytes { written in
        var again = FactsReader(written)
        promise(
          EntryFacts(&again, digest: 0).map { Page($0, []).facts } == Array(written), "written, they are others")
      }
    }
  }

  // MARK: What is written

  private static func page(
    _ number: Int, _ text: [UInt8], _ digest: PageDigest, _ choices: inout Choices
  ) -> (facts: EntryFacts, body: [UInt8]) {
    var scan = PageScan()
    scan.records = choices.next(64)
    scan.count = PointedValue(choices.flag() ? .integer(.max) : .absent)
    for key in text.prefix(choices.next(8)) { scan.keys.append(Int64(key)) }
    let words = text.split(separator: UInt8(ascii: "\n"), maxSplits: 3).map { String(decoding: $0, as: UTF8.self) }
    func word(_ index: Int) -> String? { index < words.count ? words[index] : nil }
    let page = PageBody(
      resource: "thing", number: number, address: word(0) ?? "", next: word(1),
      validator: Validator(etag: word(2), lastModified: nil), receivedAt: Date(timeIntervalSince1970: 0.5),
      body: text, digest: digest(text), scan: scan)
    return (EntryFacts(page), page.body)
  }

  private static func damage(_ bytes: [UInt8], _ junk: [UInt8], _ choices: inout Choices) -> [UInt8] {
    let place = choices.flag() ? 0 : header
    let at = min(bytes.count, place + choices.next(256) + 256 * choices.next(16))
    switch choices.next(6) {
    case 0: return bytes
    case 1: return Array(bytes[..<at])
    case 2: return bytes[..<at] + junk
    case 3:
      // A block that never reached the disk.
      return bytes[..<at] + bytes[at...].enumerated().map { $0 < 512 ? 0 : $1 }
    case 4: return bytes + junk
    default:
      return bytes[..<at] + bytes[at...].prefix(1).map { $0 ^ UInt8(1 << choices.next(8)) } + bytes[at...].dropFirst()
    }
  }

  private static func bytes() -> [UInt8] {
    var about = stat()
    let file = open(path, O_RDONLY)
    defer { close(file) }
    promise(file >= 0 && fstat(file, &about) == 0, "the file is gone")
    return [UInt8](unsafeUninitializedCapacity: Int(about.st_size)) {
      $1 = max(0, read(file, $0.baseAddress, $0.count))
    }
  }

  private static func write(_ bytes: [UInt8]) {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    defer { close(file) }
    promise(bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) } == bytes.count, "no room")
  }
}
