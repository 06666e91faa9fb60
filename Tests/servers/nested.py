"""GitHub, Hacker News, PokéAPI, Notion, Zendesk and Slack, as their documentation describes them: lists, and a list or
a detail for each of their records."""

import hashlib
import json
import re

from simulated import Refused, Simulated

# The identifiers of GitHub's repositories, which its Link headers contain.
FIRST_REPOSITORY = 1296269


class Nested(Simulated):
    """One of these APIs; a test changes `records` and saves them."""

    def write(self, api, records):
        self.api, self.records = api, records
        self.save()

    def save(self):
        # As JSON has it: each name is text.
        self.state = json.loads(json.dumps(self.records))

    def respond(self, request):
        request.origin = self.origin
        answer, headers = globals()[self.api](request, self.state)
        body = json.dumps(answer).encode()
        if self.api in ("github", "pokeapi"):
            headers["ETag"] = f'W/"{hashlib.sha256(body).hexdigest()}"'
        return body, headers


def allow(call, *names):
    unknown = set(call.query) - set(names)
    if unknown:
        raise Refused(400, message=f"unknown parameters {unknown}")


def github(call, state):
    """docs.github.com/en/rest/issues/issues, …/comments, …/releases/releases, …/using-pagination-in-the-rest-api."""
    assert call.headers["x-github-api-version"] == "2022-11-28", call.headers
    names = list(state)
    found = re.fullmatch(r"/repositories/(\d+)/(.+)", call.path)
    if found:
        name, rest = names[int(found[1]) - FIRST_REPOSITORY], found[2]
    else:
        found = re.fullmatch(r"/repos/([^/]+/[^/]+)/(.+)", call.path)
        name, rest = found[1], found[2]
    if name not in state:
        raise Refused(404, message="Not Found")
    repository = state[name]
    one = re.fullmatch(r"issues/comments/(\d+)|issues/(\d+)|releases/(\d+)", rest)
    if one:
        return github_record(repository, *one.groups()), {}
    if rest == "issues":
        assert (call.query["state"], call.query["sort"], call.query["direction"]) == ("all", "created", "asc"), call
        records = repository["issues"]
    elif rest == "releases":
        records = repository["releases"]
    else:
        number = re.fullmatch(r"issues/(\d+)/comments", rest)[1]
        if not any(issue["number"] == int(number) for issue in repository["issues"]):
            raise Refused(404, message="Not Found")
        records = repository["comments"].get(number, [])
    allow(call, "state", "sort", "direction", "per_page", "page")
    size, page = int(call.query["per_page"]), call.page
    headers = {}
    if len(records) > page * size:
        others = "&".join(f"{name}={value}" for name, value in call.query.items() if name != "page")
        address = f"{call.origin}/repositories/{names.index(name) + FIRST_REPOSITORY}/{rest}?{others}&page={page + 1}"
        headers["Link"] = f'<{address}>; rel="next"'
    return records[(page - 1) * size:page * size], headers


def github_record(repository, comment, issue, release):
    if comment:
        records = [record for comments in repository["comments"].values() for record in comments]
        known = [record for record in records if record["id"] == int(comment)]
    elif issue:
        known = [record for record in repository["issues"] if record["number"] == int(issue)]
        if not known:
            raise Refused(410, message="This issue was deleted")
    else:
        known = [record for record in repository["releases"] if record["id"] == int(release)]
    if not known:
        raise Refused(404, message="Not Found")
    return known[0]


def hacker_news(call, state):
    """github.com/HackerNews/API: an unknown item is null."""
    allow(call)
    if call.path == "/v0/topstories.json":
        return state["top"], {}
    return state["items"].get(re.fullmatch(r"/v0/item/(\d+)\.json", call.path)[1]), {}


def pokeapi(call, state):
    """pokeapi.co/docs/v2#resource-listspagination-section, …#pokemon."""
    found = re.fullmatch(r"/api/v2/pokemon/(\d+)/", call.path)
    if found:
        if found[1] not in state:
            raise Refused(404)
        return state[found[1]], {}
    assert call.path == "/api/v2/pokemon", call.path
    allow(call, "limit", "offset")
    start, size = int(call.query["offset"]), int(call.query["limit"])
    results = [
        {"name": record["name"], "url": f"{call.origin}/api/v2/pokemon/{key}/"} for key, record in state.items()]
    return {"count": len(results), "next": None, "previous": None, "results": results[start:start + size]}, {}


def notion(call, state):
    """developers.notion.com/reference/post-database-query, …/get-block-children, …/retrieve-a-page."""
    assert call.headers["notion-version"] == "2022-06-28", call.headers
    found = re.fullmatch(r"/v1/blocks/([^/]+)/children", call.path)
    if found:
        allow(call, "page_size", "start_cursor")
        if found[1] not in state["blocks"]:
            raise Refused(404, object="error", status=404, code="object_not_found")
        return notion_list(state["blocks"][found[1]], call.query)
    found = re.fullmatch(r"/v1/pages/([^/]+)", call.path)
    if found:
        return next(page for page in state["pages"] if page["id"] == found[1]), {}
    assert re.fullmatch(r"/v1/databases/[^/]+/query", call.path), call.path
    since = call.json.get("filter", {}).get("last_edited_time", {}).get("on_or_after", "")
    listed = [page for page in state["pages"] if not page["archived"] and page["last_edited_time"] >= since]
    return notion_list(listed, call.json)


def notion_list(records, asked):
    """The cursor is the id of the next record."""
    size, cursor = int(asked["page_size"]), asked.get("start_cursor")
    start = [record["id"] for record in records].index(cursor) if cursor else 0
    more = len(records) > start + size
    return {
        "object": "list", "results": records[start:start + size], "has_more": more,
        "next_cursor": records[start + size]["id"] if more else None}, {}


def zendesk(call, state):
    """developer.zendesk.com/api-reference/ticketing/ticket-management/incremental_exports, …/tickets/ticket_comments.
    A cursor is the `generated_timestamp` of the last exported ticket."""
    found = re.fullmatch(r"/api/v2/tickets/(\d+)/comments", call.path)
    if found:
        allow(call, "page[size]", "page[after]")
        if found[1] not in state["comments"]:
            raise Refused(404, error="RecordNotFound", description="Not found")
        comments, start = state["comments"][found[1]], int(call.query.get("page[after]", 0))
        end = start + int(call.query["page[size]"])
        # The last page has a cursor too.
        return {
            "comments": comments[start:end],
            "meta": {"has_more": len(comments) > end, "after_cursor": str(end), "before_cursor": str(start)}}, {}
    assert call.path == "/api/v2/incremental/tickets/cursor.json", call.path
    allow(call, "start_time", "per_page", "cursor")
    start, size = int(call.query.get("cursor", 0)), int(call.query["per_page"])
    rest = [ticket for ticket in state["tickets"] if ticket["generated_timestamp"] > start]
    rest.sort(key=lambda ticket: ticket["generated_timestamp"])
    page = rest[:size]
    end = page[-1]["generated_timestamp"] if page else start
    return {
        "tickets": page, "end_of_stream": len(rest) <= size,
        "after_url": f"{call.origin}{call.path}?cursor={end}&per_page={size}"}, {}


def slack(call, state):
    """docs.slack.dev/reference/methods/conversations.list, …/conversations.history, …/conversations.replies,
    docs.slack.dev/apis/web-api/pagination. Slack answers 200 for an error."""
    allow(call, "types", "exclude_archived", "channel", "ts", "oldest", "limit", "cursor")
    if call.path == "/api/conversations.list":
        return slack_list("channels", state["channels"], call.query)
    messages = state["messages"].get(call.query["channel"])
    if messages is None:
        return {"ok": False, "error": "channel_not_found"}, {}
    if call.path == "/api/conversations.history":
        recent = [message for message in messages if message["ts"] > call.query.get("oldest", "")]
        return slack_list("messages", sorted(recent, key=lambda message: message["ts"], reverse=True), call.query)
    assert call.path == "/api/conversations.replies", call.path
    thread = [message for message in messages if message["ts"] == call.query["ts"]]
    if not thread:
        return {"ok": False, "error": "thread_not_found"}, {}
    return slack_list("messages", thread + state["replies"].get(call.query["ts"], []), call.query)


def slack_list(name, records, query):
    start = int(query.get("cursor") or 0)
    end = start + int(query["limit"])
    more = len(records) > end
    answer = {"ok": True, name: records[start:end], "response_metadata": {"next_cursor": str(end) if more else ""}}
    if name == "messages":
        answer["has_more"] = more
    return answer, {}
