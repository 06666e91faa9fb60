import FoundationEssentials
import Logging
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterCache
@testable import RosterDaemon
@testable import RosterDefinition

/// Every definition that the configuration accepts must work in the cache and the decoder.
@Suite struct DefinitionTests {
  let workspace = Workspace()

  private func load(_ text: String) throws -> Configuration {
    try Configuration.load(file: try workspace.write(text), environment: [:], isRoot: true).configuration
  }

  private func open(_ resources: [Resource], name: String) async throws {
    let cache = try await Cache.open(
      path: workspace.path("\(name).db"), upstream: "http://up", resources: resources, now: Date(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    await cache.close()
  }

  @Test("53: no table of a definition has a name of the cache's own")
  func ownTables() async throws {
    try await open([.character], name: "own")
    let database = try Database(path: workspace.path("own.db"), access: .readOnly)
    let all = try database.rows("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' AND type <> 'trigger'") {
      $0.text(0)
    }
    #expect(ReservedNames.tables == Set(all).subtracting(try ResourceTables(.character).requiredNames))
  }

  @Test("400 columns, and places 100 levels deep, are stored and shown as JSON; one more is 78")
  func most() async throws {
    func definition(_ columns: Int, depth: Int = 1) -> String {
      let place = String(repeating: "/a", count: depth)
      let texts = (1..<columns).map { "c\($0) = \"/c\($0)\"\n" }.joined()
      return "[resource.wide]\npath = \"/w\"\n[resource.wide.columns]\nid = \"/id\"\ndeep = \"\(place)\"\n\(texts)"
    }
    let wide = try load(definition(399, depth: 100)).resources
    #expect(wide[0].columns.count == 400)
    try await open(wide, name: "wide")
    let tables = try ResourceTables(wide[0])
    let database = try Database(path: workspace.path("wide.db"), access: .readOnly)
    #expect(try database.first(tables.json + "", .integer(1)) { $0.text(0) } == nil)
    #expect(throws: ConfigurationFaults.self) { try load(definition(400)) }
    #expect(throws: ConfigurationFaults.self) { try load(definition(1, depth: 101)) }
  }

  /// `make soak`: 20,000.
  private static let mutants = ProcessInfo.processInfo.environment["ROSTER_MUTANTS"].flatMap(Int.init) ?? 400

  @Test(
    "53: a configuration with random changes is valid or has faults; a valid one prints itself and makes a cache")
  func mutants() async throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../config/sources").path
    let good = try FileManager.default.contentsOfDirectory(atPath: sources).sorted()
      .map { try String(contentsOfFile: "\(sources)/\($0)", encoding: .utf8) }
    var taken = 0
    for seed in 0..<UInt64(Self.mutants) {
      var dice = SeededDice(seed: seed)
      let text = good[Int.random(in: good.indices, using: &dice)].mutated(&dice)
      do {
        let first = try load(text)
        let again = try load(first.rendered())
        #expect(again.resources == first.resources, "seed \(seed)")
        if first.resources != (try load(good[0]).resources) { try await open(first.resources, name: "\(seed)") }
        taken += 1
      } catch let faults as ConfigurationFaults {
        #expect(faults.faults.allSatisfy { $0.line != nil }, "seed \(seed): \(faults)")
      } catch {
        Issue.record("seed \(seed): \(error)\n\(text)")
      }
    }
    #expect(taken > Self.mutants / 20 && taken < Self.mutants, "\(taken) of \(Self.mutants)")
  }
}

extension String {
  /// The text with one or two random changes: bytes, words and lines that are removed, inserted or swapped.
  fileprivate func mutated(_ dice: inout SeededDice) -> String {
    var lines = split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      .filter { !$0.hasPrefix("#") && !$0.isEmpty }
    for _ in 0..<Int.random(in: 1...2, using: &dice) {
      let (at, other) = (Int.random(in: lines.indices, using: &dice), Int.random(in: lines.indices, using: &dice))
      switch Int.random(in: 0..<6, using: &dice) {
      case 0: lines.remove(at: at)
      case 1: lines.insert(lines[other], at: at)
      case 2: lines.swapAt(at, other)
      case 3: lines[at] = lines[at].replacingWord(by: lines[other].words.randomElement(using: &dice), &dice)
      case 4: lines[at] = lines[at].replacingWord(by: Self.odd.randomElement(using: &dice), &dice)
      default: lines[at] = lines[at].replacingByte(&dice)
      }
      if lines.isEmpty { return "" }
    }
    return lines.joined(separator: "\n")
  }

  private static let odd = [
    "\"\"", "\"/\"", "\"~\"", "\"/~0\"", "-1", "0", "1", "9223372036854775807", "1e308", "nan", "true", "{}", "[]",
    "[404]", "\"link\"", "\"cursor\"", "\"after\"", "\"offset\"", "\"one\"", "\"ask\"", "\"twice\"", "\"json\"",
    "\"real\"", "\"header:X\"", "size", "short", "param", "at", "more", "first", "2026-01-01", "\"\\u0001é\"", "search",
  ]

  private var words: [String] { split(separator: " ").map(String.init) }

  private func replacingWord(by word: String?, _ dice: inout SeededDice) -> String {
    var words = words
    guard !words.isEmpty, let word else { return self }
    words[Int.random(in: words.indices, using: &dice)] = word
    return words.joined(separator: " ")
  }

  private func replacingByte(_ dice: inout SeededDice) -> String {
    var bytes = Array(utf8)
    let marks = Array("\"'[]{}.=,#/~\\ \taX0_-\u{0}".utf8)
    guard !bytes.isEmpty, let mark = marks.randomElement(using: &dice) else { return self }
    bytes[Int.random(in: bytes.indices, using: &dice)] = mark
    return String(decoding: bytes, as: UTF8.self)
  }
}
