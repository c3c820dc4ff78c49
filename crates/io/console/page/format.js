// Numbers as people read them. Units of traffic are decimal, as in all of networking.

const DECIMAL = ["", "k", "M", "G", "T"];

function scaled(value, unit) {
  let power = 0;
  while (value >= 999.5 && power < DECIMAL.length - 1) {
    value /= 1000;
    power += 1;
  }
  const digits = power === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  const prefix = DECIMAL[power];
  return `${value.toFixed(digits)}${unit || prefix ? "\u202f" : ""}${prefix}${unit}`;
}

export const bits = (perSecond) => scaled(perSecond, "bit/s");
export const packets = (perSecond) => scaled(perSecond, "pkt/s");
export const bytes = (count) => scaled(count, "B");
export const count = (number) => number.toLocaleString("en");
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

export function duration(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${String(s % 60).padStart(2, "0")}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${String(Math.floor((s % 3600) / 60)).padStart(2, "0")}m`;
  return `${Math.floor(s / 86400)}d ${Math.floor((s % 86400) / 3600)}h`;
}

export function clock(date) {
  return date.toLocaleTimeString("en-GB");
}

// Of today the time is enough.
export function moment(date) {
  const today = date.toDateString() === new Date().toDateString();
  return today ? clock(date) : `${date.toLocaleDateString("sv")} ${clock(date)}`;
}

export const milliseconds = (value) => `${value < 10 ? value.toFixed(2) : value.toFixed(1)}\u202fms`;
