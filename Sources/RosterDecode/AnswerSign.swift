/// A member with which an answer says of itself that it failed, or that it is partial. The table has the names that
/// real APIs use, so that a definition needs no line for them.
struct AnswerSign: Sendable {
  /// The treatment of an answer that has such a member.
  enum Effect: Sendable {
    /// The answer is not an answer, and may say that there is no such page.
    case fails
    /// The answer is not an answer, and lacks records that it does not name.
    case isPartial
    /// The answer names what it lacks: it is stored, and nothing is removed.
    case lacks
    /// The member says why an answer has no list. Beside records it says nothing, and beside an empty list only with a
    /// word such as "timeout", or as a flag.
    case explains
    /// The list goes on. If the definition does not follow it, the answer is stored, and nothing is removed.
    case goesOn
    /// The total of the answer is a lower bound.
    case isLowerBound
  }

  /// The values of the member that have this effect.
  enum Values: Sendable, Equatable {
    /// False, `"false"` or 0.
    case no
    /// True, `"true"` or 1.
    case yes
    /// True or `"true"`.
    case flag
    /// Any value that is not empty and does not say that all is well.
    case anyFault
    /// The same, but numbers are counts of something.
    case faults
    /// A number above zero.
    case positive
    /// A text with a word such as "error", or a status of HTTP from 400 on.
    case badStatus
    /// Texts with such a word.
    case badWords
    /// A number above that of the records.
    case total
    /// A number of pages above 1.
    case pages
    /// A list of links, one of which leads to a next page.
    case links
    /// The text "gte" or "gt".
    case atLeast
    /// A number below the one of this member of the same object.
    case below(String)
  }

  var effect: Effect
  var values: Values
  /// The effect in an object that has an id or a name of its own; nil if the member then belongs to a record.
  var besideID: Effect?

  /// True if `partial` of a definition means these values of the member, instead of any value.
  var isJudged: Bool {
    switch values {
    case .no, .badStatus, .badWords: true
    case .yes, .flag, .anyFault, .faults, .positive, .total, .pages, .links, .atLeast, .below:
      false
    }
  }
}

extension AnswerSign {
  /// True if the member has the same meaning beside an id, so that no object could mean something else by it.
  var isClear: Bool {
    switch (effect, besideID) {
    case (.isPartial, .isPartial?), (.lacks, .lacks?): true
    case (.fails, _), (.isPartial, _), (.lacks, _), (.explains, _), (.goesOn, _), (.isLowerBound, _): false
    }
  }

  /// True if the member names a fault, and not only its existence.
  var namesFault: Bool {
    switch values {
    case .anyFault, .faults: effect != .goesOn
    case .no, .yes, .flag, .positive, .badStatus, .badWords, .total, .pages, .links, .atLeast, .below:
      false
    }
  }

  /// The sign of a member, by its name in lower case without other characters than letters and digits.
  /// - Parameter envelope: the object that has the member, if it is one of `envelopes`.
  static func named(_ name: String, in envelope: String?) -> AnswerSign? {
    if let envelope, let sign = inEnvelopes[envelope]?[name] { return sign }
    // They count the parts of a search, and not the records.
    if let envelope, ["shards", "nodes", "clusters"].contains(envelope), all[name]?.values == .total { return nil }
    return all[name] ?? likeAnother(name)
  }

  /// The sign of a name that is made of the words of other signs, such as `incompleteSearch` or `hitsTruncated`. Only a
  /// flag counts there: a number of such a name may count anything.
  private static func likeAnother(_ name: String) -> AnswerSign? {
    if name.hasPrefix("incomplete") || name.hasSuffix("incomplete") {
      return AnswerSign(effect: .isPartial, values: .flag, besideID: .isPartial)
    }
    if partialBeginnings.contains(where: name.hasPrefix) {
      return AnswerSign(effect: .isPartial, values: .flag, besideID: .isPartial)
    }
    let goesOn = continuations.contains(where: name.hasPrefix) || cuts.contains(where: name.hasSuffix)
    return goesOn ? AnswerSign(effect: .goesOn, values: .flag) : nil
  }

  /// Beginnings of names such as `hasMoreResults`.
  private static let continuations = [
    "hasmore", "hasadditional", "moreavailable", "moreresults", "morerecords", "moreitems", "moredata", "morerows",
  ]
  /// Ends of names such as `hitsTruncated`.
  private static let cuts = [
    "truncated", "cutoff", "limitreached", "limitexceeded", "limithit", "resultsreached", "recordsreached",
    "rowsreached", "itemsreached", "moreavailable",
  ]

  /// Beginnings of names such as `partialSearchResults`. A name such as `partialMatch` says nothing about the answer.
  private static let partialBeginnings = ["", "is", "has"].flatMap { prefix in
    ["answer", "content", "data", "failure", "list", "page", "response", "result", "search"].map {
      "\(prefix)partial\($0)"
    }
  }

  /// True if a total counts the records that a filter of the request leaves, and any other total those of all requests.
  static func isOfFilter(_ name: String) -> Bool { name.contains("filtered") }

  private static let all: [String: AnswerSign] = table([
    (["success", "ok", "succeeded", "successful", "issuccess", "issuccessful"], .fails, .no, nil),
    (["error", "fault", "exception"], .fails, .anyFault, .lacks),
    (["errors"], .fails, .faults, .lacks),
    (
      [
        "err", "errno", "errorcode", "errcode", "retcode", "returncode", "errmsg", "errormsg", "errormessage",
        "errordescription", "failure",
      ], .fails, .anyFault, nil
    ),
    (["errormessages"], .fails, .faults, nil),
    (["haserror", "haserrors", "iserror", "failed"], .fails, .yes, nil),
    (
      ["status", "stat", "ack", "result", "code", "cod", "statuscode", "httpstatus", "resultcode", "responsecode"],
      .fails, .badStatus, nil
    ),
    (
      [
        "incompleteresults", "ispartial", "partialresult", "partialresults", "partialresponse", "partialdata",
        "isincomplete",
      ], .isPartial, .yes, .isPartial
    ),
    (["partial", "incomplete", "istimeout", "timedout", "istimedout"], .isPartial, .yes, nil),
    (
      [
        "unreachable", "unreachablelocations", "warningmessages", "unprocessedkeys", "unprocessedids", "partialsuccess",
        "partialfailureerror", "partialerrors",
      ], .lacks, .faults, .lacks
    ),
    (["terminatedearly"], .lacks, .yes, .lacks),
    (["failures", "nodefailures", "exceptions"], .lacks, .faults, nil),
    (["jobcomplete"], .isPartial, .no, .isPartial),
    (["numserversresponded"], .isPartial, .below("numserversqueried"), .isPartial),
    (["preview", "sampled", "issampled"], .lacks, .yes, nil),
    (["warning", "warnings", "remark", "remarks"], .lacks, .badWords, nil),
    (["message", "msg", "detail"], .explains, .anyFault, .explains),
    (
      ["reason", "statusmessage", "statustext", "returnmessage", "resultmessage", "responsemessage"],
      .explains, .anyFault, nil
    ),
    (["ready", "isready"], .explains, .no, nil),
    (["processing", "isprocessing", "pending", "ispending"], .explains, .yes, nil),
    (
      [
        "hasmore", "hasnext", "hasnextpage", "hasmoreitems", "hasmorepages", "moreresults", "morerecords", "more",
        "truncated", "istruncated", "exceededtransferlimit", "resulttruncated",
      ], .goesOn, .yes, nil
    ),
    (["islast", "islastpage", "last", "done", "complete", "completed", "iscomplete"], .goesOn, .no, nil),
    (["state"], .lacks, .badStatus, nil),
    (
      [
        "next", "nextpage", "nextpageurl", "nexturl", "nexthref", "nextlink", "odatanextlink", "nextcursor",
        "nextpagetoken", "nexttoken", "nextcontinuationtoken", "nextmarker", "nextpagekey", "nextrecordsurl",
        "nextoffset", "nextpagenumber", "nextstart", "nextskip", "nextindex", "continue",
      ], .goesOn, .anyFault, nil
    ),
    (
      [
        "totalcount", "totalresults", "totalrecords", "totalitems", "totalelements", "totalsize", "totalhits",
        "totalentries", "totalrows", "recordstotal", "numfound", "nbhits", "odatacount", "hydratotalitems", "total",
        "count", "recordsfiltered", "totalfiltered", "filteredtotal", "filteredcount", "totalcountfiltered",
        "numbermatched", "totalmatched", "resultstotal", "itemstotal", "totalfound",
      ], .goesOn, .total, nil
    ),
    (["totalpages", "pagecount", "numpages", "nbpages", "lastpage", "pages"], .goesOn, .pages, nil),
    (["links", "link"], .goesOn, .links, nil),
    (
      ["remainingcount", "remainingitemcount", "remainingitems", "remainingrecords", "remainingresults"],
      .goesOn, .positive, nil
    ),
    (["numfoundexact"], .isLowerBound, .no, nil),
    (["totalrelation", "totalcountrelation"], .isLowerBound, .atLeast, nil),
  ])

  private static let inEnvelopes: [String: [String: AnswerSign]] = [
    "total": table([(["value"], .goesOn, .total, nil), (["relation"], .isLowerBound, .atLeast, nil)]),
    "shards": parts, "nodes": parts,
    "coverage": table([(["full"], .lacks, .no, .lacks)]),
    "clusters": table([
      (["failed", "partial"], .isPartial, .positive, .isPartial), (["skipped"], .lacks, .positive, .lacks),
    ]),
    "status": table([(["state", "type"], .fails, .badStatus, nil)]),
    "messages": table([(["resultcode"], .fails, .badStatus, nil)]),
    "requeststatus": table([(["state", "type"], .fails, .badStatus, nil)]),
    "meta": table([(["state"], .fails, .badStatus, nil)]),
  ]

  /// Parts of a search that were asked.
  private static let parts = table([
    (["failed"], .isPartial, .positive, .isPartial), (["successful"], .isPartial, .below("total"), .isPartial),
  ])

  private static func table(
    _ rows: [(names: [String], effect: Effect, values: Values, besideID: Effect?)]
  ) -> [String: AnswerSign] {
    rows.reduce(into: [:]) { table, row in
      for name in row.names {
        table[name] = AnswerSign(effect: row.effect, values: row.values, besideID: row.besideID)
      }
    }
  }

  /// Objects beside a list that speak about the answer.
  static let envelopes: Set<String> = [
    "meta", "metadata", "messages", "status", "requeststatus", "response", "responseheader", "responsestatus",
    "responsemetadata",
    "responseinfo", "counts",
    "header", "head", "result", "resultinfo", "resultset", "info", "outcome", "page", "pages", "pager", "pageinfo",
    "pagecontext", "paging", "paginginfo", "pagination", "paginationinfo", "cursor", "cursors", "searchmetadata",
    "searchinformation", "shards", "nodes", "clusters", "coverage", "links", "listmetadata", "extensions",
    "diagnostics", "total",
  ]

  /// Members that show that an object is a record, whose other members are data.
  static let identities: Set<String> = ["id", "uuid", "guid", "key", "name"]

  /// A name as the table has it: its letters and digits in lower case.
  static func word(_ name: some Sequence<UInt8>) -> String {
    let letters = name.lazy.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
      .filter { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
    return String(decoding: Array(letters), as: UTF8.self)
  }

  // MARK: Texts

  /// True if a text says that nothing is wrong: it is empty, zero or 200, or begins with a word such as "ok".
  static func isGood(_ text: String) -> Bool {
    let words = words(text, atMost: 2)
    guard let first = words.first else { return text.allSatisfy { !$0.isNumber || $0 == "0" } || text == "200" }
    return goodWords.contains(first) || words == ["no", "error"] || words == ["no", "errors"]
  }

  /// True if a text has a word that says that something failed or is missing.
  static func isBad(_ text: String) -> Bool {
    let words = words(text)
    return words.contains(where: badWords.contains)
      || zip(words, words.dropFirst()).contains { badPhrases.contains("\($0) \($1)") }
  }

  /// True if a text beside an empty list says that the list is not made yet.
  static func isUnready(_ text: String) -> Bool {
    let words = words(text, atMost: 3)
    return words.first.map(unreadyWords.contains) == true
      || zip(words, words.dropFirst()).contains { unreadyPhrases.contains("\($0) \($1)") }
  }

  /// True if a warning in an answer says that something failed or is missing.
  static func isLack(_ text: String) -> Bool { isBad(text) || words(text).contains(where: lackWords.contains) }

  /// True if a text has a word that says that something is missing. Warnings of HTTP have the other bad words too.
  static func isPartial(_ text: String) -> Bool { words(text).contains(where: partialWords.contains) }

  /// Statuses of HTTP that are errors.
  static let errorStatuses: ClosedRange<Int64> = 400...599

  private static let goodWords: Set<String> = [
    "ok", "okay", "success", "successful", "successfully", "succeeded", "none", "null", "false", "done", "complete",
    "completed", "normal",
  ]

  private static let badWords: Set<String> = [
    "error", "errors", "err", "fail", "fails", "failed", "failing", "failure", "failures", "fault", "invalid", "denied",
    "forbidden", "unauthorized", "unauthenticated", "timeout", "timedout", "timed", "exceeded", "exhausted",
    "unavailable", "exception", "partial", "partially", "incomplete", "unreachable", "aborted", "notok",
  ]

  private static let badPhrases: Set<String> = [
    "too many", "rate limit", "rate limited", "server busy", "system busy", "try again", "under maintenance",
    "token expired", "session expired", "not logged", "log in", "gathering results", "query limit", "daily limit",
    "limit reached", "slow down",
  ]

  /// These words beside an empty list mean that upstream has not made the list yet.
  private static let unreadyWords: Set<String> = [
    "processing", "pending", "queued", "running", "preparing", "generating", "initializing", "warming", "building",
  ]

  private static let unreadyPhrases: Set<String> = ["in progress", "not ready", "in queue"]

  private static let partialWords: Set<String> = [
    "partial", "partially", "incomplete", "truncated", "timeout", "timedout", "timed", "unreachable",
  ]

  private static let lackWords: Set<String> = ["limited", "missing", "truncated", "omitted", "dropped", "sampled"]

  /// The first words of a text in lower case. `PartialFailure` has two.
  private static func words(_ text: String, atMost limit: Int = .max) -> [String] {
    var words: [String] = []
    var isInside = false
    var wasLower = false
    for character in text {
      guard character.isLetter else {
        (isInside, wasLower) = (false, false)
        continue
      }
      if !isInside || wasLower && character.isUppercase {
        if words.count == limit { return words }
        words.append("")
      }
      words[words.count - 1] += character.lowercased()
      (isInside, wasLower) = (true, character.isLowercase)
    }
    return words
  }
}

/// A member of an answer that is a sign by its name.
struct AnswerStatement {
  var sign: AnswerSign
  /// The name of the member in the table.
  var word: String
  /// Offset of the object that has the member.
  var object: Int
  /// The object: a node, or an object inside a node, with the names that lead there.
  var node: Int
  var envelopes: [JSONSlice]
  var name: JSONSlice
  var value: JSONSlice
}
