package import RosterCore

/// The reason why an answer is not an answer.
package struct AnswerRefusal: Sendable, Equatable {
  /// The reason as a clause.
  package var reason: String
  /// The member that is the reason, if `AnswerSign` has it; nil if the definition names it.
  package var sign: JSONPointer?

  init(_ reason: String, sign: JSONPointer? = nil) {
    self.reason = reason
    self.sign = sign
  }

  /// The line of a definition with which a member is no sign.
  package static func acceptance(of sign: JSONPointer) -> String {
    "expect = { \(sign.description.tomlString) = \"any\" }"
  }
}

/// A member of an answer that says what the answer lacks.
struct AnswerLack {
  var at: JSONPointer
  var cause: Cause
  var value: JSONSlice

  enum Cause {
    /// `partial` names the member.
    case declared
    /// The member is a sign without a line in the definition.
    case sign
    /// The member is a total above the number of records, which no key names.
    case total
    /// The list goes on, and the definition does not follow it.
    case unfollowed
  }
}
