//! Timers for every allocation of a shard.
//!
//! A hierarchical wheel of one-millisecond ticks: six levels of 64 slots reach 2^36 ms, more than two years. Each
//! allocation has at most one entry, linked into its slot by index, so that arming, moving and cancelling are O(1). An
//! entry moves down at most once per level on its way, which makes expiry O(1) amortised. The owner arms lazily: when
//! a deadline moves later nothing is done until the old one comes up.

const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
const LEVELS: usize = 6;
const NIL: u32 = u32::MAX;
/// How far ahead of its clock the wheel can look.
const HORIZON: u64 = 1 << (SLOT_BITS * LEVELS as u32);

#[derive(Debug, Clone, Copy)]
struct Node {
    deadline: u64,
    next: u32,
    previous: u32,
    /// `level * SLOTS + slot`, or [`IDLE`].
    place: u16,
}

const IDLE: u16 = u16::MAX;

#[derive(Debug)]
pub(super) struct Wheel {
    /// One per index; 24 bytes.
    nodes: Vec<Node>,
    heads: Box<[u32]>,
    /// One bit per slot that holds something.
    occupied: [u64; LEVELS],
    /// All deadlines at or before this have been handed out.
    clock: u64,
    /// Entries looked at so far.
    operations: u64,
}

impl Wheel {
    pub(super) fn new() -> Self {
        Wheel {
            nodes: Vec::new(),
            heads: vec![NIL; LEVELS * SLOTS].into_boxed_slice(),
            occupied: [0; LEVELS],
            clock: 0,
            operations: 0,
        }
    }

    pub(super) fn operations(&self) -> u64 {
        self.operations
    }

    /// When `index` comes up, if it is armed.
    pub(super) fn deadline_of(&self, index: u32) -> Option<u64> {
        let node = self.nodes.get(index as usize)?;
        (node.place != IDLE).then_some(node.deadline)
    }

    /// Sets the deadline of `index`, in place of the one it had.
    pub(super) fn arm(&mut self, index: u32, deadline: u64) {
        let at = index as usize;
        if at >= self.nodes.len() {
            let idle = Node {
                deadline: 0,
                next: NIL,
                previous: NIL,
                place: IDLE,
            };
            self.nodes.resize(at + 1, idle);
        }
        self.cancel(index);
        self.nodes[at].deadline = deadline;
        self.link(index);
    }

    /// Arms `index` unless it comes up earlier anyway.
    pub(super) fn arm_before(&mut self, index: u32, deadline: u64) {
        if self.deadline_of(index).is_none_or(|armed| deadline < armed) {
            self.arm(index, deadline);
        }
    }

    pub(super) fn cancel(&mut self, index: u32) {
        let Some(&node) = self.nodes.get(index as usize) else {
            return;
        };
        if node.place == IDLE {
            return;
        }
        self.operations += 1;
        if node.previous == NIL {
            self.set_head(node.place, node.next);
        } else {
            self.nodes[node.previous as usize].next = node.next;
        }
        if node.next != NIL {
            self.nodes[node.next as usize].previous = node.previous;
        }
        self.nodes[index as usize].place = IDLE;
    }

    /// A time at or before the earliest deadline at which [`Wheel::pop`] has something to do. Exact for deadlines less
    /// than 64 ms away.
    pub(super) fn next_deadline(&self) -> Option<u64> {
        self.next_slot().map(|(_, _, start)| start.max(self.clock))
    }

    /// Takes out an entry whose deadline is at or before `now`; call until `None`.
    pub(super) fn pop(&mut self, now: u64) -> Option<u32> {
        loop {
            let Some((level, slot, start)) = self.next_slot() else {
                self.clock = self.clock.max(now);
                return None;
            };
            if start > now {
                self.clock = self.clock.max(now);
                return None;
            }
            // Never beyond the slot in hand: what moves down is placed relative to the clock.
            self.clock = self.clock.max(start);
            let place = (level * SLOTS + slot) as u16;
            let index = self.heads[usize::from(place)];
            self.cancel(index);
            if self.nodes[index as usize].deadline <= now {
                return Some(index);
            }
            self.link(index);
        }
    }

    /// The earliest slot that holds something: level, slot, and the first tick it covers.
    fn next_slot(&self) -> Option<(usize, usize, u64)> {
        (0..LEVELS)
            .filter_map(|level| {
                let bits = self.occupied[level];
                if bits == 0 {
                    return None;
                }
                let shift = SLOT_BITS * level as u32;
                let here = (self.clock >> shift) % SLOTS as u64;
                // Slots are visited in a circle that begins where the clock stands.
                let ahead = u64::from(bits.rotate_right(here as u32).trailing_zeros());
                let slot = (here + ahead) % SLOTS as u64;
                let start = ((self.clock >> shift) + ahead) << shift;
                Some((level, slot as usize, start))
            })
            .min_by_key(|&(_, _, start)| start)
    }

    fn link(&mut self, index: u32) {
        self.operations += 1;
        // What is overdue comes up at once; what is beyond the horizon is looked at again when the horizon is reached.
        let deadline = self.nodes[index as usize].deadline;
        let tick = deadline.clamp(self.clock, self.clock + HORIZON - (HORIZON >> SLOT_BITS));
        let level = level_of(self.clock, tick);
        let slot = (tick >> (SLOT_BITS * level as u32)) as usize % SLOTS;
        let place = (level * SLOTS + slot) as u16;

        let head = self.heads[usize::from(place)];
        let node = &mut self.nodes[index as usize];
        node.place = place;
        node.previous = NIL;
        node.next = head;
        if head != NIL {
            self.nodes[head as usize].previous = index;
        }
        self.set_head(place, index);
    }

    fn set_head(&mut self, place: u16, index: u32) {
        self.heads[usize::from(place)] = index;
        let bit = 1 << (usize::from(place) % SLOTS);
        let level = usize::from(place) / SLOTS;
        if index == NIL {
            self.occupied[level] &= !bit;
        } else {
            self.occupied[level] |= bit;
        }
    }
}

/// The lowest level whose circle, beginning at the clock, holds the tick.
fn level_of(clock: u64, tick: u64) -> usize {
    (0..LEVELS - 1)
        .find(|&level| {
            let shift = SLOT_BITS * level as u32;
            (tick >> shift) - (clock >> shift) < SLOTS as u64
        })
        .unwrap_or(LEVELS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(wheel: &mut Wheel, now: u64) -> Vec<u32> {
        let mut due: Vec<u32> = std::iter::from_fn(|| wheel.pop(now)).collect();
        due.sort_unstable();
        due
    }

    #[test]
    fn entries_come_up_at_their_very_millisecond() {
        let mut wheel = Wheel::new();
        for (index, deadline) in [1, 63, 64, 65, 4095, 4096, 300_000, 3_600_000]
            .into_iter()
            .enumerate()
        {
            let index = index as u32;
            wheel.arm(index, deadline);
            assert_eq!(drain(&mut wheel, deadline - 1), [0u32; 0], "{deadline}");
            assert!(wheel.next_deadline().is_some_and(|next| next <= deadline));
            assert_eq!(drain(&mut wheel, deadline), [index]);
            assert_eq!(wheel.next_deadline(), None);
        }
    }

    #[test]
    fn an_overdue_entry_comes_up_at_once() {
        let mut wheel = Wheel::new();
        assert_eq!(drain(&mut wheel, 10_000), [0u32; 0]);
        wheel.arm(3, 5);
        assert_eq!(drain(&mut wheel, 10_000), [3]);
    }

    #[test]
    fn a_moved_or_cancelled_entry_does_not_come_up() {
        let mut wheel = Wheel::new();
        wheel.arm(0, 100);
        wheel.arm(1, 100);
        wheel.arm(2, 100);
        wheel.arm(1, 200);
        wheel.cancel(2);
        wheel.arm_before(0, 150);
        assert_eq!(drain(&mut wheel, 150), [0]);
        wheel.arm_before(1, 160);
        assert_eq!(drain(&mut wheel, 160), [1]);
        assert_eq!(drain(&mut wheel, 1_000_000), [0u32; 0]);
    }

    #[test]
    fn a_deadline_beyond_the_horizon_still_comes_up() {
        let mut wheel = Wheel::new();
        let far = HORIZON * 3 + 17;
        wheel.arm(0, far);
        assert_eq!(drain(&mut wheel, far - 1), [0u32; 0]);
        assert_eq!(drain(&mut wheel, far), [0]);
    }

    #[test]
    fn a_hundred_thousand_entries_cost_a_constant_each() {
        const COUNT: u32 = 100_000;
        let mut wheel = Wheel::new();
        // As allocations do: armed for a permission, found not due and armed again for the end.
        for index in 0..COUNT {
            wheel.arm(index, 300_000 + u64::from(index));
        }
        let mut popped = 0u64;
        let mut now = 0;
        while let Some(deadline) = wheel.next_deadline() {
            now = deadline.max(now);
            while let Some(index) = wheel.pop(now) {
                popped += 1;
                if popped <= 9 * u64::from(COUNT) {
                    wheel.arm(index, now + 300_000);
                }
            }
        }
        assert_eq!(popped, 10 * u64::from(COUNT));
        let each = wheel.operations() as f64 / popped as f64;
        assert!(each < 14.0, "{each} operations per deadline");
    }

    #[test]
    fn random_deadlines_agree_with_a_sorted_list() {
        let mut state = 88u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 33) % below
        };
        let mut wheel = Wheel::new();
        let mut model: Vec<Option<u64>> = vec![None; 50];
        let mut now = 0;
        for _ in 0..20_000 {
            let index = random(50) as usize;
            match random(4) {
                0 | 1 => {
                    let bits = random(24);
                    let deadline = now + random(1 << bits);
                    wheel.arm(index as u32, deadline);
                    model[index] = Some(deadline);
                }
                2 => {
                    wheel.cancel(index as u32);
                    model[index] = None;
                }
                _ => {
                    let bits = random(18);
                    now += random(1 << bits);
                    let due: Vec<u32> = (0..50)
                        .filter(|&i| model[i].is_some_and(|d| d <= now))
                        .map(|i| i as u32)
                        .collect();
                    assert_eq!(drain(&mut wheel, now), due);
                    due.iter().for_each(|&i| model[i as usize] = None);
                    let earliest = model.iter().flatten().min();
                    assert_eq!(wheel.next_deadline().is_some(), earliest.is_some());
                    assert!(wheel.next_deadline() <= earliest.copied());
                }
            }
        }
    }
}
