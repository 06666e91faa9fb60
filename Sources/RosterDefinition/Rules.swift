/// Collects the findings of rules. A rule is an `if` around what it finds.
@resultBuilder
package enum Rules<Finding> {
  /// One finding.
  package static func buildExpression(_ finding: Finding) -> [Finding] { [finding] }
  /// The findings of other rules.
  package static func buildExpression(_ findings: [Finding]) -> [Finding] { findings }
  /// No rule.
  package static func buildBlock() -> [Finding] { [] }
  /// The first rule.
  package static func buildPartialBlock(first: [Finding]) -> [Finding] { first }
  /// The rules so far, and one more.
  package static func buildPartialBlock(accumulated: [Finding], next: [Finding]) -> [Finding] { accumulated + next }
  /// An `if` without `else`.
  package static func buildOptional(_ findings: [Finding]?) -> [Finding] { findings ?? [] }
  /// The first branch of an `if`.
  package static func buildEither(first: [Finding]) -> [Finding] { first }
  /// The other branch of an `if`.
  package static func buildEither(second: [Finding]) -> [Finding] { second }
  /// A loop.
  package static func buildArray(_ findings: [[Finding]]) -> [Finding] { findings.flatMap(\.self) }
}
