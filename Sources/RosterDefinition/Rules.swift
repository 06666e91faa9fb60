/// Collects the findings of rules. A rule is an `if` around what it finds.
@resultBuilder
package enum Rules<Finding> {
  package static func buildExpression(_ finding: Finding) -> [Finding] { [finding] }
  package static func buildExpression(_ findings: [Finding]) -> [Finding] { findings }
  package static func buildBlock() -> [Finding] { [] }
  package static func buildPartialBlock(first: [Finding]) -> [Finding] { first }
  package static func buildPartialBlock(accumulated: [Finding], next: [Finding]) -> [Finding] { accumulated + next }
  package static func buildOptional(_ findings: [Finding]?) -> [Finding] { findings ?? [] }
  package static func buildEither(first: [Finding]) -> [Finding] { first }
  package static func buildEither(second: [Finding]) -> [Finding] { second }
  package static func buildArray(_ findings: [[Finding]]) -> [Finding] { findings.flatMap(\.self) }
}
