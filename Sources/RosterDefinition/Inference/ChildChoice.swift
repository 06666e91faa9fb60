import FoundationEssentials
import RosterCore

/// Proposals for children: fields of the records that lead to a list or to a detail of each record.
struct ChildChoice {
  let resource: Resource
  let records: [JSONValue]
  /// nil for an answer from standard input.
  let address: ListAddress?

  /// An issue of GitHub has three such addresses.
  private static let maxNotes = 2

  /// One note for each proposal.
  var notes: [Note] {
    let lists = resource.columns.compactMap(list)
    let counted = lists.filter { $0.counter != nil } + lists.filter { $0.counter == nil }
    let notes = counted.prefix(Self.maxNotes).map(note)
    return notes.isEmpty ? detail.map { [$0] } ?? [] : notes
  }

  // MARK: Lists

  private struct ChildList {
    var column: String
    var noun: String
    /// A column with the number of the list's records.
    var counter: String?
  }

  /// A column whose addresses are below those of their records, or which has a counter beside it.
  private func list(_ column: Resource.Column) -> ChildList? {
    guard column.type.isText, let stem = column.ownField?.stemOfAddress, let sample = addresses(column) else {
      return nil
    }
    let counter = resource.columns.first { $0.counts(stem) }
    guard counter != nil || isBelowRecords(sample) else { return nil }
    return ChildList(column: column.name, noun: Noun.singular(stem.identifier), counter: counter?.name)
  }

  /// The column's values with their records; nil if one of them is no address that a sync may follow.
  private func addresses(_ column: Resource.Column) -> [(url: String, record: JSONValue)]? {
    let found = records.compactMap { record in record[column.at]?.text.map { (url: $0, record: record) } }
    guard !found.isEmpty, found.allSatisfy({ $0.url.hasPrefix("http") && isFollowed($0.url) }) else { return nil }
    return found
  }

  /// False for another origin, and for a template such as `…/labels{/name}`.
  private func isFollowed(_ url: String) -> Bool {
    !url.contains("{") && address?.isElsewhere(url) != true
  }

  private func isBelowRecords(_ sample: [(url: String, record: JSONValue)]) -> Bool {
    guard let own = ownAddress else { return false }
    return sample.allSatisfy { url, record in
      record[own.at]?.text.map { !$0.isEmpty && url.hasPrefix($0.hasSuffix("/") ? $0 : "\($0)/") } ?? false
    }
  }

  private var ownAddress: Resource.Column? {
    resource.columns.first { $0.type.isText && Vocabulary.addresses.contains($0.ownField?.word ?? "") }
  }

  private func note(_ list: ChildList) -> Note {
    let placeholder = ParentColumn(resource.name, list.column).placeholder
    let counted = list.counter.map { ", changed = [\($0.tomlString)], empty = { \($0.tomlKey) = 0 }" } ?? ""
    return Note(
      place: .children, isUnseen: true,
      lines: [
        "[resource.\(list.noun == resource.name ? "child_\(list.noun)" : list.noun)]",
        "path = \(placeholder.tomlString)",
        "each = { of = \(resource.name.tomlString)\(counted) }", command(list.column),
      ],
      text: "whether \(list.column) leads to a list for each record; \(Self.advice)")
  }

  private static let advice = "the command drafts its definition, with one of these addresses as URL"

  private func command(_ column: String) -> String { "rosterd infer URL --of \(resource.name).\(column)=URL" }

  // MARK: Details

  /// Records of a name and an address alone lead to their details.
  private var detail: Note? {
    guard resource.columns.count <= 3, resource.lists.isEmpty, resource.each == nil, let own = ownAddress,
      addresses(own) != nil
    else { return nil }
    let placeholder = ParentColumn(resource.name, own.name).placeholder
    return Note(
      place: .children, isUnseen: true,
      lines: [
        "[resource.\(resource.name)_detail]", "path = \(placeholder.tomlString)",
        "each = { of = \(resource.name.tomlString), whole_every = \"7d\" }", "pages = { style = \"record\" }",
        command(own.name),
      ],
      text: "whether \(own.name) leads to more about each record; \(Self.advice)")
  }
}

extension String {
  /// `comments` of `comments_url`; nil for a name that does not say that it is an address.
  fileprivate var stemOfAddress: String? {
    let parts = identifier.split(separator: "_")
    guard parts.count > 1, let last = parts.last, ["url", "uri", "href", "link"].contains(last) else { return nil }
    return parts.dropLast().joined(separator: "_")
  }
}

extension Resource.Column {
  /// True for whole numbers named `comments`, `comment_count` or `num_comments`, if the stem is `comments`.
  fileprivate func counts(_ stem: String) -> Bool {
    guard type.isNumber, let word = ownField?.word else { return false }
    let nouns = [stem.word, Noun.singular(stem).word]
    return nouns.contains { noun in
      [noun, "\(noun)count", "num\(noun)", "\(noun)total", "total\(noun)", "numberof\(noun)"].contains(word)
    }
  }
}
