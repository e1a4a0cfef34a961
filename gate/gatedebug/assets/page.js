// The page: it reads the stream of events and renders the parts.

import { Control } from "./control.js";
import { $, clockTime, setText } from "./dom.js";
import { List, renderVerdict } from "./list.js";
import { Model } from "./model.js";
import { Open } from "./open.js";

const hiddenFor = 60000; // milliseconds until a hidden page closes the stream
const model = new Model();
const list = new List(model, openGate);
const open = new Open(model);
const control = new Control(model);
let source = null;
let paused = false;
let lastNews = 0;
let retry = null;
let hide = null;

const words = { connecting: "Connecting", live: "Live", lost: "Reconnecting", refused: "Too many viewers", asleep: "Asleep" };

function setStream(state, notice = "") {
  document.documentElement.dataset.stream = state;
  setText($("stream"), words[state]);
  $("notice").hidden = !notice;
  setText($("notice"), notice);
}

// The address names the open gate, so that it can be shared.
const wanted = () => new URLSearchParams(location.hash.slice(1)).get("gate");

function openGate(name) {
  if (wanted() !== name) history.replaceState(null, "", `#${new URLSearchParams({ gate: name })}`);
  connect();
}

function connect() {
  clearTimeout(retry);
  source?.close();
  const name = wanted();
  const from = source = new EventSource(name === null ? "events" : `events?${new URLSearchParams({ gate: name })}`);
  const on = (event, apply) => from.addEventListener(event, (e) => {
    if (from !== source) return;
    apply(JSON.parse(e.data));
    lastNews = performance.now();
    setStream("live");
    render();
  });
  on("hello", (m) => model.hello(m));
  on("tick", (m) => model.tick(m));
  on("gate", (m) => model.closeUp(m));
  on("update", (m) => model.closeUp(m));
  from.onerror = () => {
    if (from !== source) return;
    if (from.readyState !== EventSource.CLOSED) return setStream("lost", model.t ? `Connection lost. These numbers are from ${clockTime(model.t)}.` : "");
    refused();
  };
}

// refused finds out why the server sends no events.
async function refused() {
  setStream("lost", "The server cannot be reached. Trying again.");
  retry = setTimeout(connect, 5000);
  try {
    const response = await fetch("events", { method: "HEAD" });
    if (response.status === 503) {
      setStream("refused", "Too many people have this page open. Trying again in a moment.");
    }
  } catch { /* the notice above says so */ }
}

let drawing = false;
function render() {
  if (paused || drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    renderVerdict(model);
    list.render();
    open.render();
    control.render();
    setText($("clock"), model.t ? clockTime(model.t) : "");
    document.documentElement.dataset.ticks = model.ticks;
  });
}

$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  setText($("pause"), paused ? "Resume" : "Pause");
  render();
});
$("verdict-open").addEventListener("click", () => openGate($("verdict").dataset.gate));
addEventListener("hashchange", connect);
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
  if (source?.readyState === EventSource.OPEN && performance.now() - lastNews > 5 * model.intervalMs + 2000) connect();
}, 2000);

setStream("connecting");
connect();
