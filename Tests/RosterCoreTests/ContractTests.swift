import FoundationEssentials
import Testing

/// docs/CONTRACT.md has one rule per line, such as P9.2. P9 is the promise of all rules that begin with P9. This suite
/// checks that code and tests cite only numbers that exist, and that each rule is named by a test.
@Suite("docs/CONTRACT.md")
struct ContractTests {
  /// Rules that no test names. A test that begins to name one takes it off this list.
  private static let unproven: Set = ["P12.4"]

  private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")

  @Test("Each promise that code and tests cite is explained", arguments: ["Sources", "Tests", "Benchmarks"])
  func cited(folder: String) throws {
    let explained = Set(try Self.explained()).union(try Self.explained().map(Self.promise(of:)))
    #expect(!explained.isEmpty)
    for (file, text) in try Self.texts(below: folder) {
      let unknown = Self.promises(in: text).union(Self.rules(in: text)).subtracting(explained)
      #expect(unknown.isEmpty, "\(folder)/\(file) cites \(unknown.sorted())")
    }
  }

  @Test("Each rule is explained once, with a number below its promise")
  func numbered() throws {
    let explained = try Self.explained()
    #expect(Set(explained).count == explained.count)
    let odd = explained.filter { Self.rules(in: $0) != [$0] }
    #expect(odd.isEmpty, "no number of a rule, or of a new letter: \(odd)")
  }

  @Test("Each rule is named by a test, except those that are listed here")
  func proven() throws {
    let explained = Set(try Self.explained())
    let others = try Self.texts(below: "Tests").filter { !$0.file.hasSuffix("ContractTests.swift") }
    let named = others.reduce(into: Set<String>()) { $0.formUnion(Self.rules(in: $1.text)) }
    let missing = explained.subtracting(named).subtracting(Self.unproven)
    #expect(missing.isEmpty, "no test names \(missing.sorted())")
    let settled = Self.unproven.subtracting(explained.subtracting(named))
    #expect(settled.isEmpty, "a test names \(settled.sorted()), or the rule does not exist")
  }

  @Test(
    "A promise is T, P or S and a number, as a word of its own",
    arguments: [("(T1)b", ["T1"]), ("P2: x, S3.", ["P2", "S3"]), ("S01E1 xP9 P123 PT1S", [])])
  func words(text: String, found: [String]) {
    #expect(Self.promises(in: text) == Set(found))
  }

  @Test(
    "A rule is the number of its promise, a dot and a number",
    arguments: [("(T1.1)b", ["T1.1"]), ("P2.1: x, S4.10.", ["P2.1", "S4.10"]), ("XP9.1 P1.123 P2 1.2", [])])
  func ruleNumbers(text: String, found: [String]) {
    #expect(Self.rules(in: text) == Set(found))
  }

  /// The rules that the contract explains, with repetitions: its list items that begin with a number in bold.
  private static func explained() throws -> [String] {
    let contract = try String(contentsOfFile: root.appending(path: "docs/CONTRACT.md").path, encoding: .utf8)
    return contract.split(separator: "\n").filter { $0.hasPrefix("- **") }.map { line in
      String(line.dropFirst(4).prefix { $0 != "*" })
    }
  }

  /// The promise that a rule belongs to: P16 of P16.1.
  private static func promise(of rule: String) -> String { String(rule.prefix { $0 != "." }) }

  /// Numbers of rules, such as P16.1. A new letter is added here.
  private static func rules(in text: String) -> Set<String> {
    Set(text.matches(of: /\b[CDEFGILPRST][0-9]{1,2}\.[0-9]{1,2}\b/).map { String($0.0) })
  }

  /// Programs, not data, which may hold such words by chance.
  private static func texts(below folder: String) throws -> [(file: String, text: String)] {
    let path = root.appending(path: folder).path
    return try FileManager.default.subpathsOfDirectory(atPath: path).compactMap { file in
      let name = file.split(separator: "/").last ?? ""
      guard !name.contains(".") || [".swift", ".py", ".c", ".h"].contains(where: name.hasSuffix),
        let text = try? String(contentsOfFile: "\(path)/\(file)", encoding: .utf8)
      else { return nil }
      return (file, text)
    }
  }

  private static func promises(in text: String) -> Set<String> {
    let words = text.utf8.split { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"): false
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), 0x80...: false
      default: true
      }
    }
    return Set(
      words.lazy.filter { (2...3).contains($0.count) }.map { String(Substring($0)) }.filter {
        "TPS".contains($0.prefix(1)) && $0.dropFirst().allSatisfy(\.isWholeNumber)
      })
  }
}
