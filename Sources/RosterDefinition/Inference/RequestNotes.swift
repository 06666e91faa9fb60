import RosterCore

/// The parameters of the list's address that become `query`.
struct Query {
  private(set) var stays: [Resource.Parameter] = []
  /// Names of the parameters that look like secrets.
  private(set) var secrets: [String] = []

  /// - Parameter taken: names of the parameters that the page style replaces.
  init(_ parameters: [Request.Parameter], besides taken: Set<String>) {
    let others = parameters.filter { !taken.contains($0.name) }
    for parameter in others {
      // The value of a parent is no secret, whatever the parameter's name is.
      if ParentColumn(whole: parameter.value) == nil, Secrets.isSecret(parameter) {
        secrets.append(parameter.name)
      } else {
        stays.append(Resource.Parameter(parameter.name, Resource.Scalar(parameter.value)))
      }
    }
    // A parameter that occurs twice keeps the order of its values.
    stays = stays.enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }.map(\.element)
  }
}

extension Resource.Scalar {
  /// The value is sent as exactly this text.
  fileprivate init(_ text: String) {
    if let number = Int64(text), "\(number)" == text {
      self = .integer(number)
    } else if text == "true" || text == "false" {
      self = .boolean(text == "true")
    } else {
      self = .text(text)
    }
  }
}

/// Headers and comments that follow from the request. They contain no secret.
struct RequestNotes {
  private(set) var notes: [Note] = []
  /// The user's headers without secrets.
  private(set) var headers: [Request.Header] = []
  /// True if the next page's address is on another origin.
  private(set) var isRebased = false

  init(_ asked: ListAnswer.Asked?, query: Query, style: Resource.Style, evidence: PageEvidence) {
    guard let asked else {
      notes = [
        .unseen(.baseURL, text: "the API's address; this one is a placeholder"),
        .unseen(.path, text: "the list's path below base_url; this one is a placeholder"),
        .unseen(
          .method, text: "the request; a search endpoint may need",
          lines: "method = \"POST\"", "body = {}"),
      ]
      return
    }
    if let given = asked.redirected {
      let name = given.baseURL == asked.address.baseURL ? given.path : given.shown
      notes.append(.remark(.path, text: "\(name) redirects here"))
    }
    notes += Self.warnings(asked.address, query: query)
    headers = asked.headers.filter(Secrets.isHarmless).sorted { $0.name < $1.name }
    credentials(asked.headers.filter { !Secrets.isHarmless($0) }, parameters: query.secrets)
    if style.followsAddresses, let next = evidence.link ?? evidence.next?.text, asked.address.isElsewhere(next) {
      isRebased = true
      notes.append(
        .remark(.links, text: "the next page's address is on another origin; its path is requested from base_url"))
    }
  }

  /// Warnings about credentials in parts of the address that the definition contains.
  private static func warnings(_ address: ListAddress, query: Query) -> [Note] {
    let labelled = query.stays.filter { parameter in
      if case .text(let text) = parameter.value { Secrets.isInValue(text) } else { false }
    }
    let path = Secrets.isInPath(of: address.shown) ? ["the path"] : []
    return (path + labelled.map { "the parameter \($0.name.tomlString)" }).map { part in
      .remark(.address, text: "warning: \(part) looks like it contains a credential, which this text shows")
    }
  }

  private mutating func credentials(_ secret: [Request.Header], parameters: [String]) {
    let sends =
      secret.map(Self.send) + parameters.map { ["flow = \"static\"", "send = \("?\($0)={access_token}".tomlString)"] }
    guard let first = sends.first else { return }
    let names = secret.map { "the header \($0.name)" } + parameters.map { "the parameter \($0.tomlString)" }
    notes.append(
      Note(
        place: .auth, isUnseen: false, lines: ["[auth]"] + first,
        text: "\(names[0]) is not shown here. \(Self.advice(first))"))
    for name in names.dropFirst() {
      notes.append(
        .remark(.headers, text: "\(name) is not shown here; if the API needs it, set it in upstream.headers or query"))
    }
  }

  private static func advice(_ send: [String]) -> String {
    send.contains("flow = \"basic\"")
      ? "Put the files `username` and `password` into auth.credentials_dir, and add:"
      : "Put its secret into the file `access_token` in auth.credentials_dir, and add:"
  }

  private static func send(_ header: Request.Header) -> [String] {
    let isAuthorization = header.name.lowercased() == "authorization"
    let scheme = header.value.split(separator: " ").first.map(String.init) ?? ""
    let isKnown = ["bearer", "token", "apikey", "bot"].contains(scheme.lowercased())
    if isAuthorization, scheme.lowercased() == "basic" { return ["flow = \"basic\""] }
    if isAuthorization, scheme == "Bearer" { return ["flow = \"static\""] }
    let prefix = isAuthorization && isKnown ? "\(scheme) " : ""
    return ["flow = \"static\"", "send = \("\(header.name): \(prefix){access_token}".tomlString)"]
  }
}

extension Resource.Style {
  fileprivate var followsAddresses: Bool {
    if case .follows = kind.step { true } else { false }
  }
}
