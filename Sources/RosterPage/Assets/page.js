// The page of a rosterd: reads /v1/status, /v1/syncs and /v1/events, and draws what they say. Texts come from upstream
// and from people: they get into the page as text only, never as HTML (the page's policy forbids it too).
"use strict";
(() => {
  const HISTORY = 100;
  const MANY = 12;  // resources; more of them have a line each
  const seconds = (text) => Date.parse(text) / 1000;
  const $ = (id) => document.getElementById(id);

  // MARK: What is known

  let status = null;
  /** The daemon's clock minus ours, in seconds. */
  let skew = 0;
  /** Oldest first; each may have `resources`, its records by name. */
  let syncs = [];
  /** What /v1/explain says; null: nothing, or nobody answers that. */
  let explained = null;
  /** Pages by resource that events told of since the status was read. */
  let fetched = new Map();
  /** When rosterd stopped answering, and why. */
  let lost = null;
  let note = "";
  let chosen = null;
  let historyIsDrawn = false;
  const now = () => Date.now() / 1000 + skew;

  // MARK: Words, as rosterctl has them

  const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
  const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : /s[h]?$/.test(noun) ? "es" : "s"}`;
  const many = (number, noun) => count(number, noun).replace(/^\d+/, grouped);
  const tenths = (number) => (Math.round(number * 10) / 10).toFixed(1);
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
  /** What counts on the page moves by whole seconds, and from ten minutes on by minutes. */
  function counting(time) {
    if (time < 10) return `${Math.max(0, Math.floor(time))} s`;
    return time < 600 || time >= 3600 ? span(Math.floor(time)) : `${Math.floor(time / 60)} min`;
  }
  const took = (time) => (time < .1 ? `${Math.round(Math.max(0, time) * 1000)} ms` : span(time));

  function bytes(number) {
    if (number < 1024) return `${number} B`;
    let value = number;
    for (const unit of ["KiB", "MiB", "GiB"]) {
      value /= 1024;
      if (value < 1024 || unit === "GiB") return `${tenths(value)} ${unit}`;
    }
    return "";
  }

  const windows = { 60: "a minute", 3600: "an hour", 86400: "a day" };
  const clockTime = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
  /** `14:03:12`, of another day `21 Nov 14:03:12`; the browser's zone. */
  function moment(time) {
    if (Number.isNaN(time)) return "?";
    const date = new Date(time * 1000);
    const isToday = date.toDateString() === new Date(now() * 1000).toDateString();
    return isToday ? clockTime.format(date) : `${day.format(date)} ${clockTime.format(date)}`;
  }
  const withMoments = (text) =>
    text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.]*Z/g, (time) => moment(seconds(time)));

  const lasted = (sync) => (sync.finished_at ? Math.max(0, seconds(sync.finished_at) - seconds(sync.started_at)) : null);
  const plural = (number, one, several) => (number > 0 ? [`${number} ${number === 1 ? one : several}`] : []);
  const changesOf = (sync) => sync.added + sync.changed + sync.removed;

  /** As `rosterctl sync --wait` says it. */
  function sentence(sync) {
    const time = lasted(sync);
    const head = `sync ${sync.id} ${sync.outcome}${time === null ? "" : ` in ${took(time)}`}`;
    if (sync.error && sync.outcome === "failed") return `${head}: ${sync.error}`;
    const contents = [count(sync.pages, "page"), count(sync.records, "record")];
    for (const kind of ["added", "changed", "removed", "rejected"]) contents.push(...plural(sync[kind], kind, kind));
    const work = [
      count(sync.requests, "request"), ...plural(sync.not_modified, "not modified", "not modified"),
      ...plural(sync.resumed, "resumed", "resumed"), ...plural(sync.retries, "retry", "retries"),
      ...plural(sync.refreshes, "refresh", "refreshes")];
    return `${head}: ${contents.join(", ")}; ${work.join(", ")}${sync.error ? `; ${sync.error}` : ""}`;
  }

  // MARK: The page's parts

  const svgSpace = "http://www.w3.org/2000/svg";
  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }
  const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
  const svg = (name, attributes = {}, ...children) => fill(document.createElementNS(svgSpace, name), attributes, children);

  /** What is there already is left alone: a screen reader would read it again, a selection would go. */
  function set(node, text) {
    const words = String(text);
    if (node.dataWords === words) return;
    node.dataWords = words;
    node.textContent = words;
  }
  const show = (node, is) => { if (node.hidden === is) node.hidden = !is; };
  const attribute = (node, name, value) => {
    if (value === null) node.removeAttribute(name);
    else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
  };

  function drawBar(bar, done, total, isRunning) {
    const unknown = isRunning && !total;
    if (bar.classList.contains("unknown") !== unknown) bar.classList.toggle("unknown", unknown);
    const share = unknown ? 1 : total ? Math.min(1, done / total) : 0;
    const fillStyle = unknown ? "" : `scaleX(${isRunning ? share : 0})`;
    if (bar.firstChild.style.transform !== fillStyle) bar.firstChild.style.transform = fillStyle;
    attribute(bar, "aria-valuemin", isRunning ? 0 : null);
    attribute(bar, "aria-valuemax", isRunning && total ? total : null);
    attribute(bar, "aria-valuenow", isRunning && total ? Math.min(done, total) : null);
    attribute(bar, "aria-valuetext", isRunning ? (total ? `${done} of ${total} pages` : count(done, "page")) : "no sync runs");
  }

  // MARK: Headline

  function progress(current) {
    if (current.phase === "discovering") return "asking for the first page";
    if (current.phase === "verifying") return `verifying ${count(current.pages_done, "page")}`;
    if (current.phase === "publishing") return `publishing ${count(current.records, "record")}`;
    return `${current.pages_done} ${current.pages_total === null ? "" : `of ${current.pages_total} `}pages`;
  }

  /** The daemon's sentence, without the state that stands before it. */
  function message() {
    if (lost) return `${lost.why}, since ${moment(lost.since)}; what stands here is from before. The page tries again by itself.`;
    const text = status.message.replace(/^[a-z]+: /, "");
    const current = status.sync.current;
    const rest = text.indexOf(";");
    if (status.state !== "syncing" || !current) return withMoments(text);
    return withMoments(progress(current) + (rest < 0 ? "" : text.slice(rest)));
  }

  function drawHeadline() {
    const state = lost ? "lost" : status.state;
    attribute(document.body, "data-state", state);
    attribute($("icon"), "href", `#is-${state}`);
    const word = lost ? "no answer" : state;
    set($("word"), word);
    const words = message();
    set($("sentence"), words);
    if (document.title !== `${word} · rosterd`) document.title = `${word} · rosterd`;
    set($("note"), note);
    show($("note"), note !== "");
    announce(word, words);
  }

  let announcedAs = "";
  /** A screen reader hears of another state, not of every page. */
  function announce(word, words) {
    const known = word + (status.state === "syncing" ? status.sync.current?.phase : words.replace(/[\d:.]+/g, "")) + note;
    if (known === announcedAs) return;
    announcedAs = known;
    set($("announced"), `${word}: ${words} ${note}`);
  }

  // MARK: What is wrong

  function reasons() {
    const state = status.state;
    if (state === "idle" || state === "syncing" || state === "stopping") return [];
    if (explained && explained.state === state) {
      const since = explained.since ? moment(seconds(explained.since)) : null;
      const next = explained.next_at ? due(explained.next_at) : null;
      return [
        ["what happened", explained.what], ["since", since], ["readers see", explained.readers],
        ["concerned", explained.concerned], ["what to do", explained.todo], ["tries again", next]];
    }
    return [];
  }

  function drawReasons() {
    const rows = reasons();
    const { last } = status.sync;
    if (last?.rejected > 0) {
      rows.push(["rejected", `${many(last.rejected, "record")} of sync ${last.id}; \`rosterctl rejects\` tells which and why`]);
    }
    if (status.config.last_error) rows.push(["configuration", status.config.last_error]);
    const told = rows.map(([name, value]) => [name, plain(value)]).filter(([, value]) => value.length);
    show($("why"), told.length > 0);
    const known = JSON.stringify(told);
    if ($("reasons").dataKnown === known) return;
    $("reasons").dataKnown = known;
    $("reasons").replaceChildren(...told.flatMap(([name, value]) => [
      el("dt", {}, name),
      el("dd", {}, value.length === 1 ? value[0] : el("ul", {}, ...value.slice(0, 20).map((line) => el("li", {}, line)),
        ...(value.length > 20 ? [el("li", {}, `… and ${value.length - 20} more`)] : [])))]));
  }

  /** Lines of whatever stands there: a sentence, a list of them, objects. */
  function plain(value) {
    if (value === null || value === undefined || value === "") return [];
    if (Array.isArray(value)) return value.flatMap(plain);
    if (typeof value !== "object") return [withMoments(String(value))];
    const parts = Object.entries(value).filter(([, part]) => part !== null && part !== "");
    return [parts.map(([name, part]) => `${name.replace(/_/g, " ")} ${typeof part === "object" ? JSON.stringify(part) : part}`)
      .join(", ")];
  }

  // MARK: Facts

  function due(time) {
    const left = seconds(time) - now();
    return left > 0 ? `in ${counting(left + 1)}` : left > -2 ? "now" : `due for ${counting(-left)}`;
  }

  function drawFacts() {
    const { cache, sync, token, upstream, config } = status;
    set($("upstream"), upstream.base_url);
    set($("daemon"), `${status.version}, up ${counting(now() - seconds(status.started_at))}, pid ${status.pid}`);
    set($("foot"), `Cache ${cache.path} · ${config.path ? `configuration ${config.path}` : "no configuration file, the defaults hold"}`
      + " · this page only reads");
    const verified = cache.verified_at && seconds(cache.verified_at);
    set($("age"), verified ? `${counting(now() - verified)} ago` : "never");
    set($("age-more"), verified
      ? `at ${moment(verified)}` + (cache.published_at === cache.verified_at ? "" : `; changed ${moment(seconds(cache.published_at))}`)
      : "no snapshot yet");
    set($("next"), sync.current ? "after this one" : sync.next_at ? due(sync.next_at) : "not planned");
    set($("next-more"), upstream.held_until ? `upstream wants no request before ${moment(seconds(upstream.held_until))}`
      : sync.next_at ? `at ${moment(seconds(sync.next_at))}` : "");
    set($("records"), grouped(cache.records));
    set($("records-more"), `${many(cache.resources.length, "resource")}, ${many(cache.pages, "page")}`);
    drawRequests(upstream);
    set($("token"), token.flow === "none" ? "none needed" : token.state);
    set($("token-more"), token.flow === "none" ? "auth.flow is none" : tokenFacts(token).join("; "));
    set($("cache"), bytes(cache.size_bytes));
    set($("cache-more"), [cache.snapshot === null ? "no snapshot" : `snapshot ${cache.snapshot}`,
      ...(cache.wal_bytes ? [`${bytes(cache.wal_bytes)} WAL`] : [])].join(", "));
  }

  function tokenFacts(token) {
    const left = token.expires_at && seconds(token.expires_at) - now();
    return [
      token.flow, ...(token.expires_at ? [left > 0 ? `expires in ${counting(left)}` : `expired ${counting(-left)} ago`] : []),
      ...plural(token.refreshes, "refresh", "refreshes"), ...plural(token.joined, "joined", "joined"),
      ...plural(token.avoided, "avoided", "avoided")];
  }

  function drawRequests({ budget, requests_per_day: daily }) {
    const aDay = daily === null ? "" : `about ${grouped(daily)} a day`;
    show($("gauge"), budget !== null);
    if (!budget) {
      set($("requests"), daily === null ? "–" : `${grouped(daily)} a day`);
      return set($("requests-more"), daily === null ? "no sync has ended yet" : "as the last sync; no budget set");
    }
    const { limit, used } = budget;
    const window = windows[budget.window_seconds] ?? `in ${span(budget.window_seconds)}`;
    set($("requests"), grouped(used));
    set($("requests-more"), `of ${grouped(limit)} ${window}` + (aDay ? `; ${aDay}` : ""));
    const share = Math.min(1, used / limit);
    $("gauge").firstChild.style.width = `${share * 100}%`;
    $("gauge").className = share >= 1 ? "full" : share > .8 ? "high" : "";
    attribute($("gauge"), "aria-valuemin", 0);
    attribute($("gauge"), "aria-valuemax", limit);
    attribute($("gauge"), "aria-valuenow", Math.min(used, limit));
    attribute($("gauge"), "aria-valuetext", `${used} of ${limit} requests`);
  }

  // MARK: The sync that runs, or ran last

  function drawSync() {
    const { current, last } = status.sync;
    drawBar($("bar"), current?.pages_done ?? 0, current?.pages_total ?? 0, current !== null);
    if (!current) {
      set($("now"), last ? `no sync runs; the last ended ${moment(seconds(last.finished_at ?? last.started_at))}` : "none has ended yet");
      return set($("now-more"), "");
    }
    set($("now"), `${current.id} runs: ${progress(current)}`);
    set($("now-more"), [
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
  const nice = [.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18000, 43200];

  function look(sync) {
    const isShort = sync.outcome !== "failed" && (sync.error || sync.rejected > 0);
    return isShort ? "short" : sync.outcome;
  }
  const glyphs = {
    failed: "M-3-3L3 3M3-3L-3 3", cancelled: "M-3 0H3", interrupted: "M-3-2L0 2L3-2", short: "M0-4V1M0 3.4V3.6",
    tried: "M-3 2L0-2L3 2",
  };
  const glyph = (kind, x, y) => svg("path", { class: `glyph ${kind}`, d: glyphs[kind], transform: `translate(${x} ${y})` });

  function drawHistory() {
    const box = $("history");
    const width = box.clientWidth;
    if (historyIsDrawn || !width) return;
    historyIsDrawn = true;
    const shown = syncs.slice(-HISTORY);
    const slot = (width - gutter) / Math.max(50, shown.length);
    const longest = Math.max(.001, ...shown.map((sync) => lasted(sync) ?? 0));
    const y = (time) => floor - Math.sqrt(time / longest) * (floor - top);
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "false", role: "presentation" });
    const highest = nice.findLast((time) => time <= longest) ?? longest;
    const lower = nice.findLast((time) => time <= longest / 5);
    const options = svg("g", { role: "presentation" });
    picture.append(
      ...[highest, lower].filter(Boolean).flatMap((time) => [
        svg("path", { class: "grid", d: `M${gutter} ${Math.round(y(time)) + .5}H${width}` }),
        svg("text", { x: gutter - 6, y: Math.round(y(time)) + 4, "text-anchor": "end", "aria-hidden": "true" },
          took(time).replace(".0", ""))]),
      options, svg("path", { class: "axis", d: `M${gutter} ${floor + .5}H${width}` }));
    shown.forEach((sync, index) => {
      const x = width - (shown.length - index - .5) * slot;
      options.append(option(sync, x, slot, y(lasted(sync) ?? longest)));
    });
    if (shown.length) {
      const left = width - shown.length * slot;
      const first = svg("text", { x: left, y: height - 6, "aria-hidden": "true" }, moment(seconds(shown[0].started_at)));
      const end = svg("text", { x: width, y: height - 6, "text-anchor": "end", "aria-hidden": "true" },
        moment(seconds(shown.at(-1).started_at)));
      picture.append(...(shown.length > 9 ? [first] : []), end);
    }
    box.replaceChildren(picture);
    if (chosen !== null && !shown.some((sync) => sync.id === chosen)) chosen = null;
    tell();
    drawLegend(shown);
  }

  function option(sync, x, slot, y) {
    const wide = Math.max(1.5, Math.min(14, slot * .66));
    const kind = look(sync);
    const high = Math.max(2, floor - y);
    const group = svg("g", { role: "option", id: `sync-${sync.id}`, "aria-label": withMoments(sentence(sync)), "aria-selected": "false" },
      svg("rect", { class: "hit", x: x - slot / 2, y: 0, width: slot, height: floor + 22 }),
      svg("rect", { class: kind, x: x - wide / 2 + .5, y: floor - high + .5, width: Math.max(.5, wide - 1), height: high }));
    if (glyphs[kind]) group.append(glyph(kind, x, floor - high - 7));
    if (changesOf(sync)) group.append(diamond(x, Math.min(6, 2.4 + Math.log10(changesOf(sync)))));
    if (sync.rejected) group.append(svg("circle", { class: "reject", cx: x, cy: lane, r: 4.5 }));
    return group;
  }
  const diamond = (x, size, y = lane) => svg("path", { class: "change", d: `M${x} ${y - size}l${size} ${size}l${-size} ${size}l${-size} ${-size}z` });

  function drawLegend(shown) {
    const words = { short: "with a shortcoming", tried: "tried (dry run)", running: "runs" };
    const numbers = new Map();
    for (const sync of shown) numbers.set(look(sync), (numbers.get(look(sync)) ?? 0) + 1);
    const icon = (...shapes) => svg("svg", { viewBox: "-7 -7 14 14", "aria-hidden": "true" }, ...shapes);
    const items = [...numbers].sort((a, b) => b[1] - a[1]).map(([kind, number]) => el("li", {},
      icon(svg("rect", { class: kind, x: -2.5, y: glyphs[kind] ? 0 : -6, width: 5, height: glyphs[kind] ? 6 : 12 }),
        ...(glyphs[kind] ? [glyph(kind, 0, -4)] : [])),
      `${number} ${words[kind] ?? kind}`));
    if (shown.some(changesOf)) items.push(el("li", {}, icon(diamond(0, 5, 0)), "records changed"));
    if (shown.some((sync) => sync.rejected)) {
      items.push(el("li", {}, icon(svg("circle", { class: "reject", r: 4.5 })), "records rejected"));
    }
    items.push(el("li", {}, "height: how long it took, as a root"));
    $("legend").replaceChildren(...items);
  }

  /** The sentence of the sync that is chosen, else of the latest. */
  function tell() {
    const shown = syncs.slice(-HISTORY);
    const sync = shown.find((one) => one.id === chosen) ?? shown.at(-1);
    for (const other of $("history").querySelectorAll("[aria-selected=true]")) other.setAttribute("aria-selected", "false");
    if (!sync) return set($("told"), "No sync has begun yet.");
    if (chosen !== null) $(`sync-${sync.id}`)?.setAttribute("aria-selected", "true");
    attribute($("history"), "aria-activedescendant", chosen === null ? null : `sync-${sync.id}`);
    const known = `${sync.started_at} ${sentence(sync)}`;
    if ($("told").dataWords === known) return;
    $("told").dataWords = known;
    $("told").replaceChildren(el("time", { datetime: sync.started_at }, moment(seconds(sync.started_at))), withMoments(sentence(sync)));
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
      const shown = syncs.slice(-HISTORY);
      const at = Math.max(0, shown.findIndex((sync) => sync.id === chosen));
      const to = { ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at - 10, PageDown: at + 10, Home: 0, End: shown.length - 1 }[event.key];
      if (to === undefined || !shown.length) return;
      event.preventDefault();
      choose(shown[Math.max(0, Math.min(shown.length - 1, to))].id);
    });
    new ResizeObserver(() => { historyIsDrawn = false; dirty(); }).observe(box);
  }

  // MARK: Resources

  const cards = new Map();

  function card(name) {
    const parts = {
      count: el("span", { class: "count" }), more: el("span", { class: "more" }),
      spark: svg("svg", { class: "spark", viewBox: "0 0 100 30", preserveAspectRatio: "none", role: "img" }),
      bar: el("div", { class: "bar", role: "progressbar", "aria-label": `Pages of ${name}` }, el("span")),
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
    set($("resources-more"), `records over the last ${count(Math.min(HISTORY, syncs.length), "sync")}`);
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
    drawBar(parts.bar, total === null ? done : Math.min(done, total), total, done > 0);
    const facts = running
      ? [`${done}${total === null ? "" : ` of ${total}`} pages`, `${many(running.records, "record")} so far`]
      : stored ? [many(stored.pages, "page"), ...(stored.proof ? [`proof: ${stored.proof}`] : []),
        ...(stored.absent ? [`${stored.absent} absent`] : []), ...(parts.range ? [parts.range] : [])] : [];
    set(parts.more, facts.join(", "));
  }

  function drawSpark(parts, name, records) {
    const { spark } = parts;
    parts.isDrawn = true;
    const shown = syncs.slice(-HISTORY);
    const points = shown.map((sync, index) => [index, sync.resources?.[name]]).filter(([, value]) => value !== undefined);
    const values = points.map(([, value]) => value);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    parts.range = values.length < 2 ? "" : least === most ? "always as many" : `${grouped(least)} to ${grouped(most)}`;
    attribute(spark, "aria-label", values.length < 2 ? `${records} records of ${name}`
      : `${records} records of ${name}; ${least} to ${most} over ${values.length} syncs`);
    if (values.length < 2) return spark.replaceChildren(svg("path", { class: "line", d: "M0 15H100" }));
    const x = (index) => tenths(index / Math.max(1, shown.length - 1) * 100);
    const y = (value) => tenths(most === least ? 15 : 28 - (value - least) / (most - least) * 26);
    // A count holds until the next sync: steps, no slopes.
    const path = points.map(([index, value], place) => (place ? `H${x(index)}V${y(value)}` : `M${x(index)} ${y(value)}`)).join("");
    const first = x(points[0][0]);
    spark.replaceChildren(svg("path", { class: "area", d: `${path}H100V30H${first}Z` }), svg("path", { class: "line", d: `${path}H100` }));
  }

  // MARK: Frames

  let frame = 0;
  function draw() {
    frame = 0;
    if (!status) return;
    drawHeadline();
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

  async function ask(path) {
    const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(10000) });
    if (!answer.ok) throw await refusal(answer);
    return answer.json();
  }
  async function refusal(answer) {
    const error = new Error((await answer.text()).trim());
    error.status = answer.status;
    return error;
  }

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
    })().catch(silent).finally(() => { asking = null; });
    return asking;
  }

  let readAt = 0;
  async function readStatus() {
    readAt = Date.now();
    const before = status;
    const read = await ask("v1/status");
    fetched = new Map();
    status = read;
    skew = seconds(read.started_at) + read.uptime_seconds - Date.now() / 1000;
    if (before && before.started_at !== read.started_at) note = `rosterd was started again at ${moment(seconds(read.started_at))}.`;
    const { last } = read.sync;
    if (last && last.id !== before?.sync.last?.id) keep(last);
    await explain(before);
    if ($("text")) begin();
    dirty();
  }

  async function explain(before) {
    const isQuiet = status.state === "idle" || status.state === "syncing" || status.state === "stopping";
    if (isQuiet) explained = null;
    else if (!before || before.message !== status.message || !explained) explained = await ask("v1/explain").catch(() => null);
  }

  /** What the page had as text, it now shows. */
  function begin() {
    $("text").remove();
    for (const id of ["facts", "syncs"]) $(id).hidden = false;
    listen();
  }

  /** A sync has ended: its records by resource are those of the snapshot. */
  function keep(sync) {
    const isWhole = sync.outcome === "published" || sync.outcome === "unchanged";
    const resources = isWhole ? Object.fromEntries(status.cache.resources.map((one) => [one.name, one.records])) : undefined;
    syncs = [...syncs.filter((one) => one.id !== sync.id), { resources, ...sync }].sort((a, b) => a.id - b.id).slice(-HISTORY);
    historyChanged();
  }

  async function readSyncs() {
    const answer = await ask(`v1/syncs?limit=${HISTORY}&resources=true`);
    syncs = answer.syncs.reverse();
    historyChanged();
  }

  // MARK: Events

  let lastID = null;
  let stream = null;

  function happened(name, data) {
    const current = status?.sync.current;
    if (name === "page.fetched") {
      if (current?.id === data.sync) {
        current.pages_done = Math.max(current.pages_done, data.pages_done ?? 0);
        current.pages_total = data.pages_total ?? current.pages_total;
        if (current.phase === "discovering") current.phase = "pulling";
        fetched.set(data.resource, (fetched.get(data.resource) ?? 0) + 1);
        // What the event does not tell: of how many pages, and how many records.
        if (Date.now() - readAt > soon) refresh();
      }
      return dirty();
    }
    if (name === "events.lost") readSyncs().catch(silent);
    if (name !== "page.retried" && name !== "token.joined") refresh();
  }

  function take(block) {
    let name = "message";
    let data = "";
    for (const line of block.split("\n")) {
      if (line.startsWith("id: ")) lastID = line.slice(4);
      else if (line.startsWith("event: ")) name = line.slice(7);
      else if (line.startsWith("data: ")) data += line.slice(6);
    }
    if (data) happened(name, JSON.parse(data));
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

  /** fetch rather than EventSource: that one gives up for good at the first answer that is no stream. */
  async function follow() {
    stream = new AbortController();
    const headers = lastID ? { "Last-Event-ID": lastID } : {};
    const answer = await fetch("v1/events", { headers, cache: "no-store", signal: stream.signal });
    if (!answer.ok) throw await refusal(answer);
    // Not before: what happens from here on is in the stream.
    await readSyncs();
    await readStatus();
    lost = null;
    dirty();
    await read(answer.body);
    throw new Error("");
  }

  function silent(error) {
    if (document.hidden) return;
    const why = error.status === 403 ? "this address is not valid any more; open the one that `rosterctl web` prints now"
      : error.status ? `it answered: ${error.message}` : "rosterd does not answer";
    lost = { why, since: lost?.since ?? now() };
    dirty();
  }

  const pause = (time) => new Promise((done) => { setTimeout(done, time); });
  const shown = () => new Promise((done) => {
    document.addEventListener("visibilitychange", done, { once: true });
  });

  async function live() {
    for (let wait = 300; ; wait = Math.min(5000, wait * 1.6)) {
      // A browser has six connections for all tabs: one that nobody looks at keeps none.
      while (document.hidden) await shown();
      const start = performance.now();
      try { await follow(); } catch (error) { silent(error); }
      if (performance.now() - start > 5000) wait = 300;
      if (!document.hidden) await pause(wait);
    }
  }

  // MARK: Time

  const soon = 400;
  const often = 1000;
  const rarely = 10;
  const aSleep = 15000;
  let ticked = Date.now();
  let ticks = 0;

  function tick() {
    const passed = Date.now() - ticked;
    ticked = Date.now();
    ticks += 1;
    if (document.hidden) return;
    dirty();
    // The machine slept: whatever was open may hang, and events are asked for anew from the last that came.
    if (passed > aSleep) return stream?.abort();
    if (lost || !status) return;
    if (status.sync.current || ticks % rarely === 0) refresh();
  }

  document.addEventListener("visibilitychange", () => { if (document.hidden) stream?.abort(); });
  if (new URLSearchParams(location.search).has("token")) history.replaceState(null, "", location.pathname);
  setInterval(tick, often);
  live();
})();
