import RosterCore
import RosterDecode
import RosterFetch
import RosterSimulator

/// Bodies of a list of characters as the simulator sends them, and the plan to read them.
struct List {
  /// Enough pages, of 20 records each, to time a part to one percent.
  static let usual = 1000
  private static let recordsPerPage = 20

  let bodies: [[UInt8]]
  let plan: RecordPlan

  static func fetched(pages: Int) async throws -> List {
    let upstream = try await upstream(pages: pages)
    let transport = HTTPTransport(.init())
    var bodies: [[UInt8]] = []
    do {
      for page in 1...pages {
        bodies.append(try await transport.send(Request(.get, "\(upstream.baseURL)/character?page=\(page)")).body)
      }
    } catch {
      await transport.shutdown()
      await upstream.stop()
      throw error
    }
    await transport.shutdown()
    await upstream.stop()
    return List(bodies: bodies, plan: try RecordPlan(.character))
  }

  static func upstream(pages: Int) async throws -> Simulator {
    try await Simulator.start(Scenario(characters: Characters.made(pages * recordsPerPage)))
  }

  func scan(_ body: [UInt8]) throws -> PageScan {
    var decoder = RecordDecoder(plan)
    return try decoder.scan(page: body)
  }
}
