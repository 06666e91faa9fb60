import FoundationEssentials
import Glibc
import Logging
import Testing

@testable import RosterCore
@testable import RosterSystemd

@Suite struct LineWriterTests {
  /// A pipe that only the test reads.
  private struct Pipe {
    let reader: CInt
    let writer: CInt

    init() {
      var ends: [CInt] = [0, 0]
      pipe(&ends)
      (reader, writer) = (ends[0], ends[1])
      _ = fcntl(reader, F_SETFL, O_NONBLOCK)
    }

    /// Fills the pipe and leaves the descriptor blocking: a write without a check would never return.
    func fill() {
      _ = fcntl(writer, F_SETFL, O_NONBLOCK)
      let portion = [UInt8](repeating: 0, count: 4096)
      while Glibc.write(writer, portion, portion.count) > 0 {}
      _ = fcntl(writer, F_SETFL, 0)
    }

    func drain() -> String {
      var all: [UInt8] = []
      var portion = [UInt8](repeating: 0, count: 65536)
      while true {
        let count = read(reader, &portion, portion.count)
        if count <= 0 { return String(decoding: all.filter { $0 != 0 }, as: UTF8.self) }
        all += portion.prefix(count)
      }
    }

    func close() {
      _ = Glibc.close(reader)
      _ = Glibc.close(writer)
    }
  }

  private func record(_ message: String) -> LogRecord {
    LogRecord(at: Date(), level: .info, message: message, metadata: [])
  }

  /// The messages; for those about lost lines the number of lost lines.
  private func messages(_ pipe: Pipe) throws -> [String] {
    struct Line: Decodable {
      var message: String
      var lost: Int?
    }
    return try pipe.drain().split(separator: "\n").map { text in
      let line = try JSONDecoder().decode(Line.self, from: Data(text.utf8))
      return line.lost.map { "\($0) lost" } ?? line.message
    }
  }

  @Test("45: a reader of stderr that does not read costs lines, not the daemon, and their number is logged")
  func stuck() throws {
    let pipe = Pipe()
    defer { pipe.close() }
    let writer = LineWriter(pipe.writer) { $0.json }
    writer.write(record("before"))
    pipe.fill()
    for _ in 1...3 { writer.write(record("lost")) }
    #expect(try messages(pipe) == ["before"])
    writer.write(record("after"))
    #expect(try messages(pipe) == ["3 lost", "after"])
    writer.write(record("on"))
    #expect(try messages(pipe) == ["on"])
  }

  @Test("A line longer than PIPE_BUF arrives whole")
  func long() throws {
    let pipe = Pipe()
    defer { pipe.close() }
    let line = String(repeating: "x", count: 20_000)
    LineWriter(pipe.writer) { $0.json }.write(record(line))
    #expect(try messages(pipe) == [line])
  }

  @Test("45: a long line whose reader stops in the middle is continued before the next line")
  func torn() throws {
    let pipe = Pipe()
    defer { pipe.close() }
    let writer = LineWriter(pipe.writer) { $0.json }
    let line = String(repeating: "x", count: 100_000)
    writer.write(record(line))
    writer.write(record("lost"))
    let begun = pipe.drain()
    #expect(begun.utf8.count < line.utf8.count)
    writer.write(record("after"))
    let lines = (begun + pipe.drain()).split(separator: "\n")
    #expect(lines.count == 3 && lines[0].contains(line) && lines[1].contains("1") && lines[2].contains("after"))
    for line in lines { _ = try JSONDecoder().decode([String: Any_].self, from: Data(line.utf8)) }
  }
}

/// Any JSON value, unread.
private struct Any_: Decodable {
  init(from decoder: any Decoder) {}
}
