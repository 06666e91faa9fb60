import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import RosterCore

/// The failures of an exchange for which no library has an error.
extension Failure {
  /// The connection ended before an answer began.
  static var closed: Failure { passing(.connection, cause: "the server closed the connection without an answer") }

  /// The same, of a connection that had already served a request. The server closed it while it was idle, and a GET may
  /// be sent again (RFC 9112 §9.3.1).
  static var keptConnectionClosed: Failure {
    var failure = passing(.connection, cause: "the server closed the connection")
    failure.exchange?.isOfKeptConnection = true
    return failure
  }

  /// The connection ended in the middle of an answer: in its head or in its body.
  static var cutOff: Failure { passing(.truncated, cause: "the answer was cut off") }
  /// The answer was not complete at the deadline.
  static var late: Failure { passing(.timeout, cause: "no whole answer in time") }

  /// The access token of a request expired before the request had a connection.
  static var tokenOutlived: Failure {
    var failure = passing(.timeout, cause: "the access token expired before the request had a connection")
    failure.exchange?.isOfOutlivedToken = true
    return failure
  }

  /// The handshake did not end by the deadline.
  static var handshakeLate: Failure { passing(.timeout, cause: "no TLS in time") }
  /// The handshake failed for another reason than the server's certificate.
  static var handshakeBrokenOff: Failure { passing(.tls, cause: "the TLS connection failed") }

  /// The name servers returned no address of this host by the deadline (getaddrinfo(3)).
  static func nameLate(_ host: String) -> Failure {
    unresolved(host, problem: "has no address in time: no name server answers")
  }

  /// The address is not valid, or a header would end its line.
  static var unusableRequest: Failure {
    var failure = passing(.connection, cause: "the request's address or a header of it cannot be sent")
    failure.exchange?.isUnsent = true
    return failure
  }

  /// Classifies an error of the transport and its libraries for the retry table.
  init(transport error: any Error) {
    // TLS 1.3 servers send the alert after the handshake.
    if let alert = Failure(clientCertificate: error) {
      self = alert
      return
    }
    self =
      switch error {
      case let error as Failure: error
      case let error as BodyFault: error.fault
      case let error as NIOConnectionError: .connecting(to: error.host, errors: error.connectionErrors.map(\.error))
      case let error as IOError: .system(error.errnoCode)
      case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
        .passing(.tls, cause: "the TLS connection failed")
      case let error as HTTPParserError:
        .passing(
          .malformed, cause: "the answer is not HTTP/1.1: \(error.brokenRule)",
          hint: "see what the server sends: curl -v --raw")
      case ChannelError.connectTimeout: .passing(.timeout, cause: "no connection in time")
      case is ChannelError: .passing(.connection, cause: "the server closed the connection")
      default: .passing(.connection, cause: "the connection failed")
      }
  }

  /// - Parameter errors: one error for each address of the host. The network is down only if every address reports
  ///   this. A single address without a route may belong to a protocol that this network does not have.
  static func connecting(to host: String, errors: [any Error]) -> Failure {
    let faults = errors.map(Failure.init(transport:))
    return faults.first { $0.trouble != .noNetwork } ?? faults.first ?? unresolved(host, problem: "cannot be resolved")
  }

  fileprivate static func passing(_ reason: Failure.Reason, cause: String, hint: String? = nil) -> Failure {
    let isAnswer = reason == .malformed || reason == .tooLarge
    return Failure(
      isAnswer ? .badAnswer : .unreachable, cause: cause,
      hint: hint ?? "see whether the server is up and base_url is right", reason: reason)
  }

  fileprivate static func unresolved(_ host: String, problem: String) -> Failure {
    .passing(
      .dns, cause: "the name \(host) \(problem)",
      hint: "see whether the host is right, and whether the DNS answers: getent ahosts \(host)")
  }

  private static func system(_ code: CInt) -> Failure {
    let text = SystemError(code: code).text
    guard [ENETUNREACH, ENETDOWN, EHOSTUNREACH].contains(code) else {
      return .passing(.connection, cause: "the connection failed (\(text))")
    }
    return Failure(
      .unreachable, cause: "there is no network (\(text))", hint: "see whether this machine is online"
    ).with(.noNetwork)
  }
}

extension BodyFault {
  fileprivate var fault: Failure {
    switch self {
    case .tooLarge(let most):
      .passing(
        .tooLarge, cause: "the answer is larger than \(most / 1024 / 1024) MiB",
        hint: "ask for smaller pages: size of the definition's pages, or fewer fields by its query")
    case .unknownCoding(let coding, let header):
      .passing(
        .malformed,
        cause: "the answer has \(header) \(coding.printable.prefix(64)), and only "
          + (header == "Content-Encoding" ? "gzip and deflate can be read" : "chunked can be read"),
        hint: "the server, or a proxy before it, must obey Accept-Encoding: gzip")
    case .broken, .cutShort: .passing(.malformed, cause: "the answer's compression is broken")
    }
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
    case .headerOverflow: "its header is larger than 80 KiB, or has too many lines"
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
