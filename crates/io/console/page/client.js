// The console's API, as this page uses it. The token stays in this tab (sessionStorage) and goes to this origin only.

const TOKEN = "stunner-token";
const POLL = 1000;
const SLOWEST = 5000;

export class Refused extends Error {
  constructor(status, error, hint) {
    super(error);
    this.status = status;
    this.hint = hint;
  }
}

export const token = {
  value: () => sessionStorage.getItem(TOKEN) ?? "",
  keep: (value) => sessionStorage.setItem(TOKEN, value),
  forget: () => sessionStorage.removeItem(TOKEN),
};

export async function ask(method, path, body) {
  const headers = {};
  if (token.value()) headers.Authorization = `Bearer ${token.value()}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(`/api/v1/${path}`, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store",
    signal: AbortSignal.timeout(15000),
  });
  const value = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, value.error ?? `the answer was ${answer.status}`, value.hint);
  return value;
}

// Asks for the state every second, and at once when the event stream says that something has changed. `onState` gets
// each state whole, `onLost` the reason when none can be had.
export function follow(onState, onLost) {
  let known = null;
  let timer = 0;
  let asking = false;
  let again = false;
  let failures = 0;
  let events = null;

  async function poll() {
    clearTimeout(timer);
    if (asking) {
      again = true;
      return;
    }
    asking = true;
    again = false;
    try {
      const state = await ask("GET", known ? `state?known=${known.generation}` : "state");
      // The hierarchy is left out where we have it already.
      known = state.unchanged ? { ...known, ...state } : state;
      failures = 0;
      onState(known);
    } catch (error) {
      // What answers next may be another process, whose generations begin anew.
      known = null;
      failures += 1;
      onLost(error);
    }
    asking = false;
    if (!document.hidden) timer = setTimeout(poll, again ? 0 : Math.min(POLL * Math.max(1, failures), SLOWEST));
  }

  // A hidden page asks for nothing: browsers allow few connections per site, and other tabs may need them.
  function wake() {
    clearTimeout(timer);
    events?.close();
    events = null;
    if (document.hidden) return;
    if (window.EventSource) {
      events = new EventSource("/api/v1/events");
      events.addEventListener("state", poll);
      // It reconnects by itself, perhaps to a process that was started in between.
      events.addEventListener("error", () => (known = null));
    }
    poll();
  }
  document.addEventListener("visibilitychange", wake);
  wake();
  return poll;
}
