import ArgumentParser
import FoundationEssentials
import Glibc
import Logging
import RosterCore
import RosterDaemon
import RosterDecode
import RosterDefinition
import RosterSystemd

struct InferCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "infer",
    abstract: "Looks at one answer of each list of an API and prints definitions that fit them.",
    usage: """
      rosterd infer URL … [--header HEADER] … [--ca-file FILE] [--add FILE]
      rosterd infer URL --of RESOURCE.COLUMN=VALUE … [OPTION] …
      """)

  @Argument(
    help: ArgumentHelp(
      "The address of a list, or of several lists of one origin; or - for an answer on standard input, with its head if from curl -i.",
      valueName: "url"))
  var addresses: [String] = []

  @Option(
    name: .customLong("header"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("A header of the requests; may be repeated.", valueName: "NAME: VALUE"))
  var headers: [String] = []

  @Option(
    name: .customLong("add"),
    help: "The configuration file to add the definitions to, instead of printing them.",
    completion: .file(extensions: ["toml"]))
  var file: String?

  @Option(
    name: .customLong("ca-file"),
    help: "A PEM bundle of the certificates to trust in place of the system's; it becomes upstream.tls.ca_file.",
    completion: .file())
  var caFile: String?

  @Option(
    name: .customLong("of"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "The address is that of a child: VALUE in it becomes {RESOURCE.COLUMN}. The last one names the parent.",
      valueName: "RESOURCE.COLUMN=VALUE"))
  var parents: [String] = []

  func validate() throws {
    guard !addresses.isEmpty else { throw ValidationError("There is no URL") }
    guard !addresses.contains(Self.standardInput) || addresses.count == 1 else {
      throw ValidationError("\(Self.standardInput) goes with no other address")
    }
    guard addresses != [Self.standardInput] || headers.isEmpty else {
      throw ValidationError("A header goes with a URL, not with \(Self.standardInput)")
    }
    guard addresses != [Self.standardInput] || caFile == nil else {
      throw ValidationError("--ca-file goes with a URL, not with \(Self.standardInput)")
    }
    for text in headers { _ = try header(text) }
    guard parents.isEmpty || addresses.count == 1 && addresses != [Self.standardInput] else {
      throw ValidationError("--of goes with one URL: the address of a child's list")
    }
    let columns = try givenParents().map(\.column)
    if let twice = columns.first(where: { column in columns.filter { $0 == column }.count > 1 }) {
      throw ValidationError("--of \(twice.name) is given twice")
    }
  }

  private func givenParents() throws -> [GivenParent] {
    try parents.map { text in
      guard let parent = GivenParent(text) else {
        throw ValidationError("--of is RESOURCE.COLUMN=VALUE, as in --of issue.number=5")
      }
      return parent
    }
  }

  func run() async throws {
    try await exiting {
      do {
        guard let file else {
          let findings = try findings(in: await answers(below: nil), below: nil)
          let child = parents.isEmpty ? nil : findings.first.map(Inference.child)
          return try answer(child ?? Self.checked(Inference.toml(of: findings)))
        }
        let answers = try await answers(below: ExtendedFile(file))
        // The file may have changed during the requests.
        let extended = try ExtendedFile(file)
        let findings = try findings(in: answers, below: extended)
        try extended.add(findings)
        let tables = findings.map { "[resource.\($0.resource.name)]" }.joined(separator: ", ")
        complain("added \(tables) to \(file)")
      } catch let failure as Failure { throw failure.adding(file) }
    }
  }

  private func answers(below file: ExtendedFile?) async throws -> [ListAnswer] {
    if addresses == [Self.standardInput] { return [try given()] }
    let addresses = try addresses.map(address)
    // Checked before anything is sent, because a header may be the secret of one origin.
    let given = try base(of: addresses, below: file)
    let parents = try givenParents()
    let placed = addresses.map { address in given.flatMap(address.below) ?? address }
    for address in placed { _ = try address.filled(with: parents) }
    try Inference.expectDifferentNames(placed)
    var answers: [ListAnswer] = []
    for address in addresses { answers.append(try await asked(address)) }
    return answers
  }

  private func findings(in answers: [ListAnswer], below file: ExtendedFile?) throws -> [InferredDefinition] {
    let base = try base(of: answers.compactMap(\.asked?.address), below: file)
    return zip(answers, try Inference.findings(answers, below: base)).map { answer, finding in
      let response = Response(status: 200, headers: answer.headers, body: answer.bytes)
      return finding.withoutRefusedParts { resource in
        AnswerTrial.finding(resource, baseURL: finding.baseURL, in: response).map(DraftFault.init)
      }
    }
  }

  /// The text with the reasons why a configuration may not contain it, as comments in front.
  private static func checked(_ text: String) -> String {
    do { _ = try Configuration.load(Array(text.utf8), of: "the draft") } catch {
      return error.faults.map { "# rosterd check refuses this: \($0)\n" }.joined() + text
    }
    return text
  }

  /// The sentence does not repeat the address: if the quotes of a header were forgotten, a word of the header arrives
  /// as an address.
  private func address(_ text: String) throws -> ListAddress {
    do { return try ListAddress(text, of: givenParents()) } catch var error as Failure {
      guard addresses.count > 1, !headers.isEmpty else { throw error }
      error.hint = "give addresses of lists, and each header as one argument, in quotes"
      throw error
    }
  }

  private func base(of addresses: [ListAddress], below file: ExtendedFile?) throws -> String? {
    if let base = file?.baseURL {
      guard addresses.allSatisfy({ $0.below(base) != nil }) else {
        throw Failure(
          .usage, step: "add the definition", subject: file?.path ?? "",
          cause: "its upstream.base_url is \(base), and a list is not below that",
          hint: "use another file for another API: a configuration has one base_url")
      }
      return base
    }
    if addresses.count < 2 { return nil }
    guard let base = ListAddress.commonBase(of: addresses) else {
      throw Failure(
        .usage, step: "ask", subject: "the addresses",
        cause: "they have different origins, and a configuration has one base_url",
        hint: "run infer for the lists of each origin")
    }
    return base
  }

  private static let standardInput = "-"

  private func asked(_ address: ListAddress) async throws -> ListAnswer {
    let headers = try headers.map(header)
    let response = try await OneRequest.answer(
      from: address.url, headers: headers, proxies: try proxies(address.url),
      systemRoots: RootPlaces(environment: ProcessInfo.processInfo.environment), caFile: caFile)
    let parents = try givenParents()
    let last = response.redirectedTo.flatMap { try? ListAddress($0, of: parents) }
    let asked = ListAnswer.Asked(
      last ?? address, redirected: last.map { _ in address }, headers: headers, parents: parents,
      caFile: caFile.map(resolved))
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

  /// The maximum size of a page.
  private static let maxBytes = 8 * 1024 * 1024

  /// The sentences do not repeat the header: it may be a secret.
  private func header(_ text: String) throws -> Request.Header {
    guard let colon = text.firstIndex(of: ":") else { throw ValidationError("A header is \"NAME: VALUE\"") }
    let name = String(text[..<colon])
    let value = String(text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" })
    guard name.isHTTPToken else { throw ValidationError("The part of a header before the colon is not a valid name") }
    guard !HeaderText.isOwn(name) else { throw ValidationError("The header \(name) is rosterd's own to send") }
    if let mistake = HeaderText.mistake(in: value) {
      throw ValidationError("The value of the header \(name) \(mistake)")
    }
    return Request.Header(name, value)
  }
}

extension Failure {
  /// - Parameter file: the file of `--add`; nil without that option. Then the shell may have created a file before the
  ///   command fails.
  fileprivate func adding(_ file: String?) -> Failure {
    var failure = self
    let output =
      file.map { "\($0) is unchanged" }
      ?? "nothing was written; if stdout was redirected to a file, that file is empty"
    failure.hint = hint.map { "\($0); \(output)" } ?? output
    return failure
  }
}

extension DraftFault {
  fileprivate init(_ finding: AnswerTrial.Finding) {
    switch finding {
    case .refused(let reason): self.init(reason: reason)
    case .rejected(let count, let reason): self.init(rejects: count, reason: reason)
    }
  }
}

/// Prints one line for people on stderr. If the log on stderr is JSON, the line becomes a JSON object, because every
/// line must be JSON.
func complain(_ line: String, in format: LogFormat = .text) {
  if format == .json {
    rosterLog(LogSettings(level: .error, format: format)).error("\(line)")
  } else {
    say("rosterd: \(line.printable)\n")
  }
}

/// Writes to stderr. A failure is ignored, because there is no other place to report it.
func say(_ text: String) { try? write(Array(text.utf8), to: STDERR_FILENO) }

/// Prints the requested output of a command. Ends the program with 73 if the output cannot be written. It is not a
/// failure if the reader has closed the pipe.
func answer(_ text: String) throws {
  do throws(SystemError) { try write(Array(text.utf8), to: STDOUT_FILENO) } catch {
    if error.code == EPIPE { return }
    complain("cannot write the answer to stdout: \(error.text)")
    throw ExitCode(Failure.Kind.cannotWrite.exitCode)
  }
}

/// Runs the command's work. A Failure ends the program with its sentence and its exit code.
func exiting(_ format: LogFormat = .text, work: () async throws -> Void) async throws {
  do { try await work() } catch let failure as Failure {
    complain("\(failure)", in: format)
    throw ExitCode(failure.kind.exitCode)
  }
}

/// Prints JSON as `answer` does. On a terminal, characters of upstream that control it are escaped.
func answer(json text: String) throws { try answer(isatty(STDOUT_FILENO) == 1 ? text.printableJSON : text) }

/// Prints a value as one line of JSON.
func answer(asJSON value: some Encodable) throws {
  try answer(json: String(decoding: try value.jsonLine(), as: UTF8.self))
}
