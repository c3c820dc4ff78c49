//! A browser as the caller.

use interop_tests::browser::{self, Browser};
use interop_tests::need;
use serde_json::json;

use crate::scenery::Icetester;

/// Makes an offer with media of some kinds and with all candidates, and keeps the connection in the page.
const OFFER: &str = "
    window.pc = new RTCPeerConnection();
    for (const kind of args[0]) pc.addTransceiver(kind);
    window.channel = pc.createDataChannel('test');
    window.messages = [];
    channel.binaryType = 'arraybuffer';
    channel.onmessage = (event) => messages.push(event.data);
    await pc.setLocalDescription(await pc.createOffer());
    await new Promise((resolve) => {
        if (pc.iceGatheringState === 'complete') resolve();
        pc.onicegatheringstatechange = () => pc.iceGatheringState === 'complete' && resolve();
    });
    return pc.localDescription.sdp;";

/// Takes the answer and sends messages of all sizes that SCTP carries there.
const ECHO: &str = "
    await pc.setRemoteDescription({ type: 'answer', sdp: args[0] });
    await new Promise((resolve, reject) => {
        if (channel.readyState === 'open') resolve();
        channel.onopen = resolve;
        setTimeout(() => reject(new Error('not open: ' + pc.iceConnectionState)), 20000);
    });
    const sizes = [1, 100, 1200, 65535, 200000];
    for (const size of sizes) channel.send(new Uint8Array(size).fill(7));
    channel.send('text');
    const until = Date.now() + 20000;
    while (messages.length < sizes.length + 1 && Date.now() < until) await new Promise((r) => setTimeout(r, 20));
    return messages.map((message) => message.byteLength === undefined ? message : message.byteLength);";

#[test]
fn a_browser_calls_an_icetester_and_hears_messages_of_any_size_again() {
    let test = "a_browser_calls_an_icetester_and_hears_messages_of_any_size_again";
    need!(test, browser::programs());
    let browser = Browser::start_without_ca();
    let tester = Icetester::start(&[]);
    // Media beside the channel is refused, and disturbs nobody.
    for media in [json!([]), json!(["audio", "video"])] {
        let offer = browser.run_async(OFFER, &[media]).expect("an offer");
        let offer = offer.as_str().expect("SDP");
        let answer = tester.ask("POST", "/whip", "application/sdp", offer);
        assert_eq!(answer.status, 201, "{}", answer.body);
        let echoed = browser
            .run_async(ECHO, &[json!(answer.body)])
            .unwrap_or_else(|error| panic!("{error}: {} for {offer}", answer.body));
        assert_eq!(echoed, json!([1, 100, 1200, 65535, 200000, "text"]));
        let head = answer.head.to_lowercase();
        let location = interop_tests::http::header(&head, "location").map(str::to_owned);
        let location = location.expect("a Location");
        assert!(location.starts_with("/whip/"), "{location}");
    }
}
