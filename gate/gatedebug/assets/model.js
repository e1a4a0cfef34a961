// What the page knows: all gates, and the open gate in detail. The messages of the
// stream fill it. Nothing here touches the page.

const sparkSamples = 120;

function named(columns, values) {
  const row = {};
  columns.forEach((name, i) => { row[name] = values[i]; });
  return row;
}

export class Model {
  constructor() {
    this.gates = []; // { name, row, spark: [[share of the limit, refused/s]] }
    this.columns = [];
    this.rowColumns = [];
    this.t = 0;
    this.intervalMs = 1000;
    this.windowMs = 300000;
    this.control = false;
    this.traces = false;
    this.log = false;
    this.ticks = 0;
    this.open = null;
  }

  hello(m) {
    const same = this.gates.length === m.gates.length && this.gates.every((g, i) => g.name === m.gates[i]);
    if (!same) this.gates = m.gates.map((name) => ({ name, row: null, spark: [] }));
    Object.assign(this, {
      t: m.t, intervalMs: m.interval_ms, windowMs: m.window_ms, control: m.control, traces: m.traces, log: m.log,
      columns: m.columns, rowColumns: m.row_columns,
    });
    this.rows(m.rows);
    for (const [gate, spark] of Object.entries(m.sparks)) this.gates[gate].spark = spark.slice(-sparkSamples);
  }

  rows(rows) {
    for (const values of rows) {
      const row = named(this.rowColumns, values);
      this.gates[row.gate].row = row;
    }
  }

  tick(m) {
    this.t = m.t;
    this.ticks++;
    this.rows(m.rows);
    for (const { row, spark } of this.gates) {
      spark.push([row.in_flight / row.limit, row.rejected_per_s]);
      if (spark.length > sparkSamples) spark.shift();
    }
  }

  // closeUp takes a close-up of the open gate: a full one, or only what is new.
  closeUp(m) {
    const samples = m.history.map((v) => named(["t", ...this.columns], v));
    if (m.full) {
      const routes = this.open?.gate === m.gate ? this.open.routes : new Map();
      this.open = { gate: m.gate, samples, minutes: new Map(), rejections: [], routes };
    } else if (this.open?.gate !== m.gate) {
      return;
    } else {
      this.open.samples.push(...samples);
    }
    const o = this.open;
    const since = m.t - this.windowMs;
    while (o.samples.length && o.samples[0].t < since) o.samples.shift();
    o.now = m;
    for (const minute of m.minutes ?? []) o.minutes.set(minute.t, minute);
    for (const t of o.minutes.keys()) if (t < m.t / 1000 - 3660) o.minutes.delete(t);
    this.addRejections(m.rejections ?? []);
    this.addRoutes(m, since);
  }

  addRejections(list) {
    const o = this.open;
    for (const r of list) {
      if (!o.rejections.length || r.seq > o.rejections[0].seq) o.rejections.unshift(r);
    }
    o.rejections.length = Math.min(o.rejections.length, 50);
  }

  addRoutes(m, since) {
    const { routes } = this.open;
    const limit = this.gates[m.gate].row.limit;
    for (const r of m.routes ?? []) {
      if (!routes.has(r.route)) routes.set(r.route, { name: r.route, samples: [] });
      const route = routes.get(r.route);
      route.now = r;
      route.samples.push({ t: m.t, limit, ...r });
    }
    for (const [name, r] of routes) {
      if (r.now.route && r.samples.at(-1)?.t !== m.t) r.now = { ...r.now, in_flight: 0, waiting: 0, accepted_per_s: 0, rejected_per_s: 0 };
      while (r.samples.length && r.samples[0].t < since) r.samples.shift();
      if (!r.samples.length) routes.delete(name);
    }
  }

  // lastRefusal returns the gate that refused a call last, if that is not long ago.
  lastRefusal() {
    const refused = this.gates.filter((g) => g.row && this.t - g.row.last_rejected < 3600000);
    return refused.reduce((a, b) => (a && a.row.last_rejected >= b.row.last_rejected ? a : b), null);
  }

  // worst returns the gates in trouble, the bottleneck first.
  worst() {
    return this.gates.filter((g) => g.row && g.row.pressure >= 1).sort((a, b) => b.row.pressure - a.row.pressure);
  }
}
