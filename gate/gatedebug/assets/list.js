// The list of all gates.

import { $, amount, beingRead, clockTime, count, el, setChips, setText } from "./dom.js";
import { spark } from "./small.js";

const page = 50; // rows shown at once
const sortEvery = 3000; // milliseconds; rows that move more often cannot be read

export class List {
  constructor(model, onOpen) {
    Object.assign(this, { model, onOpen, shown: page, order: [], sortedAt: 0, filter: "", rows: [] });
    this.table = $("list");
    this.body = this.table.tBodies[0];
    $("filter").addEventListener("input", (e) => {
      this.filter = e.target.value.trim().toLowerCase();
      this.shown = page;
      this.render(true);
    });
    $("list-more").addEventListener("click", () => {
      this.shown += page;
      this.render(true);
    });
    // A click anywhere in the row opens it. The keyboard uses the button in the row.
    this.body.addEventListener("click", (e) => {
      const row = e.target.closest("tr");
      if (row?.dataset.gate !== undefined && getSelection().isCollapsed) this.onOpen(this.model.gates[row.dataset.gate].name);
    });
  }

  matches(g) {
    return !this.filter || g.name.toLowerCase().includes(this.filter) || g.row.state.includes(this.filter) ||
      (g.row.dry_run && "dry run".includes(this.filter));
  }

  sort(now) {
    const { gates } = this.model;
    if (!now && (performance.now() - this.sortedAt < sortEvery || this.body.matches(":hover") || beingRead(this.body))) return;
    this.sortedAt = performance.now();
    this.order = gates.map((_, i) => i).filter((i) => gates[i].row && this.matches(gates[i]));
    this.order.sort((a, b) => Math.round((gates[b].row.pressure - gates[a].row.pressure) * 10) || a - b);
  }

  render(resort = false) {
    const { gates, open } = this.model;
    this.sort(resort || (!this.order.length && !this.filter));
    const visible = this.order.slice(0, this.shown);
    while (this.rows.length < visible.length) this.rows.push(this.makeRow());
    while (this.rows.length > visible.length) this.rows.pop().tr.remove();
    visible.forEach((index, i) => this.fillRow(this.rows[i], gates[index], index, open?.gate === index));
    const found = this.order.length === gates.length ? `${count(gates.length)}` : `${count(this.order.length)} of ${count(gates.length)}`;
    setText($("list-count"), visible.length < this.order.length ? `${found}, the first ${visible.length} shown` : found);
    $("list-more").hidden = visible.length >= this.order.length;
    this.table.dataset.rows = visible.length;
  }

  makeRow() {
    const cell = (cls, ...children) => el("td", { class: cls, role: "cell" }, ...children);
    const r = {
      name: el("button", { class: "link", type: "button" }), chips: el("span"),
      level: el("span", { class: "level" }), fill: el("span", { class: "text num" }),
      waiting: el("span"), maxWaiting: el("span", { class: "of" }), ms: cell("c-ms n"), acc: cell("c-acc n"), rej: cell("c-rej n"), since: cell("c-since n"),
      canvas: el("canvas", { class: "spark", "aria-hidden": "true" }),
    };
    r.wait = cell("c-wait n", r.waiting, r.maxWaiting);
    r.wait.dataset.label = "waiting";
    Object.assign(r.rej.dataset, { label: "refused", unit: "/s" });
    r.tr = el("tr", { role: "row" },
      el("th", { class: "c-name", scope: "row", role: "rowheader" }, r.name), cell("c-state", r.chips),
      cell("c-fill", el("div", { class: "fill" }, el("span", { class: "track", "aria-hidden": "true" }, r.level), r.fill)),
      r.wait, r.ms, r.acc, r.rej, r.since, cell("c-spark", r.canvas));
    this.body.append(r.tr);
    return r;
  }

  fillRow(r, g, index, current) {
    const { row } = g;
    r.tr.dataset.gate = index;
    Object.assign(r.tr.dataset, { state: row.state, inFlight: row.in_flight, waiting: row.waiting });
    current ? r.tr.setAttribute("aria-current", "true") : r.tr.removeAttribute("aria-current");
    setText(r.name, g.name);
    r.name.title = g.name;
    setChips(r.chips, row.state, row.dry_run);
    const share = row.in_flight / row.limit;
    r.level.style.transform = `scaleX(${Math.min(share, 1)})`;
    r.level.classList.toggle("over", share > 1);
    setText(r.fill, `${count(row.in_flight)} / ${count(row.limit)}`);
    setText(r.waiting, count(row.waiting));
    setText(r.maxWaiting, row.waiting ? ` / ${count(row.max_waiting)}` : "");
    setText(r.ms, amount(row.waited_ms_max));
    setText(r.acc, amount(row.accepted_per_s));
    setText(r.rej, amount(row.rejected_per_s));
    r.rej.classList.toggle("hot", row.rejected_per_s > 0);
    setText(r.since, row.since ? clockTime(row.since) : "");
    spark(r.canvas, g.spark, 120);
  }
}
