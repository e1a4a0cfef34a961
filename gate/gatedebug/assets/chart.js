// Line charts on a canvas, written by hand.

import { ceiling, colors, context } from "./canvas.js";
import { amount, clockTime, compact, count, el, minuteTime, setText } from "./dom.js";

// cursor is the time under the pointer. It is the same in all charts.
const cursor = { t: null, charts: new Set() };
function point(t) {
  cursor.t = t;
  for (const c of cursor.charts) c.draw();
}

// drawCursor marks the time under the pointer and shows it as text.
function drawCursor(g, x, bottom, width, text) {
  g.strokeStyle = colors.text;
  g.lineWidth = 1;
  g.beginPath();
  g.moveTo(Math.round(x) + 0.5, 6);
  g.lineTo(Math.round(x) + 0.5, bottom);
  g.stroke();
  g.font = "11px system-ui, sans-serif";
  g.textAlign = "center";
  g.textBaseline = "alphabetic";
  const half = g.measureText(text).width / 2 + 4;
  const at = Math.min(Math.max(x, half), width - half);
  g.fillStyle = colors.text;
  g.fillRect(at - half, bottom + 2, 2 * half, 16);
  g.fillStyle = colors.panel;
  g.fillText(text, at, bottom + 14);
}

export class Chart {
  // series: [{ key, field, label, color, fill, dash, step }]
  constructor(parent, { name, title, series, whole, headroom = 1 }) {
    Object.assign(this, { name, title, series, headroom, format: whole ? count : amount });
    this.samples = [];
    this.keys = series.map((s) => el("b", {}, "–"));
    const keys = series.map((s, i) =>
      el("span", { class: `key${s.dash ? " dash" : ""}`, data: { key: s.key } }, `${s.label} `, this.keys[i]));
    this.canvas = el("canvas", { role: "img", tabindex: "0", "aria-label": title });
    this.figure = el("figure", { class: "chart", data: { chart: name } },
      el("figcaption", {}, el("strong", {}, title), ...keys), this.canvas);
    parent.append(this.figure);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    cursor.charts.add(this);
    this.listen();
  }

  listen() {
    this.canvas.addEventListener("pointermove", (e) => {
      const share = (e.offsetX - this.left) / (this.canvas.clientWidth - this.left);
      point(share < 0 ? null : this.nearest(this.from + share * this.span));
    });
    this.canvas.addEventListener("pointerleave", () => point(null));
    this.canvas.addEventListener("blur", () => point(null));
    this.canvas.addEventListener("keydown", (e) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
      if (e.key === "Escape") point(null);
      if (!step || !this.samples.length) return;
      e.preventDefault();
      const i = this.samples.findIndex((s) => s.t === cursor.t);
      const next = i < 0 ? this.samples.length - 1 : Math.min(Math.max(i + step, 0), this.samples.length - 1);
      point(this.samples[next].t);
    });
  }

  nearest(t) {
    let best = null;
    for (const s of this.samples) if (best === null || Math.abs(s.t - t) < Math.abs(best - t)) best = s.t;
    return best;
  }

  set(samples, now, windowMs, intervalMs) {
    // A narrow chart shows half the time: half a pixel for a sample would be no line.
    const span = this.canvas.clientWidth < 420 ? windowMs / 2 : windowMs;
    Object.assign(this, { samples: samples.filter((s) => s.t >= now - span), from: now - span, span, gap: 2.5 * intervalMs });
    const last = samples.at(-1);
    this.figure.dataset.points = samples.length;
    for (const s of this.series) this.figure.dataset[s.key.replace(/_(.)/g, (_, c) => c.toUpperCase())] = last?.[s.field] ?? "";
    this.canvas.setAttribute("aria-label", `${this.title}: ` +
      this.series.map((s) => `${s.label} ${this.format(last?.[s.field])}`).join(", "));
    this.draw();
  }

  draw() {
    const { g, width, height } = context(this.canvas);
    if (!this.span || width === 0) return;
    const shown = cursor.t === null ? this.samples.at(-1) : this.samples.find((s) => s.t === cursor.t);
    this.series.forEach((s, i) => setText(this.keys[i], this.format(shown?.[s.field])));

    let top = 0;
    for (const sample of this.samples) for (const s of this.series) top = Math.max(top, sample[s.field] ?? 0);
    top = ceiling(top * this.headroom);
    const bottom = height - 18;
    this.left = 40;
    const x = (t) => this.left + ((t - this.from) / this.span) * (width - this.left - 1);
    const y = (v) => bottom - (v / top) * (bottom - 8);
    this.drawGrid(g, { width, bottom, x, y, top });
    for (const s of this.series) this.drawSeries(g, s, x, y, bottom);
    if (cursor.t !== null && shown) drawCursor(g, x(shown.t), bottom, width, clockTime(shown.t));
  }

  drawGrid(g, { width, bottom, x, y, top }) {
    g.font = "11px system-ui, sans-serif";
    g.fillStyle = colors.muted;
    g.strokeStyle = colors.grid;
    g.lineWidth = 1;
    g.textAlign = "right";
    g.textBaseline = "middle";
    for (const v of [0, top / 2, top]) {
      const line = Math.round(y(v)) + 0.5;
      g.beginPath();
      g.moveTo(this.left, line);
      g.lineTo(width, line);
      g.stroke();
      // The space beside the chart fits five characters.
      const label = v === 0 ? "0" : v >= 1e4 ? compact(v) : this.format(v);
      if (v > 0 || top > 0) g.fillText(label, this.left - 6, line);
    }
    g.textBaseline = "alphabetic";
    g.textAlign = "center";
    for (let t = Math.ceil(this.from / 60000) * 60000; t < this.from + this.span; t += 60000) {
      if (x(t) > this.left + 16 && x(t) < width - 16) g.fillText(minuteTime(t), x(t), bottom + 14);
    }
  }

  // runs splits the samples where samples are missing.
  *runs(field) {
    let run = [];
    for (const s of this.samples) {
      if (s[field] == null || (run.length && s.t - run.at(-1).t > this.gap)) {
        if (run.length) yield run;
        run = [];
      }
      if (s[field] != null) run.push(s);
    }
    if (run.length) yield run;
  }

  drawSeries(g, s, x, y, bottom) {
    const color = colors[s.color];
    for (const run of this.runs(s.field)) {
      g.beginPath();
      run.forEach((sample, i) => {
        if (i === 0) g.moveTo(x(sample.t), y(sample[s.field]));
        if (s.step && i > 0) g.lineTo(x(sample.t), y(run[i - 1][s.field]));
        g.lineTo(x(sample.t), y(sample[s.field]));
      });
      if (run.length === 1) g.lineTo(x(run[0].t) + 2, y(run[0][s.field]));
      g.strokeStyle = color;
      g.lineWidth = s.dash ? 1.5 : 2;
      g.lineJoin = "round";
      g.setLineDash(s.dash ? [5, 4] : []);
      g.stroke();
      g.setLineDash([]);
      if (s.fill) {
        g.lineTo(x(run.at(-1).t), bottom);
        g.lineTo(x(run[0].t), bottom);
        g.globalAlpha = 0.16;
        g.fillStyle = color;
        g.fill();
        g.globalAlpha = 1;
      }
    }
  }
}
