extension String {
  /// The text in TOML's quotes (toml.io/en/v1.0.0#string). Characters that control a terminal are escaped too.
  package var tomlString: String {
    var result = "\""
    for scalar in unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.steersTerminal:
        let hex = String(scalar.value, radix: 16, uppercase: true)
        let digits = hex.count > 4 ? 8 : 4
        result += (digits == 8 ? "\\U" : "\\u") + String(repeating: "0", count: digits - hex.count) + hex
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  /// The text as a key, without quotes if that is allowed (toml.io/en/v1.0.0#keys).
  package var tomlKey: String {
    let isBare = !isEmpty && allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }
    return isBare ? self : tomlString
  }
}

extension Resource.Scalar {
  /// The value in TOML's notation.
  package var toml: String {
    switch self {
    case .text(let text): text.tomlString
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .boolean(let flag): "\(flag)"
    }
  }
}
