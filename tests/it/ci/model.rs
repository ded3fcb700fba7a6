//! The rule of settling on threads that are simulated: in any order of their steps and of the single readings of a
//! look, they never count as settled while a message is on its way.

use std::time::Duration;

use bagplay::ci::settle::{How, Look, Ran, Seen, Settling, State, Step, ThreadId, Why};
use proptest::prelude::*;

/// What a simulated thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Doing {
    Computes,
    /// Woken for a processor that has not taken it yet: its state is runnable, but the kernel does not count it.
    Woken,
    /// Runnable, without a processor.
    Queued,
    /// It has marked itself as waiting and has lost its processor before it could look once more whether there is
    /// something to do.
    Hesitates,
    Waits,
    Sleeps,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    id: ThreadId,
    ran: Ran,
    doing: Doing,
    has_message: bool,
    /// Something was sent to it that it has not taken.
    inbox: bool,
    /// It sleeps whenever it has nothing to do, and receives nothing.
    is_loop: bool,
}

impl Thread {
    fn new(thread: u32, doing: Doing, is_loop: bool) -> Self {
        Self {
            id: ThreadId { process: 1, thread },
            ran: Ran::default(),
            doing,
            has_message: false,
            inbox: false,
            is_loop,
        }
    }

    fn leaves_processor(&mut self, doing: Doing) {
        self.ran.nanos += 1;
        self.doing = doing;
    }

    fn receives(&mut self) {
        self.inbox = true;
        match self.doing {
            Doing::Waits => self.doing = Doing::Woken,
            Doing::Hesitates => self.doing = Doing::Queued,
            _ => {}
        }
    }
}

/// The result of a look.
struct Looked {
    how: How,
    began: Duration,
    ended: Duration,
    is_idle: bool,
    is_new_list: bool,
    threads: Vec<Seen>,
}

impl Looked {
    fn look(&self) -> Look<'_> {
        Look {
            how: self.how,
            began: self.began,
            ended: self.ended,
            is_idle: self.is_idle,
            is_new_list: self.is_new_list,
            threads: &self.threads,
        }
    }
}

/// Threads, and the choices of what happens next.
#[derive(Debug)]
struct World {
    threads: Vec<Thread>,
    choices: std::vec::IntoIter<u8>,
    hops: u32,
    next_id: u32,
    now: Duration,
    /// The threads that the looking thread knows.
    listed: Vec<Seen>,
    /// One of them has ended.
    is_stale: bool,
}

impl World {
    fn new(workers: u32, loops: u32, hops: u32, choices: Vec<u8>) -> Self {
        let workers = (1..=workers).map(|id| Thread::new(id, Doing::Waits, false));
        let loops = (101..101 + loops).map(|id| Thread::new(id, Doing::Sleeps, true));
        let mut world = Self {
            threads: workers.chain(loops).collect(),
            choices: choices.into_iter(),
            hops,
            next_id: 1_000,
            now: Duration::ZERO,
            listed: Vec::new(),
            is_stale: false,
        };
        world.list();
        world
    }

    fn is_on_its_way(&self) -> bool {
        let holds = |thread: &Thread| thread.has_message || thread.inbox;
        self.threads.iter().any(holds)
    }

    /// Up to three steps of threads that are chosen.
    fn steps(&mut self) {
        for _ in 0..self.choices.next().unwrap_or(0) % 4 {
            let which = usize::from(self.choices.next().unwrap_or(0)) % self.threads.len();
            let choice = self.choices.next().unwrap_or(0);
            self.step(which, choice);
        }
    }

    fn step(&mut self, which: usize, choice: u8) {
        let thread = &mut self.threads[which];
        match (thread.doing, choice % 8) {
            (Doing::Waits, _) | (Doing::Woken, 4..) => {}
            (Doing::Sleeps, _) => thread.doing = Doing::Woken,
            (Doing::Woken, _) => thread.doing = Doing::Queued,
            (Doing::Queued | Doing::Hesitates, _) => {
                thread.doing = Doing::Computes;
                thread.ran.slices += 1;
            }
            (Doing::Computes, 0) => thread.ran.nanos += 4,
            (Doing::Computes, 1) => thread.leaves_processor(Doing::Queued),
            (Doing::Computes, 2) if thread.has_message => thread.leaves_processor(Doing::Sleeps),
            (Doing::Computes, 3) if thread.has_message => {
                self.threads[which].has_message = false;
                self.starts_a_thread();
            }
            (Doing::Computes, _) if thread.has_message => {
                thread.has_message = false;
                self.passes_on(usize::from(choice));
            }
            (Doing::Computes, 2) => thread.leaves_processor(Doing::Hesitates),
            (Doing::Computes, _) if thread.inbox => {
                (thread.inbox, thread.has_message) = (false, true);
            }
            (Doing::Computes, 3) if which > 0 && !thread.is_loop => {
                self.threads.remove(which);
            }
            (Doing::Computes, _) => {
                let doing = if thread.is_loop {
                    Doing::Sleeps
                } else {
                    Doing::Waits
                };
                thread.leaves_processor(doing);
            }
        }
    }

    fn starts_a_thread(&mut self) {
        let mut thread = Thread::new(self.next_id, Doing::Queued, false);
        self.next_id += 1;
        thread.has_message = true;
        self.threads.push(thread);
    }

    fn passes_on(&mut self, choice: usize) {
        if self.hops > 0 {
            self.hops -= 1;
            let mut to: Vec<_> = self.threads.iter_mut().filter(|to| !to.is_loop).collect();
            let index = choice % to.len();
            to[index].receives();
        }
    }

    fn list(&mut self) {
        let seen = |thread: &Thread| Seen {
            thread: thread.id,
            ran: Ran::default(),
            state: None,
            sleeps: None,
        };
        self.listed = self.threads.iter().map(seen).collect();
        self.is_stale = false;
    }

    /// A look whose readings happen one after the other, with steps of the threads in between.
    fn look(&mut self, how: How, settling: &Settling, is_mark: bool) -> Looked {
        let began = self.now;
        // The system tells how many there are, without naming them.
        let is_new_list = match how {
            How::Ran => self.is_stale,
            How::Proof => self.is_stale || self.threads.len() != self.listed.len(),
            How::Suspect(_) => false,
        };
        if is_new_list {
            self.list();
            // Threads that end meanwhile cut the list short.
            let cut = usize::from(self.choices.next().unwrap_or(0) % 4);
            let left = self.listed.len().saturating_sub(cut);
            self.listed.truncate(left.max(1));
        }
        for seen in &mut self.listed {
            (seen.state, seen.sleeps) = (None, None);
        }
        match how {
            How::Suspect(id) => {
                let index = self.listed.iter().position(|seen| seen.thread == id);
                let index = index.expect("a suspect is known");
                self.read_state(index);
                self.read_place(index);
                return Looked {
                    how,
                    began,
                    ended: self.now,
                    is_idle: false,
                    is_new_list: false,
                    threads: vec![self.listed[index]],
                };
            }
            How::Proof => {
                (0..self.listed.len()).for_each(|index| self.read_state(index));
                for index in 0..self.listed.len() {
                    let Seen { thread, ran, .. } = self.listed[index];
                    if settling.has_run(index, thread, ran) {
                        self.read_place(index);
                    }
                }
            }
            How::Ran => {}
        }
        for index in 0..self.listed.len() {
            let thread = self.read(index);
            let gone = Ran {
                nanos: u64::MAX,
                slices: u64::MAX,
            };
            self.is_stale |= thread.is_none();
            self.listed[index].ran = thread.map_or(gone, |thread| thread.ran);
        }
        if is_mark {
            for index in 0..self.listed.len() {
                let Seen { thread, ran, .. } = self.listed[index];
                if settling.asks_where(index, thread, ran) {
                    self.read_place(index);
                }
            }
        }
        Looked {
            how,
            began,
            ended: self.now,
            is_idle: self.is_idle(),
            is_new_list,
            threads: self.listed.clone(),
        }
    }

    /// Whether the kernel counts no other thread that runs or is runnable. It reads the counts of its processors one
    /// after the other, so threads take steps in between; and other programs may run.
    fn is_idle(&mut self) -> bool {
        let mut count = u32::from(self.choices.next().unwrap_or(0) % 4 == 1);
        let ids: Vec<_> = self.threads.iter().map(|thread| thread.id).collect();
        for id in ids {
            self.steps();
            let thread = self.threads.iter().find(|thread| thread.id == id);
            let uncounted = |doing| matches!(doing, Doing::Waits | Doing::Sleeps | Doing::Woken);
            let runs = |thread: &Thread| !uncounted(thread.doing);
            count += u32::from(thread.is_some_and(runs));
        }
        self.now += Duration::from_micros(1);
        count == 0
    }

    fn read(&mut self, index: usize) -> Option<Thread> {
        self.steps();
        self.now += Duration::from_micros(1);
        let id = self.listed[index].thread;
        let thread = self.threads.iter().find(|thread| thread.id == id);
        thread.copied()
    }

    fn read_state(&mut self, index: usize) {
        let thread = self.read(index);
        self.listed[index].state = Some(match thread.map(|thread| thread.doing) {
            None => State::Ended,
            Some(Doing::Computes | Doing::Queued | Doing::Woken) => State::Runs,
            Some(Doing::Hesitates | Doing::Waits | Doing::Sleeps) => State::Waits,
        });
    }

    fn read_place(&mut self, index: usize) {
        match self.read(index).map(|thread| thread.doing) {
            Some(Doing::Computes | Doing::Woken | Doing::Queued | Doing::Hesitates) => {
                self.listed[index].state = Some(State::Runs);
            }
            Some(Doing::Sleeps) => self.listed[index].sleeps = Some(true),
            Some(Doing::Waits) => self.listed[index].sleeps = Some(false),
            None => {}
        }
    }

    /// How many looks the mark took.
    fn mark(&mut self, settling: &mut Settling) -> u32 {
        let mut looks = 0;
        loop {
            let looked = self.look(How::Ran, settling, true);
            looks += 1;
            match settling.mark(&looked.look()) {
                Some(pause) => self.now += pause,
                None => return looks,
            }
        }
    }

    /// Looks until the threads have settled or the limit has passed. With `is_mark` the proof is the mark for what
    /// follows.
    fn settle(&mut self, settling: &mut Settling, limit: Duration, is_mark: bool) -> Step {
        settling.begin(self.now, limit);
        let mut how = How::Ran;
        loop {
            let looked = self.look(how, settling, false);
            let look = looked.look();
            let step = settling.take(&look);
            match step {
                Step::Settled if is_mark => {
                    assert_eq!(settling.mark(&look), None);
                    return step;
                }
                Step::LookAgain { how: next, pause } => {
                    how = next;
                    self.steps();
                    self.now += pause;
                }
                Step::Settled | Step::NeverSettles { .. } => return step,
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    /// Two messages, the second one while the first may still be on its way, then one that is sent after a mark.
    #[test]
    fn threads_never_settle_while_a_message_is_on_its_way(
        workers in 1..5_u32,
        loops in 0..3_u32,
        hops in 0..12_u32,
        proof_is_mark: bool,
        choices in proptest::collection::vec(any::<u8>(), 0..1_500),
    ) {
        let mut world = World::new(workers, loops, hops, choices);
        let mut settling = Settling::new();
        world.mark(&mut settling);
        for _ in 0..3 {
            world.threads[0].receives();
            world.hops += hops;
            let step = world.settle(&mut settling, Duration::from_millis(20), proof_is_mark);
            if step == Step::Settled {
                prop_assert!(!world.is_on_its_way(), "{:?}", world.threads);
            }
            if step != Step::Settled || !proof_is_mark {
                world.mark(&mut settling);
            }
        }
    }

    /// When everything waits, three looks are enough, whatever happened before.
    #[test]
    fn threads_that_wait_have_settled(
        workers in 1..5_u32,
        loops in 0..3_u32,
        choices in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut world = World::new(workers, loops, 0, choices);
        let mut settling = Settling::new();
        let looks = world.mark(&mut settling);
        world.choices = Vec::new().into_iter();
        for thread in &mut world.threads {
            thread.doing = if thread.is_loop { Doing::Sleeps } else { Doing::Waits };
        }
        world.list();
        let step = world.settle(&mut settling, Duration::ZERO, false);
        // A loop that was found running at more than 16 looks, and never sleeping, counts as one that does not sleep.
        let is_busy_loop = matches!(step, Step::NeverSettles { why: Why::Sleeps, .. });
        prop_assert!(step == Step::Settled || (is_busy_loop && loops > 0 && looks > 16), "{step:?}");
    }
}

/// Looks at two threads, of which the second one is given.
fn look(how: How, at: u64, second: Seen) -> (How, Duration, [Seen; 2]) {
    let first = seen(1, 5, Some(State::Waits));
    (how, Duration::from_micros(at), [first, second])
}

fn seen(thread: u32, slices: u64, state: Option<State>) -> Seen {
    Seen {
        thread: ThreadId { process: 1, thread },
        ran: Ran { nanos: 7, slices },
        state,
        sleeps: Some(false),
    }
}

fn take(settling: &mut Settling, look: (How, Duration, [Seen; 2])) -> Step {
    take_beside(settling, look, true)
}

/// While other threads of the machine run, or while they do not.
fn take_beside(
    settling: &mut Settling,
    (how, at, threads): (How, Duration, [Seen; 2]),
    others_run: bool,
) -> Step {
    settling.take(&Look {
        how,
        began: at,
        ended: at,
        is_idle: !others_run,
        is_new_list: false,
        threads: &threads,
    })
}

#[test]
fn a_thread_that_never_waits_is_named_when_the_limit_has_passed() {
    let mut settling = Settling::new();
    settling.begin(Duration::ZERO, Duration::from_millis(2));
    let runs = |how, at| look(how, at, seen(2, 9, Some(State::Runs)));
    take(&mut settling, look(How::Ran, 0, seen(2, 8, None)));
    let step = take(&mut settling, look(How::Ran, 60, seen(2, 9, None)));
    let pause = Duration::from_micros(50);
    assert_eq!(
        step,
        Step::LookAgain {
            how: How::Ran,
            pause
        }
    );
    let step = take(&mut settling, look(How::Ran, 120, seen(2, 9, None)));
    let pause = Duration::ZERO;
    assert_eq!(
        step,
        Step::LookAgain {
            how: How::Proof,
            pause
        }
    );
    let suspect = ThreadId {
        process: 1,
        thread: 2,
    };
    let how = How::Suspect(suspect);
    let pause = Duration::from_micros(200);
    let step = take(&mut settling, runs(How::Proof, 1_600));
    assert_eq!(step, Step::LookAgain { how, pause });
    let still_runs = [seen(2, 9, Some(State::Runs))];
    let alone = |at| Look {
        how,
        began: Duration::from_micros(at),
        ended: Duration::from_micros(at),
        is_idle: false,
        is_new_list: false,
        threads: &still_runs,
    };
    assert_eq!(
        settling.take(&alone(1_999)),
        Step::LookAgain {
            how,
            pause: Duration::from_micros(1_999) / 8
        }
    );
    let why = Why::Runs;
    let thread = Some(suspect);
    assert_eq!(
        settling.take(&alone(2_000)),
        Step::NeverSettles { thread, why }
    );
    assert!(!settling.takes_marks(), "the mark stays");
}

#[test]
fn a_thread_that_sleeps_is_in_the_way_if_it_has_run_since_the_mark() {
    let asleep = |slices| Seen {
        sleeps: Some(true),
        ..seen(2, slices, Some(State::Waits))
    };
    let awake = seen(2, 5, Some(State::Waits));
    for (at_mark, later, is_settled) in [
        (awake, asleep(6), false),
        (asleep(5), asleep(5), true),
        (asleep(5), asleep(6), true),
        (awake, seen(2, 6, Some(State::Waits)), true),
    ] {
        let mut settling = Settling::new();
        let (how, at, threads) = look(How::Ran, 0, at_mark);
        let mark = Look {
            how,
            began: at,
            ended: at,
            is_idle: false,
            is_new_list: false,
            threads: &threads,
        };
        assert_eq!(settling.mark(&mark), None);
        settling.begin(Duration::ZERO, Duration::MAX);
        take(&mut settling, look(How::Ran, 0, later));
        take(&mut settling, look(How::Ran, 50, later));
        let step = take(&mut settling, look(How::Proof, 60, later));
        assert_eq!(
            step == Step::Settled,
            is_settled,
            "{at_mark:?} {later:?} {step:?}"
        );
    }
}

/// A look for a mark that finds one thread with this many slices.
fn look_for_mark(settling: &mut Settling, slices: u64, sleeps: Option<bool>) -> Option<Duration> {
    let seen = Seen {
        sleeps,
        ..seen(2, slices, sleeps.is_none().then_some(State::Runs))
    };
    settling.mark(&Look {
        how: How::Ran,
        began: Duration::ZERO,
        ended: Duration::ZERO,
        is_idle: false,
        is_new_list: false,
        threads: &[seen],
    })
}

#[test]
fn a_mark_waits_for_a_thread_that_gets_no_processor() {
    for (stands, is_settled) in [(true, true), (false, false)] {
        let mut settling = Settling::new();
        let id = seen(2, 5, None).thread;
        let ran = |slices| Ran { nanos: 7, slices };
        let mut waited = Duration::ZERO;
        for _ in 0..200 {
            waited += look_for_mark(&mut settling, 5, None).expect("it is runnable");
            assert!(settling.asks_where(0, id, ran(5)), "where it stands now");
        }
        assert!(waited > Duration::from_millis(300), "{waited:?}");
        // It had left its processor before it was counted, or has got one.
        assert_eq!(look_for_mark(&mut settling, 5, Some(stands)), None);
        assert!(!settling.asks_where(0, id, ran(5)) && settling.asks_where(0, id, ran(6)));
        settling.begin(Duration::ZERO, Duration::MAX);
        let sleeps = Seen {
            sleeps: Some(true),
            ..seen(2, 6, Some(State::Waits))
        };
        let mut take = |how, at| {
            settling.take(&Look {
                how,
                began: Duration::from_micros(at),
                ended: Duration::from_micros(at),
                is_idle: false,
                is_new_list: false,
                threads: &[sleeps],
            })
        };
        take(How::Ran, 0);
        take(How::Ran, 50);
        let step = take(How::Proof, 60);
        assert_eq!(step == Step::Settled, is_settled, "{step:?}");
    }
}

#[test]
fn a_mark_holds_when_a_thread_was_found_running_each_time_after_it_had_got_a_processor() {
    let mut settling = Settling::new();
    for slices in 0..16 {
        for _ in 0..3 {
            let pause = look_for_mark(&mut settling, slices, None);
            assert!(pause.is_some(), "{slices} slices");
        }
    }
    assert_eq!(look_for_mark(&mut settling, 16, None), None);
}

#[test]
fn a_mark_holds_in_the_end_while_threads_are_started_all_the_time() {
    let mut settling = Settling::new();
    let mut looks = 0;
    loop {
        let runs = Seen {
            sleeps: None,
            ..seen(1_000 + looks, 1, Some(State::Runs))
        };
        let pause = settling.mark(&Look {
            how: How::Ran,
            began: Duration::ZERO,
            ended: Duration::ZERO,
            is_idle: false,
            is_new_list: true,
            threads: &[runs],
        });
        assert_eq!(settling.takes_marks(), pause.is_some());
        if pause.is_none() {
            break;
        }
        looks += 1;
        assert!(looks <= 200, "no end");
    }
    assert!(looks > 1);
}

#[test]
fn looks_that_are_too_close_prove_nothing() {
    let mut settling = Settling::new();
    settling.begin(Duration::ZERO, Duration::MAX);
    let still = |how, at| look(how, at, seen(2, 5, Some(State::Waits)));
    take(&mut settling, still(How::Ran, 0));
    for at in [1, 20, 49] {
        let pause = Duration::from_micros(50 - at);
        let step = take(&mut settling, still(How::Ran, at));
        assert_eq!(
            step,
            Step::LookAgain {
                how: How::Ran,
                pause
            }
        );
    }
}

#[test]
fn while_nothing_else_runs_on_the_machine_two_looks_are_a_proof_however_close_they_are() {
    let waits = |how, at, slices, state| look(how, at, seen(2, slices, state));
    let states = [Some(State::Waits), None];
    for (state, others_run, slices, is_settled) in [
        (states[0], false, 5, true),
        (states[0], true, 5, false),
        (states[0], false, 6, false),
        (states[1], false, 5, false),
    ] {
        let mut settling = Settling::new();
        settling.begin(Duration::ZERO, Duration::MAX);
        let step = take_beside(&mut settling, waits(How::Ran, 0, 5, None), false);
        let pause = Duration::ZERO;
        assert_eq!(
            step,
            Step::LookAgain {
                how: How::Proof,
                pause
            }
        );
        let proof = waits(How::Proof, 1, slices, state);
        let step = take_beside(&mut settling, proof, others_run);
        assert_eq!(
            step == Step::Settled,
            is_settled,
            "{state:?} {others_run} {slices}"
        );
    }
}

#[test]
fn what_was_sent_before_the_look_that_others_are_compared_with_is_dealt_with() {
    let mut settling = Settling::new();
    settling.begin(Duration::ZERO, Duration::MAX);
    let waits = |how, at, slices| look(how, at, seen(2, slices, Some(State::Waits)));
    for (how, at, slices, begins_anew, is_settled) in [
        (How::Ran, 0, 5, true, false),
        (How::Ran, 60, 6, true, false),
        // Too close.
        (How::Ran, 70, 6, false, false),
        (How::Ran, 120, 6, false, false),
        (How::Proof, 130, 7, true, false),
        (How::Ran, 190, 7, false, false),
        (How::Proof, 200, 7, false, true),
    ] {
        let step = take(&mut settling, waits(how, at, slices));
        assert_eq!(settling.begins_anew(), begins_anew, "at {at}");
        assert_eq!(step == Step::Settled, is_settled, "at {at}: {step:?}");
    }
}

#[test]
fn a_thread_that_runs_more_often_than_looks_are_made_is_not_in_the_way() {
    let mut settling = Settling::new();
    settling.begin(Duration::ZERO, Duration::MAX);
    let runs_each_millisecond = |how, at: u64| {
        let slices = at / 1_000 + 1;
        look(how, at, seen(2, slices, Some(State::Waits)))
    };
    // Some other thread ran until now, so pauses are long.
    let mut at = 100_300;
    take(&mut settling, runs_each_millisecond(How::Ran, 60));
    let mut how = How::Ran;
    for _ in 0..6 {
        match take(&mut settling, runs_each_millisecond(how, at)) {
            Step::Settled => return,
            Step::LookAgain { how: next, pause } => {
                how = next;
                at += u64::try_from(pause.as_micros()).unwrap();
            }
            step @ Step::NeverSettles { .. } => panic!("{step:?}"),
        }
    }
    panic!("not settled at {at} µs");
}
