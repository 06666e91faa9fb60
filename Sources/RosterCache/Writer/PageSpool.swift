internal import FoundationEssentials
import Glibc
internal import RosterFiles
internal import RosterModel

/// The file of pulled pages: appended to during a sync, read once by the publication, and emptied by it. It survives a
/// kill. A page that a power failure damaged is found by its digest and dropped, with all later ones. For 5,000 pages
/// appended, read and dropped it takes 0.03 s of CPU time; one SQLite row per page took 0.19 s.
///
/// A header of fixed length, then records: head, facts, body.
final class PageSpool {
  /// The cache and the source to which the pages belong. If the header cannot be read, the pages are dropped.
  struct Owner: Equatable {
    /// `cache_identity.feed`.
    var feed: String
    /// The cache's file, by `FileIdentity.text`.
    var cache: String
    /// The last sync that published or verified when the first of the pages was pulled. After the next such sync, the
    /// pages are of no use.
    var epoch: Int64
    /// Digest of the upstream and the definitions: other ones request other pages, and read them differently.
    var source: Int64
    /// The removal guard stopped the pull of the pages before this offset.
    var guardedBelow: Int64 = 0
    /// The last sync that has appended pages.
    var sync: Int64 = 0
    /// A number that changes whenever pages are dropped. A reader beside the writer checks it last.
    var round: Int64 = 0
  }

  let path: String
  /// Offset after the last page.
  private(set) var end = headerLength
  /// True if the last entry is the conclusion of a whole pull.
  private(set) var hasConclusion = false
  private var round: Int64 = 0
  private let handle: CInt
  private let digest: PageDigest
  private var buffer = [UInt8]()
  /// The page that was read last.
  private var page = ReadBuffer(byteCount: 1 << 16)
  /// The facts that were read last.
  private var facts = ReadBuffer(byteCount: 1 << 12)

  /// Opens the file, or creates it. Call `inspect` first.
  init(_ path: String, digest: PageDigest) throws {
    self.path = path
    self.digest = digest
    handle = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, CacheFile.privateMode)
    guard handle >= 0, fchmod(handle, CacheFile.privateMode) == 0 else {
      throw SystemError.last.failure("open", path: path)
    }
    giveToFolderOwner(handle, at: path)
  }

  /// Opens the file beside its writer, without changing it; nil if it does not exist.
  init?(reading path: String, digest: PageDigest) throws {
    self.path = path
    self.digest = digest
    handle = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard handle < 0 else { return }
    let error = SystemError.last
    if error.code == ENOENT { return nil }
    throw Failure(
      .cannotWrite, step: "read pulled pages", subject: path, cause: "it cannot be opened: \(error.text)",
      hint: "run as root or as the rosterd user; unpublished data is private")
  }

  deinit {
    if handle >= 0 { close(handle) }
  }

  /// Throws a `Failure` (73) if another program's file has this name; that file is not changed. `identity` names the
  /// file that rosterd made there, according to the cache. That file is accepted even if its header is damaged.
  static func inspect(_ path: String, identity: String?) throws {
    var found = stat()
    guard lstat(path, &found) == 0 else { return }
    let isFile = found.st_mode & S_IFMT == S_IFREG
    if isFile, found.st_size == 0 || FileIdentity(path)?.text == identity { return }
    guard isFile, try start(of: path).starts(with: magic.utf8) else {
      throw Failure(
        .cannotWrite, step: "keep pulled pages", subject: path, cause: "rosterd did not make this file",
        hint: "move it away, or name another cache.path"
      ).with(.foreignFile)
    }
  }

  private static func start(of path: String) throws -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { throw SystemError.last.failure("open", path: path) }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: magic.utf8.count)
    let count = Glibc.read(file, &bytes, bytes.count)
    guard count >= 0 else { throw SystemError.last.failure("read", path: path) }
    return Array(bytes.prefix(count))
  }

  // MARK: The header

  private static let magic = "rosterd: pulled pages, not yet published\n"
  /// Enough for the fields of an owner, and for fields of a later version.
  static let headerLength: Int64 = 512
  private static let version = 3

  /// nil if the header cannot be read.
  func owner() throws -> Owner? {
    var bytes = [UInt8](repeating: 0, count: Int(Self.headerLength))
    guard try bytes.withUnsafeMutableBytes({ try read($0, at: 0) }) else { return nil }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    let numbers = lines.dropFirst(4).prefix(5).compactMap { Int64($0) }
    guard lines.count > 9, numbers.count == 5, String(lines[0]) + "\n" == Self.magic, Int(lines[1]) == Self.version
    else { return nil }
    round = numbers[4]
    return Owner(
      feed: String(lines[2]), cache: String(lines[3]), epoch: numbers[0], source: numbers[1],
      guardedBelow: numbers[2], sync: numbers[3], round: numbers[4])
  }

  func write(_ owner: Owner) throws {
    let numbers = [owner.epoch, owner.source, owner.guardedBelow, owner.sync, round].map { "\($0)\n" }.joined()
    let text = "\(Self.magic)\(Self.version)\n\(owner.feed)\n\(owner.cache)\n\(numbers)"
    var bytes = Array(text.utf8)
    bytes.append(contentsOf: repeatElement(0, count: max(0, Int(Self.headerLength) - bytes.count)))
    try bytes.withUnsafeBytes { try write($0, at: 0) }
  }

  // MARK: Pages

  /// Size in bytes, including incomplete entries.
  var size: Int64 {
    var found = stat()
    return fstat(handle, &found) == 0 ? Int64(found.st_size) : 0
  }

  /// Drops every page and frees its room. Write the owner before anything is appended.
  func empty() throws {
    round += 1
    try cut(to: Self.headerLength)
  }

  private func cut(to length: Int64) throws {
    guard ftruncate(handle, off_t(length)) == 0 else { throw SystemError.last.failure("shorten", path: path) }
    end = length
    hasConclusion = false
  }

  /// Returns the place of each page. Appends all of them or, if it throws, none.
  func append(_ pages: [(facts: EntryFacts, body: [UInt8])]) throws -> [Int64] {
    // The conclusion described other pages than there will be.
    if hasConclusion { try cut(to: end) }
    buffer.removeAll(keepingCapacity: true)
    var places: [Int64] = []
    for page in pages {
      places.append(end + Int64(buffer.count))
      var facts: [UInt8] = []
      page.facts.write(to: &facts)
      let head = Head(facts: facts.count, body: page.body.count, digest: page.facts.digest ?? digest(page.body))
      head.write(to: &buffer, check: facts.withUnsafeBytes { digest($0) })
      buffer.append(contentsOf: facts)
      buffer.append(contentsOf: page.body)
    }
    do { try buffer.withUnsafeBytes { try write($0, at: end) } } catch {
      // An incomplete page would occupy the room that may be lacking.
      try? cut(to: end)
      throw error
    }
    end += Int64(buffer.count)
    if buffer.capacity > Self.bufferLimit { buffer = [] }
    return places
  }

  /// Writes the conclusion of a whole pull after its pages, and replaces an earlier conclusion. The next page
  /// overwrites it.
  func conclude(_ facts: EntryFacts, body: [UInt8]) throws {
    let pages = end
    _ = try append([(facts, body)])
    (end, hasConclusion) = (pages, true)
  }

  /// Far above the size of a usual batch of pages.
  private static let bufferLimit = 4 << 20

  /// The source that the header has the digest of, as its entry before the first page says. An earlier version may have
  /// written the same definitions in another form. nil if the entry is damaged.
  func source(of owner: Owner) -> PullKey? {
    guard let entry = try? page(at: Self.headerLength), entry.facts.kind == .source, entry.facts.digest == owner.source
    else { return nil }
    return PullKey(entry.body)
  }

  /// The facts of an existing page.
  func facts(at place: Int64) throws -> EntryFacts {
    guard let entry = try entry(at: place, into: facts, reading: 2_048) else { throw damaged(place) }
    return entry.facts
  }

  /// A page with its body, which is valid until the next call.
  func page(at place: Int64) throws -> (facts: EntryFacts, body: UnsafeBufferPointer<UInt8>) {
    guard let page = try wholeEntry(at: place) else { throw damaged(place) }
    return (page.facts, page.body.bindMemory(to: UInt8.self))
  }

  /// Visits all complete entries, and removes everything after them.
  func scan(_ visit: (EntryFacts, Int64) throws -> Void) throws {
    var conclusion: Int64?
    try cut(
      to: walk { facts, place, _ in
        if facts.kind == .conclusion { conclusion = place }
        try visit(facts, place)
      })
    if let conclusion { (end, hasConclusion) = (conclusion, true) }
  }

  /// Visits all complete entries in their order, and returns the offset after them. A body is valid until the next one.
  func walk(_ visit: (EntryFacts, Int64, UnsafeRawBufferPointer) throws -> Void) throws -> Int64 {
    var place = Self.headerLength
    while let page = try wholeEntry(at: place) {
      guard digest(page.body) == page.facts.digest else { break }
      try visit(page.facts, place, page.body)
      place += page.length
    }
    return place
  }

  private func damaged(_ place: Int64) -> SQLiteError { .damaged("the pulled page at byte \(place) is not whole") }

  /// nil if the entry is missing or incomplete. The body is valid until the next call.
  private func wholeEntry(at place: Int64) throws -> (facts: EntryFacts, body: UnsafeRawBufferPointer, length: Int64)? {
    // Most entries are read by one call.
    guard let entry = try entry(at: place, into: page, reading: 16_384) else { return nil }
    let length = Int(entry.head.length)
    guard try page.fill(length, readSome(_:at:), at: place) else { return nil }
    let body = UnsafeRawBufferPointer(rebasing: page.bytes[(length - entry.head.body)..<length])
    return (entry.facts, body, entry.head.length)
  }

  /// Reads `size` bytes, and more if the facts are longer. nil if the entry is missing, or its facts are incomplete.
  private func entry(
    at place: Int64, into buffer: ReadBuffer, reading size: Int
  ) throws -> (head: Head, facts: EntryFacts)? {
    try buffer.restart(size, readSome(_:at:), at: place)
    guard buffer.count >= Head.length, let head = Head(buffer.bytes),
      try buffer.fill(Head.length + head.facts, readSome(_:at:), at: place)
    else { return nil }
    let facts = UnsafeRawBufferPointer(rebasing: buffer.bytes[Head.length..<Head.length + head.facts])
    guard digest(facts) == head.check else { return nil }
    var reader = FactsReader(facts)
    return EntryFacts(&reader, digest: head.digest).map { (head, $0) }
  }

  // MARK: The file

  /// Returns false if the file ends before.
  private func read(_ bytes: UnsafeMutableRawBufferPointer, at place: Int64) throws -> Bool {
    try readSome(bytes, at: place) == bytes.count
  }

  /// Returns the number of bytes that were read. There are fewer than asked for at the end of the file.
  private func readSome(_ bytes: UnsafeMutableRawBufferPointer, at place: Int64) throws -> Int {
    var done = 0
    while done < bytes.count {
      let count = pread(handle, bytes.baseAddress?.advanced(by: done), bytes.count - done, off_t(place) + done)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw SystemError.last.failure("read", path: path) }
      if count == 0 { break }
      done += count
    }
    return done
  }

  private func write(_ bytes: UnsafeRawBufferPointer, at place: Int64) throws {
    var done = 0
    while done < bytes.count {
      let count = pwrite(handle, bytes.baseAddress?.advanced(by: done), bytes.count - done, off_t(place) + done)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw SystemError.last.failure("write", path: path) }
      done += count
    }
  }
}

/// The head of an entry: the lengths and digests of its facts and its body.
private struct Head {
  static let length = 32
  private static let magic: UInt64 = 0x5265_6365_6976_6564
  var facts: Int
  var body: Int
  var digest: Int64
  var check: Int64 = 0

  var length: Int64 { Int64(Self.length + facts + body) }

  init(facts: Int, body: Int, digest: Int64) {
    self.facts = facts
    self.body = body
    self.digest = digest
  }

  /// nil if these bytes are not a head. Other bytes must not lead to an absurd allocation.
  init?(_ bytes: UnsafeRawBufferPointer) {
    func word(_ index: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self) }
    guard word(0) == Self.magic else { return nil }
    facts = Int(word(1) >> 32)
    body = Int(word(1) & 0xFFFF_FFFF)
    guard facts < Self.longest, body < Self.longest else { return nil }
    digest = Int64(bitPattern: word(2))
    check = Int64(bitPattern: word(3))
  }

  /// A body has at most 8 MiB, and its keys are smaller.
  private static let longest = 64 << 20

  func write(to buffer: inout [UInt8], check: Int64) {
    let lengths = UInt64(facts) << 32 | UInt64(body)
    for word in [Self.magic, lengths, UInt64(bitPattern: digest), UInt64(bitPattern: check)] {
      withUnsafeBytes(of: word) { buffer.append(contentsOf: $0) }
    }
  }
}

/// The part of an entry that was read.
private final class ReadBuffer {
  private var memory: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

  init(byteCount: Int) { memory = .allocate(byteCount: byteCount, alignment: 8) }

  deinit { memory.deallocate() }

  /// Reads bytes from a place on, and returns their number. There are fewer than asked for at the end of the file.
  typealias Read = (_ bytes: UnsafeMutableRawBufferPointer, _ place: Int64) throws -> Int

  /// Reads up to `size` bytes from `place` on.
  func restart(_ size: Int, _ read: Read, at place: Int64) throws {
    count = 0
    _ = try fill(size, read, at: place)
  }

  /// Reads the bytes up to `size` that are missing. Returns false if the file ends before.
  func fill(_ size: Int, _ read: Read, at place: Int64) throws -> Bool {
    if count >= size { return true }
    if memory.count < size { grow(to: size) }
    count += try read(UnsafeMutableRawBufferPointer(rebasing: memory[count..<size]), place + Int64(count))
    return count == size
  }

  private func grow(to size: Int) {
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 8)
    larger.copyMemory(from: bytes)
    memory.deallocate()
    memory = larger
  }
}

extension SystemError {
  /// The failure that the user sees (73).
  fileprivate func failure(_ step: String, path: String) -> Failure {
    let (goal, cause) = ("keep pulled pages", "cannot \(step) it: \(text)")
    guard [EACCES, EPERM].contains(code) else { return SQLiteError.disk(cause, errno: code).failure(goal, path) }
    return Failure(.cannotWrite, step: goal, subject: path, cause: cause, hint: Failure.writeHint(path))
      .with(.unwritable)
  }
}
