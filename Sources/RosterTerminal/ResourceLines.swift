internal import RosterCore

/// One line for each resource: its state in the cache, or the progress of its pull. Empty for a single resource, which
/// the other lines describe completely.
struct ResourceLines {
  private let table: Table
  /// The children of the snapshot, whose facts are a sentence each, below the table.
  private let children: [(name: String, facts: String, tone: Tone)]
  private let hidden: Int

  /// - Parameters:
  ///   - current: The running sync; nil if none runs.
  ///   - cached: The resources of the snapshot.
  ///   - most: Maximum number of resource lines, besides the heading and the line "… and N more"; nil for all.
  ///   - verifiedAt: Time of the oldest answer that the last good sync used, RFC 3339.
  ///   - ages: The reference for ages.
  init(
    _ current: DaemonStatus.Current?, cached: [DaemonStatus.CachedResource], most: Int?, verifiedAt: String? = nil,
    ages: Ages = Ages(now: nil)
  ) {
    if let current, current.phase != .discovering, current.resources.count > 1 {
      let shown = Self.underWay(current.resources, maxLines: most ?? .max)
      table = Self.table(shown)
      children = []
      hidden = current.resources.count - shown.count
    } else {
      let all = cached.count > 1 ? cached.filter { $0.parent == nil } + cached.filter { $0.parent != nil } : []
      let shown = all.prefix(most ?? .max)
      let plain = shown.filter { $0.parent == nil }
      let verified = ages.ago(verifiedAt)
      table = Self.table(
        plain, hasAbsent: plain.contains { $0.absent > 0 },
        hasDistrusted: plain.contains { $0.validators != DaemonStatus.CachedResource.trusted }, verified: verified,
        ages: ages)
      children = shown.filter { $0.parent != nil }.map { child in
        let isFailing = child.lists?.failed ?? 0 > 0 || child.validators != DaemonStatus.CachedResource.trusted
        let whole = ages.ago(child.wholeAt)
        return (child.name.printable, child.factsOfChild(verified: verified, whole: whole), isFailing ? .busy : .plain)
      }
      hidden = all.count - shown.count
    }
  }

  /// Lines of at most `width` cells, without line ends.
  func lines(width: Int, colour: Bool) -> [String] {
    let rows = table.rows.isEmpty ? [] : table.lines(width: width, colour: colour)
    return rows + linesOfChildren(width: width, colour: colour) + (hidden > 0 ? ["… and \(hidden) more"] : [])
  }

  /// One line for each child, broken where the terminal is too narrow.
  private func linesOfChildren(width: Int, colour: Bool) -> [String] {
    let names = min(
      max(table.rows.map { $0[0].text.cells }.max() ?? 0, children.map(\.name.cells).max() ?? 0, Self.heading.cells),
      width / 3)
    let indent = String(repeating: " ", count: names + Table.gap.count)
    return children.flatMap { child in
      child.facts.wrapped(width - indent.count).enumerated().map { index, line in
        (index == 0 ? child.name.cut(to: names).padded(right: names) + Table.gap : indent)
          + line.toned(child.tone, colour: colour)
      }
    }
  }

  /// The state in the snapshot. Resources that were pulled for the first time and not published have no facts yet.
  private static func table(
    _ resources: [DaemonStatus.CachedResource], hasAbsent: Bool, hasDistrusted: Bool, verified: String?, ages: Ages
  ) -> Table {
    Table(
      columns: [
        Table.Column(name: heading, shrinks: true), Table.Column(name: "RECORDS", isNumber: true),
        Table.Column(name: "PAGES", isNumber: true), Table.Column(name: "COMPLETE"),
      ] + (hasAbsent ? [Table.Column(name: "ABSENT", isNumber: true)] : [])
        + (hasDistrusted ? [Table.Column(name: "VALIDATORS")] : []),
      rows: resources.map { resource in
        let proof = Table.Cell(
          text: resource.proofText(verified: verified, whole: ages.ago(resource.wholeAt)),
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

  /// The progress of the pull. The bar of a child is that of its lists.
  private static func table(_ resources: [DaemonStatus.PulledResource]) -> Table {
    let hasLists = resources.contains { $0.listsTotal != nil }
    return Table(
      columns: [
        Table.Column(name: heading, shrinks: true), Table.Column(name: "PAGES", isNumber: true),
        Table.Column(name: "RECORDS", isNumber: true),
      ] + (hasLists ? [Table.Column(name: "LISTS", isNumber: true)] : []) + [Table.Column(name: "PROGRESS")],
      rows: resources.map { resource in
        let pages = "\(resource.pagesDone)" + (resource.pagesTotal.map { "/\($0)" } ?? "")
        let lists = resource.listsTotal.map { "\(resource.listsDone ?? 0)/\($0)" } ?? ""
        return [
          Table.Cell(text: resource.name.printable), Table.Cell(text: pages), Table.Cell(text: "\(resource.records)"),
        ] + (hasLists ? [Table.Cell(text: lists)] : [])
          + [Table.Cell(text: bar(of: resource).bar(barWidth), tone: .good)]
      })
  }

  private static func bar(of resource: DaemonStatus.PulledResource) -> ProgressBar {
    guard let lists = resource.listsTotal else {
      return ProgressBar(done: resource.pagesDone, total: resource.pagesTotal ?? 0)
    }
    return lists == 0 ? ProgressBar(done: 1, total: 1) : ProgressBar(done: resource.listsDone ?? 0, total: lists)
  }

  private static let heading = "RESOURCE"
  private static let barWidth = 20

  /// If there is no room for all resources: those being pulled come first, then those that have not begun. The shown
  /// ones keep their order.
  private static func underWay(_ all: [DaemonStatus.PulledResource], maxLines: Int) -> [DaemonStatus.PulledResource] {
    guard all.count > maxLines else { return all }
    func rank(_ resource: DaemonStatus.PulledResource) -> Int {
      if resource.pagesDone == resource.pagesTotal || resource.listsDone.map({ $0 == resource.listsTotal }) == true {
        return 2
      }
      return resource.pagesDone > 0 ? 0 : 1
    }
    let chosen = all.indices.sorted { (rank(all[$0]), $0) < (rank(all[$1]), $1) }.prefix(maxLines)
    return chosen.sorted().map { all[$0] }
  }
}

extension DaemonStatus.CachedResource {
  /// `, none missed`; empty if no whole pull has counted them yet.
  var missedText: String { missed.map { $0 == 0 ? ", none missed" : ", \($0) missed" } ?? "" }

  /// The meaning of `resources.proof` in plain words; nil before the first pull.
  var completeness: String? {
    switch proof {
    case "count": "complete by upstream's count"
    case "end": "complete to the end of the list"
    case "since": "complete by upstream's changes"
    case "weak": "not proved complete"
    default: proof.map { "proof: \($0)" }
    }
  }

  /// The same in few words, below the heading COMPLETE.
  package var proofWords: String? {
    switch proof {
    case "count": "by count"
    case "end": "to its end"
    case "since": "by changes"
    case "weak": "not proved"
    default: proof
    }
  }

  /// `18,234 records, since 4 min ago (whole 6 h ago, none missed); 132 of 4,512 issues requested`.
  fileprivate func factsOfChild(verified: String?, whole: String?) -> String {
    var facts = [(records == 1 ? "1 record" : "\(HumanFormat.grouped(records)) records")]
    if proof == "since" {
      facts.append(proofText(verified: verified, whole: whole))
    } else if let completeness {
      facts.append(completeness + (whole.map { " (whole \($0)\(missedText))" } ?? ""))
    }
    if absent > 0 { facts.append("\(HumanFormat.grouped(absent)) absent") }
    if validators != Self.trusted { facts.append("validators distrusted") }
    return facts.joined(separator: ", ") + (listsText.map { "; \($0)" } ?? "")
  }

  /// `132 of 4,512 issues requested, 1 failed`; nil without lists.
  package var listsText: String? {
    guard let lists, lists.total > 0 else { return nil }
    var asked = [
      "\(HumanFormat.grouped(lists.requested)) of \(HumanFormat.grouped(lists.total)) "
        + "\(lists.total.nouns(parent ?? "list")) requested"
    ]
    if lists.failed > 0 { asked.append("\(HumanFormat.grouped(lists.failed)) failed") }
    if lists.vanished > 0 { asked.append("\(HumanFormat.grouped(lists.vanished)) vanished") }
    return asked.joined(separator: ", ")
  }

  /// The proof, and with `since` how old it is: `since 4 min ago (whole 6 h ago, none missed)`.
  fileprivate func proofText(verified: String?, whole: String?) -> String {
    guard let proofWords else { return "" }
    guard let whole else { return proofWords }
    let proof = proof == "since" ? "since" : proofWords
    return "\(proof)\(verified.map { " \($0)" } ?? "") (whole \(whole)\(missedText))"
  }
}
