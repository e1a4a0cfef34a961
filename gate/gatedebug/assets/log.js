// Says how many calls the log has in detail, and changes that for some time if the
// server allows it.

import { $, setText } from "./dom.js";

const every = 10000; // milliseconds between two looks
const more = { sample_rate: 1, max_details: 100000, for_s: 600 };

export class Log {
  constructor(model) {
    this.model = model;
    this.next = 0;
    $("log-more").addEventListener("click", () => this.send(more));
    $("log-usual").addEventListener("click", () => this.send({ for_s: 0 }));
  }

  render() {
    $("log").hidden = !this.model.log;
    if (!this.model.log || Date.now() < this.next) return;
    this.next = Date.now() + every;
    this.send(null);
  }

  show(d) {
    const share = d.sample_rate === 1 ? "every call" : `${+(100 * d.sample_rate).toFixed(3)} % of calls`;
    const minutes = Math.ceil(d.for_s / 60);
    setText($("log-says"), `The log has ${share} in detail${d.for_s ? ` for ${minutes} more minute${minutes > 1 ? "s" : ""}` : ""}.`);
    $("log-more").hidden = !this.model.control || d.for_s > 0;
    $("log-usual").hidden = !this.model.control || !d.for_s;
  }

  async send(change) {
    const post = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(change) };
    try {
      const response = await fetch("log", change ? post : {});
      const text = await response.text();
      let answer = { message: text };
      try { answer = JSON.parse(text); } catch { /* not from the handler */ }
      setText($("log-answer"), response.ok ? "" : answer.message);
      if (response.ok) this.show(answer);
    } catch {
      if (change) setText($("log-answer"), "The server cannot be reached.");
    }
  }
}
