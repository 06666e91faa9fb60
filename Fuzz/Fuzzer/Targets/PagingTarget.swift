import RosterCore
import RosterDecode

@testable import RosterFetch
@testable import RosterSync

/// Answers to requests of a list, used cyclically. These rules are tested:
/// - Each request goes to an allowed address.
/// - A kept page leads to the same next page as an arrived one.
/// - An equal answer agrees with the known facts.
/// - The pull ends.
enum PagingTarget {
  private static let homes = ["https://api.example/v1", "http://api.example:8080", "https://[::1]/a%20b"]
  /// Upstream may repeat the token in an address.
  private static let token = Response.SentToken(["c4nary-t0ken"], parameters: ["key"])
  /// Upstream decides how many pages it announces, and all are requested in the same way; this many are enough.
  private static let maxAsked = 40

  static func check(_ input: [UInt8]) {
    var (choices, rest) = Choices.split(input)
    guard PlainJSON.isShallow(rest) else { return }
    let home = choices.pick(homes)
    let links: NextLinks = choices.flag() ? .rebase : .sameOrigin
    let concurrency = 1 + choices.next(3)
    let resource = resource(&choices)
    let paging = Paging(resource, baseURL: home)
    let plan = certain("compile") { try RecordPlan(resource) }
    let answers = rest.parted(by: "\n%\n").map { answer($0, plan, paging) }
    var walk = Walk(paging: paging, home: home, links: links)
    walk.go(through: answers, concurrency: concurrency)
  }

  struct Answer {
    var response: Response
    /// nil if the answer is not a page of the definition, which ends a pull.
    var facts: ListFacts?
    var likeness = 0
  }

  private static func answer(_ text: [UInt8], _ plan: RecordPlan, _ paging: Paging) -> Answer {
    let (headers, body) = text.headed
    var response = Response(status: 200, headers: headers, body: body)
    response.token = token
    var decoder = RecordDecoder(plan)
    guard let scan = try? decoder.scan(page: body), let facts = try? paging.facts(in: scan, of: response, page: 1)
    else {
      return Answer(response: response)
    }
    // Recognises pages with the same records as a pull does.
    var hasher = Hasher()
    hasher.combine(scan.keys.bytes)
    hasher.combine(scan.rejectedKeys.bytes)
    if scan.keys.count + scan.rejectedKeys.count == 0 { hasher.combine(body) }
    return Answer(response: response, facts: facts, likeness: hasher.finalize())
  }

  private static func resource(_ choices: inout Choices) -> Resource {
    let param: Resource.RequestPlace = choices.flag() ? .body(at("/p/at")) : .query("at")
    let place: Resource.AnswerPlace = choices.flag() ? .header("X-Next") : .body(at("/next"))
    let style: Resource.Style =
      switch choices.next(8) {
      case 0: .number(param: param, first: choices.next(2), last: choices.flag() ? self.place("Pages", &choices) : nil)
      case 1: .offset(param: param, first: choices.next(2))
      case 2: .cursor(param: param, start: choices.flag() ? "0 é" : nil, at: place)
      case 3: .next(at: place)
      case 4: .link
      case 5: .after(param: param, at: at("/id"))
      case 6: .one
      default: .cursor(param: .everyMember, at: .body(at("/next")))
      }
    let size = choices.flag() ? Resource.Size(2, param: choices.flag() ? .query("size") : nil) : nil
    let more = choices.flag() ? self.place("More", &choices) : nil
    let count = choices.flag() ? self.place("Count", &choices) : nil
    let method: Resource.Method = if case .body = param { .post } else { .get }
    let query = choices.times(2) { Resource.Parameter($0.pick(["q", "at", "size"]), .text($0.pick(["a b", "é&"]))) }
    return Resource(
      name: "thing", path: choices.pick(["/things", "/a/../b"]), query: query, method: method,
      records: at(choices.pick(["/list", ""])),
      pages: Resource.Pages(style, size: size, more: more, count: count, short: choices.flag()), columns: [idColumn])
  }

  private static func place(_ name: String, _ choices: inout Choices) -> Resource.AnswerPlace {
    choices.flag() ? .header("X-\(name)") : .body(at("/\(name.lowercased())"))
  }

  private struct Walk {
    let paging: Paging
    let home: String
    let links: NextLinks
    private var asked = 0
    private var hasAnnounced = false

    init(paging: Paging, home: String, links: NextLinks) {
      self.paging = paging
      self.home = home
      self.links = links
    }

    /// Runs like a pull, which ends at an answer that is not a page.
    mutating func go(through answers: [Answer], concurrency: Int) {
      var plan = PullPlan([paging], maxPages: 1_000)
      var underway: [PullPlan.PageJob] = []
      while true {
        while let asking = plan.next(concurrency: concurrency) {
          checkRequest(asking.page)
          underway.append(asking)
        }
        guard let asking = underway.popLast() else { return }
        let answer = answers[asked % answers.count]
        asked += 1
        guard let facts = answer.facts else { return }
        checkKept(asking.page, answer, facts)
        let came = try? plan.came(
          asking, facts: facts, from: .answer, records: .init(likeness: answer.likeness),
          links: { [links] in links })
        guard came != nil else { return }
        checkCounts(plan, asking.page)
        // A pull notices a repetition after at most twice as many pages as there are answers, and empty pages after
        // their limit.
        hasAnnounced = hasAnnounced || asking.isAnnounced
        let hasEmpty = answers.contains { $0.facts?.records == 0 }
        let most =
          hasAnnounced
          ? PagingTarget.maxAsked : (2 * answers.count + 5) * (hasEmpty ? paging.maxEmptyPages : 1)
        guard asked <= most else {
          return promise(hasAnnounced, "page \(asking.page.number) of \(answers.count) answers, and no end")
        }
      }
    }

    private func checkCounts(_ plan: PullPlan, _ page: PageRequest) {
      var counts = Tally.Counts(resources: ["one", "other"])
      for name in ["one", "other"] { counts.done(name, records: 2, pages: plan.pages(in: 0)) }
      promise((counts.pagesTotal ?? 0) >= (plan.pages(in: 0) ?? 0), "fewer pages than there are")
      promise(page.number > 0 && page.recordsBefore >= 0, "a page before the first: \(page)")
    }

    private func checkKept(_ page: PageRequest, _ answer: Answer, _ facts: ListFacts) {
      var kept = ListFacts(
        records: facts.records, count: facts.count, last: facts.last, continuation: facts.continuation)
      // The cache stores this total in place of `count`.
      kept.unnamedTotal = facts.unnamedTotal
      let ways = [facts, kept].map { facts in Result { try paging.next(after: page, facts) { links } } }
      switch (ways[0], ways[1]) {
      case (.success(let one), .success(let other)): promise(one == other, "kept, \(one) becomes \(other)")
      case (.failure, .failure): break
      default: fatalError("kept, \(ways[0]) becomes \(ways[1])")
      }
      promise(paging.agrees(answer.response, with: kept), "the same answer does not agree with \(kept)")
      if case .success(.page(let next)) = ways[0] {
        promise(next.number == page.number + 1, "page \(next.number) follows \(page.number)")
        checkRequest(next)
      }
    }

    // MARK: Where a request goes

    private func checkRequest(_ page: PageRequest) {
      let url = page.request.url
      promise(url.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a request line cannot hold \(url)")
      promise(Self.origin(of: url) == Self.origin(of: home), "\(url) is elsewhere than \(home)")
      let query = url.prefix { $0 != "#" }.drop { $0 != "?" }.dropFirst()
      for parameter in query.split(separator: "&") {
        let name = Self.unescaped(parameter.prefix { $0 != "=" })
        promise(!name.elementsEqual("key".utf8), "the token's parameter goes along in \(url)")
      }
      promise(!PagingTarget.token.texts.contains { url.contains($0) }, "the token goes along in \(url)")
    }

    /// RFC 3986 §3, by hand: scheme, host and port.
    private static func origin(of url: String) -> [String]? {
      let parts = url.split(separator: "://", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { return nil }
      let authority = parts[1].prefix { !"/?#\\".contains($0) }
      var host = authority.split(separator: "@", omittingEmptySubsequences: false).last.map(String.init) ?? ""
      let scheme = parts[0].lowercased()
      let standard = scheme == "http" ? ":80" : ":443"
      if host.hasSuffix(standard) { host.removeLast(standard.count) }
      if host.hasSuffix(":") { host.removeLast() }
      return [scheme, host.lowercased()]
    }

    private static func unescaped(_ text: Substring) -> [UInt8] {
      var bytes: [UInt8] = []
      var rest = Array(text.utf8)[...]
      while let byte = rest.popFirst() {
        let digits = String(decoding: rest.prefix(2), as: UTF8.self)
        if byte == UInt8(ascii: "%"), digits.utf8.count == 2, digits.allSatisfy(\.isHexDigit) {
          bytes.append(UInt8(digits, radix: 16) ?? 0)
          rest = rest.dropFirst(2)
        } else {
          bytes.append(byte)
        }
      }
      return bytes
    }
  }
}
