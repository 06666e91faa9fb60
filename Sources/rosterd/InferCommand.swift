import ArgumentParser
import FoundationEssentials
import Glibc
import RosterConfiguration
import RosterDaemon
import RosterFiles
import RosterInference
import RosterModel

struct InferCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "infer",
    abstract: "Looks at one answer of an API and prints a definition that fits it; writes nothing.",
    usage: "rosterd infer URL [--header \"NAME: VALUE\"] …")

  // Several, so that the rest of a header whose quotes were forgotten is not repeated in a complaint (T9).
  @Argument(
    help: ArgumentHelp(
      "The address of a list; or -: an answer on standard input, with its head if curl -i made it.", valueName: "url"))
  var addresses: [String] = []

  @Option(
    name: .customLong("header"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("A header to ask with; may be given several times.", valueName: "NAME: VALUE"))
  var headers: [String] = []

  func validate() throws {
    guard addresses.count < 2 else {
      throw ValidationError("There is more than one URL; a header is one argument, in quotes")
    }
    guard let address = addresses.first else { throw ValidationError("There is no URL") }
    guard address != Self.standardInput || headers.isEmpty else {
      throw ValidationError("A header goes with a URL, not with \(Self.standardInput)")
    }
    for text in headers { _ = try header(text) }
  }

  func run() async throws {
    try await exiting {
      do { try answer(try await definition()) } catch let failure as Failure { throw failure.withoutOutput }
    }
  }

  private func definition() async throws -> String {
    let address = addresses[0]
    let found = address == Self.standardInput ? try given() : try await asked(address)
    return try Inference.finding(found).toml
  }

  private static let standardInput = "-"

  private func asked(_ text: String) async throws -> ListAnswer {
    let address = try ListAddress(text)
    let headers = try headers.map(header)
    let response = try await OneRequest.answer(
      from: address.url, headers: headers, proxies: try proxies(address.url),
      systemRoots: RootPlaces(environment: ProcessInfo.processInfo.environment))
    let last = response.redirectedTo.flatMap { try? ListAddress($0) }
    let asked = ListAnswer.Asked(last ?? address, redirected: last.map { _ in address }, headers: headers)
    return try ListAnswer(response.body, headers: response.headers, asked: asked)
  }

  private func proxies(_ url: String) throws -> ProxyRules {
    do {
      let proxies = try Configuration.proxies(toAsk: url, environment: ProcessInfo.processInfo.environment)
      if let warning = proxies.warning { complain("warning: \(warning)", in: .text) }
      return proxies.rules
    } catch { throw refused(error, in: .text) }
  }

  private func given() throws -> ListAnswer {
    let text: [UInt8]
    do throws(SystemError) { text = try contents(of: "/dev/stdin", limit: Self.maxBytes) } catch {
      throw Failure(
        .badAnswer, step: "read", subject: "standard input", cause: error.text,
        hint: "give one answer of at most \(Self.maxBytes / 1024 / 1024) MiB")
    }
    return try ListAnswer(printed: text)
  }

  /// As much as a page may have (P11).
  private static let maxBytes = 8 * 1024 * 1024

  /// The sentences do not repeat the header: it may be a secret (T9).
  private func header(_ text: String) throws -> Request.Header {
    guard let colon = text.firstIndex(of: ":") else { throw ValidationError("A header is \"NAME: VALUE\"") }
    let name = String(text[..<colon])
    let value = String(text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" })
    guard name.isHTTPToken else { throw ValidationError("What stands before the colon of a header is no name") }
    guard !HeaderText.isOwn(name) else { throw ValidationError("The header \(name) is rosterd's own to send") }
    if let mistake = HeaderText.mistake(in: value) {
      throw ValidationError("The value of the header \(name) \(mistake)")
    }
    return Request.Header(name, value)
  }
}

extension Failure {
  /// The shell creates a file that stdout is redirected to before the command fails.
  fileprivate var withoutOutput: Failure {
    var failure = self
    let output = "nothing was written; if stdout was redirected to a file, that file is empty"
    failure.hint = hint.map { "\($0); \(output)" } ?? output
    return failure
  }
}
