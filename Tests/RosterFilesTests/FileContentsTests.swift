import Glibc
import RosterTestSupport
import Testing

@testable import RosterCore

@Suite struct FileContentsTests {
  let workspace = Workspace()
  /// A pipe of 64 KiB has room for it, because the test reads only after it has written everything.
  static let limit = 60_000

  @Test("A file and a pipe are read to their end", arguments: [0, 1, 4096, 4097, 4098, 8194, limit])
  func whole(count: Int) throws {
    let bytes = Self.bytes(count)
    let path = try workspace.write(String(decoding: bytes, as: UTF8.self), to: "file")
    #expect(try contents(of: path, limit: Self.limit) == bytes)
    #expect(try throughPipe(bytes) == bytes)
  }

  @Test("A file and a pipe with one byte above the limit are too large")
  func tooLarge() throws {
    let bytes = Self.bytes(Self.limit + 1)
    let path = try workspace.write(String(decoding: bytes, as: UTF8.self), to: "file")
    #expect(throws: SystemError(code: EFBIG)) { try contents(of: path, limit: Self.limit) }
    #expect(throws: SystemError(code: EFBIG)) { try throughPipe(bytes) }
  }

  private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(ascii: "a") + UInt8($0 % 26) } }

  private func throughPipe(_ bytes: [UInt8]) throws -> [UInt8] {
    var ends: [CInt] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { close(ends[0]) }
    do {
      defer { close(ends[1]) }
      try write(bytes, to: ends[1])
    }
    return try contents(of: "/dev/fd/\(ends[0])", limit: Self.limit)
  }
}
