// Small helpers: elements, and numbers for people. Text from clients of the server
// goes into the page only through textContent.

export const $ = (id) => document.getElementById(id);

export function el(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "class") e.className = value;
    else if (name === "data") Object.assign(e.dataset, value);
    else e.setAttribute(name, value);
  }
  e.append(...children);
  return e;
}

// setText changes a text only if it differs, so that a selection in it stays.
export function setText(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// growOnly never lets an element get lower, so that what is below it does not move.
// It starts again when the window's width changes.
const widths = new WeakMap();
export function growOnly(e) {
  if (widths.get(e) !== innerWidth) {
    widths.set(e, innerWidth);
    e.style.minHeight = "";
  }
  if (e.offsetHeight > (parseFloat(e.style.minHeight) || 0)) e.style.minHeight = `${e.offsetHeight}px`;
}

// setRoute is setText for texts with routes. A line may break after each part of a route.
export function setRoute(e, text) {
  if (e.textContent === text) return;
  e.replaceChildren(...text.split(/(?<=\/)(?!s\b)|(?<=[^ ]\.)(?=[A-Za-z{])/).flatMap((part) => [part, el("wbr")]));
}

// beingRead reports whether text in e is selected or e has the keyboard focus. Its
// rows must not move then.
export function beingRead(e) {
  const s = getSelection();
  return (!s.isCollapsed && e.contains(s.anchorNode)) || (e.matches(":focus-within") && e.querySelector(":focus-visible"));
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

// compact shortens a large number, as in 12K.
export const compact = (n) => short.format(n);

// count shows a whole number, and shortens large ones.
export const count = (n) => (n == null ? "–" : n >= 1e5 ? short.format(n) : whole.format(n));

// amount shows a rate or a time, with one decimal if it is small.
export const amount = (n) => (n == null ? "–" : n === 0 ? "0" : n < 9.95 ? tenth.format(n) : count(n));

const pad = (n) => String(n).padStart(2, "0");

export function clockTime(t) {
  const d = new Date(t);
  return `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
}

export const minuteTime = (t) => clockTime(t).slice(0, 5);

// duration shows milliseconds in seconds, minutes or hours.
export function duration(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (ms < 10000) return `${tenth.format(Math.max(0, ms) / 1000)} s`;
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${pad(s % 60)} s`;
  return `${Math.floor(s / 3600)} h ${pad(Math.floor((s % 3600) / 60))} min`;
}

const marks = { ok: "●", full: "◆", waiting: "▲", refusing: "■", draining: "○" };

// setChips shows the state of a gate, by a mark as well as by its color. In a dry
// run it says so: the state is then what it would be.
export function setChips(e, state, dryRun) {
  if (!e.firstChild) e.append(el("span", { class: "chip" }), " ", el("span", { class: "chip dry" }, "dry run"));
  const [chip, dry] = e.children;
  chip.dataset.state = state;
  setText(chip, `${marks[state]} ${state}`);
  dry.hidden = !dryRun;
}
