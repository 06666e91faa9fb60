import RosterCore
import RosterDecode
import Synchronization
import Testing

/// The time of a day whose number is that of an edition.
let midnight = "00:00:00"

/// A public API that lists its records and refuses requests as its documentation says.
struct PublicAPI: Sendable {
  /// The records of one list, in the order of their creation.
  struct Kind: Sendable {
    var name: String
    /// The resources that are filled from it.
    var resources: [String]
    /// Number of records; their ids are 1 to this number.
    var count: Int
    /// The later fate of some records.
    var fates: [Int: Fate]
    /// The fates that an incremental pull does not see; nil if each pull is whole.
    var unseen: Set<Fate>?
    /// The JSON of a record. Editions are 1 and 2.
    var record: @Sendable (_ id: Int, _ edition: Int) -> String
  }

  /// The fate of a record that is no longer listed.
  enum Fate: Sendable {
    case deleted
    /// The record is still returned by its key, but belongs to another list.
    case moved
    /// The record exists, and only the list lacks it.
    case unlisted
  }

  /// `config/sources/FILE.toml`.
  var file: String
  /// The path of its base_url.
  var prefix = ""
  /// Credentials by the names of their files.
  var credentials: [String: String] = [:]
  /// A request without them is refused.
  var headers: [String: String] = [:]
  var hasETags = false
  var kinds: [Kind]
  /// The requests of a pull of the first state, below base_url, in any order.
  var asked: [String]
  /// The requests of the next sync if it is incremental; nil if each pull is whole.
  var askedNext: [String]?
  /// `resources.proof`, by resource.
  var proof: [String: String]
  /// Expected results by SQL query, written by hand from knowledge of the API.
  var seen: [String: [String]]
  var answer: @Sendable (Call, World) throws -> Response
}

extension PublicAPI: CustomTestStringConvertible {
  var testDescription: String { file }
}

/// A request that the API's documentation does not allow.
struct Refusal: Error {
  var status: Int
  var why: String
}

/// All records at one time.
struct World: Sendable {
  struct Record: Sendable {
    var id: Int
    var json: JSONValue
  }

  /// The listed records by kind.
  private(set) var listed: [String: [Record]] = [:]
  /// The current state of records that are no longer listed.
  private(set) var gone: [String: [Int: (fate: PublicAPI.Fate, json: JSONValue)]] = [:]

  /// - Parameters:
  /// - isLater: true if some records were added, some changed, and some are no longer listed.
  /// - isIncremental: true for the world as incremental pulls see it: what they do not see is unchanged.
  init(_ api: PublicAPI, isLater: Bool, isIncremental: Bool = false) throws {
    for kind in api.kinds {
      let last = isLater ? kind.count + 2 : kind.count
      for id in 1...last {
        let isUnseen = isIncremental && kind.fates[id].map { kind.unseen?.contains($0) == true } == true
        let isChanged = isLater && !isUnseen && (id == 4 || id == kind.count || kind.fates[id] != nil)
        let json = try JSONValue(json: kind.record(id, isChanged ? 2 : 1).utf8)
        if isLater, !isUnseen, let fate = kind.fates[id] {
          gone[kind.name, default: [:]][id] = (fate, json)
        } else {
          listed[kind.name, default: []].append(Record(id: id, json: json))
        }
      }
    }
  }

  /// The records that a mirror contains.
  func mirrored(_ kind: String) -> [JSONValue] {
    records(kind) + (gone[kind] ?? [:]).values.filter { $0.fate == .unlisted }.map(\.json)
  }

  func records(_ kind: String) -> [JSONValue] { (listed[kind] ?? []).map(\.json) }

  /// The deleted records, by their own ids.
  func deleted(_ kind: String) -> [Int: JSONValue] {
    (gone[kind] ?? [:]).filter { $0.value.fate == .deleted }.mapValues(\.json)
  }

  /// A record by its own id, listed or not.
  func record(_ kind: String, id: Int?) -> (fate: PublicAPI.Fate?, json: JSONValue)? {
    guard let id else { return nil }
    if let gone = gone[kind]?[id] { return (gone.fate, gone.json) }
    return listed[kind]?.first { $0.id == id }.map { (nil, $0.json) }
  }
}

/// The API on loopback; it records all requests.
final class PublicServer: Sendable {
  struct Asked: Sendable {
    /// The address below base_url; that of a POST request has `POST ` before it.
    var address: String
    var isConditional: Bool
  }

  private struct State {
    var world: World
    var asked: [Asked] = []
    var refused: [String] = []
  }

  private let api: PublicAPI
  private let state: Mutex<State>

  init(_ api: PublicAPI) throws {
    self.api = api
    state = Mutex(State(world: try World(api, isLater: false)))
  }

  var world: World { state.withLock { $0.world } }
  /// The refused requests with the reasons.
  var refused: [String] { state.withLock { $0.refused } }

  func goOn() throws {
    let world = try World(api, isLater: true)
    state.withLock { $0.world = world }
  }

  /// The requests since the last call.
  func takeAsked() -> [Asked] {
    state.withLock { state in
      defer { state.asked = [] }
      return state.asked
    }
  }

  func answer(_ request: Request) -> Response {
    state.withLock { state in
      let call = Call(request, prefix: api.prefix)
      state.asked.append(Asked(address: call.address, isConditional: call["If-None-Match"] != nil))
      do {
        for (name, value) in api.headers where call[name] != value {
          throw Refusal(status: name == "Authorization" ? 401 : 400, why: "\(name) is missing")
        }
        return validated(try api.answer(call, state.world), call: call)
      } catch {
        let refusal = error as? Refusal
        state.refused.append("\(call.address): \(refusal?.why ?? "\(error)")")
        return Response(status: refusal?.status ?? 400, body: Array(#"{"message":"refused"}"#.utf8))
      }
    }
  }

  /// A 304 has the other headers, too (RFC 9110 §13.1.2).
  private func validated(_ response: Response, call: Call) -> Response {
    guard api.hasETags, response.status == 200 else { return response }
    // FNV-1a with 64 bits: a fingerprint only needs to differ between versions of a page.
    let print = response.body.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    let tag = "W/\"\(String(print, radix: 16))\""
    let isSame = call["If-None-Match"] == tag
    return Response(
      status: isSame ? 304 : 200, headers: response.headers + [.init("ETag", tag)], body: isSame ? [] : response.body)
  }
}

/// One request from an API's point of view.
struct Call {
  /// The path below base_url.
  let path: String
  let origin: String
  let body: JSONValue
  /// The bytes of the body, as text.
  var text: String { String(decoding: request.body, as: UTF8.self) }
  private let request: Request
  private let prefix: String
  private let query: [(name: String, value: String)]

  init(_ request: Request, prefix: String) {
    self.request = request
    self.prefix = prefix
    let parts = request.url.split(separator: "?", maxSplits: 1).map(String.init)
    path = parts[0].hasPrefix(prefix) ? String(parts[0].dropFirst(prefix.count)) : "elsewhere: \(parts[0])"
    query = parts.dropFirst().flatMap { $0.split(separator: "&") }.map { pair in
      let sides = pair.split(separator: "=", maxSplits: 1).map { Self.decoded($0) }
      return (sides[0], sides.count > 1 ? sides[1] : "")
    }
    body = (try? JSONValue(json: request.body)) ?? .null
    origin = "http://" + (Response(status: 0, headers: request.headers)["Host"] ?? "")
  }

  /// RFC 3986 §2.1.
  private static func decoded(_ text: some StringProtocol) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      let isCode = byte == UInt8(ascii: "%")
      bytes.append(isCode ? UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0 : byte)
      if isCode { rest = rest.dropFirst(2) }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  var isPost: Bool { request.method == .post }

  var address: String {
    let below = request.url.hasPrefix(prefix) ? String(request.url.dropFirst(prefix.count)) : request.url
    return isPost ? "POST \(below) \(String(decoding: request.body, as: UTF8.self))" : below
  }

  /// A header.
  subscript(name: String) -> String? { Response(status: 0, headers: request.headers)[name] }

  /// A parameter of the query; nil if it is missing.
  func parameter(_ name: String) -> String? { query.first { $0.name == name }?.value }

  /// The single path segment after this prefix.
  func key(below start: String) -> String? {
    guard path.hasPrefix(start) else { return nil }
    let rest = path.dropFirst(start.count)
    return rest.isEmpty || rest.contains("/") ? nil : Self.decoded(rest)
  }

  /// Refuses any other parameter, and a parameter that occurs twice.
  func allow(_ names: String...) throws {
    for (index, parameter) in query.enumerated() {
      guard names.contains(parameter.name), !query[..<index].contains(where: { $0.name == parameter.name }) else {
        throw Refusal(status: 400, why: "the parameter \(parameter.name)")
      }
    }
  }

  /// A parameter that is a number.
  func integer(_ name: String, or absent: Int, in range: ClosedRange<Int>) throws -> Int {
    guard let text = parameter(name) else { return absent }
    guard let number = Int(text), range.contains(number) else { throw Refusal(status: 400, why: "\(name)=\(text)") }
    return number
  }

  /// Refuses the request unless the parameter has this value.
  func expect(_ name: String, _ value: String, or status: Int = 400) throws {
    guard parameter(name) == value else { throw Refusal(status: status, why: "\(name) is not \(value)") }
  }
}

extension Response {
  /// The status is 200 by default.
  static func json(_ members: (String, JSONValue)..., status: Int = 200, headers: [Request.Header] = []) -> Response {
    json(.object(members.map { .init($0.0, $0.1) }), status: status, headers: headers)
  }

  static func json(_ value: JSONValue, status: Int = 200, headers: [Request.Header] = []) -> Response {
    var json = JSONWriter()
    json.value(value)
    return Response(status: status, headers: headers, body: json.bytes)
  }
}

extension Array {
  /// A page of this size from a position, counted from 0.
  func page(_ from: Int, size: Int) -> [Element] { Array(dropFirst(from).prefix(size)) }
}
