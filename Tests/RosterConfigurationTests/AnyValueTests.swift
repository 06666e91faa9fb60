import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite("Configuration: random values of keys")
struct AnyValueTests {
  let workspace = Workspace()

  /// Values in TOML's notation: limits of every type and of the accepted values.
  private static let values = [
    "0", "-1", "1", "9223372036854775807", "-9223372036854775808", "0xFFFF", "1e400", "-0.0", "nan", "-inf", "1.5",
    "true",
    "2026-01-01", "07:32:00", "2026-01-01T00:00:00Z", "''", "'x'", "'\\'", "'é'", "\"\\u0001\"", "'1s'", "'1e9d'",
    "'99999999999999999999d'", "'.5s'", "'5.s'", "'https://x'", "'//'", "'://'", "'0777'", "'sha256/'", "[]", "[[]]",
    "[1, 'x']", "[9223372036854775807]", "[nan]", "['sha256/=']", "{}", "{ '' = '' }", "{ a.b.c = 1 }",
    "{ Accept = 'y' }",
    "[{ a = 1 }]",
  ]

  @Test(
    "53: a value of any type is accepted or refused with one sentence, without a crash",
    arguments: ConfigurationKey.all.map(\.name))
  func anyValue(name: String) throws {
    let key = try #require(ConfigurationKey.all.first { $0.name == name })
    var refused = 0
    let values = Self.values + [key.defaultValue]
    for value in values {
      let inFile = try workspace.faults("\(name) = \(value)")
      #expect(inFile.count <= 1)
      #expect(inFile.allSatisfy { $0.hasPrefix("rosterd.toml:1: \(name)") && $0.contains("; allowed: ") }, "\(inFile)")
      refused += inFile.count
      let inVariable = try workspace.faults("", environment: [key.variable: value])
      #expect(inVariable.allSatisfy { $0.hasPrefix("\(key.variable): ") }, "\(inVariable)")
    }
    #expect(refused > 0 && refused < values.count)
  }

  @Test("An accepted value is accepted again from check's output", arguments: ConfigurationKey.all.map(\.name))
  func roundTrip(name: String) throws {
    for value in Self.values {
      guard let taken = try? workspace.load("\(name) = \(value)") else { continue }
      #expect(try workspace.load(taken.rendered()) == taken, "\(name) = \(value)")
    }
  }
}
