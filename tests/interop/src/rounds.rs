//! Times that are judged: several rounds, with what the machine itself did to them taken out.
//!
//! A test machine has other things to do. The kernel counts for how long somebody waited for a CPU that others had
//! (pressure stall information); where it does not, nobody can tell a slow program from a busy machine, and times are
//! printed, not judged.

use std::time::{Duration, Instant};

/// Waiting for CPUs in a round that says that the machine is busy. What is measured has a few threads of its own.
const DISTURBED: Duration = Duration::from_millis(25);

/// Rounds without a disturbance that are enough to judge by, and rounds after which nobody waits for more of them.
const ENOUGH: usize = 3;
const MOST: usize = 10;

/// For how long somebody has waited for a CPU since the machine started; nothing where the kernel does not count it.
fn waited_for_cpus() -> Option<Duration> {
    let pressure = std::fs::read_to_string("/proc/pressure/cpu").ok()?;
    let mut words = pressure.split_whitespace();
    let total = words.find_map(|word| word.strip_prefix("total="))?;
    Some(Duration::from_micros(total.parse().ok()?))
}

/// One measurement that has begun.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    began: Instant,
    waited: Option<Duration>,
}

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Took {
    pub time: Duration,
    /// For how long somebody waited for a CPU meanwhile; `None` where nobody knows.
    pub waited: Option<Duration>,
}

impl Round {
    pub fn begin() -> Self {
        Round {
            waited: waited_for_cpus(),
            began: Instant::now(),
        }
    }

    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    pub fn end(self) -> Took {
        let time = self.began.elapsed();
        let waited = waited_for_cpus().zip(self.waited);
        Took {
            time,
            waited: waited.map(|(now, before)| now.saturating_sub(before)),
        }
    }
}

impl Took {
    /// What it took at least where nobody was in the way: for that long, nobody waited for a CPU. `None` where nobody
    /// knows.
    pub fn undisturbed(&self) -> Option<Duration> {
        Some(self.time.saturating_sub(self.waited?))
    }

    /// Whether it took longer than this, and the machine is not to blame.
    pub fn is_longer_than(&self, limit: Duration) -> bool {
        self.undisturbed().is_some_and(|time| time > limit)
    }
}

/// Measurements of the same.
#[derive(Debug, Default)]
pub struct Rounds(Vec<Took>);

impl FromIterator<Took> for Rounds {
    fn from_iter<I: IntoIterator<Item = Took>>(all: I) -> Self {
        Rounds(all.into_iter().collect())
    }
}

impl Rounds {
    pub fn add(&mut self, what: &str, took: Took) {
        let Took { time, waited } = took;
        match waited {
            Some(waited) => println!("{what}: {time:.1?} (threads waited {waited:.1?} for a CPU)"),
            None => println!("{what}: {time:.1?}"),
        }
        self.0.push(took);
    }

    /// Whether another round could help to judge.
    pub fn want_more(&self) -> bool {
        let is_known = self.0.iter().all(|took| took.waited.is_some());
        let count = self.0.len();
        count < ENOUGH || is_known && count < MOST && self.quiet().len() < ENOUGH
    }

    /// The times of rounds that nothing disturbed, from the shortest to the longest.
    fn quiet(&self) -> Vec<Duration> {
        let quiet = |took: &&Took| took.waited.is_some_and(|waited| waited < DISTURBED);
        let mut times: Vec<Duration> = self.0.iter().filter(quiet).map(|took| took.time).collect();
        times.sort();
        times
    }

    /// Whether it is fast enough, in a sentence; `Err` when it is not.
    ///
    /// The median of the rounds that nothing disturbed counts, so that a disk that hangs once does not. Where every
    /// round was disturbed, the best one does, less the waiting.
    pub fn verdict(&self, limit: Duration) -> Result<String, String> {
        let quiet = self.quiet();
        if let Some(median) = quiet.get(quiet.len().saturating_sub(1) / 2) {
            let said = format!("{median:.1?} on an idle machine, {limit:?} allowed");
            return if *median < limit { Ok(said) } else { Err(said) };
        }
        match self.0.iter().filter_map(Took::undisturbed).min() {
            Some(best) => {
                let said = format!("{best:.1?} at best without the waiting, {limit:?} allowed");
                if best < limit { Ok(said) } else { Err(said) }
            }
            None => Ok("no verdict: this kernel does not say how busy the machine was".to_owned()),
        }
    }

    #[track_caller]
    pub fn judge(&self, limit: Duration) {
        match self.verdict(limit) {
            Ok(said) => println!("{said}"),
            Err(said) => panic!("too slow: {said}: {:?}", self.0),
        }
    }
}
