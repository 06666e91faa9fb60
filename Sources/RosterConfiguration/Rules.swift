/// Collects the findings of rules. A rule is an `if` around what it finds.
@resultBuilder
enum Rules<Finding> {
  static func buildExpression(_ finding: Finding) -> [Finding] { [finding] }
  static func buildExpression(_ findings: [Finding]) -> [Finding] { findings }
  static func buildBlock() -> [Finding] { [] }
  static func buildPartialBlock(first: [Finding]) -> [Finding] { first }
  static func buildPartialBlock(accumulated: [Finding], next: [Finding]) -> [Finding] { accumulated + next }
  static func buildOptional(_ findings: [Finding]?) -> [Finding] { findings ?? [] }
  static func buildEither(first: [Finding]) -> [Finding] { first }
  static func buildEither(second: [Finding]) -> [Finding] { second }
  static func buildArray(_ findings: [[Finding]]) -> [Finding] { findings.flatMap(\.self) }
}
