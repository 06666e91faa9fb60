internal import FoundationEssentials
internal import RosterModel

/// One line for each resource: its state in the cache, or the progress of its pull. Empty for a single resource, which
/// the other lines describe completely.
struct ResourceLines {
  private let table: Table
  private let hidden: Int

  /// - Parameters:
  ///   - current: The running sync; nil if none runs.
  ///   - cached: The resources of the snapshot.
  ///   - most: Maximum number of resource lines, besides the heading and the line "… and N more"; nil for all.
  ///   - verifiedAt: End of the last good sync, RFC 3339.
  ///   - now: The reference for ages.
  init(
    _ current: DaemonStatus.Current?, cached: [DaemonStatus.CachedResource], most: Int?, verifiedAt: String? = nil,
    now: Date? = nil
  ) {
    if let current, current.phase != .discovering, current.resources.count > 1 {
      let shown = Self.underWay(current.resources, maxLines: most ?? .max)
      table = Self.table(shown)
      hidden = current.resources.count - shown.count
    } else {
      let all = cached.count > 1 ? cached : []
      table = Self.table(
        Array(all.prefix(most ?? .max)), hasAbsent: all.contains { $0.absent > 0 },
        hasDistrusted: all.contains { $0.validators != DaemonStatus.CachedResource.trusted },
        verified: verifiedAt.flatMap { Self.age($0, now: now) }, now: now)
      hidden = all.count - table.rows.count
    }
  }

  /// Lines of at most `width` cells, without line ends.
  func lines(width: Int, colour: Bool) -> [String] {
    if table.rows.isEmpty { return [] }
    return table.lines(width: width, colour: colour) + (hidden > 0 ? ["… and \(hidden) more"] : [])
  }

  /// The state in the snapshot. Resources that were pulled for the first time and not published have no facts yet.
  private static func table(
    _ resources: [DaemonStatus.CachedResource], hasAbsent: Bool, hasDistrusted: Bool, verified: String?, now: Date?
  ) -> Table {
    Table(
      columns: [
        Table.Column(name: "RESOURCE", shrinks: true), Table.Column(name: "RECORDS", isNumber: true),
        Table.Column(name: "PAGES", isNumber: true), Table.Column(name: "PROOF"),
      ] + (hasAbsent ? [Table.Column(name: "ABSENT", isNumber: true)] : [])
        + (hasDistrusted ? [Table.Column(name: "VALIDATORS")] : []),
      rows: resources.map { resource in
        let proof = Table.Cell(
          text: resource.proofText(verified: verified, whole: resource.wholeAt.flatMap { age($0, now: now) }),
          tone: resource.proof == "weak" ? .busy : .plain)
        let absent = hasAbsent ? [Table.Cell(text: resource.absent > 0 ? "\(resource.absent)" : "")] : []
        let isTrusted = resource.validators == DaemonStatus.CachedResource.trusted
        let validators = hasDistrusted ? [Table.Cell(text: isTrusted ? "" : "distrusted", tone: .busy)] : []
        return [
          Table.Cell(text: resource.name.printable), Table.Cell(text: "\(resource.records)"),
          Table.Cell(text: "\(resource.pages)"), proof,
        ] + absent + validators
      })
  }

  /// The progress of the pull.
  private static func table(_ resources: [DaemonStatus.PulledResource]) -> Table {
    Table(
      columns: [
        Table.Column(name: "RESOURCE", shrinks: true), Table.Column(name: "PAGES", isNumber: true),
        Table.Column(name: "RECORDS", isNumber: true), Table.Column(name: "PROGRESS"),
      ],
      rows: resources.map { resource in
        let pages = "\(resource.pagesDone)" + (resource.pagesTotal.map { "/\($0)" } ?? "")
        let bar = ProgressBar(done: resource.pagesDone, total: resource.pagesTotal ?? 0).bar(barWidth)
        return [
          Table.Cell(text: resource.name.printable), Table.Cell(text: pages), Table.Cell(text: "\(resource.records)"),
          Table.Cell(text: bar, tone: .good),
        ]
      })
  }

  /// `4 min ago`; nil without a reference.
  private static func age(_ time: String, now: Date?) -> String? {
    guard let date = Date(rfc3339: time), let now else { return nil }
    return HumanFormat.span(max(0, now.timeIntervalSince(date))) + " ago"
  }

  private static let barWidth = 20

  /// If there is no room for all resources: those being pulled come first, then those that have not begun. The shown
  /// ones keep their order.
  private static func underWay(_ all: [DaemonStatus.PulledResource], maxLines: Int) -> [DaemonStatus.PulledResource] {
    guard all.count > maxLines else { return all }
    func rank(_ resource: DaemonStatus.PulledResource) -> Int {
      if resource.pagesDone == resource.pagesTotal { return 2 }
      return resource.pagesDone > 0 ? 0 : 1
    }
    let chosen = all.indices.sorted { (rank(all[$0]), $0) < (rank(all[$1]), $1) }.prefix(maxLines)
    return chosen.sorted().map { all[$0] }
  }
}

extension DaemonStatus.CachedResource {
  /// `, none missed`; empty if no whole pull has counted them yet.
  var missedText: String { missed.map { $0 == 0 ? ", none missed" : ", \($0) missed" } ?? "" }

  /// The proof, and with `since` how old it is: `since 4 min ago (whole 6 h ago, none missed)` (S9.2).
  fileprivate func proofText(verified: String?, whole: String?) -> String {
    guard let proof else { return "" }
    guard let whole else { return proof }
    return "\(proof)\(verified.map { " \($0)" } ?? "") (whole \(whole)\(missedText))"
  }
}
