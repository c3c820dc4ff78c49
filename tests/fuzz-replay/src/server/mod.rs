//! Target `server`: a TURN server in the hands of clients, peers and an operator who do anything in
//! any order.
//!
//! The input is a program: each step is a byte that names it and the bytes it takes. Requests can be
//! made properly, with the nonce and key that the server wants, because random bytes alone would
//! never get past authentication; they can also be damaged, or be raw bytes.

mod input;
mod request;
mod rules;
mod world;

use input::Input;
use world::World;

/// Enough for any story; keeps an input from taking seconds.
const MAX_STEPS: usize = 2000;

/// Runs the program, then ends everything and looks whether anything is left.
pub fn server(data: &[u8]) {
    let mut input = Input::new(data);
    let mut world = World::new();
    for _ in 0..MAX_STEPS {
        if input.is_empty() {
            break;
        }
        step(&mut world, &mut input);
    }
    world.end_everything();
}

fn step(world: &mut World, input: &mut Input<'_>) {
    match input.byte() % 16 {
        0 => world.raw_bytes(input),
        1..=4 => world.request(input),
        5 => world.damaged_request(input),
        6 => world.send_indication(input),
        7 => world.channel_data(input),
        8 | 9 => world.answer_relay(input),
        10 => world.peer_datagram(input),
        11 => world.time_passes(input),
        12 => world.policy_changes(input),
        13 => world.peer_connections(input),
        14 => world.something_ends(input),
        _ => world.icmp(input),
    }
    world.settle();
}
