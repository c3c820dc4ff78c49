//! How times are judged that a requirement demands: what the machine did to them must not count, and nothing else may be
//! excused by it.

use std::time::Duration;

use interop_tests::rounds::{Rounds, Took};

const LIMIT: Duration = Duration::from_millis(200);

fn took((time, waited): (u64, Option<u64>)) -> Took {
    Took {
        time: Duration::from_millis(time),
        waited: waited.map(Duration::from_millis),
    }
}

fn rounds(all: &[(u64, Option<u64>)]) -> Rounds {
    all.iter().copied().map(took).collect()
}

#[test]
fn a_program_that_is_slow_on_an_idle_machine_is_too_slow() {
    assert!(
        rounds(&[(210, Some(1)); 3]).verdict(LIMIT).is_err(),
        "each of them"
    );
    let most = [(210, Some(1)), (50, Some(1)), (210, Some(1))];
    assert!(rounds(&most).verdict(LIMIT).is_err(), "most of them");
    assert!(rounds(&[(210, Some(1))]).verdict(LIMIT).is_err(), "the one");
}

#[test]
fn one_bad_round_among_good_ones_does_not_count() {
    let one = [(50, Some(1)), (900, Some(1)), (60, Some(1))];
    assert!(rounds(&one).verdict(LIMIT).is_ok());
}

#[test]
fn rounds_that_something_disturbed_count_only_where_there_is_no_other() {
    let one_quiet = [(900, Some(800)), (900, Some(800)), (50, Some(1))];
    assert!(rounds(&one_quiet).verdict(LIMIT).is_ok());
    let slow_when_quiet = [(100, Some(90)), (100, Some(90)), (300, Some(1))];
    assert!(rounds(&slow_when_quiet).verdict(LIMIT).is_err());
}

#[test]
fn on_a_busy_machine_the_waiting_is_taken_out() {
    assert!(rounds(&[(900, Some(750)); 3]).verdict(LIMIT).is_ok());
    assert!(rounds(&[(900, Some(100)); 3]).verdict(LIMIT).is_err());
}

#[test]
fn without_the_kernels_word_nothing_is_judged() {
    let verdict = rounds(&[(900, None); 3]).verdict(LIMIT);
    assert!(verdict.is_ok_and(|said| said.starts_with("no verdict")));
    assert!(!took((900, None)).is_longer_than(LIMIT));
    assert!(took((900, Some(1))).is_longer_than(LIMIT));
}

#[test]
fn more_rounds_are_wanted_until_enough_were_quiet_or_there_is_no_hope() {
    assert!(rounds(&[(50, Some(1)); 2]).want_more());
    assert!(!rounds(&[(50, Some(1)); 3]).want_more());
    assert!(rounds(&[(50, Some(100)); 9]).want_more());
    assert!(!rounds(&[(50, Some(100)); 10]).want_more());
    assert!(!rounds(&[(50, None); 3]).want_more());
}
