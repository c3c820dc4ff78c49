// Two peer connections of one page that may use relayed candidates only, joined by a data channel.
// args: the ICE server. Answers what was measured.
const [server] = args;
const settings = { iceServers: [server], iceTransportPolicy: "relay" };
const [a, b] = [new RTCPeerConnection(settings), new RTCPeerConnection(settings)];
const problems = [];
const candidates = [];
const within = (seconds, what, promise) => Promise.race([
    promise,
    new Promise((_, reject) => setTimeout(
        () => reject(new Error(`${what}: not within ${seconds} s; ${problems.join("; ")}`)), seconds * 1000)),
]);
for (const [here, there] of [[a, b], [b, a]]) {
    here.onicecandidateerror = event => problems.push(`${event.url} ${event.errorCode} ${event.errorText}`);
    here.onicecandidate = event => {
        if (event.candidate && event.candidate.candidate) {
            candidates.push(event.candidate.candidate);
            there.addIceCandidate(event.candidate);
        }
    };
}
try {
    const channel = a.createDataChannel("interop");
    channel.binaryType = "arraybuffer";
    const answering = new Promise(resolve => { b.ondatachannel = event => resolve(event.channel); });
    await a.setLocalDescription();
    await b.setRemoteDescription(a.localDescription);
    await b.setLocalDescription();
    await a.setRemoteDescription(b.localDescription);
    // Without a single candidate there is nothing to wait for.
    const fruitless = new Promise((_, reject) => {
        a.onicegatheringstatechange = () => {
            if (a.iceGatheringState === "complete" && candidates.length === 0) {
                reject(new Error(`no relayed candidate; ${problems.join("; ")}`));
            }
        };
    });
    const remote = await within(30, "data channel", Promise.race([answering, fruitless]));
    remote.binaryType = "arraybuffer";
    remote.onmessage = event => remote.send(event.data);
    if (channel.readyState !== "open") {
        await within(30, "open", new Promise(resolve => { channel.onopen = resolve; }));
    }
    const sizes = [1, 10, 1000, 1200, 16000, 60000];
    let echoed = 0;
    for (let round = 0; round < 5; round += 1) {
        for (const size of sizes) {
            const sent = new Uint8Array(size).map((_, index) => (index * 31 + round) % 256);
            const back = new Promise(resolve => { channel.onmessage = event => resolve(new Uint8Array(event.data)); });
            channel.send(sent);
            const got = await within(20, `echo of ${size} bytes`, back);
            if (got.length !== sent.length || got.some((byte, index) => byte !== sent[index])) {
                throw new Error(`${size} bytes came back as ${got.length}, or changed`);
            }
            echoed += 1;
        }
    }
    const stats = new Map();
    (await a.getStats()).forEach(entry => stats.set(entry.id, entry));
    const transport = [...stats.values()].find(entry => entry.type === "transport");
    const pair = stats.get(transport.selectedCandidatePairId);
    const [local, peer] = [stats.get(pair.localCandidateId), stats.get(pair.remoteCandidateId)];
    return {
        echoed,
        local: local.candidateType,
        remote: peer.candidateType,
        relayProtocol: local.relayProtocol,
        url: local.url,
        bytes: pair.bytesSent,
        candidates,
    };
} finally {
    a.close();
    b.close();
}
