import FoundationEssentials
import RosterCore

@testable import RosterAuth

/// A token endpoint's answer: its grant, its lifetime and its refusal must equal a simple reading. The message about a
/// refusal must not repeat any part of the answer.
enum TokenTarget {
  private static let now = Date(timeIntervalSince1970: 1_795_348_800)
  private static let longest = 100 * 365.25 * 86_400
  private static let flows: [Flow] = [.oauth2Refresh, .authenticateForm, .bearerRefresh, .bearerRenew]
  private static let statuses = [200, 201, 400, 401, 403, 408, 429, 500, 302, 404]

  static func check(_ input: [UInt8]) {
    var (choices, rest) = Choices.split(input)
    let flow = choices.pick(flows)
    let status = choices.pick(statuses)
    let (headers, body) = rest.headed
    guard PlainJSON.isShallow(body), let grant = Grant(flow) else { return }
    let response = Response(status: status, headers: headers, body: body)
    let json = PlainJSON.read(body.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(body.dropFirst(3)) : body).flatMap {
      $0.depth <= JSONTarget.deepest ? $0 : nil
    }
    do throws(GrantRefusal) {
      let answer = try grant.read(response, now: now)
      promise((200...299).contains(status), "granted by a \(status)")
      expect(answer, grant, json)
    } catch {
      expect(error, status, grant, json)
    }
  }

  private static func expect(_ answer: GrantAnswer, _ grant: Grant, _ json: Written?) {
    let access = answer.issued.access.reveal()
    promise(isSendable(access), "an access token that no header can have")
    // Without JSON the answer is a form.
    if json != nil, case .member(let place)? = grant.answer.access {
      promise(token(json, name(place)) == access, "another access token")
    }
    let refresh = token(json, name(grant.answer.refresh)).flatMap { isSendable($0) ? $0 : nil }
    promise(answer.refreshToken?.reveal() == refresh, "another refresh token")
    promise(refresh != nil || !grant.refreshRequired, "granted without a refresh token")
    promise(answer.issued.obtainedAt == now, "obtained at another time")
    let life = answer.issued.expiresAt.map { $0.timeIntervalSince(now) }
    // 0 means that the token had expired on arrival.
    promise(life.map { $0 >= 0 && $0 <= longest } ?? true, "it lives for \(life as Any) s")
    if case .scalar(let digits, nil)? = json?.child("expires_in"), let seconds = Int(digits), seconds > 0,
      seconds < 1 << 30
    {
      promise(life == Double(seconds), "expires_in \(seconds) is \(life as Any)")
    }
    // The store keeps a time as this text.
    if let time = answer.issued.expiresAt {
      promise(Date(rfc3339: time.rfc3339).map { abs($0.timeIntervalSince(time)) < 0.001 } == true, "\(time) is lost")
    }
    promise(!"\(answer)".contains(access) || access.utf8.count < 24, "a token is shown")
  }

  private static func expect(_ refusal: GrantRefusal, _ status: Int, _ grant: Grant, _ json: Written?) {
    switch refusal {
    case .refused(status, let said, let isFinal):
      promise(isFinal ? status < 500 : [400, 401, 403].contains(status), "refused by a \(status)")
      promise(!isFinal || said != nil, "a final refusal without a statement")
      expect(said, json)
    case .malformed: promise(json == nil && (200...299).contains(status), "JSON is malformed")
    case .incomplete(let field, let said):
      expect(said, json)
      let value = token(json, field)
      promise((200...299).contains(status) && value.map(isSendable) != true, "\(field) is there")
    case .moved(status, _): promise((300...399).contains(status), "\(status) has moved")
    case .other: promise(![200, 201, 400, 401, 403, 408, 429, 500].contains(status), "\(status) is other")
    case .passing(status, let said, let wait, let isRefusal):
      promise(isRefusal || said != nil || wait != nil || [408, 429, 500].contains(status), "\(status) passes")
      expect(said, json)
      promise(wait.map { (0...86_400).contains($0.seconds) } ?? true, "a wait of \(wait as Any)")
    case .refused, .passing, .moved, .tooLarge: fatalError("\(refusal) of a \(status)")
    }
  }

  /// The shown part of an answer has no control character and no secret.
  private static func expect(_ said: ServerStatement?, _ json: Written?) {
    guard let said else { return }
    let secret = text(json, "refresh_token").flatMap { $0.utf8.count >= 12 ? $0 : nil }
    let shown = said.shown(hiding: secret.map { [Secret($0)] } ?? [])
    promise(!shown.isEmpty && shown.count <= 10 * 202 + 20, "\(shown.count) characters are shown")
    promise(!shown.unicodeScalars.contains { $0.properties.generalCategory == .control }, "a control is shown")
    if let secret { promise(!shown.contains(secret), "a secret is shown") }
  }

  private static func name(_ place: JSONPointer?) -> String { place?.segments.first ?? "" }

  private static func text(_ json: Written?, _ name: String) -> String? {
    guard case .object? = json, case .scalar(_, let text)? = json?.child(name) else { return nil }
    return text
  }

  /// The text without the white space around it.
  private static func token(_ json: Written?, _ name: String) -> String? {
    text(json, name).map { text in
      let isWhite = { (scalar: Unicode.Scalar) in " \t\n\u{B}\u{C}\r".unicodeScalars.contains(scalar) }
      let rest = text.unicodeScalars.drop(while: isWhite)
      return String(String.UnicodeScalarView(rest.reversed().drop(while: isWhite).reversed()))
    }
  }

  private static func isSendable(_ text: String) -> Bool {
    !text.isEmpty && text.unicodeScalars.allSatisfy { (" "..."~").contains($0) }
  }
}

extension [UInt8] {
  /// Lines of headers up to an empty line, and the bytes after it.
  var headed: (headers: [Request.Header], body: [UInt8]) {
    if first == UInt8(ascii: "\n") { return ([], Array(dropFirst())) }
    let parts = parted(by: "\n\n")
    return (Headers.read(parts[0]), Array(dropFirst(parts[0].count + 2)))
  }
}
