import Glibc
import NIOCore
import RosterCore
import Testing

@testable import RosterFetch

private func errors(_ codes: [CInt]) -> [any Error] {
  codes.map { IOError(errnoCode: $0, reason: "connect") }
}

@Suite struct TransportFaultTests {
  @Test(
    "24: there is no network only if every address of the host reports that",
    arguments: [[ENETUNREACH], [EHOSTUNREACH, ENETUNREACH], [ENETDOWN]])
  func offline(codes: [CInt]) {
    let failure = Failure.connecting(to: "host", errors: errors(codes))
    #expect(failure.reason == nil && failure.trouble == .noNetwork && failure.cause.contains("no network"))
  }

  @Test(
    "24: an address without a route beside one that refuses, resets or is silent is a failed connection",
    arguments: [[ENETUNREACH, ECONNREFUSED], [ECONNREFUSED, EHOSTUNREACH], [ENETUNREACH, EHOSTUNREACH, ECONNRESET]])
  func mixed(codes: [CInt]) {
    let failure = Failure.connecting(to: "host", errors: errors(codes))
    #expect(failure.reason == .connection && !failure.cause.contains("no network"))
    let silent = errors([ENETUNREACH]) + [ChannelError.connectTimeout(.seconds(1))]
    #expect(Failure.connecting(to: "host", errors: silent).reason == .timeout)
  }

  @Test("24: a name without an address is a DNS failure")
  func unresolved() {
    #expect(Failure.connecting(to: "host", errors: []).reason == .dns)
  }

  @Test("24: a name that no name server resolves in time is a DNS failure")
  func silentNameServer() {
    let fault = Failure(transport: Failure.nameLate("host"))
    #expect(fault.reason == .dns && fault.cause == "the name host has no address in time: no name server answers")
  }
}
