// Controls a gate, if the server allows it.

import { $, setText } from "./dom.js";

const sure = 5000; // milliseconds to confirm in

export class Control {
  constructor(model) {
    this.model = model;
    this.input = $("limit");
    this.button = $("dry-run");
    $("control").addEventListener("submit", (e) => {
      e.preventDefault();
      const limit = this.input.value.replace(/[\s,]/g, "");
      if (!/^\d+$/.test(limit)) return this.answer(`limit: want a whole number, got "${this.input.value}"`, true);
      this.send(`{"gate":${JSON.stringify(this.name())},"limit":${limit}}`);
    });
    this.button.addEventListener("click", () => {
      const on = !this.row().dry_run;
      if (on && !this.asked) {
        this.asked = setTimeout(() => this.reset(), sure);
        setText(this.button, "Really? No call is refused then");
        return;
      }
      this.reset();
      this.send(JSON.stringify({ gate: this.name(), dry_run: on }));
    });
  }

  name() { return this.model.gates[this.model.open.gate].name; }
  row() { return this.model.gates[this.model.open.gate].row; }

  reset() {
    clearTimeout(this.asked);
    this.asked = null;
    this.render();
  }

  render() {
    const { open, control } = this.model;
    $("control").hidden = !control || !open;
    if (!control || !open) return;
    if (this.gate !== open.gate) {
      this.gate = open.gate;
      this.limit = null;
      this.reset();
      this.answer("");
    }
    // Show the current limit, unless a new one is being typed.
    const limit = this.row().limit;
    if (this.limit !== limit && document.activeElement !== this.input) this.input.value = limit;
    this.limit = limit;
    if (!this.asked) setText(this.button, this.row().dry_run ? "End the dry run" : "Start a dry run");
    this.button.setAttribute("aria-pressed", String(this.row().dry_run));
  }

  answer(text, bad = false) {
    setText($("control-answer"), text);
    $("control-answer").classList.toggle("bad", bad);
  }

  async send(body) {
    this.answer("…");
    try {
      const response = await fetch("control", { method: "POST", headers: { "Content-Type": "application/json" }, body });
      const text = await response.text();
      if (!response.ok) {
        let message = text;
        try { message = JSON.parse(text).message; } catch { /* not from the handler */ }
        return this.answer(message, true);
      }
      const now = JSON.parse(text);
      this.answer(`${now.gate}: limit ${now.limit}, dry run ${now.dry_run ? "on" : "off"}`);
    } catch {
      this.answer("The server cannot be reached.", true);
    }
  }
}
