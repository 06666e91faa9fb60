import FoundationEssentials
import Testing

/// docs/PROMISES.md has one numbered promise per item. A test that proves a promise has the number at the start of its
/// name: `@Test("12: …")`. In Python the name is the docstring.
@Suite("docs/PROMISES.md")
struct PromiseTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")

  @Test("The promises are numbered from 1, and at most 60")
  func numbered() throws {
    let promises = try Self.promises()
    #expect(promises == Array(1...max(1, promises.count)))
    #expect(promises.count <= 60)
  }

  @Test("Each promise is cited by a test, and no test cites a number that does not exist")
  func cited() throws {
    let promises = Set(try Self.promises())
    var cited = Set<Int>()
    for (file, text) in try Self.tests() {
      let numbers = Self.numbers(in: text)
      let unknown = numbers.subtracting(promises)
      #expect(unknown.isEmpty, "Tests/\(file) cites \(unknown.sorted())")
      cited.formUnion(numbers)
    }
    #expect(promises.subtracting(cited).isEmpty, "no test cites \(promises.subtracting(cited).sorted())")
  }

  @Test(
    "The numbers of a test are at the start of its name",
    arguments: [
      (#"@Test("3: a")"#, [3]), ("@Test(\n    \"3, 14: a\", arguments: [1])", [3, 14]), (#"@Suite("7: a")"#, [7]),
      ("\"\"\"8: a\"\"\"", [8]), (#"check("Page, 9: a", b)"#, [9]), (#"check(f"45: {a}", b)"#, [45]),
      (#"("16: a", b)"#, [16]), (#"@Test("a 3: b")"#, []), (#"let text = "4: resource""#, []),
    ])
  func names(text: String, found: [Int]) { #expect(Self.numbers(in: text) == Set(found)) }

  private static func promises() throws -> [Int] {
    let text = try String(contentsOfFile: root.appending(path: "docs/PROMISES.md").path, encoding: .utf8)
    return text.matches(of: #/\n- \*\*(\d+)\*\* /#).compactMap { Int($0.1) }
  }

  /// The numbers at the start of the names of tests: behind `@Test(` and `@Suite(` in Swift, in docstrings and in
  /// arguments of `check` in Python.
  private static func numbers(in text: String) -> Set<Int> {
    let swift = text.matches(of: #/@(?:Test|Suite)\(\s*"(\d{1,2}(?:, \d{1,2})*): /#).map(\.1)
    let python = text.matches(of: #/(?:"{3}|check\(f?")(?:Page, )?(\d{1,2}(?:, \d{1,2})*): /#).map(\.1)
    let table = text.matches(of: #/\("(\d{1,2}(?:, \d{1,2})*): [^"]*", [a-z]+\)/#).map(\.1)
    return Set((swift + python + table).flatMap { $0.split(separator: ", ") }.compactMap { Int($0) })
  }

  private static func tests() throws -> [(file: String, text: String)] {
    let path = root.appending(path: "Tests").path
    return try FileManager.default.subpathsOfDirectory(atPath: path).compactMap { file in
      let name = file.split(separator: "/").last ?? ""
      guard name != "PromiseTests.swift", !name.contains(".") || name.hasSuffix(".swift") || name.hasSuffix(".py"),
        let text = try? String(contentsOfFile: "\(path)/\(file)", encoding: .utf8)
      else { return nil }
      return (file, text)
    }
  }
}
