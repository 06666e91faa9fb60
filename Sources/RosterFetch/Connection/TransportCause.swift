import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import RosterFiles
import RosterModel

/// What the libraries throw, as P11 tells it apart.
enum TransportCause: Equatable {
  case passing(Failure.Reason, String)
  case noNetwork(String)
  case untrusted(String, hint: String)

  var fault: RequestFault {
    switch self {
    case .passing(let reason, let cause):
      let isAnswer = reason == .malformed || reason == .tooLarge
      return RequestFault(
        isAnswer ? .badAnswer : .unreachable, cause: cause, hint: "see whether the server is up and base_url is right",
        reason: reason)
    case .noNetwork(let cause):
      return RequestFault(.unreachable, cause: cause, hint: "see whether this machine is online").with(
        .noNetwork)
    case .untrusted(let cause, let hint):
      return RequestFault(.unreachable, cause: cause, hint: hint).with(.certificate)
    }
  }

  init(_ error: any Error) {
    switch error {
    case let error as NIOConnectionError: self = Self.connect(error.host, error.connectionErrors.map(\.error))
    case let error as IOError: self = Self.system(error.errnoCode)
    case is ClosedWithoutAnswer: self = .passing(.connection, "the server closed the connection without an answer")
    case is KeptConnectionEnded: self = .passing(.connection, "the server closed the connection")
    case is DeadlineExceeded: self = .passing(.timeout, "no whole answer in time")
    case is HandshakeTimeout: self = .passing(.timeout, "no TLS in time")
    case is CutOff: self = .passing(.truncated, "the answer was cut off")
    case let error as CertificateFault: self = .untrusted(error.cause, hint: error.hint)
    case let error as PinMismatch:
      self = .untrusted(
        "the server's key is none of upstream.tls.pins, but \(error.found)",
        hint: "pin that key only if you know from elsewhere that it is the server's new one")
    case let error as NIOSSLExtraError where error == .failedToValidateHostname:
      self = .untrusted(
        "the server's certificate is for another host", hint: "use a name in upstream.base_url that the certificate has"
      )
    case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError, is TLSBrokenOff:
      self = .passing(.tls, "TLS was broken off")
    case BodyFault.tooLarge(let most):
      self = .passing(.tooLarge, "the answer is larger than \(most / 1024 / 1024) MiB")
    case is BodyFault: self = .passing(.malformed, "the answer's compression is broken")
    case is HTTPParserError: self = .passing(.malformed, "the answer is not HTTP")
    case is UnusableRequest: self = .passing(.connection, "the request's address or a header of it cannot be sent")
    case ChannelError.connectTimeout: self = .passing(.timeout, "no connection in time")
    case is ChannelError: self = .passing(.connection, "the server closed the connection")
    default: self = .passing(.connection, "the connection failed")
    }
  }

  /// - Parameter errors: one an address of the host. There is no network where every address says so: one without a
  ///   route may be of a protocol that this network does not have.
  static func connect(_ host: String, _ errors: [any Error]) -> TransportCause {
    let causes = errors.map(TransportCause.init)
    return causes.first { !$0.isNoNetwork } ?? causes.first ?? .passing(.dns, "the name \(host) cannot be resolved")
  }

  private var isNoNetwork: Bool { if case .noNetwork = self { true } else { false } }

  private static func system(_ code: CInt) -> TransportCause {
    let text = SystemError(code: code).text
    return networkIsDown(code)
      ? .noNetwork("there is no network (\(text))") : .passing(.connection, "the connection failed (\(text))")
  }

  private static func networkIsDown(_ code: CInt) -> Bool {
    [ENETUNREACH, ENETDOWN, EHOSTUNREACH].contains(code)
  }
}
