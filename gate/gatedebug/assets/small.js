// Small charts: a line in a row of a table, and the last hour.

import { ceiling, colors, context } from "./canvas.js";
import { count, minuteTime } from "./dom.js";

// spark draws a small chart without scales: a filled line, and a mark for each
// value with refusals. values: [[height, refused]], the newest last. The line at
// the top has height 1.
export function spark(canvas, values, slots) {
  const { g, width, height } = context(canvas);
  if (!width) return;
  const x = (i) => width - ((values.length - 1 - i) / (slots - 1)) * width;
  const y = (v) => height - 1.5 - Math.min(v, 1.15) * ((height - 5) / 1.15);
  g.strokeStyle = colors.grid;
  g.lineWidth = 1;
  g.beginPath();
  g.moveTo(0, Math.round(y(1)) + 0.5);
  g.lineTo(width, Math.round(y(1)) + 0.5);
  g.stroke();
  if (!values.length) return;
  g.fillStyle = colors.rejected;
  values.forEach(([, refused], i) => { if (refused > 0) g.fillRect(x(i) - 1, 0, 2, 4); });
  g.beginPath();
  values.forEach(([v], i) => (i ? g.lineTo(x(i), y(v)) : g.moveTo(x(i), y(v))));
  g.strokeStyle = colors["in-flight"];
  g.lineWidth = 1.5;
  g.stroke();
  g.lineTo(x(values.length - 1), height);
  g.lineTo(x(0), height);
  g.globalAlpha = 0.16;
  g.fillStyle = colors["in-flight"];
  g.fill();
  g.globalAlpha = 1;
}

// bars draws the last hour: the refused calls of each minute as a bar, and a mark
// below it if calls waited.
export function bars(canvas, minutes, now) {
  const { g, width, height } = context(canvas);
  if (!width) return;
  const left = 40, bottom = height - 18, thisMinute = Math.floor(now / 60000);
  const step = (width - left) / 60;
  const x = (t) => left + (60 - 1 - (thisMinute - t / 60)) * step;
  let top = 0;
  for (const m of minutes) top = Math.max(top, m.rejected);
  top = ceiling(top);
  g.font = "11px system-ui, sans-serif";
  g.strokeStyle = colors.grid;
  g.lineWidth = 1;
  for (const v of [0, top]) {
    const line = Math.round(bottom - (v / top) * (bottom - 8)) + 0.5;
    g.beginPath();
    g.moveTo(left, line);
    g.lineTo(width, line);
    g.stroke();
    g.fillStyle = colors.muted;
    g.textAlign = "right";
    g.textBaseline = "middle";
    g.fillText(count(v), left - 6, line);
  }
  g.textAlign = "center";
  g.textBaseline = "alphabetic";
  for (let back = 0; back < 60; back += 10) {
    const t = (thisMinute - back) * 60;
    if (x(t) > left + 14) g.fillText(minuteTime(t * 1000), Math.min(x(t) + step / 2, width - 16), bottom + 14);
  }
  for (const m of minutes) {
    if (m.waited > 0 || m.rejected > 0) {
      g.fillStyle = colors.waiting;
      g.fillRect(x(m.t) + 1, bottom + 1, Math.max(step - 2, 1), 3);
    }
    if (m.rejected > 0) {
      const h = Math.max((m.rejected / top) * (bottom - 8), 2);
      g.fillStyle = colors.rejected;
      g.fillRect(x(m.t) + 1, bottom - h, Math.max(step - 2, 1), h);
    }
  }
}
