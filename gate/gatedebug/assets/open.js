// The open gate: its charts, routes, leases and last refusals.

import { Chart } from "./chart.js";
import { $, amount, beingRead, clockTime, count, duration, el, growOnly, setChips, setRoute, setText } from "./dom.js";
import { bars, spark } from "./small.js";

const charts = [
  { name: "in-flight", title: "In flight against limit", whole: true, headroom: 1.1, series: [
    { key: "in_flight", field: "in_flight", label: "in flight", color: "in-flight", fill: true },
    { key: "limit", field: "limit", label: "limit", color: "limit", dash: true, step: true }] },
  { name: "waiting", title: "Waiting", whole: true, series: [
    { key: "waiting", field: "waiting", label: "calls", color: "waiting", fill: true }] },
  { name: "waited", title: "Waited, in ms", series: [
    { key: "max", field: "waited_ms_max", label: "longest", color: "max" },
    { key: "mean", field: "waited_ms_mean", label: "mean", color: "mean", fill: true }] },
  { name: "decisions", title: "Decisions per second", series: [
    { key: "accepted", field: "accepted_per_s", label: "accepted", color: "accepted", fill: true },
    { key: "abandoned", field: "abandoned_per_s", label: "abandoned", color: "abandoned", dash: true },
    { key: "rejected", field: "rejected_per_s", label: "refused", color: "rejected" }] },
];

export class Open {
  constructor(model) {
    Object.assign(this, { model, scope: null, routeRows: new Map(), sortedAt: 0 });
    this.charts = charts.map((c) => new Chart($("charts"), c));
    this.hourCanvas = el("canvas", { role: "img" });
    this.hourText = el("span", { class: "muted num" });
    $("hour").append(el("figcaption", {}, el("strong", {}, "Last hour"),
      el("span", { class: "key", data: { key: "rejected" } }, "refused per minute"),
      el("span", { class: "key", data: { key: "waiting" } }, "minutes with waiting calls"), this.hourText), this.hourCanvas);
    new ResizeObserver(() => this.renderHour()).observe(this.hourCanvas);
    $("scope-all").addEventListener("click", () => this.setScope(null));
    $("routes").tBodies[0].addEventListener("click", (e) => {
      const route = e.target.closest("tr")?.dataset.route;
      if (route !== undefined && getSelection().isCollapsed) this.setScope(route === this.scope ? null : route);
    });
  }

  setScope(route) {
    this.scope = route;
    this.render();
  }

  render() {
    const { open, gates } = this.model;
    if (!open) return;
    const g = gates[open.gate];
    if (this.gate !== open.gate) this.changeGate(open.gate);
    setText($("open-title"), g.name);
    setChips($("open-state"), g.row.state, g.row.dry_run);
    const { totals, max_wait_ms: maxWait, keys } = open.now;
    const facts = [`limit ${count(g.row.limit)}`, `up to ${count(g.row.max_waiting)} may wait for ${amount(maxWait)} ms`,
      `${count(totals.accepted)} accepted`, `${count(totals.rejected_busy + totals.rejected_timeout)} refused`, `${count(totals.abandoned)} abandoned`];
    if (keys) facts.push(`${count(keys)} keys`);
    setText($("open-facts"), facts.join(" · "));
    this.renderCharts();
    this.renderHour();
    this.renderRoutes();
    this.renderHolders();
    this.renderRejections();
    for (const id of ["holders", "rejections"]) growOnly($(id).closest(".scroll"));
  }

  changeGate(gate) {
    this.gate = gate;
    this.scope = null;
    for (const r of this.routeRows.values()) r.tr.remove();
    this.routeRows.clear();
    for (const id of ["holders", "rejections"]) $(id).tBodies[0].replaceChildren();
    for (const e of document.querySelectorAll(".grow")) e.style.minHeight = "";
  }

  renderCharts() {
    const { open, t, windowMs, intervalMs } = this.model;
    const route = this.scope !== null && open.routes.get(this.scope);
    setText($("scope-name"), route ? `Charts for ${route.name || "calls without a route"}` : "Charts for all routes");
    $("scope-all").hidden = !route;
    const samples = route ? route.samples : open.samples;
    for (const c of this.charts) c.set(samples, t, windowMs, intervalMs);
  }

  renderHour() {
    const { open, t } = this.model;
    if (!open) return;
    const minutes = [...open.minutes.values()];
    const refused = minutes.reduce((n, m) => n + m.rejected, 0);
    const text = minutes.length
      ? `${count(refused)} refused in total, longest wait ${amount(Math.max(...minutes.map((m) => m.waited_ms_max)))} ms`
      : "no call was refused or had to wait";
    setText(this.hourText, text);
    this.hourCanvas.setAttribute("aria-label", `Last hour: ${text}`);
    $("hour").dataset.refused = refused;
    bars(this.hourCanvas, minutes, t);
  }

  renderRoutes() {
    const { routes } = this.model.open;
    const body = $("routes").tBodies[0];
    for (const [name, r] of this.routeRows) {
      if (!routes.has(name)) {
        r.tr.remove();
        this.routeRows.delete(name);
      }
    }
    for (const route of routes.values()) {
      if (!this.routeRows.has(route.name)) this.addRoute(route.name);
      this.fillRoute(this.routeRows.get(route.name), route);
    }
    if (performance.now() - this.sortedAt > 5000 && !body.matches(":hover") && !beingRead(body)) {
      this.sortedAt = performance.now();
      const weight = ({ now }) => now.in_flight * 1e6 + now.waiting * 1e3 + now.accepted_per_s + now.rejected_per_s;
      const order = [...routes.values()].sort((a, b) => weight(b) - weight(a));
      order.forEach((route, i) => {
        const { tr } = this.routeRows.get(route.name);
        if (body.rows[i] !== tr) body.insertBefore(tr, body.rows[i]);
      });
    }
    growOnly(body.closest(".scroll"));
  }

  addRoute(name) {
    const cell = (label) => el("td", { class: "n", role: "cell", data: { label } });
    const r = {
      name: el("button", { class: "link", type: "button" }),
      inFlight: cell("in flight"), waiting: cell("waiting"), acc: cell("accepted/s"), rej: cell("refused/s"), ms: cell("waited ms"),
      flight: el("canvas", { class: "spark", "aria-hidden": "true" }), decisions: el("canvas", { class: "spark", "aria-hidden": "true" }),
    };
    setRoute(r.name, name || "(no route)");
    r.tr = el("tr", { role: "row", data: { route: name } }, el("th", { scope: "row", role: "rowheader" }, r.name),
      r.inFlight, r.waiting, r.acc, r.rej, r.ms, el("td", { class: "c-spark", role: "cell" }, r.flight), el("td", { class: "c-spark", role: "cell" }, r.decisions));
    $("routes").tBodies[0].append(r.tr);
    this.routeRows.set(name, r);
  }

  fillRoute(r, { name, now, samples }) {
    name === this.scope ? r.tr.setAttribute("aria-current", "true") : r.tr.removeAttribute("aria-current");
    setText(r.inFlight, count(now.in_flight));
    setText(r.waiting, count(now.waiting) + (now.self_waiting ? ` (${count(now.self_waiting)} for itself)` : ""));
    setText(r.acc, amount(now.accepted_per_s));
    setText(r.rej, amount(now.rejected_per_s));
    r.rej.classList.toggle("hot", now.rejected_per_s > 0);
    setText(r.ms, `${amount(now.waited_ms_mean)} / ${amount(now.waited_ms_max)}`);
    const recent = samples.slice(-120);
    const most = Math.max(1e-9, ...recent.map((s) => s.accepted_per_s + s.rejected_per_s));
    spark(r.flight, recent.map((s) => [s.in_flight / s.limit, 0]), 120);
    spark(r.decisions, recent.map((s) => [(s.accepted_per_s + s.rejected_per_s) / most, s.rejected_per_s]), 120);
  }

  renderHolders() {
    const { holders, holders_total: total, draining } = this.model.open.now;
    const list = holders ?? [];
    setText($("holders-title"), `${draining ? "What the drain waits for" : "Who holds the leases"}: ${total > list.length ? `the oldest ${list.length} of ${count(total)}` : count(total)}`);
    const table = $("holders");
    table.dataset.holders = total;
    fillTable(table, 1, list, "No lease is held now.", (h) => [
      [duration(h.age_ms)], [h.route || "(no route)"], [h.request_id || "–", "id", "wide"],
      [h.remote_ip || "–", "id", "wide", undefined, h.key],
      [(h.cost > 1 ? `${count(h.cost)}` : "1") + (h.passing ? " passing" : ""), "", "n", "units"]]);
  }

  renderRejections() {
    const { rejections } = this.model.open;
    const table = $("rejections");
    table.dataset.seq = rejections[0]?.seq ?? 0;
    fillTable(table, 2, rejections, "No call has been refused since the server started.", (r) => [
      [clockTime(r.t)], [(r.dry_run ? "dry run: " : "") + r.reason.replaceAll("_", " ") + (r.self_wait ? ", held by itself" : "")], [r.route || "(no route)"],
      [amount(r.waited_ms), "", "n", "waited ms"], [r.request_id || "–", "id", "wide", undefined, r.trace_id]]);
  }
}

// fillTable shows one row for each item. route is the index of the route's column. cells returns for each cell
// [text, class of the text, class of the cell, label on narrow screens, second line].
function fillTable(table, route, items, nothing, cells) {
  const body = table.tBodies[0];
  if (beingRead(table)) return;
  if (!items.length) {
    if (body.rows[0]?.className !== "empty" || body.rows.length > 1) {
      const td = el("td", { colspan: "5", role: "cell" }, nothing);
      body.replaceChildren(el("tr", { class: "empty", role: "row" }, td));
    }
    return;
  }
  if (body.rows[0]?.className === "empty") body.replaceChildren();
  while (body.rows.length > items.length) body.rows[body.rows.length - 1].remove();
  items.forEach((item, i) => {
    const texts = cells(item);
    const row = body.rows[i] ?? body.appendChild(el("tr", { role: "row" }, ...texts.map(([, textClass = "", cellClass = "", label]) => {
      const td = el("td", { role: "cell", class: cellClass }, el("span", { class: textClass }), el("span", { class: textClass, hidden: "" }));
      if (label) td.dataset.label = label;
      return td;
    })));
    texts.forEach(([text, , , , second], c) => {
      const [a, b] = row.cells[c].children;
      (c === route ? setRoute : setText)(a, text);
      setText(b, second ?? "");
      b.hidden = !second;
    });
  });
}
