"""The interfaces for Prometheus and Grafana: metrics, the dashboard, the alerts."""

import json
import re
import subprocess
from pathlib import Path

from programs import tool
from simulator import only
from support import Characters, Daemon

CONFIG = Path(__file__).resolve().parents[2] / "config"
RULE_TESTS = Path(__file__).resolve().parent / "prometheus-rules.test.yml"
SAMPLE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? (\S+)$')


def run(lines, program, folder):
    upstream = Characters(program, pages=8)
    # One page at a time: otherwise upstream counts an answer that a failing sync no longer waits for.
    with Daemon(
        program, folder / "monitoring", upstream.base, ROSTERD_SYNC_CONCURRENCY="1", ROSTERD_AUTH_FLOW="oauth2_refresh",
        ROSTERD_AUTH_TOKEN_URL="/token", ROSTERD_RETRY_MAX_RETRIES="1", ROSTERD_LIMIT_BUDGET="100000/1d",
    ) as daemon:
        lines.check("Metrics: they agree with what upstream counted", lambda: agree(daemon, upstream))
        lines.check("Metrics: promtool finds nothing to say about a daemon that has met everything",
                    lambda: clean(daemon))
        lines.check("Grafana: the dashboard is over exactly our metrics", lambda: dashboard(daemon))
    upstream.stop()
    lines.check("Prometheus: the alerts fire when they should, and name metrics that are there", alerts)


def samples(daemon):
    found = {}
    for line in daemon.ask("GET", "/metrics").body.decode().splitlines():
        if not line.startswith("#"):
            name, labels, value = SAMPLE.match(line).groups()
            found[name, labels] = float(value)
    return found


def agree(daemon, upstream):
    daemon.until(lambda status: status["state"] == "idle")
    for change in [(500, only(3)), (503,), (429,), (403,), (418, only(1)), ()]:
        upstream.answer(*change)
        daemon.sync()
    upstream.answer(401, token=503)
    daemon.sync()
    upstream.answer(401, token=400)
    daemon.sync()
    upstream.answer()
    assert daemon.sync(retry_session=True)["state"] == "idle"

    upstream = upstream.state()
    now, syncs = samples(daemon), daemon.json("/v1/syncs?limit=1000")["syncs"]
    told = {labels: value for (name, labels), value in now.items() if name == "rosterd_requests_total"}
    counted = {f'code="{code}"': count for code, count in upstream["pageStatuses"].items()}
    assert told == counted, (told, counted)
    received = now["rosterd_received_bytes_total", None]
    assert received == upstream["pageBytes"] == sum(sync["bytes"] for sync in syncs), upstream["pageBytes"]
    assert now["rosterd_request_duration_seconds_count", None] == sum(counted.values())
    assert sum(sync["requests"] for sync in syncs) == sum(counted.values())
    refreshes = {labels: value for (name, labels), value in now.items() if name == "rosterd_token_refreshes_total"}
    tokens = upstream["tokenStatuses"]
    expected = {
        f'outcome="{outcome}"': tokens[code] for outcome, code in
        [("refreshed", "200"), ("passing", "503"), ("refused", "400")]}
    assert refreshes == expected, (refreshes, tokens)
    retries = {labels: value for (name, labels), value in now.items() if name == "rosterd_retries_total"}
    assert sum(retries.values()) == sum(sync["retries"] for sync in syncs), retries
    assert set(retries) == {'reason="status_500"', 'reason="status_503"', 'reason="rate_limit"'}, retries
    for outcome in ["published", "unchanged", "failed", "cancelled"]:
        ended = sum(sync["outcome"] == outcome for sync in syncs)
        assert now["rosterd_syncs_total", f'outcome="{outcome}"'] == ended, outcome
    assert now["rosterd_sync_duration_seconds_count", None] == len(syncs)
    assert now["rosterd_records", 'resource="character"'] == 160 and now["rosterd_sync_pages", None] == 0
    assert now["process_open_fds", None] >= daemon.descriptors() - 3
    return f"{int(sum(counted.values()))} requests, {len(syncs)} syncs, {int(received)} bytes"


def clean(daemon):
    text = daemon.ask("GET", "/metrics").body
    done = subprocess.run([tool("promtool"), "check", "metrics"], input=text, capture_output=True, timeout=30)
    assert done.returncode == 0 and not done.stdout and not done.stderr, done


def families(daemon):
    text = daemon.ask("GET", "/metrics").body.decode()
    return set(re.findall(r"^# TYPE (\S+)", text, re.M))


def named(text):
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"\b(?:rosterd|process)_[a-z_]+", text)}


def dashboard(daemon):
    document = json.loads((CONFIG / "grafana-dashboard.json").read_text())
    queries = [target["expr"] for panel in document["panels"] for target in panel["targets"]]
    queries += [variable["definition"] for variable in document["templating"]["list"] if "definition" in variable]
    names = set().union(*map(named, queries))
    # There only while upstream wants no request, and with a client certificate.
    rare = {"rosterd_held_until_timestamp_seconds", "rosterd_client_certificate_expiry_timestamp_seconds"}
    assert names == families(daemon) | rare, names ^ families(daemon)
    # promtool parses PromQL only in a rule, and Grafana replaces its variables before that.
    plain = [
        query.replace("$__rate_interval", "5m").replace("$instance", ".*").replace("$job", ".*")
        for query in queries[:-2]]
    rules = [{"record": f"panel:{number}", "expr": query} for number, query in enumerate(plain)]
    path = daemon.folder / "dashboard-rules.json"
    path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = subprocess.run([tool("promtool"), "check", "rules", path], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done
    ids = [panel["id"] for panel in document["panels"]]
    assert len(set(ids)) == len(ids), ids


def alerts():
    path = CONFIG / "prometheus-rules.yml"
    done = subprocess.run([tool("promtool"), "check", "rules", path], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done
    done = subprocess.run([tool("promtool"), "test", "rules", RULE_TESTS], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    known = named((CONFIG / "grafana-dashboard.json").read_text())
    used = named(re.sub(r"#.*", "", path.read_text()))
    assert used <= known, used - known
