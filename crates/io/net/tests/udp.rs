//! UDP over loopback: addresses, batches, segmentation and its fallbacks.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use stunner_net::udp::{
    MAX_DATAGRAM, RecvBatch, SendBatch, SendReport, TooBig, UdpOptions, UdpSocket,
};

fn bind(addr: &str, options: &UdpOptions) -> UdpSocket {
    UdpSocket::bind(addr.parse().unwrap(), options).unwrap()
}

fn plain() -> UdpOptions {
    UdpOptions {
        gro: false,
        ..UdpOptions::relay()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Datagram {
    from: SocketAddr,
    local_ip: Option<IpAddr>,
    bytes: Vec<u8>,
}

/// Receives until `count` datagrams have come, or a second has passed.
fn receive(socket: &UdpSocket, count: usize) -> Vec<Datagram> {
    let mut batch = RecvBatch::new(16).unwrap();
    let mut datagrams = Vec::new();
    let end = Instant::now() + Duration::from_secs(1);
    while datagrams.len() < count && Instant::now() < end {
        let got = batch.recv(socket, 0, 16).unwrap();
        for slot in 0..got {
            let group = batch.get(slot);
            assert!(!group.truncated);
            assert_eq!(group.datagrams().count(), group.datagram_count());
            datagrams.extend(group.datagrams().map(|bytes| Datagram {
                from: group.from,
                local_ip: group.local_ip,
                bytes: bytes.to_vec(),
            }));
        }
        if got == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    datagrams
}

fn send(socket: &UdpSocket, to: SocketAddr, payloads: &[Vec<u8>]) -> SendReport {
    let mut storage = SendBatch::new();
    let mut out = storage.begin();
    for payload in payloads {
        out.push(to, None, &[], payload, 0).unwrap();
    }
    out.flush(socket)
}

fn payload(seed: usize, len: usize) -> Vec<u8> {
    (0..len)
        .map(|index| (seed * 31 + index * 7) as u8)
        .collect()
}

fn bytes_of(datagrams: &[Datagram]) -> Vec<Vec<u8>> {
    datagrams.iter().map(|one| one.bytes.clone()).collect()
}

#[test]
fn a_reply_leaves_from_the_address_the_request_came_to() {
    let server = bind("0.0.0.0:0", &UdpOptions::listener());
    let client = bind("127.0.0.1:0", &plain());
    for ip in ["127.0.0.1", "127.0.0.2", "127.0.0.3"] {
        let to = SocketAddr::new(ip.parse().unwrap(), server.local_addr().port());
        client.send_to(to, b"request").unwrap();
        let request = receive(&server, 1).remove(0);
        assert_eq!(request.from, client.local_addr());
        assert_eq!(request.local_ip, Some(to.ip()));
        let mut storage = SendBatch::new();
        let mut out = storage.begin();
        out.push_copy(request.from, request.local_ip, b"answer")
            .unwrap();
        assert_eq!(out.flush(&server).sent, 1);
        let answer = receive(&client, 1).remove(0);
        assert_eq!((answer.from, &answer.bytes[..]), (to, &b"answer"[..]));
        assert_eq!(answer.local_ip, None);
    }
}

#[test]
fn an_ipv6_reply_leaves_from_the_address_the_request_came_to() {
    let server = bind("[::]:0", &UdpOptions::listener());
    let client = bind("[::1]:0", &plain());
    let to = SocketAddr::new("::1".parse().unwrap(), server.local_addr().port());
    client.send_to(to, b"request").unwrap();
    let request = receive(&server, 1).remove(0);
    assert_eq!(request.from, client.local_addr());
    assert_eq!(request.local_ip, Some(to.ip()));
    let mut storage = SendBatch::new();
    let mut out = storage.begin();
    // Two of equal size, so that packet info and segment size travel together.
    out.push_copy(request.from, request.local_ip, b"answer")
        .unwrap();
    out.push_copy(request.from, request.local_ip, b"ANSWER")
        .unwrap();
    let report = out.flush(&server);
    assert_eq!((report.sent, report.calls), (2, 1));
    let answers = receive(&client, 2);
    assert!(answers.iter().all(|one| one.from == to));
    assert_eq!(bytes_of(&answers), [b"answer", b"ANSWER"]);
}

#[test]
fn an_ipv6_socket_does_not_see_ipv4() {
    let server = bind("[::]:0", &UdpOptions::listener());
    let client = bind("127.0.0.1:0", &plain());
    let to = SocketAddr::new("127.0.0.1".parse().unwrap(), server.local_addr().port());
    let _ = client.send_to(to, b"lost");
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(RecvBatch::new(1).unwrap().recv(&server, 0, 1).unwrap(), 0);
}

#[test]
fn a_burst_of_equal_datagrams_is_one_system_call_and_one_group() {
    for addr in ["127.0.0.1:0", "[::1]:0"] {
        let (from, to) = (bind(addr, &plain()), bind(addr, &UdpOptions::relay()));
        let burst: Vec<_> = (0..32).map(|seed| payload(seed, 1200)).collect();
        let report = send(&from, to.local_addr(), &burst);
        assert_eq!((report.sent, report.calls, report.dropped()), (32, 1, 0));
        let mut batch = RecvBatch::new(4).unwrap();
        assert_eq!(batch.recv(&to, 1, 3).unwrap(), 1);
        let group = batch.get(1);
        assert_eq!((group.segment, group.data.len()), (1200, 32 * 1200));
        assert!(group.datagrams().eq(burst.iter().map(Vec::as_slice)));
    }
}

#[test]
fn random_batches_arrive_as_they_were_pushed() {
    let mut state = 0x9e37_79b9_u64;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % below) as usize
    };
    let from = bind("127.0.0.1:0", &plain());
    let large = UdpOptions {
        recv_buffer: Some(4 << 20),
        ..UdpOptions::relay()
    };
    let to: Vec<_> = (0..4).map(|_| bind("127.0.0.1:0", &large)).collect();
    let mut storage = SendBatch::new();
    for round in 0..300 {
        if round == 200 {
            refuse_segmentation(&from);
        }
        from.set_segmentation(round % 3 != 0);
        let payloads: Vec<_> = (0..1 + random(60))
            .map(|seed| payload(seed, [0, 1, 100, 100, 100, 1200, random(3000)][random(7)]))
            .collect();
        let mut expected = vec![Vec::new(); to.len()];
        let mut out = storage.begin();
        let mut target = 0;
        for payload in &payloads {
            if random(4) == 0 {
                target = random(4);
            }
            let prefix = vec![9; [0, 4, 48][random(3)]];
            let pad = random(4);
            out.push(to[target].local_addr(), None, &prefix, payload, pad)
                .unwrap();
            expected[target].push([&prefix[..], payload, &[0; 3][..pad]].concat());
        }
        let report = out.flush(&from);
        assert_eq!(
            (report.sent, report.dropped()),
            (payloads.len() as u64, 0),
            "round {round}"
        );
        for (socket, expected) in to.iter().zip(&expected) {
            assert_eq!(
                &bytes_of(&receive(socket, expected.len())),
                expected,
                "round {round}"
            );
        }
    }
}

#[test]
fn groups_stop_at_64_segments_and_65000_bytes() {
    let (from, to) = (
        bind("127.0.0.1:0", &plain()),
        bind("127.0.0.1:0", &UdpOptions::relay()),
    );
    let small: Vec<_> = (0..130).map(|seed| payload(seed, 20)).collect();
    assert_eq!(send(&from, to.local_addr(), &small).sent, 130);
    assert_eq!(bytes_of(&receive(&to, 130)), small);
    let large: Vec<_> = (0..7).map(|seed| payload(seed, 16_000)).collect();
    assert_eq!(send(&from, to.local_addr(), &large).sent, 7);
    assert_eq!(bytes_of(&receive(&to, 7)), large);
}

#[test]
fn mixed_sizes_arrive_whole_and_in_order_at_any_receiver() {
    let sizes = [
        100, 100, 40, 100, 0, 0, 5, 5, 5, 6, 1, 1200, 1200, 700, 700, 701, 0, 1,
    ];
    let burst: Vec<_> = sizes
        .iter()
        .enumerate()
        .map(|(seed, len)| payload(seed, *len))
        .collect();
    for gro in [false, true] {
        for gso in [false, true] {
            let from = bind("127.0.0.1:0", &plain());
            from.set_segmentation(gso);
            let to = bind(
                "127.0.0.1:0",
                &UdpOptions {
                    gro,
                    ..UdpOptions::relay()
                },
            );
            let report = send(&from, to.local_addr(), &burst);
            assert_eq!((report.sent, report.dropped()), (burst.len() as u64, 0));
            assert_eq!(
                bytes_of(&receive(&to, burst.len())),
                burst,
                "gro {gro} gso {gso}"
            );
        }
    }
}

#[test]
fn prefix_payload_and_padding_make_one_datagram() {
    for gso in [false, true] {
        let (from, to) = (
            bind("127.0.0.1:0", &plain()),
            bind("127.0.0.1:0", &UdpOptions::relay()),
        );
        from.set_segmentation(gso);
        let payloads: Vec<_> = (0..9).map(|seed| payload(seed, 61)).collect();
        let mut storage = SendBatch::new();
        let mut out = storage.begin();
        let mut expected = Vec::new();
        for (number, payload) in payloads.iter().enumerate() {
            let header = [0x40, number as u8, 0, 61];
            out.push(to.local_addr(), None, &header, payload, 3)
                .unwrap();
            expected.push([&header[..], payload, &[0; 3]].concat());
        }
        assert_eq!(out.len(), 9);
        assert_eq!(out.flush(&from).sent, 9);
        assert!(out.is_empty());
        assert_eq!(bytes_of(&receive(&to, 9)), expected);
    }
}

/// The kernel cannot segment what it does not checksum, and says EINVAL, as it also does for
/// segments beyond the path MTU (which loopback does not have).
fn refuse_segmentation(socket: &UdpSocket) {
    let on: libc::c_int = 1;
    // SAFETY: one readable int.
    let result = unsafe {
        libc::setsockopt(
            std::os::fd::AsRawFd::as_raw_fd(socket),
            libc::SOL_SOCKET,
            libc::SO_NO_CHECK,
            (&raw const on).cast(),
            4,
        )
    };
    assert_eq!(result, 0);
}

#[test]
fn a_refused_group_is_sent_datagram_by_datagram_and_the_size_remembered() {
    let (from, to) = (
        bind("127.0.0.1:0", &plain()),
        bind("127.0.0.1:0", &UdpOptions::relay()),
    );
    refuse_segmentation(&from);
    let burst: Vec<_> = [1400, 1400, 1400, 900]
        .iter()
        .enumerate()
        .map(|(seed, len)| payload(seed, *len))
        .collect();
    let report = send(&from, to.local_addr(), &burst);
    assert_eq!((report.sent, report.dropped(), report.fallbacks), (4, 0, 1));
    assert_eq!(bytes_of(&receive(&to, 4)), burst);
    let report = send(&from, to.local_addr(), &burst);
    assert_eq!((report.sent, report.fallbacks, report.calls), (4, 0, 1));
    assert_eq!(bytes_of(&receive(&to, 4)), burst);
    // Small segments fit every path: a refusal is that path's own and not held against others.
    for _ in 0..2 {
        let small: Vec<_> = (0..4).map(|seed| payload(seed, 700)).collect();
        assert_eq!(send(&from, to.local_addr(), &small).fallbacks, 1);
        assert_eq!(bytes_of(&receive(&to, 4)), small);
    }
}

#[test]
fn a_refused_group_does_not_disturb_the_messages_around_it() {
    let from = bind("127.0.0.1:0", &plain());
    refuse_segmentation(&from);
    let to: Vec<_> = (0..3)
        .map(|_| bind("127.0.0.1:0", &UdpOptions::relay()))
        .collect();
    let mut storage = SendBatch::new();
    let mut out = storage.begin();
    out.push_copy(to[0].local_addr(), None, b"single").unwrap();
    for number in 0..5_u8 {
        out.push(to[1].local_addr(), None, &[number; 4], b"in a group", 2)
            .unwrap();
    }
    out.push_copy(to[2].local_addr(), None, b"single too")
        .unwrap();
    let report = out.flush(&from);
    assert_eq!((report.sent, report.fallbacks), (7, 1));
    assert_eq!(bytes_of(&receive(&to[0], 1)), [b"single"]);
    let group: Vec<_> = (0..5_u8)
        .map(|number| [&[number; 4][..], b"in a group", &[0; 2]].concat())
        .collect();
    assert_eq!(bytes_of(&receive(&to[1], 5)), group);
    assert_eq!(bytes_of(&receive(&to[2], 1)), [b"single too"]);
}

#[test]
fn interleaved_destinations_each_get_their_own() {
    let from = bind("127.0.0.1:0", &plain());
    let to: Vec<_> = (0..5)
        .map(|_| bind("127.0.0.1:0", &UdpOptions::relay()))
        .collect();
    let mut storage = SendBatch::new();
    // Twice with the same storage: the arrays are reused.
    for round in 0..2 {
        let payloads: Vec<_> = (0..50).map(|seed| payload(seed + round, 300)).collect();
        let mut out = storage.begin();
        for (index, payload) in payloads.iter().enumerate() {
            out.push(to[index / 2 % 5].local_addr(), None, b"head", payload, 0)
                .unwrap();
        }
        let report = out.flush(&from);
        assert_eq!((report.sent, report.calls), (50, 1));
        for (number, socket) in to.iter().enumerate() {
            let expected: Vec<_> = (0..50)
                .filter(|index| index / 2 % 5 == number)
                .map(|index| [b"head", &payloads[index][..]].concat())
                .collect();
            assert_eq!(bytes_of(&receive(socket, 10)), expected);
        }
    }
}

#[test]
fn the_largest_datagram_passes_and_a_larger_one_is_reported() {
    for addr in ["127.0.0.1:0", "[::1]:0"] {
        let (from, to) = (bind(addr, &plain()), bind(addr, &UdpOptions::relay()));
        let largest = payload(1, MAX_DATAGRAM);
        assert_eq!(
            send(&from, to.local_addr(), std::slice::from_ref(&largest)).sent,
            1
        );
        assert_eq!(bytes_of(&receive(&to, 1)), std::slice::from_ref(&largest));
        let mut storage = SendBatch::new();
        let mut out = storage.begin();
        let result = out.push(to.local_addr(), None, b"+", &largest, 0);
        assert_eq!(result, Err(TooBig(MAX_DATAGRAM + 1)));
        assert!(out.is_empty());
    }
}

#[test]
fn a_datagram_that_cannot_leave_does_not_take_others_with_it() {
    let (from, to) = (
        bind("127.0.0.1:0", &plain()),
        bind("127.0.0.1:0", &UdpOptions::relay()),
    );
    // Loopback may not speak to the outside (EINVAL), port 0 is no destination (EINVAL), and
    // broadcast needs a permission we do not ask for (EACCES).
    let nowhere = ["192.0.2.1:9", "127.0.0.1:0", "255.255.255.255:9"];
    let mut storage = SendBatch::new();
    let mut out = storage.begin();
    for bad in nowhere {
        out.push_copy(to.local_addr(), None, b"before").unwrap();
        out.push_copy(bad.parse().unwrap(), None, b"lost").unwrap();
        out.push_copy(bad.parse().unwrap(), None, b"LOST").unwrap();
        out.push_copy(to.local_addr(), None, b"after").unwrap();
    }
    let report = out.flush(&from);
    assert_eq!((report.sent, report.dropped()), (6, 6), "{report:?}");
    assert_eq!(receive(&to, 6).len(), 6);
}

#[test]
fn a_source_that_is_not_ours_fails_alone() {
    let (from, to) = (
        bind("0.0.0.0:0", &UdpOptions::listener()),
        bind("127.0.0.1:0", &UdpOptions::relay()),
    );
    let mut storage = SendBatch::new();
    let mut out = storage.begin();
    out.push_copy(to.local_addr(), Some("127.0.0.1".parse().unwrap()), b"one")
        .unwrap();
    out.push_copy(to.local_addr(), Some("192.0.2.77".parse().unwrap()), b"two")
        .unwrap();
    out.push_copy(
        to.local_addr(),
        Some("127.0.0.9".parse().unwrap()),
        b"three",
    )
    .unwrap();
    let report = out.flush(&from);
    assert_eq!((report.sent, report.dropped()), (2, 1), "{report:?}");
    let sources: Vec<_> = receive(&to, 2)
        .iter()
        .map(|one| one.from.ip().to_string())
        .collect();
    assert_eq!(sources, ["127.0.0.1", "127.0.0.9"]);
}

#[test]
fn slots_outside_the_range_keep_what_they_hold() {
    let (a, b) = (bind("127.0.0.1:0", &plain()), bind("127.0.0.1:0", &plain()));
    a.send_to(b.local_addr(), b"to b").unwrap();
    b.send_to(a.local_addr(), b"to a").unwrap();
    let mut batch = RecvBatch::new(3).unwrap();
    assert_eq!(batch.recv(&a, 0, 3).unwrap(), 1);
    assert_eq!(batch.recv(&b, 1, 9).unwrap(), 1);
    assert_eq!(
        (batch.get(0).data, batch.get(1).data, batch.get(2).data),
        (&b"to a"[..], &b"to b"[..], &b""[..])
    );
    assert_eq!(batch.recv(&b, 3, 9).unwrap(), 0);
}

#[test]
fn kernel_drops_are_counted() {
    let from = bind("127.0.0.1:0", &plain());
    let to = bind(
        "127.0.0.1:0",
        &UdpOptions {
            recv_buffer: Some(4096),
            ..plain()
        },
    );
    assert_eq!(to.kernel_drops().unwrap(), 0);
    for _ in 0..100 {
        from.send_to(to.local_addr(), &[7; 1000]).unwrap();
    }
    assert!(to.kernel_drops().unwrap() > 50);
}

#[test]
fn rfc8656_12_dont_fragment_is_for_one_datagram() {
    let (from, to) = (
        bind("127.0.0.1:0", &plain()),
        bind("127.0.0.1:0", &UdpOptions::relay()),
    );
    from.send_dont_fragment(to.local_addr(), b"whole").unwrap();
    assert_eq!(receive(&to, 1)[0].bytes, b"whole");
    // 65,507 bytes and the headers are one byte short of loopback's MTU of 65,536, so nothing can
    // be too big for it here; the option must be back at its old value, though.
    let mut value: libc::c_int = -1;
    let mut len = 4;
    // SAFETY: one int of room.
    let result = unsafe {
        libc::getsockopt(
            std::os::fd::AsRawFd::as_raw_fd(&from),
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
            (&raw mut value).cast(),
            &mut len,
        )
    };
    assert_eq!((result, value), (0, libc::IP_PMTUDISC_DONT));
}
