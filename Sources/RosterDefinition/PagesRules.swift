import RosterCore

/// `[resource.NAME.pages]` or `[resource.NAME.since.pages]`.
struct WrittenPages {
  let pages: Resource.Pages
  /// The names of the keys that the text gives.
  let given: Set<String>

  var style: Resource.Style { pages.style }
  var kind: PageStyle { pages.style.kind }
  var isStar: Bool { style.param == .everyMember }

  /// The permitted values of a parameter of a request.
  static let parameter = "the name of a query parameter, or a place in body"

  /// The default of a style that is refused says nothing about the other keys.
  static var rules: [KeyRule<WrittenPages>] { rulesOfStyles.map { $0.beside("style") } }

  private static var rulesOfStyles: [KeyRule<WrittenPages>] {
    [
      .each(["style"], of: "F7.2") { $0.foreignKeys },
      .key("param", of: "F7.2", allowed: parameter) { $0.style.param == nil ? $0.problem(without: "param") : nil },
      .key("at", of: "F7.2", allowed: "a JSON Pointer such as \"/next\", or \"header:NAME\"") {
        $0.style.at == nil ? $0.problem(without: "at") : nil
      },
      .key("at", of: "F2.4", "is no place in the last record", allowed: "a JSON Pointer into a record") {
        $0.kind.step == .sends(.ofLastRecord) && $0.style.at != nil && $0.style.placeInBody == nil
      },
      .needs("short", "size", of: "F7.2") { $0.pages.short && $0.pages.sizeRecords == nil },
      .needs("omits_false", "more", "done", of: "G5.3") { $0.pages.omitsFalse && $0.pages.ending == nil },
      .key("size_param", of: "F2.1", "\"*\" is for param", allowed: parameter) { $0.pages.sizeParam == .everyMember },
      .key("size_param", beside: ["param"], of: "F3.1", allowed: "a parameter of its own") {
        $0.pages.sizeParam?.problem(beside: $0.style.param, called: "param")
      },
      .key("value", of: "F2.1", allowed: "a text with the placeholder once") { $0.problemOfValue },
      .excludes("done", "more", of: "F2.1") { $0.pages.done != nil && $0.pages.more != nil },
      .key("param", of: "F2.1", "\"*\" is for the style \"cursor\"", allowed: parameter) {
        $0.isStar && $0.kind.step != .sends(.ofAnswer)
      },
      .excludes("start", "param = \"*\"", of: "F2.1") { $0.isStar && $0.style.start != nil },
      .excludes("value", "param = \"*\"", of: "F2.1") { $0.isStar && $0.pages.valueText != nil },
      .key(
        "at", beside: ["param"], of: "F2.1", "is no object, which param = \"*\" needs",
        allowed: "a JSON Pointer to an object"
      ) { $0.isStar && $0.style.at != nil && $0.style.placeInBody == nil },
    ]
  }

  private func problem(without key: String) -> String? {
    kind.neededKeys.contains(key) ? "the style \(kind.name.tomlString) needs it" : nil
  }

  private var foreignKeys: [KeyRule<Self>.Violation] {
    let own = Resource.Pages.keys.map(\.name).filter(kind.uses)
    return Resource.Pages.keys.map(\.name).filter { given.contains($0) && !kind.uses($0) }.map {
      .init(
        of: $0, problem: "the style \(kind.name.tomlString) does not use it", allowed: own.joined(separator: ", "))
    }
  }

  private var problemOfValue: String? {
    guard let text = pages.valueText, let placeholder = kind.placeholder,
      Resource.ValueTemplate(text, placeholder: placeholder) == nil
    else { return nil }
    return "does not contain \(placeholder) once"
  }
}

extension WrittenDefinition {
  /// A table of pages; nil for `since.pages` that the text does not give.
  func pages(at table: [String]) -> WrittenPages? {
    let own = table == ["pages"] ? resource.pages : given.contains(table) ? resource.since?.listing.pages : nil
    let names = given.filter { $0.count == table.count + 1 && $0.starts(with: table) }.compactMap(\.last)
    return own.map { WrittenPages(pages: $0, given: Set(names)) }
  }
}

extension Resource.RequestPlace {
  /// A clause if a request cannot set both places: they are one, or one is in the other.
  /// - Parameter name: what the other place is called.
  func problem(beside other: Self?, called name: String) -> String? {
    guard let other, self != .everyMember else { return nil }
    if self == other { return "\(description.tomlString) is \(name) too" }
    guard case (.body(let one), .body(let two)) = (self, other), one.isBelow(two) || two.isBelow(one) else {
      return nil
    }
    return "\(description.tomlString) and \(other.description.tomlString), which is \(name), are one in the other"
  }
}

extension JSONPointer {
  /// True if the path goes through the value at the other one.
  fileprivate func isBelow(_ other: JSONPointer) -> Bool {
    let count = other.segments.count
    return segments.count > count && JSONPointer(segments: Array(segments.prefix(count))) == other
  }
}
