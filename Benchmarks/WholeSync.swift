import RosterCache
import RosterCore
import RosterFetch
import RosterSimulator

/// Two syncs of one list from the simulator, in nanoseconds per page, including the simulator's own work on loopback.
struct WholeSync {
  /// Every page is transferred.
  var first = 0.0
  /// Every page is answered 304.
  var again = 0.0

  static func timed(pages: Int) async throws -> WholeSync {
    let upstream = try await List.upstream(pages: pages)
    let transport = HTTPTransport(.init())
    do {
      let timed = try await Folder.with { folder in
        let cache = try await folder.cache([.character])
        let sync = BenchSync(
          resources: [.character], baseURL: upstream.baseURL, send: transport.send, transport: transport, cache: cache,
          folder: folder)
        var timed = WholeSync()
        timed.first = try await CPUTime.spent { try await sync.run(expecting: .published) } / Double(pages)
        timed.again = try await CPUTime.spent { try await sync.run(expecting: .unchanged) } / Double(pages)
        await cache.close()
        return timed
      }
      await transport.shutdown()
      await upstream.stop()
      return timed
    } catch {
      await transport.shutdown()
      await upstream.stop()
      throw error
    }
  }
}
