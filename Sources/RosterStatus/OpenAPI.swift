internal import RosterModel

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

  private static let paths: StaticString = #"""
    {
    "/": {
      "get": {"operationId": "getPage", "summary": "The page for people: the same facts as HTML, live with a script. It only reads, and asks no other host.",
        "description": "The latest syncs are read from the database; if it cannot be read, the page reports it.",
        "responses": {"200": {"$ref": "#/components/responses/Page"}, "default": {"$ref": "#/components/responses/Problem"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "405": {"$ref": "#/components/responses/MethodNotAllowed"},
          "408": {"$ref": "#/components/responses/RequestTimeout"}, "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "431": {"$ref": "#/components/responses/HeadTooLarge"}}},
      "head": {"operationId": "headPage", "summary": "The head of GET.",
        "responses": {"200": {"description": "As GET, without the body."}, "default": {"description": "As GET, without the body."}}}
    },
    "/page.css": {
      "get": {"operationId": "getPageStyle", "summary": "The page's style.",
        "responses": {"200": {"$ref": "#/components/responses/PageStyle"}, "default": {"$ref": "#/components/responses/Problem"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "405": {"$ref": "#/components/responses/MethodNotAllowed"},
          "408": {"$ref": "#/components/responses/RequestTimeout"}, "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "431": {"$ref": "#/components/responses/HeadTooLarge"}}},
      "head": {"operationId": "headPageStyle", "summary": "The head of GET.",
        "responses": {"200": {"description": "As GET, without the body."}, "default": {"description": "As GET, without the body."}}}
    },
    "/page.js": {
      "get": {"operationId": "getPageScript", "summary": "The page's script.",
        "responses": {"200": {"$ref": "#/components/responses/PageScript"}, "default": {"$ref": "#/components/responses/Problem"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "405": {"$ref": "#/components/responses/MethodNotAllowed"},
          "408": {"$ref": "#/components/responses/RequestTimeout"}, "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "431": {"$ref": "#/components/responses/HeadTooLarge"}}},
      "head": {"operationId": "headPageScript", "summary": "The head of GET.",
        "responses": {"200": {"description": "As GET, without the body."}, "default": {"description": "As GET, without the body."}}}
    },
    "/page.svg": {
      "get": {"operationId": "getPageIcon", "summary": "The page's icon.",
        "responses": {"200": {"$ref": "#/components/responses/PageIcon"}, "default": {"$ref": "#/components/responses/Problem"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "405": {"$ref": "#/components/responses/MethodNotAllowed"},
          "408": {"$ref": "#/components/responses/RequestTimeout"}, "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "431": {"$ref": "#/components/responses/HeadTooLarge"}}},
      "head": {"operationId": "headPageIcon", "summary": "The head of GET.",
        "responses": {"200": {"description": "As GET, without the body."}, "default": {"description": "As GET, without the body."}}}
    },
    "/v1/status": {
      "get": {"operationId": "getStatus", "summary": "State, message, cache, syncs, token, configuration. Never waits for the database or for upstream.",
        "responses": {"200": {"$ref": "#/components/responses/Status"}, "default": {"$ref": "#/components/responses/Problem"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "405": {"$ref": "#/components/responses/MethodNotAllowed"},
          "408": {"$ref": "#/components/responses/RequestTimeout"}, "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "431": {"$ref": "#/components/responses/HeadTooLarge"}}},
      "head": {"operationId": "headStatus", "summary": "The head of GET.",
        "responses": {"200": {"description": "As GET, without the body."}, "default": {"description": "As GET, without the body."}}}
    },
    "/v1/explain": {
      "get": {"operationId": "explain", "summary": "Why the state is what it is, since when, what readers see meanwhile, what to look at and what to do.",
        "responses": {"200": {"$ref": "#/components/responses/Explanation"}, "default": {"$ref": "#/components/responses/Problem"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "405": {"$ref": "#/components/responses/MethodNotAllowed"},
          "408": {"$ref": "#/components/responses/RequestTimeout"}, "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "431": {"$ref": "#/components/responses/HeadTooLarge"}}},
      "head": {"operationId": "headExplain", "summary": "The head of GET.",
        "responses": {"200": {"description": "As GET, without the body."}, "default": {"description": "As GET, without the body."}}}
    },
    "/v1/syncs": {
      "get": {"operationId": "listSyncs", "summary": "The latest syncs, newest first; the one that runs too.",
        "parameters": [{"$ref": "#/components/parameters/Limit"}, {"$ref": "#/components/parameters/WithResources"}],
        "responses": {"200": {"$ref": "#/components/responses/Syncs"}, "default": {"$ref": "#/components/responses/Problem"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "405": {"$ref": "#/components/responses/MethodNotAllowed"},
          "408": {"$ref": "#/components/responses/RequestTimeout"}, "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "431": {"$ref": "#/components/responses/HeadTooLarge"}, "503": {"$ref": "#/components/responses/Unavailable"}}},
      "head": {"operationId": "headSyncs", "summary": "The head of GET.", "parameters": [{"$ref": "#/components/parameters/Limit"}, {"$ref": "#/components/parameters/WithResources"}],
        "responses": {"200": {"description": "As GET, without the body."}, "default": {"description": "As GET, without the body."}}}
    },
    "/v1/changes": {
      "get": {"operationId": "followChanges", "summary": "What syncs have added, changed and removed since a change, oldest first.",
        "description": "Ask with since=last and feed=feed of the previous answer, and no change is missed. With wait the answer follows the next snapshot that has changes. After 410 read the tables, the largest changes.id and cache_info.feed again, in one transaction.",
        "parameters": [{"$ref": "#/components/parameters/Since"}, {"$ref": "#/components/parameters/Feed"},
          {"$ref": "#/components/parameters/Resource"}, {"$ref": "#/components/parameters/ChangesLimit"}, {"$ref": "#/components/parameters/Wait"}],
        "responses": {"200": {"$ref": "#/components/responses/Changes"}, "default": {"$ref": "#/components/responses/Problem"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "405": {"$ref": "#/components/responses/MethodNotAllowed"},
          "408": {"$ref": "#/components/responses/RequestTimeout"}, "410": {"$ref": "#/components/responses/ReadAnew"},
          "413": {"$ref": "#/components/responses/ContentTooLarge"}, "431": {"$ref": "#/components/responses/HeadTooLarge"},
          "503": {"$ref": "#/components/responses/Unavailable"}}},
      "head": {"operationId": "headChanges", "summary": "The head of GET.",
        "parameters": [{"$ref": "#/components/parameters/Since"}, {"$ref": "#/components/parameters/Feed"},
          {"$ref": "#/components/parameters/Resource"}, {"$ref": "#/components/parameters/ChangesLimit"}, {"$ref": "#/components/parameters/Wait"}],
        "responses": {"200": {"description": "As GET, without the body."}, "default": {"description": "As GET, without the body."}}}
    },
    "/v1/events": {
      "get": {"operationId": "followEvents", "summary": "Server-Sent Events, until the client or the daemon ends the stream.",
        "description": "Each has id, event and data; data is one of #/components/schemas/Event. A reader for whom more than 256 KiB wait is dropped, and can return with Last-Event-ID. A leading events.lost, which has no id, marks a gap.",
        "parameters": [{"$ref": "#/components/parameters/LastEventID"}],
        "responses": {"200": {"$ref": "#/components/responses/Events"}, "default": {"$ref": "#/components/responses/Problem"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "405": {"$ref": "#/components/responses/MethodNotAllowed"},
          "408": {"$ref": "#/components/responses/RequestTimeout"}, "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "431": {"$ref": "#/components/responses/HeadTooLarge"}}},
      "head": {"operationId": "headEvents", "summary": "The head of GET.",
        "responses": {"200": {"description": "As GET, without the body."}, "default": {"description": "As GET, without the body."}}}
    },
    "/v1/sync": {
      "post": {"operationId": "startSync", "summary": "Starts a sync, or joins the one that runs.",
        "description": "For root and the daemon's own user, as the kernel tells (SO_PEERCRED).",
        "requestBody": {"required": false, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/SyncRequest"}}}},
        "responses": {"202": {"$ref": "#/components/responses/Accepted"}, "default": {"$ref": "#/components/responses/Problem"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "403": {"$ref": "#/components/responses/Forbidden"},
          "405": {"$ref": "#/components/responses/MethodNotAllowed"}, "408": {"$ref": "#/components/responses/RequestTimeout"},
          "409": {"$ref": "#/components/responses/NotFresh"}, "413": {"$ref": "#/components/responses/ContentTooLarge"}, "431": {"$ref": "#/components/responses/HeadTooLarge"},
          "503": {"$ref": "#/components/responses/Unavailable"}}}
    },
    "/v1/cancel": {
      "post": {"operationId": "cancelSync", "summary": "Cancels the sync that runs; what it pulled is kept for the next.",
        "description": "For root and the daemon's own user, as the kernel tells (SO_PEERCRED). A sync whose publication cannot be called back any more ends as it would have.",
        "responses": {"202": {"$ref": "#/components/responses/Cancelled"}, "default": {"$ref": "#/components/responses/Problem"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "403": {"$ref": "#/components/responses/Forbidden"},
          "405": {"$ref": "#/components/responses/MethodNotAllowed"}, "408": {"$ref": "#/components/responses/RequestTimeout"},
          "409": {"$ref": "#/components/responses/NoneRuns"}, "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "431": {"$ref": "#/components/responses/HeadTooLarge"}, "503": {"$ref": "#/components/responses/Unavailable"}}}
    },
    "/metrics": {
      "get": {"operationId": "getMetrics", "summary": "Metrics in Prometheus' text format 0.0.4.",
        "responses": {"200": {"$ref": "#/components/responses/Metrics"}, "default": {"$ref": "#/components/responses/Problem"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "405": {"$ref": "#/components/responses/MethodNotAllowed"},
          "408": {"$ref": "#/components/responses/RequestTimeout"}, "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "431": {"$ref": "#/components/responses/HeadTooLarge"}}},
      "head": {"operationId": "headMetrics", "summary": "The head of GET.",
        "responses": {"200": {"description": "As GET, without the body."}, "default": {"description": "As GET, without the body."}}}
    },
    "/healthz": {
      "get": {"operationId": "getHealth", "summary": "200 while the daemon's loop is alive and a running sync makes progress.",
        "responses": {"200": {"$ref": "#/components/responses/OK"}, "default": {"$ref": "#/components/responses/Problem"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "405": {"$ref": "#/components/responses/MethodNotAllowed"},
          "408": {"$ref": "#/components/responses/RequestTimeout"}, "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "431": {"$ref": "#/components/responses/HeadTooLarge"}, "503": {"$ref": "#/components/responses/Unavailable"}}},
      "head": {"operationId": "headHealth", "summary": "The head of GET.",
        "responses": {"200": {"description": "As GET, without the body."}, "default": {"description": "As GET, without the body."}}}
    },
    "/readyz": {
      "get": {"operationId": "getReadiness", "summary": "200 once there is a snapshot, verified not longer than max_age ago.",
        "parameters": [{"$ref": "#/components/parameters/MaxAge"}],
        "responses": {"200": {"$ref": "#/components/responses/OK"}, "default": {"$ref": "#/components/responses/Problem"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "405": {"$ref": "#/components/responses/MethodNotAllowed"},
          "408": {"$ref": "#/components/responses/RequestTimeout"}, "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "431": {"$ref": "#/components/responses/HeadTooLarge"}, "503": {"$ref": "#/components/responses/Unavailable"}}},
      "head": {"operationId": "headReadiness", "summary": "The head of GET.", "parameters": [{"$ref": "#/components/parameters/MaxAge"}],
        "responses": {"200": {"description": "As GET, without the body."}, "default": {"description": "As GET, without the body."}}}
    },
    "/openapi.json": {
      "get": {"operationId": "getOpenAPI", "summary": "This document.",
        "responses": {"200": {"$ref": "#/components/responses/OpenAPI"}, "default": {"$ref": "#/components/responses/Problem"},
          "400": {"$ref": "#/components/responses/BadRequest"}, "405": {"$ref": "#/components/responses/MethodNotAllowed"},
          "408": {"$ref": "#/components/responses/RequestTimeout"}, "413": {"$ref": "#/components/responses/ContentTooLarge"},
          "431": {"$ref": "#/components/responses/HeadTooLarge"}}},
      "head": {"operationId": "headOpenAPI", "summary": "The head of GET.",
        "responses": {"200": {"description": "As GET, without the body."}, "default": {"description": "As GET, without the body."}}}
    }
    }
    """#

  private static let parameters: StaticString = #"""
    {
    "Limit": {"name": "limit", "in": "query", "description": "How many.",
      "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 20}},
    "WithResources": {"name": "resources", "in": "query", "description": "Whether each sync that was published or unchanged has its records by resource.",
      "schema": {"type": "boolean", "default": false}},
    "Since": {"name": "since", "in": "query", "required": true, "description": "Changes with a larger id.",
      "schema": {"type": "integer", "minimum": 0}},
    "Feed": {"name": "feed", "in": "query", "description": "The feed that since is of (cache_info.feed); another one is 410.",
      "schema": {"type": "string"}},
    "Resource": {"name": "resource", "in": "query", "description": "Changes of this resource only; last goes on over all.",
      "schema": {"type": "string"}},
    "ChangesLimit": {"name": "limit", "in": "query", "description": "How many at most; fewer come where they are long.",
      "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}},
    "Wait": {"name": "wait", "in": "query", "description": "How long to wait if there are no changes, 0s to 60s.",
      "schema": {"$ref": "#/components/schemas/Duration", "default": "0s"}, "example": "30s"},
    "MaxAge": {"name": "max_age", "in": "query", "description": "How long ago the snapshot may have been verified at most; without it any will do.",
      "schema": {"$ref": "#/components/schemas/Duration"}, "example": "1h"},
    "LastEventID": {"name": "Last-Event-ID", "in": "header", "description": "Go on after this event; without it: from now on.",
      "schema": {"type": "string"}}
    }
    """#

  private static let responses: StaticString = #"""
    {
    "Status": {"description": "What the daemon does, or what is wrong and what to do.",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Status"}}}},
    "Page": {"description": "The page.", "content": {"text/html": {"schema": {"type": "string"}}}},
    "PageStyle": {"description": "CSS.", "content": {"text/css": {"schema": {"type": "string"}}}},
    "PageScript": {"description": "JavaScript.", "content": {"text/javascript": {"schema": {"type": "string"}}}},
    "PageIcon": {"description": "SVG.", "content": {"image/svg+xml": {"schema": {"type": "string"}}}},
    "Explanation": {"description": "Sentences for people, and what is concerned.",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Explanation"}}}},
    "Syncs": {"description": "The latest syncs.", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Syncs"}}}},
    "Changes": {"description": "Changes, or none within wait.",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Changes"}}}},
    "Cancelled": {"description": "The sync that is cancelled now.",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Cancelled"}}}},
    "NotFresh": {"description": "A fresh sync was requested while one runs that is not fresh.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}},
    "NoneRuns": {"description": "No sync runs.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}},
    "ReadAnew": {"description": "The changes after since are not known: another feed, or they have expired.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}},
    "Events": {"description": "The stream.", "content": {"text/event-stream": {"schema": {"type": "string"}}}},
    "Accepted": {"description": "The sync that runs from now on, or ran already.",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Accepted"}}}},
    "Metrics": {"description": "The metrics.", "content": {"text/plain": {"schema": {"type": "string"}}}},
    "OpenAPI": {"description": "This document.", "content": {"application/json": {"schema": {"type": "object"}}}},
    "OK": {"description": "Yes.", "content": {"text/plain": {"schema": {"const": "ok\n"}}}},
    "BadRequest": {"description": "No HTTP, or a parameter or body that is unknown or not what it must be; detail says which.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}},
    "Forbidden": {"description": "For root and the daemon's own user only.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}},
    "MethodNotAllowed": {"description": "Another method than Allow names.",
      "headers": {"Allow": {"required": true, "schema": {"type": "string"}}},
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}},
    "RequestTimeout": {"description": "The request was not complete after 10 s.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}},
    "ContentTooLarge": {"description": "A body over 64 KiB.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}},
    "HeadTooLarge": {"description": "A head over 16 KiB.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}},
    "Unavailable": {"description": "Not now; detail says why.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}},
    "Problem": {"description": "Any other error: 403 for a request that another web site may have caused, 404 for an unknown path, 500 for a defect.",
      "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    }
    """#
}
