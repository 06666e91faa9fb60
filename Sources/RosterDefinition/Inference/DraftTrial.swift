package import RosterCore

/// The reason why a sync would not take an answer as a draft describes it.
package struct DraftFault: Sendable, Equatable {
  /// Number of records that cannot be stored; nil if the sync refuses the whole answer.
  package var rejects: Int?
  /// The reason, as a clause.
  package var reason: String

  /// - Parameter rejects: nil if the sync refuses the whole answer.
  package init(rejects: Int? = nil, reason: String) {
    self.rejects = rejects
    self.reason = reason
  }
}

extension InferredDefinition {
  /// The definition without the parts that a sync of the same answer would refuse. They become comments.
  /// - Parameter trial: Runs a definition against the answer. nil if a sync takes all of it.
  package func withoutRefusedParts(_ trial: (Resource) -> DraftFault?) -> InferredDefinition {
    var definition = self
    while let fault = trial(definition.resource) {
      let part = DraftPart.all(of: definition.resource).first { part in
        guard let left = trial(part.removed(from: definition.resource)) else { return true }
        return left.rejects ?? .max < fault.rejects ?? .max
      }
      guard let part else {
        // Other notes name records that cannot be stored, and their keys.
        if fault.rejects == nil {
          definition.notes.append(.remark(.records, text: "a sync refuses this answer: \(fault.reason)"))
        }
        return definition
      }
      if let place = part.place { definition.notes.removeAll { $0.place == place } }
      definition.notes.append(part.note(in: definition.resource, because: fault.reason))
      definition.resource = part.removed(from: definition.resource)
    }
    return definition
  }
}

/// A part that a definition does not need.
private enum DraftPart {
  case count, last, more
  case column(Int)
  case list(Int)

  static func all(of resource: Resource) -> [DraftPart] {
    let keys = resource.isDetail ? [] : resource.keyColumns ?? []
    let columns = resource.columns.indices.filter { !keys.contains($0) }
    return [.count, .last, .more] + resource.lists.indices.map(DraftPart.list)
      + (resource.columns.count > 1 ? columns.map(DraftPart.column) : [])
  }

  func removed(from resource: Resource) -> Resource {
    var resource = resource
    switch self {
    case .count: resource.pages.count = nil
    case .last: resource.pages.style.last = nil
    case .more: resource.pages.more = nil
    case .column(let index): resource.columns.remove(at: index)
    case .list(let index): resource.lists.remove(at: index)
    }
    return resource
  }

  /// The place of the notes about a part of `pages`; nil for other parts, whose notes are not printed without them.
  var place: Note.Place? {
    switch self {
    case .count: .count
    case .last: .last
    case .more: .more
    case .column, .list: nil
    }
  }

  func note(in resource: Resource, because reason: String) -> Note {
    Note(
      place: place == nil ? .columns : .count, isUnseen: false, lines: lines(in: resource),
      text: "left out, because a sync refuses it in this answer: \(reason)")
  }

  private func lines(in resource: Resource) -> [String] {
    switch self {
    case .count: resource.pages.count.map { ["count = \($0.description.tomlString)"] } ?? []
    case .last: resource.pages.style.last.map { ["last = \($0.description.tomlString)"] } ?? []
    case .more: resource.pages.more.map { ["more = \($0.description.tomlString)"] } ?? []
    case .column(let index): ["\(resource.columns[index].name) = \(resource.columns[index].toml)"]
    case .list(let index): ["[resource.\(resource.name).lists.\(resource.lists[index].table)]"]
    }
  }
}
