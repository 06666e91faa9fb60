import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import RosterFiles
import RosterModel

/// Errors of the libraries, classified for P11.
enum TransportCause: Equatable {
  case passing(Failure.Reason, String, hint: String? = nil)
  case noNetwork(String)
  case untrusted(String, hint: String)
  case clientCertificate(ClientCertificateAlert)

  var fault: RequestFault {
    switch self {
    case .passing(let reason, let cause, let hint):
      let isAnswer = reason == .malformed || reason == .tooLarge
      return RequestFault(
        isAnswer ? .badAnswer : .unreachable, cause: cause,
        hint: hint ?? "see whether the server is up and base_url is right", reason: reason)
    case .noNetwork(let cause):
      return RequestFault(.unreachable, cause: cause, hint: "see whether this machine is online").with(
        .noNetwork)
    case .untrusted(let cause, let hint):
      return RequestFault(.unreachable, cause: cause, hint: hint).with(.certificate)
    case .clientCertificate(let alert): return alert.fault
    }
  }

  init(_ error: any Error) {
    // TLS 1.3 servers send the alert after the handshake.
    if let alert = error as? ClientCertificateAlert ?? ClientCertificateAlert(error) {
      self = .clientCertificate(alert)
      return
    }
    switch error {
    case let error as NIOConnectionError: self = Self.connect(error.host, errors: error.connectionErrors.map(\.error))
    case let error as IOError: self = Self.system(error.errnoCode)
    case is ClosedWithoutAnswer: self = .passing(.connection, "the server closed the connection without an answer")
    case is KeptConnectionEnded: self = .passing(.connection, "the server closed the connection")
    case is DeadlineExceeded: self = .passing(.timeout, "no whole answer in time")
    case is TokenOutlived: self = .passing(.timeout, "the access token expired before the request had a connection")
    case is HandshakeTimeout: self = .passing(.timeout, "no TLS in time")
    case is CutOff: self = .passing(.truncated, "the answer was cut off")
    case let error as CertificateFault: self = .untrusted(error.cause, hint: error.hint)
    case let error as PinMismatch:
      self = .untrusted(
        "the server's key is not in upstream.tls.pins: \(error.found)",
        hint: "pin that key only if you know from elsewhere that it is the server's new one")
    case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError, is TLSBrokenOff:
      self = .passing(.tls, "the TLS connection failed")
    case BodyFault.tooLarge(let most):
      self = .passing(.tooLarge, "the answer is larger than \(most / 1024 / 1024) MiB")
    case BodyFault.unknownCoding(let coding):
      self = .passing(
        .malformed,
        "the answer has Content-Encoding \(coding.printable.prefix(64)), and only gzip and deflate can be read",
        hint: "the server, or a proxy before it, must obey Accept-Encoding: gzip")
    case is BodyFault: self = .passing(.malformed, "the answer's compression is broken")
    case let error as HTTPParserError:
      self = .passing(
        .malformed, "the answer is not HTTP/1.1: \(error.brokenRule)", hint: "see what the server sends: curl -v --raw")
    case let error as NameTimeout:
      self = Self.unresolved(error.host, problem: "has no address in time: no name server answers")
    case is UnusableRequest: self = .passing(.connection, "the request's address or a header of it cannot be sent")
    case ChannelError.connectTimeout: self = .passing(.timeout, "no connection in time")
    case is ChannelError: self = .passing(.connection, "the server closed the connection")
    default: self = .passing(.connection, "the connection failed")
    }
  }

  /// - Parameter errors: one error for each address of the host. The network is down only if every address reports
  ///   this. A single address without a route may belong to a protocol that this network does not have.
  static func connect(_ host: String, errors: [any Error]) -> TransportCause {
    let causes = errors.map(TransportCause.init)
    return causes.first { !$0.isNoNetwork } ?? causes.first ?? unresolved(host, problem: "cannot be resolved")
  }

  private static func unresolved(_ host: String, problem: String) -> TransportCause {
    .passing(
      .dns, "the name \(host) \(problem)",
      hint: "see whether the host is right, and whether the DNS answers: getent ahosts \(host)")
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

extension HTTPParserError {
  /// The rule of RFC 9112 that an answer broke.
  fileprivate var brokenRule: String {
    switch self {
    case .invalidConstant: "its first line does not begin with HTTP/ (RFC 9112 section 4)"
    case .invalidVersion: "its first line names no version of HTTP/1 (RFC 9112 section 2.3)"
    case .invalidStatus: "its first line has no status of three digits (RFC 9112 section 4)"
    case .invalidHeaderToken:
      "a header is not one line of the form NAME: VALUE (RFC 9112 section 5); a header folded over two lines is obsolete"
    case .headerOverflow: "its header is larger than 80 KiB"
    case .lfExpected, .strictModeAssertion: "a line does not end with CR LF (RFC 9112 section 2.2)"
    case .invalidContentLength: "its Content-Length is not one whole number (RFC 9112 section 6.2)"
    case .unexpectedContentLength:
      "it has a second Content-Length, or one beside Transfer-Encoding (RFC 9112 section 6.3)"
    case .invalidChunkSize: "the size of a chunk is not hexadecimal (RFC 9112 section 7.1)"
    case .closedConnection, .trailingGarbage: "bytes follow the end of the last answer (RFC 9112 section 9.3)"
    // A wrong Transfer-Encoding and a missing CR have no error of their own.
    default:
      "its Transfer-Encoding is not valid, or beside a Content-Length, or a line has no CR (RFC 9112 sections 6.1 and 2.2)"
    }
  }
}
