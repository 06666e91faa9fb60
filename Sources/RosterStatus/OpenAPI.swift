internal import RosterCore

/// The document at `/openapi.json`. It is text of the program instead of a file, so that it always matches the
/// installed program.
enum OpenAPI {
  /// OpenAPI 3.1.1 (spec.openapis.org/oas/v3.1.1), made for each request, so that it uses no memory between requests.
  static var document: String {
    """
    {
    "openapi": "3.1.1",
    "info": {
    "title": "rosterd",
    "version": "\(rosterdVersion)",
    "summary": "What a rosterd daemon does and what changed, and a way to ask it for a sync.",
    "description": "\(introduction)",
    "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}
    },
    "servers": [{"url": "http://localhost", "description": "The Unix socket of status.socket."}],
    "paths": \(paths),
    "components": {
    "parameters": \(parameters),
    "responses": \(responses),
    "schemas": \(OpenAPISchemas.all)
    }
    }

    """
  }

  private static let introduction: StaticString =
    """
    HTTP/1.1 on a Unix socket: curl --unix-socket /run/rosterd/status.sock http://localhost/v1/status. \
    Every user who may open the socket may read. Errors are application/problem+json (RFC 9457). A path that is not \
    listed is 404, another method than those listed is 405 with Allow. Objects gain fields in later versions; none is taken away.
    """

  private static var paths: String {
    let operations = [
      reading(
        "/", id: "getPage", head: "headPage", answer: "Page",
        summary:
          "The page for people: the same facts as HTML, live with a script. It only reads, and asks no other host.",
        description: "The latest syncs are read from the database; if it cannot be read, the page reports it."),
      reading(
        "/page.css", id: "getPageStyle", head: "headPageStyle", answer: "PageStyle", summary: "The page's style."),
      reading(
        "/page.js", id: "getPageScript", head: "headPageScript", answer: "PageScript", summary: "The page's script."),
      reading(
        "/page.svg", id: "getPageIcon", head: "headPageIcon", answer: "PageIcon", summary: "The page's icon."),
      reading(
        "/v1/status", id: "getStatus", head: "headStatus", answer: "Status",
        summary:
          "State, message, cache, syncs, token, configuration. Never waits for the database or for upstream."),
      reading(
        "/v1/explain", id: "explain", head: "headExplain", answer: "Explanation",
        summary:
          "Why the state is what it is, since when, what readers see meanwhile, what to look at and what to do."),
      reading(
        "/v1/syncs", id: "listSyncs", head: "headSyncs", answer: "Syncs", others: ["503": "Unavailable"],
        parameters: ["Limit", "WithResources"], summary: "The latest syncs, newest first; the one that runs too."),
      reading(
        "/v1/changes", id: "followChanges", head: "headChanges", answer: "Changes",
        others: ["410": "ReadAnew", "503": "Unavailable"],
        parameters: ["Since", "Feed", "Resource", "ChangesLimit", "Wait"],
        summary: "The additions, changes and removals after a change, oldest first.",
        description: """
          Ask with since=last and feed=feed of the previous answer, and no change is missed. With wait the answer \
          follows the next snapshot that has changes. After 410 read the tables, the largest changes.id and \
          cache_info.feed again, in one transaction.
          """),
      reading(
        "/v1/events", id: "followEvents", head: "headEvents", answer: "Events",
        parameters: ["LastEventID"], summary: "Server-Sent Events, until the client or the daemon ends the stream.",
        description: """
          Each has id, event and data; data is one of #/components/schemas/Event. A reader for whom more than 256 KiB \
          wait is dropped, and can return with Last-Event-ID. A leading events.lost, which has no id, marks a gap.
          """),
      writing(
        "/v1/sync", id: "startSync", answer: "Accepted", conflict: "NotFresh", body: "SyncRequest",
        summary: "Starts a sync, or joins the one that runs.",
        description: "For root and the daemon's own user, as the kernel tells (SO_PEERCRED)."),
      writing(
        "/v1/cancel", id: "cancelSync", answer: "Cancelled", conflict: "NoneRuns",
        summary: "Cancels the sync that runs; what it pulled is kept for the next.",
        description: """
          For root and the daemon's own user, as the kernel tells (SO_PEERCRED). A sync whose publication cannot be \
          called back any more ends as it would have.
          """),
      reading(
        "/metrics", id: "getMetrics", head: "headMetrics", answer: "Metrics",
        summary: "Metrics in Prometheus' text format 0.0.4."),
      reading(
        "/healthz", id: "getHealth", head: "headHealth", answer: "OK", others: ["503": "Unavailable"],
        summary: "200 while the daemon's loop is alive and a running sync makes progress."),
      reading(
        "/readyz", id: "getReadiness", head: "headReadiness", answer: "OK", others: ["503": "Unavailable"],
        parameters: ["MaxAge"], summary: "200 once there is a snapshot, verified not longer than max_age ago."),
      reading(
        "/openapi.json", id: "getOpenAPI", head: "headOpenAPI", answer: "OpenAPI", summary: "This document."),
    ]
    return "{\n\(operations.joined(separator: ",\n"))\n}"
  }

  /// GET and HEAD of a path.
  /// - Parameters:
  ///   - id: name of the operation GET.
  ///   - head: name of the operation HEAD.
  ///   - answer: the answer 200, a name in `responses`.
  ///   - others: the answers that not every path has, by status.
  private static func reading(
    _ path: String, id: String, head: String, answer: String, others: [String: String] = [:],
    parameters: [String] = [], summary: String, description: String? = nil
  ) -> String {
    let asGet = #"{"description": "As GET, without the body."}"#
    let asked = listed(parameters)
    return #"""
      "\#(path)": {
        "get": {"operationId": "\#(id)", "summary": "\#(summary)",\#(described(description))\#(asked)
          "responses": \#(answers(others.merging(["200": answer]) { $1 }))},
        "head": {"operationId": "\#(head)", "summary": "The head of GET.",\#(asked)
          "responses": {"200": \#(asGet), "default": \#(asGet)}}
      }
      """#
  }

  /// POST of a path.
  /// - Parameters:
  ///   - id: name of the operation.
  ///   - answer: the answer 202.
  ///   - conflict: the answer 409.
  ///   - body: the schema of the body, which may be left out.
  private static func writing(
    _ path: String, id: String, answer: String, conflict: String, body: String? = nil, summary: String,
    description: String
  ) -> String {
    let content = body.map { body in
      #""requestBody": {"required": false, "content": {"application/json": {"schema": \#(reference(body, in: "schemas"))}}},"#
    }
    let all = answers(["202": answer, "403": "Forbidden", "409": conflict, "503": "Unavailable"])
    return #"""
      "\#(path)": {
        "post": {"operationId": "\#(id)", "summary": "\#(summary)",\#(described(description))\#(content ?? "")
          "responses": \#(all)}
      }
      """#
  }

  private static func reference(_ name: String, in component: String) -> String {
    ##"{"$ref": "#/components/\##(component)/\##(name)"}"##
  }

  private static func described(_ text: String?) -> String { text.map { #""description": "\#($0)","# } ?? "" }

  private static func listed(_ parameters: [String]) -> String {
    if parameters.isEmpty { return "" }
    return #""parameters": [\#(parameters.map { reference($0, in: "parameters") }.joined(separator: ", "))],"#
  }

  /// These answers by status, and those of every path.
  private static func answers(_ own: [String: String]) -> String {
    let ofAll = [
      "default": "Problem", "400": "BadRequest", "405": "MethodNotAllowed", "408": "RequestTimeout",
      "413": "ContentTooLarge", "431": "HeadTooLarge",
    ]
    let all = ofAll.merging(own) { $1 }.sorted { $0.key < $1.key }
    return "{\(all.map { #""\#($0)": \#(reference($1, in: "responses"))"# }.joined(separator: ", "))}"
  }

  private static let parameters: StaticString = #"""
    {
    "Limit": {"name": "limit", "in": "query", "description": "Number of syncs.",
      "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 20}},
    "WithResources": {"name": "resources", "in": "query", "description": "If true, each published or unchanged sync has its records by resource.",
      "schema": {"type": "boolean", "default": false}},
    "Since": {"name": "since", "in": "query", "required": true, "description": "Changes with a larger id.",
      "schema": {"type": "integer", "minimum": 0}},
    "Feed": {"name": "feed", "in": "query", "description": "The feed that since belongs to (cache_info.feed); another one is 410.",
      "schema": {"type": "string"}},
    "Resource": {"name": "resource", "in": "query", "description": "Changes of this resource only; last also passes the changes of other resources.",
      "schema": {"type": "string"}},
    "ChangesLimit": {"name": "limit", "in": "query", "description": "Largest number of changes; fewer if they are long.",
      "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}},
    "Wait": {"name": "wait", "in": "query", "description": "How long to wait if there are no changes, 0s to 60s.",
      "schema": {"$ref": "#/components/schemas/Duration", "default": "0s"}, "example": "30s"},
    "MaxAge": {"name": "max_age", "in": "query", "description": "Largest time since the snapshot was verified; without it any time is accepted.",
      "schema": {"$ref": "#/components/schemas/Duration"}, "example": "1h"},
    "LastEventID": {"name": "Last-Event-ID", "in": "header", "description": "The stream resumes after this event; without it, it starts now.",
      "schema": {"type": "string"}}
    }
    """#

  private static var responses: String {
    let all = [
      answer(
        "Status", means: "The state of the daemon, and what to do if something is wrong."),
      answer("Page", means: "The page.", type: "text/html"),
      answer("PageStyle", means: "CSS.", type: "text/css"),
      answer("PageScript", means: "JavaScript.", type: "text/javascript"),
      answer("PageIcon", means: "SVG.", type: "image/svg+xml"),
      answer(
        "Explanation", means: "Sentences for people, and what is concerned."),
      answer("Syncs", means: "The latest syncs."),
      answer("Changes", means: "Changes, or none within wait."),
      answer("Cancelled", means: "The sync that is cancelled now."),
      problem("NotFresh", means: "A fresh sync was requested while one runs that is not fresh."),
      problem("NoneRuns", means: "No sync runs."),
      problem("ReadAnew", means: "The changes after since are not known: another feed, or they have expired."),
      answer("Events", means: "The stream.", type: "text/event-stream"),
      answer(
        "Accepted", means: "The sync that runs from now on, or ran already."),
      answer("Metrics", means: "The metrics.", type: "text/plain"),
      answer("OpenAPI", means: "This document.", schema: #"{"type": "object"}"#),
      answer("OK", means: "Yes.", type: "text/plain", schema: #"{"const": "ok\n"}"#),
      problem(
        "BadRequest",
        means: "No HTTP, or a parameter or body that is unknown or not what it must be; detail says which."),
      problem("Forbidden", means: "For root and the daemon's own user only."),
      problem(
        "MethodNotAllowed", means: "Another method than Allow names.",
        headers: #""headers": {"Allow": {"required": true, "schema": {"type": "string"}}},"#),
      problem("RequestTimeout", means: "The request was not complete after 10 s."),
      problem("ContentTooLarge", means: "A body over 64 KiB."),
      problem("HeadTooLarge", means: "A head over 16 KiB."),
      problem("Unavailable", means: "Not now; detail says why."),
      problem(
        "Problem",
        means:
          "Any other error: 403 for a request that another web site may have caused, 404 for an unknown path, 500 for a defect."
      ),
    ]
    return "{\n\(all.joined(separator: ",\n"))\n}"
  }

  /// - Parameter schema: nil for the schema of that name, or for any text if the answer is not JSON.
  private static func answer(
    _ name: String, means description: String, type: String = "application/json", headers: String = "",
    schema: String? = nil
  ) -> String {
    let usual = type == "application/json" ? reference(name, in: "schemas") : #"{"type": "string"}"#
    return
      #""\#(name)": {"description": "\#(description)",\#(headers) "content": {"\#(type)": {"schema": \#(schema ?? usual)}}}"#
  }

  private static func problem(_ name: String, means description: String, headers: String = "") -> String {
    answer(
      name, means: description, type: "application/problem+json", headers: headers,
      schema: reference("Problem", in: "schemas"))
  }
}
