// Rates from counters: the difference of two answers over the time between them.

// Two minutes of samples.
export const KEPT = 120;
// Answers that come closer together than this make the rates jump.
const SHORTEST = 900;

export class Rates {
  #seriesByKey = new Map();
  #sampledAt = 0;

  // Takes the counters of a state, unless the last sample is too fresh.
  sample(live, now) {
    if (now - this.#sampledAt < SHORTEST) return;
    const seconds = (now - this.#sampledAt) / 1000;
    this.#sampledAt = now;
    const alive = new Set();
    const take = (kind, item) => {
      const key = `${kind}:${item.id}`;
      alive.add(key);
      const series = this.#seriesByKey.get(key) ?? { points: [] };
      const point = series.last && difference(item.traffic, series.last, seconds);
      if (point) series.points.push(point);
      if (series.points.length > KEPT) series.points.shift();
      series.last = item.traffic;
      this.#seriesByKey.set(key, series);
    };
    for (const item of live?.listeners ?? []) take("listener", item);
    for (const item of live?.clusters ?? []) take("cluster", item);
    for (const key of this.#seriesByKey.keys()) if (!alive.has(key)) this.#seriesByKey.delete(key);
  }

  points(kind, id) {
    return this.#seriesByKey.get(`${kind}:${id}`)?.points ?? [];
  }

  latest(kind, id) {
    return this.points(kind, id).at(-1);
  }

  // The listeners whose id begins so, together; the newest point is the last one.
  together(prefix) {
    const sums = [];
    for (const [key, { points }] of this.#seriesByKey) {
      if (!key.startsWith(`listener:${prefix}`)) continue;
      points.toReversed().forEach((point, age) => {
        sums[age] ??= { rxBits: 0, txBits: 0, rxPackets: 0, txPackets: 0 };
        for (const name of Object.keys(point)) sums[age][name] += point[name];
      });
    }
    return sums.reverse();
  }
}

// A counter that went back belongs to another process: no rate can be told from it.
function difference(now, before, seconds) {
  const rate = (name, factor) => ((now[name] - before[name]) * factor) / seconds;
  const point = {
    rxBits: rate("rxBytes", 8),
    txBits: rate("txBytes", 8),
    rxPackets: rate("rxPackets", 1),
    txPackets: rate("txPackets", 1),
  };
  return Object.values(point).some((value) => value < 0) ? null : point;
}
