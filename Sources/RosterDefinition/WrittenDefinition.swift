import RosterCore

/// A definition whose values are read and not yet compared with each other.
struct WrittenDefinition: Sendable {
  var resource: Resource
  /// Paths of the keys that the text gives, below the definition. The value "" means that the key is omitted.
  var given: Set<[String]> = []

  /// Number of windows until now; nil if the records are other ones.
  var windowCount: Int?

  /// True if the text gives the key, such as `since.pages`.
  func has(_ key: String) -> Bool { given.contains(key.split(separator: ".").map(String.init)) }

  /// The parent's name; nil without a parent, or if its name is missing.
  var parent: String? { resource.each.flatMap { $0.parent.isEmpty ? nil : $0.parent } }
}
