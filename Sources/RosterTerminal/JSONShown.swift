internal import RosterJSON
internal import RosterModel

/// JSON as people are shown it.
extension JSONValue {
  /// null where the text is no JSON: there is nothing to show.
  init(shown json: String) { self = (try? JSONValue(json: json.utf8)) ?? .null }

  /// Empty for what is no object.
  var members: [Member] { if case .object(let members) = self { members } else { [] } }

  /// Empty for what is no list.
  var elements: [JSONValue] { if case .list(let elements) = self { elements } else { [] } }

  /// A text as it is; anything else as JSON.
  var plain: String { text ?? json }

  /// Its numbers as upstream wrote them (P10).
  var json: String {
    var json = JSONWriter()
    json.value(self)
    return json.text
  }
}
