// The page: it reads the stream of events and renders the parts.

import { Control } from "./control.js";
import { Log } from "./log.js";
import { $, clockTime, setText } from "./dom.js";
import { List } from "./list.js";
import { Model } from "./model.js";
import { Open } from "./open.js";
import { renderVerdict } from "./verdict.js";

const hiddenFor = 60000; // milliseconds until a hidden page closes the stream
const model = new Model();
const list = new List(model, openGate);
const open = new Open(model);
const control = new Control(model);
const log = new Log(model);
let source = null;
let paused = false;
let lastNews = 0;
let fullAt = 0;
let retry = null;
let hide = null;

const words = { connecting: "Connecting", live: "Live", lost: "Reconnecting", full: "Every 10 s", asleep: "Asleep" };

function setStream(state, notice = "") {
  document.documentElement.dataset.stream = state;
  setText($("stream"), words[state]);
  $("notice").hidden = !notice;
  setText($("notice"), notice);
  render();
}

const streamIs = (...states) => states.includes(document.documentElement.dataset.stream);

// stale says why the page shows nothing newer, and what it shows.
function stale() {
  if (!model.t) return null;
  const at = clockTime(model.t), ago = performance.now() - lastNews;
  if (paused) return { head: `Paused at ${at}`, ago };
  if (streamIs("asleep")) return { head: `This page was asleep: no news since ${at}`, ago };
  return streamIs("lost") ? { head: `Connection lost: no news since ${at}`, ago } : null;
}

// The address names the open gate, so that it can be shared.
const wanted = () => new URLSearchParams(location.hash.slice(1)).get("gate");

function openGate(name) {
  if (wanted() !== name) history.replaceState(null, "", `#${new URLSearchParams({ gate: name })}`);
  connect();
}

// connect opens the stream of events. With ifRoom nobody else has to leave for it.
function connect(ifRoom = false) {
  clearTimeout(retry);
  source?.close();
  const query = new URLSearchParams(ifRoom ? { if: "room" } : {});
  if (wanted() !== null) query.set("gate", wanted());
  const from = source = new EventSource(`events?${query}`);
  const on = (event, apply) => from.addEventListener(event, (e) => {
    if (from !== source) return;
    apply(JSON.parse(e.data));
    lastNews = performance.now();
    if (!ifRoom || event === "tick") setStream("live");
    render();
  });
  on("hello", (m) => model.hello(m));
  on("tick", (m) => model.tick(m));
  on("gate", (m) => model.closeUp(m));
  on("update", (m) => model.closeUp(m));
  from.addEventListener("full", (e) => {
    if (from === source) full(JSON.parse(e.data).max_viewers);
  });
  from.onerror = () => {
    if (from !== source) return;
    setStream("lost");
    if (from.readyState === EventSource.CLOSED) refused();
  };
}

// full takes a look from time to time, because others have the page open, too. Whoever
// uses this page gets live events again.
function full(viewers) {
  source.close();
  fullAt = performance.now();
  retry = setTimeout(() => connect(true), 10000);
  setStream("full", `This page is open ${viewers} more times, so it is updated every 10 seconds. Move the pointer or press a key to see it live.`);
}

for (const event of ["pointerdown", "pointermove", "keydown", "wheel"]) {
  addEventListener(event, () => {
    if (streamIs("full") && performance.now() - fullAt > 3000) connect();
  }, { passive: true });
}

// refused finds out why the server sends no events.
async function refused() {
  retry = setTimeout(connect, 5000);
  try {
    const response = await fetch("events", { method: "HEAD" });
    if (response.status === 503) setStream("lost", "The server has no room for this page. Trying again in a moment.");
  } catch {
    setStream("lost", "The server cannot be reached. Trying again.");
  }
}

function showVerdict() {
  const old = stale();
  document.documentElement.dataset.stale = Boolean(old);
  renderVerdict(model, old);
}

let drawing = false;
function render() {
  if (paused || drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    if (paused) return;
    showVerdict();
    list.render();
    open.render();
    control.render();
    log.render();
    setText($("clock"), model.t ? clockTime(model.t) : "");
    document.documentElement.dataset.ticks = model.ticks;
  });
}

$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  setText($("pause"), paused ? "Resume" : "Pause");
  paused ? showVerdict() : render();
});
$("verdict-open").addEventListener("click", () => openGate($("verdict").dataset.gate));
addEventListener("hashchange", () => connect());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);

// A hidden page costs the server nothing after a while.
document.addEventListener("visibilitychange", () => {
  clearTimeout(hide);
  if (document.hidden) {
    hide = setTimeout(() => {
      source?.close();
      source = null;
      clearTimeout(retry);
      setStream("asleep");
    }, hiddenFor);
  } else if (!source) {
    connect();
  } else {
    render();
  }
});

// A connection can die without an error, for instance while a computer sleeps.
setInterval(() => {
  if (source?.readyState === EventSource.OPEN && performance.now() - lastNews > 5 * model.intervalMs + 2000) {
    setStream("lost");
    connect();
  }
  if (stale()) render();
}, 1000);

setStream("connecting");
connect();
