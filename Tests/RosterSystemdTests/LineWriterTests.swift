import Glibc
import Testing

@testable import RosterSystemd

@Suite struct LineWriterTests {
  /// A pipe nobody reads until the test does.
  private struct Pipe {
    let reader: CInt
    let writer: CInt

    init() {
      var ends: [CInt] = [0, 0]
      pipe(&ends)
      (reader, writer) = (ends[0], ends[1])
      _ = fcntl(reader, F_SETFL, O_NONBLOCK)
    }

    /// Leaves the descriptor blocking: a write without a look would never return.
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

  @Test("S5: a reader that is stuck costs lines, not the daemon, and is told how many")
  func stuck() {
    let pipe = Pipe()
    defer { pipe.close() }
    let writer = LineWriter(pipe.writer)
    writer.write("before")
    pipe.fill()
    for _ in 1...3 { writer.write("lost") }
    #expect(pipe.drain() == "before\n")
    writer.write("after")
    #expect(pipe.drain() == "(lines lost: 3)\nafter\n")
    writer.write("on")
    #expect(pipe.drain() == "on\n")
  }

  @Test("A line longer than PIPE_BUF arrives whole")
  func long() {
    let pipe = Pipe()
    defer { pipe.close() }
    let line = String(repeating: "x", count: 20_000)
    LineWriter(pipe.writer).write(line)
    #expect(pipe.drain() == line + "\n")
  }
}
