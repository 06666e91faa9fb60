"""Microsoft Graph's users, Google Calendar's events and HubSpot's contacts, as their documentation describes them, from
records in FOLDER/records.json.

changing_server.py FOLDER

A record has an id, a version, which each write of any record increases, a name, and whether it was deleted. `floor` is
the oldest version whose delta token the server still knows. `fails` is the status of all requests with a token.
"""

import json
import sys
from pathlib import Path
from urllib.parse import parse_qs

from serving import serve

FOLDER = Path(sys.argv[1])
# HubSpot's search finds no more.
MOST = 10_000


class Refused(Exception):
    """The status line."""


def changed(state, token):
    """The records since a token, and the next token."""
    newest = "delta" + str(max((record["version"] for record in state["records"]), default=0))
    if token is None:
        return [record for record in state["records"] if not record["deleted"]], newest
    if "fails" in state:
        raise Refused(state["fails"])
    version = int(token.removeprefix("delta"))
    if version < state["floor"]:
        raise Refused("410 Gone")
    return [record for record in state["records"] if record["version"] > version], newest


def users(query, state, origin):
    """learn.microsoft.com/en-us/graph/delta-query-overview: the links have all that the next request needs."""
    address = f"{origin}/v1.0/users/delta"
    token, start = query.get("$deltatoken"), 0
    if "$skiptoken" in query:
        token, start, newest = query["$skiptoken"].split("-")
        token, start = token or None, int(start)
        found, _ = changed(state, token)
    else:
        if token is None:
            assert query["$select"].startswith("id,displayName"), query
        found, newest = changed(state, token)
    shown = [
        {"id": record["id"], "@removed": {"reason": "changed"}} if record["deleted"] else
        {"id": record["id"], "displayName": record["name"], "userPrincipalName": record["name"], "accountEnabled": True}
        for record in found[start:start + 100]]
    if start + 100 < len(found):
        return {"value": shown, "@odata.nextLink": f"{address}?$skiptoken={token or ''}-{start + 100}-{newest}"}
    return {"value": shown, "@odata.deltaLink": f"{address}?$deltatoken={newest}"}


def events(query, state, _):
    """developers.google.com/workspace/calendar/api/v3/reference/events/list."""
    size, token, start = int(query["maxResults"]), query.get("syncToken"), int(query.get("pageToken", 0))
    found, newest = changed(state, token)
    shown = [
        {"id": record["id"], "status": "cancelled"} if record["deleted"] else
        {"id": record["id"], "status": "confirmed", "summary": record["name"], "start": {"date": "2026-01-01"}}
        for record in found[start:start + size]]
    more = start + size < len(found)
    return {"items": shown} | ({"nextPageToken": str(start + size)} if more else {"nextSyncToken": newest})


def contact(record):
    return {
        "id": record["id"], "archived": False, "createdAt": "2026-01-01T00:00:00Z", "updatedAt": stamp(record),
        "properties": {"email": f"{record['id']}@example.com", "firstname": record["name"],
                       "lastmodifieddate": stamp(record)}}


def stamp(record):
    """A version is a second of 2026-01-01."""
    second = record["version"]
    return f"2026-01-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000Z"


def pages(found, start, size):
    more = start + size < len(found)
    shown = [contact(record) for record in found[start:start + size]]
    return {"results": shown} | ({"paging": {"next": {"after": str(start + size)}}} if more else {})


def contacts(query, state, _):
    """developers.hubspot.com/docs/api-reference/crm-contacts-v3/basic/get-contacts."""
    assert "lastmodifieddate" in query["properties"], query
    return pages(changed(state, None)[0], int(query.get("after", 0)), int(query["limit"]))


def search(body, state):
    """developers.hubspot.com/docs/api-reference/search/guide: GTE compares milliseconds since 1970."""
    (condition,), = [group["filters"] for group in body["filterGroups"]]
    assert (condition["propertyName"], condition["operator"]) == ("lastmodifieddate", "GTE"), body
    since = int(condition["value"]) - 1_767_225_600_000
    found = [record for record in changed(state, None)[0] if record["version"] * 1000 >= since]
    start = int(body.get("after", 0))
    if start + body["limit"] > MOST:
        raise Refused("400 Bad Request")
    return {"total": len(found)} | pages(sorted(found, key=stamp), start, body["limit"])


def answer(environment, state):
    query = {name: values[0] for name, values in parse_qs(environment["QUERY_STRING"], True).items()}
    path, origin = environment["PATH_INFO"], f"http://{environment['HTTP_HOST']}"
    if path == "/crm/v3/objects/contacts/search":
        length = int(environment["CONTENT_LENGTH"])
        return search(json.loads(environment["wsgi.input"].read(length)), state)
    lists = {
        "/v1.0/users/delta": users, "/calendar/v3/calendars/primary/events": events,
        "/crm/v3/objects/contacts": contacts}
    if path in lists:
        return lists[path](query, state, origin)
    found = [record for record in state["records"] if path.endswith(f"/{record['id']}") and not record["deleted"]]
    if not found:
        raise Refused("404 Not Found")
    return contact(found[0])


def app(environment, start_response):
    try:
        body = json.dumps(answer(environment, json.loads((FOLDER / "records.json").read_text()))).encode()
        start_response("200 OK", [("Content-Type", "application/json")])
        return [body]
    except Refused as refused:
        start_response(str(refused), [("Content-Type", "application/json")])
        return [b"{}"]


serve(app, FOLDER / "requests.log")
