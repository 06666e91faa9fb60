import RosterCore

/// The requests of whole pulls, or of incremental ones.
struct WrittenRequest {
  let definition: WrittenDefinition
  let listing: Listing
  let isIncremental: Bool
  /// `since.param`, if these requests have it.
  let start: Resource.RequestPlace?

  /// The requests of whole pulls. They have the parameter of the start only with `since.from`.
  init(wholeOf definition: WrittenDefinition) {
    let since = definition.resource.since
    (self.definition, listing, isIncremental) = (definition, definition.resource.listing, false)
    start = since?.from == nil ? nil : since?.param
  }

  /// The requests of incremental pulls. The names in `raw` of the resource need not be in another `query`.
  init?(incrementalOf definition: WrittenDefinition) {
    guard let since = definition.resource.since else { return nil }
    var listing = since.listing
    if !definition.has("since.raw") { listing.raw = [] }
    (self.definition, self.listing, isIncremental, start) = (definition, listing, true, since.param)
  }

  /// The place of a key that `since` may have too. A mistake in an inherited value is the resource's.
  func place(of path: [String]) -> [String] {
    isIncremental && path.first.map { definition.has("since.\($0)") } == true ? ["since"] + path : path
  }

  static var rules: [KeyRule<WrittenRequest>] { bodyRules + pathRules }

  private static var bodyRules: [KeyRule<WrittenRequest>] {
    [
      .key("format", beside: ["method"], of: "F2.4", "is not used with GET", allowed: "method = \"POST\" beside it") {
        $0.isForm && $0.listing.method == .get
      },
      .key("body", beside: ["format"], of: "F2.4", nestedForm, allowed: "texts, numbers and booleans") {
        $0.isForm && $0.listing.body.nestedMember != nil
      },
      .each(["format"], of: "F2.4", allowed: "a place such as \"/page\"") { request in
        request.places.filter { request.isForm && $0.pointer.segments.count > 1 }.map {
          .init(of: $0.key, problem: nestedForm)
        }
      },
      .each(["method"], of: "F3.1", allowed: "the name of a query parameter, or the method POST") { request in
        request.places.filter { _ in request.listing.method == .get }.map {
          .init(of: $0.key, problem: "\($0.pointer.description.tomlString) is a place in the body of a POST")
        }
      },
      .each(["body", "method"], of: "F3.5", allowed: "a place in a table") { request in
        request.places.filter { request.listing.method != .get && !request.listing.body.canSet($0.pointer) }.map {
          .init(
            of: $0.key,
            problem: "\($0.pointer.description.tomlString) leads through something in body that is neither a table nor "
              + "an existing element")
        }
      },
      .key("since.param", of: "F3.1", allowed: "a parameter of its own, or {since} in since.pages.value") {
        $0.problemOfStart
      },
      .each(["raw", "query", "since"], of: "F2.4", allowed: "names of parameters of query") { request in
        let names = request.listing.query.map(\.name)
        return request.listing.raw.filter {
          !names.contains($0) && request.definition.resource.since?.param != .query($0)
        }.map { .init(problem: "\($0.tomlString) is no parameter of query") }
      },
    ]
  }

  private static var pathRules: [KeyRule<WrittenRequest>] {
    [
      .key("path", of: "F2.3", allowed: "it once") { $0.count > 1 ? "has \($0.placeholder) twice" : nil },
      .key("pages.param", beside: ["path", "pages"], of: "F2.3") {
        $0.count > 0 && $0.style.param != .path ? "is beside \($0.placeholder) in path" : nil
      },
      .key("pages.value", beside: ["path", "pages"], of: "F2.3") {
        $0.style.param == .path && $0.listing.pages.valueText != nil ? "is beside \($0.placeholder) in path" : nil
      },
      .missing("pages.start", beside: ["path", "pages"], of: "F2.3", allowed: "the value of the first page in path") {
        $0.style.param == .path && $0.style.kind.followsAnswers && $0.style.start == nil
      },
      .key("path", beside: ["pages"], of: "F2.3", allowed: "a path without it") { request in
        Set(PageStyle.all.compactMap(\.placeholder)).sorted().first {
          $0 != request.placeholder && request.listing.path.contains($0)
        }.map { "has \($0), which the style \(request.style.kind.name.tomlString) does not fill" }
      },
    ]
  }

  private static let nestedForm = "a form has no nested table or list"

  private var isForm: Bool { listing.format == .form }
  private var style: Resource.Style { listing.pages.style }
  private var placeholder: String { style.kind.placeholder ?? "" }

  /// Number of placeholders of the page in `path`.
  private var count: Int {
    style.kind.placeholder.map { listing.path.split(separator: $0, omittingEmptySubsequences: false).count - 1 } ?? 0
  }

  /// The places in `body` that the requests set, with their keys. If only the requests of `since` are a GET, the places
  /// of `pages` are a mistake in `since`.
  private var places: [(key: String, pointer: JSONPointer)] {
    let isOfSince = isIncremental && listing.method == .get && definition.resource.method != .get
    let pages = isOfSince ? "since.pages" : "pages"
    return [("\(pages).param", style.param), ("\(pages).size_param", listing.pages.sizeParam), ("since.param", start)]
      .compactMap { key, place in if case .body(let pointer)? = place { (key, pointer) } else { nil } }
  }

  /// A clause if a request cannot send both `since.param` and the parameters of `pages`.
  private var problemOfStart: String? {
    // A cursor may begin with the delta token.
    let mayBeOne = definition.resource.since?.token != nil && start == style.param
    return [mayBeOne ? nil : style.param, listing.pages.sizeParam].lazy
      .compactMap { start?.problem(beside: $0, called: "a parameter of pages") }.first
  }
}
