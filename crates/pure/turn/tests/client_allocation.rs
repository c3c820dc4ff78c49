//! The life of an allocation: retransmission, refresh, loss, redirection, TCP relays.

mod client_support;

use client_support::*;
use stunner_stun::{Class, Message, Method, TransactionId, attr};
use stunner_turn::client::{
    AllocateOptions, Client, ClientError, Event, Family, RelayTransport, Settings, Transport,
};

/// Lets time pass to each deadline until `end` and returns when packets left.
fn transmissions(client: &mut Client, end: u64) -> Vec<u64> {
    let mut times = Vec::new();
    while let Some(at) = client.next_deadline().filter(|at| *at <= end) {
        client.on_timeout(at);
        while client.poll_transmit().is_some() {
            times.push(at);
        }
    }
    times
}

#[test]
fn rfc8489_6_2_1_a_datagram_request_is_sent_seven_times_and_fails_after_39_5_seconds() {
    let mut client = client();
    let request = client.allocate(0, AllocateOptions::default()).unwrap();
    sent(&mut client);
    assert_eq!(
        transmissions(&mut client, 100_000),
        [500, 1500, 3500, 7500, 15_500, 31_500]
    );
    assert_eq!(
        client.poll_event(),
        Some(Event::TimedOut {
            request,
            method: Method::ALLOCATE
        })
    );
    assert_eq!(client.next_deadline(), None);
}

#[test]
fn rfc8489_6_2_2_a_stream_request_is_sent_once_and_fails_after_39_5_seconds() {
    let mut client = stream_client();
    let request = client.binding(0).unwrap();
    sent(&mut client);
    assert_eq!(client.next_deadline(), Some(39_500));
    assert_eq!(transmissions(&mut client, 100_000), [] as [u64; 0]);
    assert_eq!(
        client.poll_event(),
        Some(Event::TimedOut {
            request,
            method: Method::BINDING
        })
    );
}

#[test]
fn retransmissions_are_the_same_bytes_and_a_late_duplicate_answer_is_ignored() {
    let mut client = client();
    client.binding(0).unwrap();
    let first = sent(&mut client);
    client.on_timeout(500);
    assert_eq!(sent(&mut client), first);
    let answer = answer(&first, Class::Success, None, |writer| {
        writer.xor_address(attr::XOR_MAPPED_ADDRESS, mapped());
    });
    assert_eq!(
        client.handle(600, &answer),
        Event::Reflexive { mapped: mapped() }
    );
    assert_eq!(client.handle(601, &answer), Event::Ignored);
    assert_eq!(client.next_deadline(), None);
}

#[test]
fn the_allocation_is_refreshed_a_minute_before_it_ends() {
    let mut client = client();
    let options = AllocateOptions {
        lifetime: Some(1200),
        ..Default::default()
    };
    allocate(&mut client, 0, options);
    assert_eq!(
        client.next_deadline(),
        Some(540_000),
        "the server granted 600 s"
    );
    client.on_timeout(540_000);
    let refresh = sent(&mut client);
    let message = Message::parse(&refresh).unwrap();
    assert_eq!(message.method(), Method::REFRESH);
    assert_eq!(
        message.lifetime(),
        Some(Ok(1200)),
        "the caller's wish is repeated"
    );
    let answer = success(&refresh, |writer| {
        writer.lifetime(1200);
    });
    assert_eq!(
        client.handle(540_010, &answer),
        Event::Refreshed { lifetime: 1200 }
    );
    assert_eq!(client.next_deadline(), Some(540_010 + 1_140_000));
}

#[test]
fn a_server_that_never_answers_refreshes_costs_the_allocation_when_its_lifetime_ends() {
    let mut client = client();
    allocate(&mut client, 0, AllocateOptions::default());
    let sends = transmissions(&mut client, 700_000);
    assert!(sends.len() > 7, "the refresh is tried again: {sends:?}");
    assert!(sends.iter().all(|at| (540_000..600_000).contains(at)));
    let events: Vec<_> = std::iter::from_fn(|| client.poll_event()).collect();
    assert!(matches!(
        events[0],
        Event::TimedOut {
            method: Method::REFRESH,
            ..
        }
    ));
    assert_eq!(events.last(), Some(&Event::AllocationLost));
    assert_eq!(client.relayed(), None);
    assert_eq!(client.next_deadline(), None);
}

#[test]
fn without_automatic_refresh_the_allocation_just_ends() {
    let mut settings = Settings::with_password(USER, PASSWORD, Transport::Datagram);
    settings.auto_refresh = false;
    let mut client = Client::new(settings, [1; 32]);
    allocate(&mut client, 0, AllocateOptions::default());
    permit(&mut client, 0, peer(1));
    assert_eq!(transmissions(&mut client, 700_000), [] as [u64; 0]);
    assert_eq!(client.poll_event(), Some(Event::AllocationLost));
}

#[test]
fn a_refresh_of_zero_releases_and_the_client_can_allocate_again() {
    let mut client = client();
    allocate(&mut client, 0, AllocateOptions::default());
    permit(&mut client, 0, peer(1));
    client.refresh(10, Some(0)).unwrap();
    let refresh = sent(&mut client);
    let answer = success(&refresh, |writer| {
        writer.lifetime(0);
    });
    assert_eq!(client.handle(20, &answer), Event::Released);
    assert_eq!(client.relayed(), None);
    assert!(!client.has_permission(peer(1).ip()));
    assert_eq!(client.next_deadline(), None);
    client.allocate(30, AllocateOptions::default()).unwrap();
}

#[test]
fn rfc8656_8_3_437_to_a_release_means_it_is_released() {
    let mut client = client();
    allocate(&mut client, 0, AllocateOptions::default());
    client.refresh(10, Some(0)).unwrap();
    let refresh = sent(&mut client);
    assert_eq!(client.handle(20, &error(&refresh, 437)), Event::Released);
}

#[test]
fn a_437_to_any_other_request_of_an_allocation_means_it_is_lost() {
    let mut client = client();
    allocate(&mut client, 0, AllocateOptions::default());
    client.create_permission(10, &[peer(1)]).unwrap();
    let request = sent(&mut client);
    assert_eq!(
        client.handle(20, &error(&request, 437)),
        Event::AllocationLost
    );
    assert_eq!(client.relayed(), None);
}

#[test]
fn rfc8656_7_4_437_to_allocate_is_for_the_caller_who_needs_another_socket() {
    let mut client = client();
    let request = client.allocate(0, AllocateOptions::default()).unwrap();
    let first = sent(&mut client);
    let event = client.handle(
        1,
        &answer(&first, Class::Error, None, |writer| {
            writer.error(437, "Allocation Mismatch");
        }),
    );
    let reason = "Allocation Mismatch".to_owned();
    assert_eq!(
        event,
        Event::Error {
            request,
            method: Method::ALLOCATE,
            code: 437,
            reason
        }
    );
}

#[test]
fn rfc8489_10_a_300_names_the_other_server() {
    let mut client = client();
    client.allocate(0, AllocateOptions::default()).unwrap();
    let first = sent(&mut client);
    let server = "[2001:db8::5]:3478".parse().unwrap();
    let redirect = answer(&first, Class::Error, None, |writer| {
        writer
            .error(300, "Try Alternate")
            .alternate_server(server)
            .alternate_domain("b.example");
    });
    let domain = Some("b.example".to_owned());
    assert_eq!(
        client.handle(1, &redirect),
        Event::TryAlternate { server, domain }
    );
    assert!(client.is_idle());
}

#[test]
fn an_allocate_request_carries_what_its_options_say() {
    let mut client = client();
    let options = AllocateOptions {
        family: Some(Family::V6),
        even_port: Some(true),
        lifetime: Some(777),
        dont_fragment: true,
        ..Default::default()
    };
    client.allocate(0, options).unwrap();
    let request = sent(&mut client);
    let message = Message::parse(&request).unwrap();
    assert_eq!(message.requested_family(), Some(Ok(Family::V6)));
    assert_eq!(message.even_port(), Some(Ok(true)));
    assert_eq!(message.lifetime(), Some(Ok(777)));
    assert!(message.dont_fragment());
    assert_eq!(
        client.allocate(0, AllocateOptions::default()),
        Err(ClientError::AlreadyAllocated)
    );
}

#[test]
fn rfc8656_7_1_contradicting_options_are_refused_before_anything_is_sent() {
    let mut client = client();
    let mut refused = |options| {
        assert!(matches!(
            client.allocate(0, options),
            Err(ClientError::Options(_))
        ));
        assert_eq!(client.poll_transmit(), None);
    };
    let both = AllocateOptions {
        family: Some(Family::V4),
        additional_family: Some(Family::V6),
        ..Default::default()
    };
    refused(both);
    let token_and_even = AllocateOptions {
        reservation: Some([1; 8]),
        even_port: Some(false),
        ..Default::default()
    };
    refused(token_and_even);
    refused(AllocateOptions {
        additional_family: Some(Family::V4),
        ..Default::default()
    });
}

#[test]
fn a_dual_allocation_has_two_relayed_addresses_and_one_can_be_given_back() {
    let mut client = client();
    let options = AllocateOptions {
        additional_family: Some(Family::V6),
        ..Default::default()
    };
    client.allocate(0, options).unwrap();
    let first = sent(&mut client);
    client.handle(0, &challenge(&first, 401, REALM, NONCE));
    let second = sent(&mut client);
    let v6 = "[2001:db8::1]:50000".parse().unwrap();
    let granted = success(&second, |writer| {
        writer
            .xor_address(attr::XOR_RELAYED_ADDRESS, relayed())
            .xor_address(attr::XOR_RELAYED_ADDRESS, v6)
            .lifetime(600);
    });
    let Event::Allocated(both) = client.handle(0, &granted) else {
        panic!()
    };
    assert_eq!((both.relayed, both.additional), (relayed(), Some(v6)));

    client.refresh_family(1, Family::V4, Some(0)).unwrap();
    let refresh = sent(&mut client);
    assert_eq!(
        Message::parse(&refresh).unwrap().requested_family(),
        Some(Ok(Family::V4))
    );
    let answer = success(&refresh, |writer| {
        writer.lifetime(0);
    });
    assert_eq!(client.handle(2, &answer), Event::Refreshed { lifetime: 0 });
    assert_eq!(client.relayed(), Some(v6));
    assert_eq!(client.additional_relayed(), None);
}

#[test]
fn rfc6062_4_3_connect_and_connection_bind_run_on_two_streams() {
    let mut control = stream_client();
    let options = AllocateOptions {
        transport: RelayTransport::Tcp,
        ..Default::default()
    };
    allocate(&mut control, 0, options);
    control.connect(1, peer(1)).unwrap();
    let connect = sent(&mut control);
    assert_eq!(Message::parse(&connect).unwrap().method(), Method::CONNECT);
    let connected = success(&connect, |writer| {
        writer.connection_id(77);
    });
    let event = control.handle(2, &connected);
    assert_eq!(
        event,
        Event::Connected {
            connection: 77,
            peer: peer(1)
        }
    );

    let mut data = control.data_connection();
    data.connection_bind(3, 77).unwrap();
    let bind = sent(&mut data);
    let message = Message::parse(&bind).unwrap();
    assert_eq!(message.method(), Method::CONNECTION_BIND);
    assert_eq!(message.connection_id(), Some(Ok(77)));
    assert!(
        message.verify_integrity(&md5_key()),
        "the credential is known already"
    );
    let event = data.handle(4, &success(&bind, |_| {}));
    assert_eq!(event, Event::ConnectionBound { connection: 77 });
}

#[test]
fn rfc6062_4_4_a_connection_attempt_is_reported() {
    let mut client = stream_client();
    let options = AllocateOptions {
        transport: RelayTransport::Tcp,
        ..Default::default()
    };
    allocate(&mut client, 0, options);
    let id = TransactionId([9; 12]);
    let indication = write(
        Class::Indication,
        Method::CONNECTION_ATTEMPT,
        id,
        None,
        |writer| {
            writer
                .xor_address(attr::XOR_PEER_ADDRESS, peer(2))
                .connection_id(5);
        },
    );
    let event = client.handle(1, &indication);
    assert_eq!(
        event,
        Event::ConnectionAttempt {
            connection: 5,
            peer: peer(2)
        }
    );
}

#[test]
fn rfc6062_4_1_a_tcp_relay_needs_a_stream_and_carries_no_datagrams() {
    let mut client = client();
    let options = AllocateOptions {
        transport: RelayTransport::Tcp,
        ..Default::default()
    };
    assert_eq!(
        client.allocate(0, options.clone()),
        Err(ClientError::WrongTransport)
    );
    let mut client = stream_client();
    allocate(&mut client, 0, options);
    assert_eq!(
        client.bind_channel(1, peer(1)),
        Err(ClientError::WrongTransport)
    );
    assert!(client.send(peer(1), b"x", &mut [0; 100]).is_err());
}

#[test]
fn no_request_of_an_allocation_is_made_without_one() {
    let mut client = client();
    assert_eq!(client.refresh(0, None), Err(ClientError::NoAllocation));
    assert_eq!(
        client.create_permission(0, &[peer(1)]),
        Err(ClientError::NoAllocation)
    );
    assert_eq!(
        client.bind_channel(0, peer(1)),
        Err(ClientError::NoAllocation)
    );
    assert_eq!(client.connect(0, peer(1)), Err(ClientError::NoAllocation));
}
