import RosterModel
import RosterTerminal

extension Demo {
  var summary: some Encodable { Summary(self) }

  func story(_ terminal: Terminal) -> String {
    [
      "\nThe token's story\n", Timeline(events, parents: ["appearance": "episode"]).text(colour: terminal.colour),
      "\nrefreshes: \(refreshes)\n",
      "\nThe daemon's status, as `rosterctl status` shows it\n",
      StatusText(status, width: terminal.columns, colour: terminal.colour).text,
      "\nThe cache stays for a look: \(cachePath)\n\n", queries,
    ].joined()
  }

  private var queries: String {
    [
      "SELECT name, records, pages, proof FROM resources",
      "SELECT name, species, location_name FROM characters ORDER BY id LIMIT 5",
      """
      SELECT e.episode, e.name AS title, a.name, a.lines FROM episodes e JOIN appearances a ON a.episode_id = e.id \
      ORDER BY a.lines DESC, e.id LIMIT 5
      """,
      "SELECT outcome, pages, records, requests, refreshes FROM syncs",
    ].map { "  sqlite3 -readonly -box \(cachePath) \"\($0)\"\n" }.joined()
  }

  private struct Summary: Encodable {
    var cache: String
    var refreshes: Int
    var sync: SyncRecord?
    var status: DaemonStatus

    init(_ demo: Demo) {
      cache = demo.cachePath
      refreshes = demo.refreshes
      sync = demo.status.sync.last
      status = demo.status
    }
  }
}
