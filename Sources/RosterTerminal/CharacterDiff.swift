internal import RosterModel

/// What differs between two states of a character, as `changes` keeps them.
struct CharacterDiff: Equatable {
  struct Field: Equatable {
    /// `status`, `extra.origin.dimension`.
    var name: String
    /// As people read it; nil: it was not there.
    var before: String?
    var after: String?
  }

  var fields: [Field] = []
  var addedEpisodes: [String] = []
  var removedEpisodes: [String] = []
  /// The same episodes, in another order.
  var isReordered = false

  /// Of two JSON objects with the columns, `extra` and `episodes`.
  init(before: JSONValue, after: JSONValue) {
    let (old, new) = (Self.fields(of: before), Self.fields(of: after))
    let names = old.map(\.name) + new.map(\.name).filter { name in !old.contains { $0.name == name } }
    for name in names {
      let (before, after) = (old.first { $0.name == name }?.text, new.first { $0.name == name }?.text)
      if before != after { fields.append(Field(name: name, before: before, after: after)) }
    }
    let (earlier, later) = (Self.episodes(of: before), Self.episodes(of: after))
    addedEpisodes = Self.without(later, earlier)
    removedEpisodes = Self.without(earlier, later)
    isReordered = addedEpisodes.isEmpty && removedEpisodes.isEmpty && earlier != later
  }

  static func episodes(of character: JSONValue) -> [String] {
    character["episodes"]?.elements.map(\.plain) ?? []
  }

  /// The fields that have no column, those of an object by themselves, each as JSON.
  static func extra(_ object: JSONValue, below path: String) -> [(name: String, text: String)] {
    object.members.flatMap { member in
      let path = "\(path).\(member.name)"
      let inner = extra(member.value, below: path)
      return inner.isEmpty ? [(path, member.value.json)] : inner
    }
  }

  private static func fields(of character: JSONValue) -> [(name: String, text: String)] {
    character.members.flatMap { member -> [(name: String, text: String)] in
      switch member.name {
      case "episodes": []
      case "extra": extra(member.value, below: "extra")
      default: [(member.name, shown(member.value.plain))]
      }
    }
  }

  /// A text whose end cannot be seen stands in quotes.
  private static func shown(_ text: String) -> String {
    text.isEmpty || text.hasPrefix(" ") || text.hasSuffix(" ") ? "“\(text)”" : text
  }

  /// The elements of a list that another one lacks, as often as it lacks them.
  private static func without(_ list: [String], _ other: [String]) -> [String] {
    var left = Dictionary(other.map { ($0, 1) }, uniquingKeysWith: +)
    return list.filter { element in
      guard let count = left[element], count > 0 else { return true }
      left[element] = count - 1
      return false
    }
  }
}
