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

  private func connects(to port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
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
