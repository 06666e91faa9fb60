// Shows /v1/status, /v1/syncs and /v1/events as text: the page's policy forbids HTML.
const HISTORY = 100;
const CONCERNED = 20;  // lines
const MANY = 12;  // resources
const seconds = (text) => Date.parse(text) / 1000;
const $ = (id) => document.getElementById(id);

// MARK: State

let status = null;
/** The daemon's clock minus ours. */
let skew = 0;
let syncs = [];
let explained = null;
/** Pages by resource that events told of since the status was read. */
let fetched = new Map();
/** When rosterd stopped answering, and why. */
let lost = null;
let note = "";
let chosen = null;
let historyIsDrawn = false;
const now = () => Date.now() / 1000 + skew;

// MARK: Words

const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : /sh?$/.test(noun) ? "es" : "s"}`;
const many = (number, noun) => count(number, noun).replace(/^\d+/, grouped);
const tenths = (number) => (number + 1e-6).toFixed(1);
const units = [["d", 86400, "h", 3600], ["h", 3600, "min", 60], ["min", 60, "s", 1]];

function span(time) {
  if (time < 10) return `${tenths(Math.max(0, time))} s`;
  const whole = Math.round(time);
  for (const [name, size, lesser, lesserSize] of units) {
    if (whole < size) continue;
    const rest = Math.floor((whole % size) / lesserSize);
    return `${Math.floor(whole / size)} ${name}${rest ? ` ${rest} ${lesser}` : ""}`;
  }
  return `${whole} s`;
}
/** Whole seconds, and from ten minutes on minutes. */
function counting(time) {
  if (time < 10) return `${Math.max(0, Math.floor(time))} s`;
  return time < 600 || time >= 3600 ? span(Math.floor(time)) : `${Math.floor(time / 60)} min`;
}
/** Rounds first, as HumanFormat does: 0.1 s may be a little less after a subtraction. */
function took(time) {
  const thousandths = Math.round(Math.max(0, time) * 1000);
  return thousandths < 100 ? `${thousandths} ms` : span(time);
}

function bytes(number) {
  let unit = "B";
  for (const larger of ["KiB", "MiB", "GiB"]) if (number >= 1024) [number, unit] = [number / 1024, larger];
  return unit === "B" ? `${number} B` : `${tenths(number)} ${unit}`;
}

const proofs = {
  count: "complete by count", end: "complete to its end", since: "complete by changes", weak: "not proved complete",
};
const windows = { 60: "a minute", 3600: "an hour", 86400: "a day" };
const clockTime = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
/** `14:03:12`, of another day `21 Nov 14:03:12`. */
function moment(time) {
  if (Number.isNaN(time)) return "?";
  const date = new Date(time * 1000);
  const isToday = date.toDateString() === new Date(now() * 1000).toDateString();
  return isToday ? clockTime.format(date) : `${day.format(date)} ${clockTime.format(date)}`;
}
const at = (time) => moment(seconds(time));
const withMoments = (text) => text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.]*Z/g, at);

const lasted = (sync) => (sync.finished_at ? Math.max(0, seconds(sync.finished_at) - seconds(sync.started_at)) : null);
const plural = (number, one, several = one) => (number > 0 ? [`${number} ${number === 1 ? one : several}`] : []);

/** Without controls, marks that turn the direction of text, and invisible characters, as in all outputs. */
const steering = /[\0-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;
const plain = (text) => text.replace(steering, "\ufffd");
const parse = (text) => JSON.parse(text, (_, value) => (typeof value === "string" ? plain(value) : value));

/** As `rosterctl sync --wait` says it. */
function sentence(sync) {
  const time = lasted(sync);
  const head = `sync ${sync.id} ${sync.outcome}${time === null ? "" : ` in ${took(time)}`}`;
  if (sync.error && sync.outcome === "failed") return `${head}: ${sync.error}`;
  const contents = [count(sync.pages, "page"), count(sync.records, "record")];
  for (const kind of ["added", "changed", "removed", "rejected"]) contents.push(...plural(sync[kind], kind));
  const work = [
    count(sync.requests, "request"), ...plural(sync.not_modified, "not modified"),
    ...plural(sync.resumed, "resumed"), ...plural(sync.retries, "retry", "retries"),
    ...plural(sync.refreshes, "refresh", "refreshes")];
  return `${head}: ${contents.join(", ")}; ${work.join(", ")}${sync.error ? `; ${sync.error}` : ""}`;
}

// MARK: The page's parts

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
const svg = (name, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

/** What is there already stays: a screen reader would read it again, a selection would go. */
function set(node, text) {
  const words = String(text);
  if (node.dataWords === words) return;
  node.dataWords = words;
  node.replaceChildren(...whole(words));
}
/** Options of commands are not broken at their hyphens. */
const whole = (text) => text.split(/(\S*-\S*)/).map((part, index) =>
  index % 2 && part.length < 29 ? el("span", { class: "whole" }, part) : part);
const put = (id, text) => set($(id), text);
const fact = (id, text, more) => { put(id, text); put(`${id}-more`, more); };
const show = (node, is) => { node.hidden = !is; };
const attribute = (node, name, value) => {
  if (value === null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
};

function measure(node, value, most, text) {
  attribute(node, "aria-valuemin", value === null ? null : 0);
  attribute(node, "aria-valuemax", most);
  attribute(node, "aria-valuenow", most === null ? null : Math.min(value, most));
  attribute(node, "aria-valuetext", text);
}

function drawBar(bar, { done, total, unit = "page" }, isRunning) {
  const isUnknown = isRunning && total === null;
  bar.classList.toggle("unknown", isUnknown);
  const drawn = isUnknown ? "" : `scaleX(${isRunning && total ? Math.min(1, done / total) : 0})`;
  if (bar.firstChild.style.transform !== drawn) bar.firstChild.style.transform = drawn;
  if (!isRunning) measure(bar, null, null, "no sync runs");
  else measure(bar, done, total, total === null ? count(done, unit) : `${done} of ${total} ${unit}s`);
}

// MARK: Headline

/** The lists of children, once there are some; else the pages. */
function advance(current) {
  const lists = current.resources.filter((one) => one.lists_total);
  const sum = (name) => lists.reduce((all, one) => all + one[name], 0);
  return lists.length ? { done: sum("lists_done"), total: sum("lists_total"), unit: "list" }
    : { done: current.pages_done, total: current.pages_total };
}

function progress(current) {
  if (current.phase === "discovering") return "asking for the first page";
  if (current.phase === "verifying") return `verifying ${count(current.pages_done, "page")}`;
  if (current.phase === "publishing") return `publishing ${count(current.records, "record")}`;
  const { done, total, unit } = advance(current);
  if (unit) return `${done} of ${count(total, unit)}, ${count(current.pages_done, "page")}`;
  return `${done} ${total === null ? "" : `of ${total} `}pages`;
}

/** The daemon's clauses. The first one of a sync is its progress, which events move on. */
function message() {
  if (lost) return `Since ${moment(lost.since)}: ${lost.why}. What stands here is older; the page tries again.`;
  const { state, sync: { current }, clauses: [first, ...rest] } = status;
  return withMoments([state === "syncing" && current ? progress(current) : first, ...rest].join("; "));
}

/** Its cause is the headline, as long as rosterd answers. */
const explanation = () => (explained?.state === status?.state ? explained : null);

let announced = "";
function drawHeadline() {
  const state = lost ? "lost" : status.state;
  const word = lost ? "no answer" : state;
  const words = message();
  attribute(document.body, "data-state", state);
  attribute($("icon"), "href", `#is-${state}`);
  put("word", word);
  put("sentence", lost || !explanation() ? words : withMoments(explained.what));
  put("note", note);
  show($("note"), note);
  if (document.title !== `${word} · rosterd`) document.title = `${word} · rosterd`;
  // Screen readers announce a new state only.
  const known = [word, note, state === "syncing" ? status.sync.current?.phase : words.replace(/[\d:.]+/g, "")].join();
  if (known === announced) return;
  announced = known;
  put("announced", `${word}: ${words} ${note}`);
}

// MARK: What is wrong

function reasons() {
  const { what, since, readers, concerned, todo } = explanation() ?? {};
  const isLogin = status.state === "unauthorized" && status.token.flow === "oauth2_refresh";
  return [
    ["what happened", lost && what], ["since", since && at(since)], ["readers see", readers], ["concerned", concerned],
    ["what to do", todo], ["a new token", isLogin && "rosterd login gets one"],
    ["configuration", status.config.last_error]];
}

function drawReasons() {
  const told = reasons().map(([name, value]) => [name, lines(value)]).filter(([, found]) => found.length);
  show($("why"), told.length);
  const known = JSON.stringify(told);
  if ($("reasons").dataKnown === known) return;
  $("reasons").dataKnown = known;
  $("reasons").replaceChildren(...told.flatMap(([name, found]) => [
    el("dt", {}, name), el("dd", {}, el("ul", {}, ...found.map((line) => el("li", {}, ...whole(line)))))]));
  tell();
}

function lines(value) {
  if (Array.isArray(value)) {
    const found = value.slice(0, CONCERNED).flatMap(lines);
    return value.length > CONCERNED ? [...found, `… and ${value.length - CONCERNED} more`] : found;
  }
  if (value?.kind) {
    const { kind, name, resource, page, reason } = value;
    const place = resource && `${resource}${page ? `, page ${page}` : ""}:`;
    return [[place, kind !== "page" && kind, name, reason && `(${reason})`].filter(Boolean).join(" ")];
  }
  return value ? [withMoments(String(value))] : [];
}

// MARK: Facts

function due(time) {
  const left = seconds(time) - now();
  return left > 0 ? `in ${counting(left + 1)}` : left > -2 ? "now" : `due for ${counting(-left)}`;
}

function drawFacts() {
  const { cache, sync, token, upstream, config } = status;
  const { verified_at: verified, published_at: published, snapshot, wal_bytes: wal } = cache;
  const certificate = upstream.client_certificate;
  put("upstream",
    upstream.base_url + (certificate ? ` · the client certificate ${expiry(certificate.not_after)}` : ""));
  put("daemon", `${status.version}, up ${counting(now() - seconds(status.started_at))}, pid ${status.pid}`);
  put("foot", `${cache.path} · ${config.path ?? "no configuration file, the defaults hold"} · this page only reads`);
  if (!verified) fact("age", "never", "nothing published yet");
  else fact("age", `${counting(now() - seconds(verified))} ago`,
    `at ${at(verified)}${published < verified ? `; changed ${at(published)}` : ""}`);
  fact("next", sync.current ? "after this one" : sync.next_at ? due(sync.next_at) : "not planned",
    upstream.held_until ? `upstream wants no request before ${at(upstream.held_until)}`
      : sync.next_at ? `at ${at(sync.next_at)}${status.state === "unauthorized" ? ", without a request unless a credential file has changed" : ""}` : "");
  fact("records", grouped(cache.records), `${many(cache.resources.length, "resource")}, ${many(cache.pages, "page")}`);
  drawRequests(upstream);
  if (token.flow === "none") fact("token", "none needed", "auth.flow is none");
  else fact("token", token.state, tokenFacts(token).join("; "));
  fact("cache", bytes(cache.size_bytes),
    `${snapshot === null ? "no snapshot" : `snapshot ${snapshot}`}${wal ? `, ${bytes(wal)} WAL` : ""}`);
}

function expiry(time) {
  const left = seconds(time) - now();
  return left > 0 ? `expires in ${counting(left)}` : `expired ${counting(-left)} ago`;
}

function tokenFacts(token) {
  const end = token.expires_at ? [expiry(token.expires_at)] : [];
  return [token.flow, ...end, ...plural(token.refreshes, "refresh", "refreshes")];
}

function drawRequests({ budget, requests_per_day: daily }) {
  const aDay = daily === null ? "–" : `${grouped(daily)} a day`;
  show($("gauge"), budget);
  if (!budget) {
    return fact("requests", aDay, daily === null ? "no sync has ended yet" : "by the last sync; no limit.budget");
  }
  const { limit, used, window_seconds: time } = budget;
  fact("requests", grouped(used), `of ${grouped(limit)} ${windows[time] ?? `in ${span(time)}`}; about ${aDay}`);
  const share = Math.min(1, used / limit);
  $("gauge").firstChild.style.width = `${share * 100}%`;
  $("gauge").className = share >= 1 ? "full" : share > .8 ? "high" : "";
  measure($("gauge"), used, limit, `${used} of ${limit} requests`);
}

// MARK: The latest sync

function drawSync() {
  const { current, last } = status.sync;
  drawBar($("bar"), current ? advance(current) : { done: 0, total: null }, current !== null);
  if (!current) {
    put("now", last ? `no sync runs; the last ended ${at(last.finished_at ?? last.started_at)}` : "none has ended yet");
    return put("now-more", "");
  }
  put("now", `${current.id} runs: ${progress(current)}`);
  put("now-more", [
    many(current.records, "record"), `${current.in_flight} in flight`, many(current.requests, "request"),
    ...plural(current.retries, "retry", "retries"), ...plural(current.refreshes, "refresh", "refreshes"),
    bytes(current.bytes), counting(now() - seconds(current.started_at))].join(", "));
}

// MARK: The picture of syncs

const gutter = 40;  // for the names of durations
const height = 176;
const top = 16;
const floor = 132;  // where bars stand
const lane = 145;  // of marks
const nice = [.001, .005, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 180, 600, 1800, 3600, 7200, 18000, 43200];

function look(sync) {
  const isWhole = ["published", "unchanged", "tried"].includes(sync.outcome);
  return isWhole && (sync.error || sync.rejected) ? "short" : sync.outcome;
}
const glyphs = {
  failed: "M-3-3L3 3M3-3L-3 3", cancelled: "M-3 0H3", interrupted: "M-3-2L0 2L3-2", short: "M0-4V1M0 3.4V3.6",
  tried: "M-3 2L0-2L3 2",
};
const place = (x, y, size = 1) => `translate(${x} ${y}) scale(${size})`;
const glyph = (kind, x, y) => svg("path", { class: `glyph ${kind}`, d: glyphs[kind], transform: place(x, y) });
const diamond = (...where) => svg("path", { class: "change", d: "M0-1L1 0 0 1-1 0z", transform: place(...where) });

function drawHistory() {
  const box = $("history");
  const width = box.clientWidth;
  if (historyIsDrawn || !width) return;
  historyIsDrawn = true;
  const slot = (width - gutter) / Math.max(50, syncs.length);
  const longest = Math.max(.001, ...syncs.map((sync) => lasted(sync) ?? 0));
  const y = (time) => floor - Math.sqrt(time / longest) * (floor - top);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "presentation" });
  const highest = nice.findLast((time) => time <= longest) ?? longest;
  const lower = nice.findLast((time) => time <= longest / 5);
  const options = svg("g", { role: "presentation" });
  picture.append(
    ...[highest, lower].filter(Boolean).flatMap((time) => [
      svg("path", { class: "grid", d: `M${gutter} ${Math.round(y(time)) + .5}H${width}` }),
      svg("text", { x: gutter - 6, y: Math.round(y(time)) + 4, "text-anchor": "end" },
        took(time).replace(".0", ""))]),
    options, svg("path", { class: "axis", d: `M${gutter} ${floor + .5}H${width}` }));
  syncs.forEach((sync, index) => {
    const x = width - (syncs.length - index - .5) * slot;
    options.append(option(sync, x, slot, y(lasted(sync) ?? longest)));
  });
  const label = (sync, x, anchor) => svg("text", { x, y: height - 6, "text-anchor": anchor }, at(sync.started_at));
  if (syncs.length) picture.append(label(syncs.at(-1), width, "end"));
  const begun = syncs.length * slot;
  if (begun > 14 * at(syncs[0]?.started_at).length) picture.append(label(syncs[0], width - begun, "start"));
  box.replaceChildren(picture);
  if (chosen !== null && !syncs.some((sync) => sync.id === chosen)) chosen = null;
  tell();
  drawLegend();
}

function option(sync, x, slot, y) {
  const wide = Math.max(1, Math.min(13, slot * .66 - 1));
  const kind = look(sync);
  const high = Math.max(2, floor - y);
  const changes = sync.added + sync.changed + sync.removed;
  const bar = { x: x - wide / 2, y: floor - high + .5, width: wide, height: high };
  const group = svg("g", { role: "option", id: `sync-${sync.id}`, "aria-label": withMoments(sentence(sync)) },
    svg("rect", { class: "hit", x: x - slot / 2, y: 0, width: slot, height: floor + 22 }),
    svg("rect", { class: wide < 3 ? `${kind} thin` : kind, ...bar }));
  if (glyphs[kind]) group.append(glyph(kind, x, floor - high - 7));
  if (changes) group.append(diamond(x, lane, Math.min(6, 2.4 + Math.log10(changes))));
  if (sync.rejected) group.append(svg("circle", { class: "reject", cx: x, cy: lane, r: 4.5 }));
  return group;
}

function drawLegend() {
  const words = { short: "with a shortcoming", tried: "tried (dry run)", running: "runs" };
  const numbers = new Map();
  for (const sync of syncs) numbers.set(look(sync), (numbers.get(look(sync)) ?? 0) + 1);
  const item = (text, ...shapes) =>
    el("li", {}, svg("svg", { viewBox: "-7 -7 14 14", "aria-hidden": "true" }, ...shapes), text);
  const items = [...numbers].sort((a, b) => b[1] - a[1]).map(([kind, number]) => item(
    `${number} ${words[kind] ?? kind}`, svg("rect", { class: kind, x: -2.5, y: 1.5, width: 5, height: 5 }),
    glyphs[kind] ? glyph(kind, 0, -3.5) : ""));
  $("legend").replaceChildren(...items, item("records changed", diamond(0, 0, 5)),
    item("records rejected", svg("circle", { class: "reject", r: 4.5 })), el("li", {}, "a taller bar: a longer sync"));
}

/** The sentence of the sync that is chosen, else of the latest. */
function tell() {
  const sync = syncs.find((one) => one.id === chosen) ?? syncs.at(-1);
  if (!sync) return put("told", "No sync has begun yet.");
  const option = chosen && `sync-${chosen}`;
  $("history").querySelector("[aria-selected]")?.removeAttribute("aria-selected");
  attribute($("history"), "aria-activedescendant", option);
  $(option)?.setAttribute("aria-selected", "true");
  // The reason of the last one is above.
  const isAbove = explained && chosen === null && sync.id === status.sync.last?.id;
  const told = withMoments(sentence(isAbove ? { ...sync, error: null } : sync));
  if ($("told").dataTold === told) return;
  $("told").dataTold = told;
  $("told").replaceChildren(el("time", {}, at(sync.started_at)), ...whole(told));
}

function choose(id) {
  if (id === chosen) return;
  chosen = id;
  tell();
}

function listen() {
  const box = $("history");
  const under = (event) => event.target.closest?.("[role=option]")?.id.slice("sync-".length);
  box.addEventListener("pointermove", (event) => { const id = under(event); if (id) choose(Number(id)); });
  box.addEventListener("pointerleave", () => { if (document.activeElement !== box) choose(null); });
  box.addEventListener("focus", () => { if (chosen === null) choose(syncs.at(-1)?.id ?? null); });
  box.addEventListener("blur", () => choose(null));
  box.addEventListener("keydown", (event) => {
    const at = Math.max(0, syncs.findIndex((sync) => sync.id === chosen));
    const last = syncs.length - 1;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(syncs[Math.max(0, Math.min(last, to))]?.id ?? null);
  });
  new ResizeObserver(() => { historyIsDrawn = false; dirty(); }).observe(box);
}

// MARK: Resources

const cards = new Map();

function card(name) {
  const parts = {
    count: el("span", { class: "count" }), more: el("span", { class: "more" }),
    spark: svg("svg", { class: "spark", viewBox: "0 0 100 30", preserveAspectRatio: "none", role: "img" }),
    bar: el("div", { class: "bar", role: "progressbar", "aria-label": `Progress of ${name}` }, el("span")),
  };
  parts.item = el("li", {}, el("b", { title: name }, name), parts.count, parts.spark, parts.bar, parts.more);
  return parts;
}

function drawResources() {
  const { current } = status.sync;
  const running = new Map((current?.resources ?? []).map((one) => [one.name, one]));
  const stored = new Map(status.cache.resources.map((one) => [one.name, one]));
  const names = [...new Set([...stored.keys(), ...running.keys()])];
  show($("resources"), names.length > 0);
  put("resources-more", `records over the last ${count(syncs.length, "sync")}`);
  if (names.length !== cards.size || names.some((name) => !cards.has(name))) {
    cards.clear();
    for (const name of names) cards.set(name, card(name));
    $("list").replaceChildren(...[...cards.values()].map((parts) => parts.item));
    $("list").className = names.length > MANY ? "many" : "";
  }
  for (const name of names) drawResource(cards.get(name), name, stored.get(name), running.get(name));
}

function drawResource(parts, name, stored, running) {
  const records = stored?.records ?? 0;
  set(parts.count, grouped(records));
  if (!parts.isDrawn) drawSpark(parts, name, records);
  const done = (running?.pages_done ?? 0) + (running ? fetched.get(name) ?? 0 : 0);
  const total = running?.pages_total ?? null;
  const hasLists = running?.lists_total > 0;
  drawBar(parts.bar, hasLists ? { done: running.lists_done, total: running.lists_total, unit: "list" }
    : { done: total === null ? done : Math.min(done, total), total }, hasLists || done > 0);
  const facts = running
    ? [...(hasLists ? [`${grouped(running.lists_done)} of ${many(running.lists_total, "list")}`] : []),
      `${done}${total === null ? "" : ` of ${total}`} pages`, `${many(running.records, "record")} so far`]
    : stored ? [...listFacts(stored), many(stored.pages, "page"), ...(stored.proof ? [proofs[stored.proof]] : []),
      ...(stored.absent ? [`${stored.absent} absent`] : []), ...(parts.range ? [parts.range] : [])] : [];
  set(parts.more, facts.join(", "));
}

/** Of a resource with a list for each parent. Faults come first. */
function listFacts({ lists, parent }) {
  if (!lists?.total) return [];
  const { total, kept, failed, vanished } = lists;
  return [...plural(failed, "list failed", "lists failed"), ...plural(vanished, "list vanished", "lists vanished"),
    `${grouped(total - kept)} of ${many(total, parent)} requested`];
}

function drawSpark(parts, name, records) {
  parts.isDrawn = true;
  const points = syncs.flatMap(({ resources: all }, index) =>
    (Object.hasOwn(all ?? {}, name) ? [[index, all[name]]] : []));
  const values = points.map(([, value]) => value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const isShort = values.length < 2;
  parts.range = isShort ? "" : least === most ? "always as many" : `${grouped(least)} to ${grouped(most)}`;
  attribute(parts.spark, "aria-label", `${records} records of ${name}`
    + (isShort ? "" : `; ${least} to ${most} over ${values.length} syncs`));
  const x = (index) => tenths(index / Math.max(1, syncs.length - 1) * 100);
  const y = (value) => tenths(most === least ? 15 : 28 - (value - least) / (most - least) * 26);
  // A count is constant until the next sync, so the line has steps.
  const steps = points.map(([index, value]) => `H${x(index)}V${y(value)}`).join("");
  const line = isShort ? "M0 15H100" : `M${x(points[0][0])} ${y(values[0])}${steps}H100`;
  parts.spark.replaceChildren(
    svg("path", { class: "area", d: `${line}V30H${isShort ? 0 : x(points[0][0])}Z` }),
    svg("path", { class: "line", d: line }));
}

// MARK: Frames

let frame = 0;
function draw() {
  frame = 0;
  if (lost || status) drawHeadline();
  if (!status) return;
  drawReasons();
  drawFacts();
  drawSync();
  drawHistory();
  drawResources();
}
/** However many events come, the page is drawn once a frame. */
function dirty() {
  frame ||= requestAnimationFrame(draw);
}
function historyChanged() {
  historyIsDrawn = false;
  for (const parts of cards.values()) parts.isDrawn = false;
  dirty();
}

// MARK: Asking

const patience = 2500;

async function open(path, signal, headers) {
  const answer = await fetch(path, { cache: "no-store", signal, headers });
  if (answer.ok) return answer;
  const text = await answer.text();
  const isProblem = answer.headers.get("content-type") === "application/problem+json";
  throw Object.assign(new Error(isProblem ? parse(text).detail : plain(text.trim())), { status: answer.status });
}
const ask = async (path, limit = patience) => parse(await (await open(path, AbortSignal.timeout(limit))).text());

let asking = null;
let again = false;
/** Reads the status; who asks while it is being read has it read once more. */
function refresh() {
  again = true;
  asking ??= (async () => {
    while (again) {
      again = false;
      await readStatus();
    }
  })().catch(() => stream?.abort()).finally(() => { asking = null; });
}

let readAt = 0;
async function readStatus() {
  readAt = Date.now();
  const before = status;
  const read = await ask("v1/status");
  fetched = new Map();
  status = read;
  skew = seconds(read.started_at) + read.uptime_seconds - Date.now() / 1000;
  if (before && before.started_at !== read.started_at) note = `rosterd was started again at ${at(read.started_at)}.`;
  const { last } = read.sync;
  if (last && last.id !== before?.sync.last?.id) keep(last, true);
  await explain();
  if ($("text")) begin();
  dirty();
}

/** Reads it with each status: the end of a sync may change it, and not the message. */
async function explain() {
  const isWell = ["idle", "syncing", "stopping"].includes(status.state);
  explained = isWell ? null : await ask("v1/explain").catch(() => explained);
}

function begin() {
  $("text").remove();
  for (const id of ["facts", "syncs"]) show($(id), true);
  listen();
}

/** A sync has ended. The last one has the snapshot's records. */
function keep(sync, isLast) {
  const isWhole = isLast && (sync.outcome === "published" || sync.outcome === "unchanged");
  const resources = isWhole && Object.fromEntries(status.cache.resources.map((one) => [one.name, one.records]));
  syncs = [...syncs.filter((one) => one.id !== sync.id), { resources, ...sync }];
  syncs = syncs.sort((a, b) => a.id - b.id).slice(-HISTORY);
  historyChanged();
}

// MARK: Events

let lastID = null;
let stream = null;
let isFollowing = false;

function happened(name, data) {
  const current = status?.sync.current;
  if (name === "page.fetched") {
    if (current?.id === data.sync) {
      current.pages_done = Math.max(current.pages_done, data.pages_done ?? 0);
      current.pages_total = data.pages_total ?? current.pages_total;
      if (current.phase === "discovering") current.phase = "pulling";
      fetched.set(data.resource, (fetched.get(data.resource) ?? 0) + 1);
      // The event has no totals, so the status is read again.
      if (Date.now() - readAt > 400) refresh();
    }
    return dirty();
  }
  if (data.outcome) keep(data);
  if (name !== "page.retried" && name !== "token.joined") refresh();
}

function take(block) {
  const { id, event, data } = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s)));
  lastID = id ?? lastID;
  if (data) happened(event, parse(data));
}

async function read(body) {
  let rest = "";
  for (const reader = body.pipeThrough(new TextDecoderStream()).getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    blocks.forEach(take);
  }
}

/** EventSource would give up at the first answer that is no stream. */
async function follow() {
  stream = new AbortController();
  const late = setTimeout(() => stream.abort(), patience);
  const headers = lastID ? { "Last-Event-ID": lastID } : {};
  const answer = await open("v1/events", stream.signal, headers).finally(() => clearTimeout(late));
  // All later events are in the stream.
  const { syncs: latest } = await ask(`v1/syncs?limit=${HISTORY}&resources=true`, 10000);
  syncs = latest.reverse();
  await readStatus();
  historyChanged();
  lost = null;
  isFollowing = true;
  await read(answer.body);
  throw new Error();
}

function silent({ status: code, message }) {
  if (document.hidden) return;
  const why = code && code !== 502 ? message.trim() : "rosterd does not answer";
  lost = { why, since: lost?.since ?? now() };
  dirty();
}

async function live() {
  for (let wait = 300; ; wait = Math.min(5000, wait * 1.6)) {
    // A browser has six connections for all tabs, so a hidden tab keeps none.
    while (document.hidden) {
      await new Promise((done) => { document.addEventListener("visibilitychange", done, { once: true }); });
    }
    isFollowing = false;
    const start = performance.now();
    try { await follow(); } catch (error) {
      // A stream that ends is requested again before the page reports a silence.
      if (!isFollowing) silent(error);
    }
    if (performance.now() - start > 5000) wait = 300;
    if (!document.hidden) await new Promise((done) => { setTimeout(done, wait); });
  }
}

// MARK: Time

const aSleep = 15000;
let ticked = Date.now();

function tick() {
  const passed = Date.now() - ticked;
  ticked = Date.now();
  if (document.hidden) return;
  dirty();
  // After a sleep, open connections may hang.
  if (passed > aSleep) return stream?.abort();
  if (lost || !status) return;
  if (status.sync.current || ticked - readAt > patience) refresh();
}

document.addEventListener("visibilitychange", () => { if (document.hidden) stream?.abort(); });
setInterval(tick, 1000);
live();
