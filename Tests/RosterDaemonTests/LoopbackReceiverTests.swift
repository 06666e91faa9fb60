import Glibc
import RosterCore
import Testing

@testable import RosterDaemon

@Suite(.timeLimit(.minutes(1)))
struct LoopbackReceiverTests {
  @Test("36: without an answer in time the wait ends, and a late answer finds a closed port")
  func tooLate() async throws {
    let receiver = try LoopbackReceiver()
    let port = try #require(receiver.address.split(separator: ":").last.flatMap { UInt16($0.dropLast()) })
    #expect(connects(to: port))
    #expect(await receiver.answer(within: .milliseconds(20)) == nil)
    #expect(!connects(to: port))
  }

  @Test("36: a receiver listens on the named port, and an occupied port is 69 with its number")
  func namedPort() async throws {
    let other = try LoopbackReceiver()
    let port = try #require(other.address.split(separator: ":").last.flatMap { UInt16($0.dropLast()) })
    let failure = #expect(throws: Failure.self) { try LoopbackReceiver(port: port) }
    #expect(failure?.kind == .unreachable && failure?.hint?.contains("another program has port \(port)") == true)
    #expect(await other.answer(within: .zero) == nil)
    let receiver = try LoopbackReceiver(port: port)
    #expect(receiver.address == "http://127.0.0.1:\(port)/" && connects(to: port))
    #expect(await receiver.answer(within: .zero) == nil)
  }

  @Test("36: %2B in the browser's answer is a plus sign, and a plus sign is a space")
  func plusSign() async throws {
    #expect(
      try await answer(to: "code=ab%2Bcd%2Fef%3D%3D&state=s&note=a+b") == [
        "code": "ab+cd/ef==", "state": "s", "note": "a b",
      ])
  }

  @Test("36: a code with raw characters beside encoded ones is decoded once, and one that is not UTF-8 is no denial")
  func rawCharacters() async throws {
    #expect(try await answer(to: "code=ab|c^d{e}%2Ff=g&state=s") == ["code": "ab|c^d{e}/f=g", "state": "s"])
    #expect(try await answer(to: "code=%E9&state=s") == ["code": "\u{FFFD}", "state": "s"])
  }

  /// The answer that the receiver reads from this query.
  private func answer(to query: String) async throws -> LoopbackReceiver.Answer? {
    let receiver = try LoopbackReceiver()
    let port = try #require(receiver.address.split(separator: ":").last.flatMap { UInt16($0.dropLast()) })
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    #expect(connects(descriptor, to: port))
    let request = Array("GET /?\(query) HTTP/1.1\r\n\r\n".utf8)
    #expect(write(descriptor, request, request.count) == request.count)
    return await receiver.answer(within: .seconds(30))
  }

  private func connects(to port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    return connects(descriptor, to: port)
  }

  private func connects(_ descriptor: CInt, to port: UInt16) -> Bool {
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
    place.sin_port = port.bigEndian
    return withUnsafePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }
}
