// The sentence above the list: which gate is the bottleneck, and since when.

import { $, amount, clockTime, count, duration, growOnly, setRoute, setText } from "./dom.js";

const trouble = {
  refusing: (g) => `${g.name} ${g.row.dry_run ? "would have" : "has"} been refusing calls since ${clockTime(g.row.since)}`,
  waiting: (g) => `Calls have been waiting for long at ${g.name} since ${clockTime(g.row.since)}`,
};

// factsOf returns the numbers of a gate, the most important ones first.
function factsOf({ row }, model) {
  const facts = [`${count(row.in_flight)} of ${count(row.limit)} in flight`];
  if (row.waiting) facts.push(`${count(row.waiting)} waiting`);
  if (row.rejected_per_s) facts.push(`${amount(row.rejected_per_s)} refused/s`);
  if (row.waited_ms_max) facts.push(`waited up to ${amount(row.waited_ms_max)} ms`);
  const oldest = model.open?.gate === row.gate && model.open.now.holders?.[0];
  if (oldest) facts.push(`oldest lease ${duration(oldest.age_ms)}: ${oldest.route || "a call without a route"}`);
  return facts;
}

// verdictOf returns what is to be said of the gates now.
function verdictOf(model) {
  const gates = model.gates.filter((g) => g.row);
  const draining = gates.filter((g) => g.row.state === "draining");
  const last = model.lastRefusal();
  const calm = last ? [`last refusal ${duration(model.t - last.row.last_rejected)} ago${gates.length > 1 ? ` at ${last.name}` : ""}`] : [];
  const [first, ...others] = model.worst();
  if (first) {
    const facts = [`for ${duration(model.t - first.row.since)}`, ...factsOf(first, model)];
    if (draining.length) facts.push(draining.length === 1 ? `${draining[0].name} is draining` : `${count(draining.length)} gates are draining`);
    if (others.length) facts.push(`${count(others.length)} more ${others.length === 1 ? "gate" : "gates"} in trouble`);
    return { state: first.row.state, gate: first, head: trouble[first.row.state](first), facts };
  }
  const busy = draining.filter((g) => g.row.in_flight + g.row.waiting > 0);
  if (busy.length) {
    return { state: "draining", gate: busy[0], head: `${busy[0].name} is draining and waits for the calls in flight`,
      facts: [...factsOf(busy[0], model), ...calm] };
  }
  const known = gates.filter((g) => g.row.state !== "draining");
  if (!known.length) return { state: "ok", head: draining.length ? "All gates are drained" : "There are no gates", facts: calm };
  const fullest = known.reduce((a, b) => (b.row.pressure > a.row.pressure ? b : a));
  const facts = [...calm, `fullest: ${fullest.name}, ${count(fullest.row.in_flight)} of ${count(fullest.row.limit)} in flight`];
  if (draining.length) facts.push(`${count(draining.length)} drained`);
  if (fullest.row.state === "full") return { state: "full", head: `${fullest.name} is at its limit, but no call waits for long`, facts };
  return { state: "ok", head: known.length === 1 ? `${fullest.name} has room` : `All ${count(known.length)} gates have room`, facts };
}

// renderVerdict shows the verdict. stale says why there is nothing newer, and is empty
// if there is: { head, ago }, with the time in milliseconds.
export function renderVerdict(model, stale) {
  const v = verdictOf(model);
  const { dataset } = $("verdict");
  dataset.state = stale ? "stale" : v.state;
  dataset.gate = v.gate?.name ?? "";
  setText($("verdict-head"), stale ? stale.head : v.head);
  const facts = stale ? [`State ${duration(stale.ago)} ago: ${v.head}`, ...v.facts] : v.facts;
  setRoute($("verdict-facts"), facts.join(" · "));
  const open = $("verdict-open");
  open.hidden = !v.gate || model.open?.gate === v.gate.row.gate;
  if (v.gate) setText(open, `Open ${v.gate.name}`);
  growOnly($("verdict"));
  const title = v.gate ? `${v.gate.name} ${v.state} – Gates` : "Gates";
  document.title = stale ? `(old) ${title}` : title;
}
