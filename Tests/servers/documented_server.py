"""MediaWiki's list of all pages, as its documentation describes it, from FOLDER/lists.json.

documented_server.py FOLDER
"""

import json
import sys
from pathlib import Path
from urllib.parse import parse_qs

from serving import serve

FOLDER = Path(sys.argv[1])


def wiki(query, titles):
    """mediawiki.org/wiki/API:Allpages with generator, mediawiki.org/wiki/API:Continue."""
    assert query["action"] == "query" and query["generator"] == "allpages" and query["prop"] == "info", query
    first, limit = query.get("gapcontinue", ""), int(query["gaplimit"])
    assert ("gapcontinue" in query) == ("continue" in query), query
    rest = sorted(title for title in titles if title >= first)
    pages = {
        str(titles[title]): {
            "pageid": titles[title], "ns": 0, "title": title.replace("_", " "), "touched": "2026-01-01T00:00:00Z",
            "lastrevid": titles[title] * 10, "length": len(title), "new": "",
        } for title in rest[:limit]}
    answer = {"batchcomplete": ""} if len(rest) <= limit else {
        "continue": {"gapcontinue": rest[limit], "continue": "gapcontinue||"}}
    # PHP writes an empty map as a list.
    return answer | {"query": {"pages": pages or []}}, []


def app(environment, start_response):
    lists = json.loads((FOLDER / "lists.json").read_text())
    query = {name: values[0] for name, values in parse_qs(environment["QUERY_STRING"], True).items()}
    if environment["PATH_INFO"] != "/w/api.php":
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"no such list"]
    answer, headers = wiki(query, lists["wiki"])
    start_response("200 OK", [("Content-Type", "application/json"), *headers])
    return [json.dumps(answer).encode()]


serve(app, FOLDER / "requests.log")
