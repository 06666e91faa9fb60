import Glibc
import Testing

@testable import RosterDaemon

@Suite(.timeLimit(.minutes(1)))
struct LoopbackReceiverTests {
  @Test("T11.1: without an answer in time the wait ends, and a late answer finds a closed port")
  func tooLate() async throws {
    let receiver = try LoopbackReceiver()
    let port = try #require(receiver.address.split(separator: ":").last.flatMap { UInt16($0.dropLast()) })
    #expect(connects(to: port))
    #expect(await receiver.answer(within: .milliseconds(20)) == nil)
    #expect(!connects(to: port))
  }

  @Test("L5.1, T11.1: %2B in the browser's answer is a plus sign, and a plus sign is a space")
  func plusSign() async throws {
    let receiver = try LoopbackReceiver()
    let port = try #require(receiver.address.split(separator: ":").last.flatMap { UInt16($0.dropLast()) })
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    #expect(connects(descriptor, to: port))
    let request = Array("GET /?code=ab%2Bcd%2Fef%3D%3D&state=s&note=a+b HTTP/1.1\r\n\r\n".utf8)
    #expect(write(descriptor, request, request.count) == request.count)
    let answer = await receiver.answer(within: .seconds(30))
    #expect(answer == ["code": "ab+cd/ef==", "state": "s", "note": "a b"])
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
