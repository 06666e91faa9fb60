import RosterCore

/// Names that APIs use, in the form of `String.word`. They come from the documentation of the examined APIs and of
/// common frameworks (Django, Laravel, Spring, OData, HAL, JSON:API, Kaminari, Algolia).
enum Vocabulary {
  // MARK: Lists

  static let listNames: Set<String> = [
    "results", "result", "data", "items", "records", "values", "value", "entries", "rows", "content", "elements",
    "objects", "nodes", "edges", "docs", "documents", "hits", "member", "hydramember", "list", "entry",
  ]
  /// Lists of objects that accompany the records.
  static let sideListNames: Set<String> = [
    "links", "included", "includes", "errors", "warnings", "facets", "aggregations", "filters", "messages", "schema",
    "columns", "fields", "suggestedfacets", "facetresults", "expandedcolumns", "expandablecolumns", "primarykeys",
    "link",
  ]
  /// Segments of a path, and names of lists, that do not say what is listed.
  static let vagueNouns: Set<String> = listNames.union([
    "search", "query", "all", "find", "filter", "jql", "export", "record", "item", "embedded", "index", "json",
    "response", "payload", "api", "rest", "database", "scroll",
  ])

  // MARK: Fields

  /// Objects that only wrap a record's fields, in their original spelling.
  static let wrappers: Set<String> = ["attributes", "fields", "node", "_source"]
  /// Objects that wrap a record's fields if they have the record's id, as in Kubernetes, Contentful and FHIR.
  static let metadata: Set<String> = ["metadata", "sys", "resource"]
  /// Fields that another version of the same record has with another value.
  static let versions: Set<String> = ["etag"]
  /// Fields that can only be the id of a record.
  static let ids: Set<String> = ["id", "uid", "uuid", "guid", "gid", "sid", "pk"]
  /// Objects that contain addresses of other resources.
  static let hypermedia: Set<String> = ["links", "embedded", "relationships"]
  /// Objects whose member names are data.
  static let maps: Set<String> = [
    "meta", "metadata", "settings", "options", "extra", "customfields", "translations", "reactions",
  ]
  /// Fields that identify an object inside a record.
  static let naming: Set<String> = [
    "id", "uuid", "key", "code", "name", "title", "login", "username", "slug", "email", "displayname", "fullname",
    "accountid", "number",
  ]
  /// A record's own address.
  static let addresses: Set<String> = ["url", "href", "self", "uri"]
  /// The places of a record's own address among its links, in HAL and JSON:API.
  static let selfLinks = [["_links", "self", "href"], ["_links", "self"], ["links", "self"]].map {
    JSONPointer(segments: $0)
  }
  /// Texts that people search.
  static let searched: Set<String> = [
    "name", "title", "summary", "subject", "description", "body", "content", "text", "headline", "label", "fullname",
    "displayname", "excerpt", "comment", "message", "caption",
  ]

  /// Parts of the names of both bounds of a span of time.
  static let bounds: [(String, String)] = [
    ("from", "to"), ("start", "end"), ("since", "until"), ("after", "before"), ("begin", "end"), ("min", "max"),
    ("gte", "lte"), ("gte", "lt"), ("gt", "lt"), ("ge", "le"), ("from", "until"), ("start", "stop"),
  ]
  /// The time of a record's last change.
  static let changeTimes: Set<String> = [
    "updatedat", "updated", "updatedon", "updatedtime", "lastupdated", "lastupdatedat", "dateupdated", "modified",
    "modifiedat", "modifiedon", "lastmodified", "lastmodifiedat", "lastmodifieddate", "lastmodifieddatetime",
    "datemodified", "modificationdate", "lasteditedtime", "updateddate", "updateddateutc", "lastupdatedtime",
  ]
  /// Delta tokens beside the records, and addresses that have one.
  static let deltaTokens: Set<String> = [
    "odatadeltalink", "deltalink", "nextsynctoken", "synctoken", "deltatoken", "newsynctoken",
  ]
  /// The usual parameter for such a token.
  static func tokenParam(_ name: String) -> String { name.word.hasSuffix("synctoken") ? "syncToken" : "deltaToken" }

  // MARK: Pages, in answers

  static let next: Set<String> = [
    "next", "nextpage", "nextpageurl", "nexturl", "nextlink", "odatanextlink", "nexthref", "nextpageuri", "nexturi",
    "nextrecordsurl", "hydranext", "nextpagelink",
  ]
  /// Names that always mean the next page, whatever their value.
  static let nextCursors: Set<String> = [
    "nextcursor", "endcursor", "aftercursor", "nextpagetoken", "nexttoken", "nextcontinuationtoken", "nextpagecursor",
    "nextmarker", "nextpagekey", "nextstartkey", "cursornext", "nextcursormark", "continue", "nextbatch",
  ]
  /// Names that may mean the next page if their value is a text.
  static let cursors: Set<String> = [
    "cursor", "after", "pagetoken", "continuationtoken", "continuation", "bookmark", "scrollid", "scrollparam", "next",
    "nextpage", "offset",
  ]
  /// Cursors that do not show whether a next page exists.
  static let lastCursors: Set<String> = ["cursor", "after"]
  /// Objects whose members are all parameters of the next page (mediawiki.org/wiki/API:Continue).
  static let continuations: Set<String> = ["continue", "querycontinue"]
  static let more: Set<String> = [
    "hasmore", "hasnextpage", "hasnext", "more", "moreresults", "hasmoreitems", "morerecords", "hasmorepages",
    "moreitemsincollection",
  ]
  /// Values of `status` that mean that a record is no longer there.
  static let goneStatuses: Set<String> = [
    "cancelled", "canceled", "deleted", "removed", "trashed", "trash", "archived",
  ]
  /// Names that are true on the last page: the opposite of `more`.
  static let isLast: Set<String> = ["islast", "last", "islastpage", "done", "complete", "exhausted"]
  static let last: Set<String> = [
    "pages", "totalpages", "pagecount", "pagestotal", "lastpage", "numpages", "nbpages", "totalpage", "maxpage",
    "pagetotal", "numberofpages",
  ]
  static let page: Set<String> = [
    "page", "currentpage", "pagenumber", "number", "pageindex", "curpage", "pageno", "current",
  ]
  static let offset: Set<String> = ["offset", "startat", "start", "startindex", "skip", "from"]
  static let size: Set<String> = [
    "limit", "perpage", "pagesize", "maxresults", "size", "itemsperpage", "resultsperpage", "take", "rows",
  ]
  /// Names that can only mean a total.
  static let total: Set<String> = [
    "total", "totalcount", "totalresults", "totalelements", "totalitems", "totalrecords", "recordstotal", "totalsize",
    "odatacount", "hydratotalitems", "numfound", "nbhits", "totalhits", "totalrows", "totalentries", "totalobjects",
    "filteredtablerowscount",
  ]
  /// Places of totals that may be estimates (developers.google.com/youtube/v3/docs/search/list).
  static let estimates: Set<String> = ["/pageInfo/totalResults"]
  /// Totals at which search servers stop counting.
  static let totalLimits: Set<Int> = [1000, 10_000]
  /// Names that mean either a total or the number of records on the page.
  static let count: Set<String> = ["count", "resultcount", "itemcount", "recordcount", "resultscount", "found"]

  // MARK: Pages, in addresses

  static let pageParams: Set<String> = ["page", "p", "pagenumber", "pageno", "pageindex", "pg", "currentpage"]
  /// The segment of a path before the number of a page.
  static let pageSegments: Set<String> = ["page", "pages", "p"]
  static let offsetParams: Set<String> = ["offset", "skip", "start", "startat", "startindex", "from", "pageoffset"]
  static let sizeParams: Set<String> = [
    "limit", "perpage", "pagesize", "size", "maxresults", "count", "take", "top", "rows", "pagelimit", "first",
    "resultsperpage", "itemsperpage", "hitsperpage", "max", "maxitems", "maxrecords",
  ]
  /// Words of a parameter before its brackets that mean a condition, as in `filter[start]`.
  static let conditionWords = ["filter", "where", "range", "date", "time", "created", "updated", "field"]
  static let cursorParams: Set<String> = [
    "cursor", "after", "startingafter", "startcursor", "pagetoken", "nextpagetoken", "continuation",
    "continuationtoken", "nexttoken", "pageafter", "pagecursor", "nextcursor", "marker", "scrollid", "bookmark",
    "idafter", "sinceid", "cursormark", "continue",
  ]
  /// Words of a parameter that asks for the records after a value.
  static let afterWords: Set<String> = [
    "after", "since", "from", "start", "starting", "begin", "newer", "gt", "gte", "ge", "min", "last",
  ]
  /// Words of a parameter that asks for the records before a value.
  static let beforeWords: Set<String> = ["before", "until", "to", "end", "ending", "older", "lt", "lte", "le", "max"]
  /// Values of a cursor that mean the list's beginning.
  static let cursorStarts: Set<String> = ["*", "0", "-1", "start", "first", "begin", "beginning", "initial"]
  /// Offset parameters by the size parameter that APIs use with them.
  static let offsetsBySize = [
    "limit": "offset", "_limit": "_start", "page[limit]": "page[offset]", "$top": "$skip", "take": "skip",
  ]
  /// Offset parameters by the place of the total in the answers of APIs that use them (Elasticsearch).
  static let offsetsByTotal = ["/hits/total/value": "from", "/hits/total": "from"]
  /// Page number parameters by the size parameter that APIs use with them.
  static let numbersBySize = [
    "page[size]": "page[number]", "pagination[pageSize]": "pagination[page]", "_per_page": "_page", "_limit": "_page",
  ]

  // MARK: Pages, in headers

  static let totalHeaders: Set<String> = [
    "xtotalcount", "xwptotal", "totalcount", "xpaginationtotalcount", "totalrecords", "totalobjects", "totalitems",
    "totalresults", "xtotalrecords", "xtotalitems", "xtotalresults", "contentrange",
  ]
  static let lastHeaders: Set<String> = ["xwptotalpages", "xpaginationpagecount", "xpaginationtotalpages"]
  /// Used only for APIs that do not page by Link headers. GitLab does, and leaves these headers out above 10,000
  /// records (docs.gitlab.com/api/rest).
  static let unlinkedTotalHeaders: Set<String> = ["xtotal"]
  /// Used only for APIs that do not page by Link headers.
  static let unlinkedLastHeaders: Set<String> = ["xtotalpages"]
  /// The next page's number; empty on the last page.
  static let nextHeaders: Set<String> = ["xnextpage"]
  /// Header prefixes of APIs that page by Link headers, which they leave out if one page has all records.
  static let linkingPrefixes = ["x-github-", "x-gitlab-"]

  // MARK: Numbers

  /// A list with more records is unlikely, and times in seconds are larger.
  static let maxTotal: Int64 = 1_000_000_000

  /// True if a number of that name is something else than a total.
  static func isMeasure(_ name: String) -> Bool {
    name.identifier.split(separator: "_").contains { measures.contains(String($0)) }
  }

  /// The words that such names contain.
  private static let measures: Set<String> = [
    "time", "timestamp", "took", "ms", "seconds", "duration", "elapsed", "runtime", "date", "year", "age", "expires",
    "code", "status", "version", "id", "port", "bytes", "length", "quota", "rate", "ratelimit", "remaining", "reset",
    "page", "pages", "per", "limit", "size", "max", "min", "offset", "skip", "start", "from", "to", "first", "last",
    "next", "prev", "previous", "cursor", "since", "until",
  ]

  /// True if a header of that name may contain a total.
  static func isTotalHeader(_ name: String) -> Bool {
    let words = name.identifier.split(separator: "_").map(String.init)
    let isCount = words.contains { totalWords.contains($0) }
    return isCount && !isMeasure(name) && !unlinkedTotalHeaders.contains(name.word)
  }

  private static let totalWords: Set<String> = [
    "total", "count", "records", "results", "objects", "items", "hits", "matches", "rows", "entries",
  ]
}
