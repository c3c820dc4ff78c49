// The ICE test: this browser connects through a listener to the built-in echo peer, by relay only, and counts echoes.
// No drawing here; `report` hears what happens.

import { Refused, ask } from "./client.js";

export const PINGS = 100;
const INTERVAL = 50;
const PING_SIZE = 160;
const GATHER_TIMEOUT = 10000;
// Further candidates seldom come later than this after the first one.
const GATHER_REST = 400;
const CONNECT_TIMEOUT = 12000;
const STRAGGLERS = 1000;
const LOSS_ALLOWED = 0.1;

export class Failed extends Error {
  constructor(step, message, hints) {
    super(message);
    this.step = step;
    this.hints = hints.filter(Boolean);
  }
}

const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));

// What browsers can do with a listener: TURN over UDP, TCP and TLS (RFC 8829 §3.5.3), but not over DTLS.
export const isTestable = (protocol) => !/dtls/i.test(protocol);

export async function run({ gateway, listener, protocol }, report, signal) {
  if (!window.RTCPeerConnection) {
    throw new Failed("credential", "This browser has no WebRTC.", ["Enable WebRTC, or use another browser."]);
  }
  const test = await start(gateway, listener, report);
  const connection = new RTCPeerConnection({ iceServers: test.iceServers, iceTransportPolicy: "relay" });
  const stop = () => connection.close();
  signal.addEventListener("abort", stop);
  try {
    const channel = connection.createDataChannel("echo", { ordered: false, maxRetransmits: 0 });
    await gather(connection, protocol, test, report, signal);
    await connect(connection, channel, test, report, signal);
    return await exchange(connection, channel, report, signal);
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
    ask("DELETE", `ice-tests/${encodeURIComponent(test.id)}`).catch(() => {});
  }
}

async function start(gateway, listener, report) {
  report.step("credential", "running", "Asking for a credential");
  try {
    const test = await ask("POST", "ice-tests", { gateway, listener });
    const urls = test.iceServers.flatMap((server) => server.urls);
    report.step("credential", "ok", `For ${test.expiresInSeconds} s, for the echo peer only: ${urls.join(", ")}`);
    report.test(test);
    return test;
  } catch (error) {
    const hint = error instanceof Refused ? error.hint : "Is the gateway still running?";
    throw new Failed("credential", `No credential: ${error.message}.`, [hint]);
  }
}

async function gather(connection, protocol, test, report, signal) {
  report.step("candidates", "running", "Gathering relay candidates");
  const errors = [];
  let found = 0;
  let done;
  const complete = new Promise((resolve) => (done = resolve));
  connection.addEventListener("icecandidate", ({ candidate }) => {
    if (!candidate?.candidate) return candidate === null && done();
    found += 1;
    report.candidate(candidate);
    setTimeout(done, GATHER_REST);
  });
  connection.addEventListener("icecandidateerror", (event) => {
    errors.push(event);
    report.candidateError(event);
  });
  connection.addEventListener("icegatheringstatechange", () => connection.iceGatheringState === "complete" && done());
  await connection.setLocalDescription(await connection.createOffer());
  await Promise.race([complete, pause(GATHER_TIMEOUT)]);
  signal.throwIfAborted();
  if (!found) throw noCandidate(errors, protocol, test);
  report.step("candidates", "ok", found === 1 ? "One relay candidate" : `${found} relay candidates`);
}

function noCandidate(errors, protocol, test) {
  const error = errors.find(({ errorCode }) => errorCode !== 701) ?? errors[0];
  const url = error?.url || test.iceServers.flatMap((server) => server.urls).join(", ");
  const tls = /tls/i.test(protocol);
  const reach = [
    tls && "Browsers take a TLS listener only with a certificate of a trusted authority for the very name in the URI.",
    `Is the port of ${url} open to this machine? Look at firewalls, security groups and the load balancer.`,
    /udp/i.test(protocol) && "Some networks let no UDP out at all; try a TCP or TLS listener.",
    "The address in the URI must be one that this browser can reach: see `--address` or the Gateway's public address.",
  ];
  if (!error) return new Failed("candidates", `No relay candidate came from ${url}, and the browser gives no reason.`, reach);
  const said = `${error.errorCode}${error.errorText ? ` ${error.errorText}` : ""}`;
  if (error.errorCode === 401) {
    return new Failed("candidates", `${url} refused the credential (${said}).`, [
      "Another server may answer at this address, or a gateway that was restarted: start the test again.",
      "Do the clocks of this page's server and of the gateway agree?",
    ]);
  }
  if (error.errorCode === 701) {
    return new Failed("candidates", `${url} could not be reached (${said}).`, reach);
  }
  return new Failed("candidates", `${url} gave no relay address (${said}).`, [
    error.errorCode === 486 && "A quota is reached; wait until allocations have ended.",
    "The gateway's log says more.",
  ]);
}

async function connect(connection, channel, test, report, signal) {
  report.step("connection", "running", `Connecting to the echo peer at ${test.peer}`);
  const opened = new Promise((resolve, reject) => {
    channel.addEventListener("open", resolve);
    connection.addEventListener("connectionstatechange", () => {
      if (connection.connectionState === "failed") reject(new Error("failed"));
    });
    signal.addEventListener("abort", () => reject(signal.reason));
  });
  opened.catch(() => {});
  let answer;
  try {
    const path = `ice-tests/${encodeURIComponent(test.id)}/offer`;
    answer = await ask("POST", path, { sdp: connection.localDescription.sdp });
  } catch (error) {
    throw new Failed("connection", `The echo peer took no offer: ${error.message}.`, [error.hint]);
  }
  const late = pause(CONNECT_TIMEOUT).then(() => {
    throw new Error("timeout");
  });
  try {
    await connection.setRemoteDescription({ type: "answer", sdp: answer.sdp });
    await Promise.race([opened, late]);
  } catch {
    signal.throwIfAborted();
    throw notConnected(connection, test);
  }
  const pair = await selectedPair(connection);
  report.step("connection", "ok", "Connected through the relay");
  if (pair) report.pair(pair);
}

function notConnected(connection, test) {
  if (connection.iceConnectionState === "connected" || connection.iceConnectionState === "completed") {
    return new Failed("connection", "The relay works, but DTLS did not get through.", [
      "Packets of full size may be lost on the way: look at the MTU of the path.",
    ]);
  }
  return new Failed("connection", `There is a relay address, but no way from it to the echo peer at ${test.peer}.`, [
    "Can the gateway send to that address? Look at network policies between the gateway and the peer.",
    "The denials say whether the gateway itself refused the peer.",
  ]);
}

async function selectedPair(connection) {
  const stats = await connection.getStats();
  const all = [...stats.values()];
  const transport = all.find(({ type, selectedCandidatePairId }) => type === "transport" && selectedCandidatePairId);
  const pair =
    stats.get(transport?.selectedCandidatePairId) ??
    all.find(({ type, nominated, selected }) => type === "candidate-pair" && (selected || nominated));
  return pair && { local: stats.get(pair.localCandidateId), remote: stats.get(pair.remoteCandidateId) };
}

async function exchange(connection, channel, report, signal) {
  report.step("echoes", "running", `Sending ${PINGS} packets, ${1000 / INTERVAL} per second`);
  const pings = [];
  channel.addEventListener("message", ({ data }) => {
    const ping = pings[Number.parseInt(data, 10)];
    if (ping && ping.rtt === null) ping.rtt = performance.now() - ping.sentAt;
  });
  const started = performance.now();
  for (let sequence = 0; sequence < PINGS; sequence += 1) {
    await pause(started + sequence * INTERVAL - performance.now());
    signal.throwIfAborted();
    if (channel.readyState !== "open") break;
    pings.push({ sequence, sentAt: performance.now(), rtt: null, lost: false });
    channel.send(`${sequence} `.padEnd(PING_SIZE, "."));
    report.pings(pings);
  }
  for (const end = performance.now() + STRAGGLERS; performance.now() < end && pings.some((ping) => ping.rtt === null); ) {
    await pause(20);
  }
  for (const ping of pings) ping.lost = ping.rtt === null;
  signal.throwIfAborted();
  const result = summary(pings);
  report.pings(pings);
  const pair = await selectedPair(connection).catch(() => null);
  if (pair) report.pair(pair);
  return judge(result, pings.length, report);
}

export function summary(pings) {
  const times = pings.filter((ping) => ping.rtt !== null).map((ping) => ping.rtt);
  times.sort((one, other) => one - other);
  // The nearest rank: the smallest time that is at least as long as that part of all.
  const at = (part) => times[Math.max(0, Math.ceil(part * times.length) - 1)] ?? null;
  // A packet under way is not lost yet.
  const settled = pings.filter((ping) => ping.rtt !== null || ping.lost).length;
  const loss = settled ? (settled - times.length) / settled : 0;
  return { sent: pings.length, received: times.length, loss, min: at(0), median: at(0.5), p99: at(0.99) };
}

function judge(result, sent, report) {
  if (sent < PINGS) {
    report.step("echoes", "bad", "The connection broke off");
    throw new Failed("echoes", `The connection broke off after ${sent} packets.`, ["The gateway's log says why."]);
  }
  const { received, loss } = result;
  report.step("echoes", loss > LOSS_ALLOWED ? "bad" : "ok", `${received} of ${sent} came back`);
  if (!received) {
    throw new Failed("echoes", "The connection stands, but no packet came back.", [
      "Something on the way lets the handshake pass and drops the rest: look at rate limits and the MTU.",
    ]);
  }
  if (loss > LOSS_ALLOWED) {
    throw new Failed("echoes", `${Math.round(loss * 100)}% of the packets were lost.`, [
      "Media would suffer. Look at the load of the network and of the gateway, and at rate limits on the way.",
    ]);
  }
  return result;
}
