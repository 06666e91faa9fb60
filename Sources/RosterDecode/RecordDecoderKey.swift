import RosterCore

/// A composite key: the text of a JSON list of its parts, as SQLite's `json_array` writes it.
extension RecordDecoder {
  /// The first part that is absent, null, empty or of another type.
  var partFault: RecordFault? {
    for column in plan.keyParts {
      let type = plan.record.columns[column].type
      let slice = slots[plan.record.columns[column].node]
      let isGood =
        switch slice.kind {
        case .absent, .null: plan.resource.columns[column].isNullable
        case .string, .escapedString: type.accepts(slice, in: bytes) && !slice.content.isEmpty
        case .true, .false, .integer, .fraction, .list, .object: type.accepts(slice, in: bytes)
        }
      if !isGood { return .keyPart(column: column) }
      if slice.kind == .string || slice.kind.isEscaped, !JSONEscapes.isEncodable(bytes, slice) {
        return .keyPartHalfPair(column: column)
      }
    }
    return nil
  }

  /// Writes the key of the record at hand, whose parts are good.
  mutating func writeCompositeKey() {
    var json = JSONWriter()
    json.list { json in
      for column in plan.keyParts {
        let slice = slots[plan.record.columns[column].node]
        switch slice.kind {
        case .integer: json.value(JSONNumber.integer(bytes, range: slice.range) ?? 0)
        case .absent, .null: json.value(JSONValue.null)
        default: json.value(utf8: text(slice))
        }
      }
    }
    compositeKey.removeAll()
    json.bytes.withUnsafeBufferPointer { compositeKey.append($0) }
  }

  var compositeKeyBytes: UnsafeBufferPointer<UInt8> { compositeKey[0..<compositeKey.count] }
}
