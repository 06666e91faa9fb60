/// Form of a time in a record or in a request.
package enum TimeForm: String, Sendable, CaseIterable {
  case rfc3339, unix
  case unixMS = "unix_ms"
  /// A number that only grows, such as a version.
  case number
  /// `20261128`, also with a time.
  case compact
  /// RFC 9110 §5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`.
  case http
  /// `/Date(1763977200000)/`
  case dotnet

  /// True for a form that is a text, so that a value has one of these forms at most.
  package var isText: Bool {
    switch self {
    case .rfc3339, .compact, .http, .dotnet: true
    case .unix, .unixMS, .number: false
    }
  }

  /// The name of a further form, a day such as `2026-11-28`, which only a request has.
  package static let day = "date"

  /// The forms that `{since:FORM}` and `{today:FORM}` write, beside `date`.
  package static let written: [TimeForm] = allCases.filter { $0 != .number }

  /// These forms and `date` in words.
  package static let writtenText = written.map(\.rawValue).joined(separator: ", ") + " or \(day)"
}
