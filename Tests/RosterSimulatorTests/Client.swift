import FoundationEssentials
import RosterCore
import RosterFetch
import RosterSimulator
import RosterTestSupport

/// Runs a simulator and stops it whatever the test does.
func withSimulator(
  _ scenario: Scenario = Scenario(), clock: ManualClock = ManualClock(),
  test: (Simulator) async throws -> Void
) async throws {
  let simulator = try await Simulator.start(scenario, now: { clock.now })
  do {
    try await test(simulator)
    await simulator.stop()
  } catch {
    await simulator.stop()
    throw error
  }
}

extension Simulator {
  func get(_ path: String, token: String? = nil, headers: [Request.Header] = []) async throws -> Response {
    let authorization = token.map { [Request.Header("Authorization", "Bearer \($0)")] } ?? []
    return try await send(Request(.get, baseURL + path, headers: headers + authorization))
  }

  func page(_ page: Int, token: String? = nil, headers: [Request.Header] = []) async throws -> Response {
    try await get("/character?page=\(page)", token: token, headers: headers)
  }

  func post(_ body: String, headers: [Request.Header] = []) async throws -> Response {
    try await send(Request(.post, tokenURL, headers: headers, body: Array(body.utf8)))
  }

  private func send(_ request: Request) async throws -> Response {
    try await Interceptor.chain([.resend], to: Self.transport.send)(request)
  }

  /// Lives as long as the process; its connections end with their simulator.
  private static let transport = HTTPTransport(HTTPTransport.Settings(timeout: .seconds(20), connections: 64))
}

extension SimulatedCredentials {
  /// RFC 6749 §2.3.1.
  var basic: Request.Header {
    let secret = (clientSecret ?? "").replacing("%", with: "%25").replacing("+", with: "%2B")
    let id = (clientID ?? "").replacing(":", with: "%3A")
    return Request.Header("Authorization", "Basic \(Data("\(id):\(secret)".utf8).base64EncodedString())")
  }
}

extension Response {
  var text: String { String(decoding: body, as: UTF8.self) }

  func json<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try JSONDecoder().decode(type, from: Data(body))
  }
}

/// The shape of a page, as the public API documents it.
struct PageJSON: Decodable {
  struct Info: Decodable {
    var count: Int
    var pages: Int
    var next: String?
    var prev: String?
  }
  struct Place: Decodable, Equatable {
    var name: String
    var url: String
  }
  struct Record: Decodable, Equatable {
    var id: Int64
    var name, status, species, type, gender, image, url, created: String
    var origin, location: Place
    var episode: [String]
  }
  var info: Info
  var results: [Record]
}

extension PageJSON.Record {
  init(_ character: RosterSimulator.Character) {
    id = character.id
    name = character.name
    status = character.status
    species = character.species
    type = character.type
    gender = character.gender
    image = character.image
    url = character.url
    created = character.created
    origin = PageJSON.Place(name: character.origin.name, url: character.origin.url)
    location = PageJSON.Place(name: character.location.name, url: character.location.url)
    episode = character.episodes
  }
}
