import FoundationEssentials
import Testing

/// docs/CONTRACT.md and whoever cites its promises, such as P9.
@Suite("docs/CONTRACT.md")
struct ContractTests {
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

  @Test("Each promise is explained once and named by a test")
  func proven() throws {
    let explained = try Self.explained()
    #expect(Set(explained).count == explained.count)
    let named = try Self.texts(below: "Tests").reduce(into: Set<String>()) { $0.formUnion(Self.promises(in: $1.text)) }
    let promises = Set(explained.map(Self.promise(of:))).filter { !Self.promises(in: $0).isEmpty }
    let unproven = promises.subtracting(named)
    #expect(unproven.isEmpty, "no test names \(unproven.sorted())")
  }

  @Test(
    "A promise is T, P or S and a number, as a word of its own",
    arguments: [("(T1)b", ["T1"]), ("P2: x, S3.", ["P2", "S3"]), ("S01E1 xP9 P123 PT1S", [])])
  func words(text: String, found: [String]) {
    #expect(Self.promises(in: text) == Set(found))
  }

  /// The promises and rules that the contract explains, each as often as it does: its list items that begin with a
  /// number in bold, such as P9 or P16.1.
  private static func explained() throws -> [String] {
    let contract = try String(contentsOfFile: root.appending(path: "docs/CONTRACT.md").path, encoding: .utf8)
    return contract.split(separator: "\n").filter { $0.hasPrefix("- **") }.map { line in
      String(line.dropFirst(4).prefix { $0 != "*" })
    }
  }

  /// The promise that a rule belongs to: P16 of P16.1.
  private static func promise(of rule: String) -> String { String(rule.prefix { $0 != "." }) }

  /// Rules of promises, such as P16.1.
  private static func rules(in text: String) -> Set<String> {
    Set(text.matches(of: /\b[FLPST][0-9]{1,2}\.[0-9]{1,2}\b/).map { String($0.0) })
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
