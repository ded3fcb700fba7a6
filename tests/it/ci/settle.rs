//! Whether programs that run have settled: when they have, their answer is there.

use std::io::Write as _;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use bagplay::ci::settle::{Idle, Named, Processes, Settled, Settler, ThreadSet, Unsettled, Why};

use super::programs::{Program, compute};
use crate::support::patience::{PATIENCE, until};

fn tree(program: &Program) -> Settler {
    Settler::new(Processes::Tree(vec![program.id()]), &[]).unwrap()
}

/// Sends a message; when the program has settled, its answer is there.
fn round(settler: &mut Settler, program: &mut Program, message: u8) -> Settled {
    settler.mark().unwrap();
    program.send(message);
    let settled = settler.settle(PATIENCE).unwrap();
    assert_eq!(program.answer(), Some(message), "{settled:?}");
    assert!(settled.has_run);
    settled
}

/// The thread that is in the way, and what it does.
fn in_the_way(settler: &mut Settler) -> (Named, Why) {
    let mut found = None;
    // None is named if the limit has passed before two looks could be compared.
    until("a thread is named", || {
        match settler.settle(Duration::from_millis(100)) {
            Err(Unsettled::Limit { thread, why, .. }) => found = thread.map(|it| (it, why)),
            other => panic!("{other:?}"),
        }
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_message_that_passes_threads_and_processes_has_its_answer() {
    let mut program = Program::start("chain 2");
    let mut settler = tree(&program);
    for index in 0..1_000_u32 {
        round(&mut settler, &mut program, index.to_le_bytes()[0]);
    }
}

#[test]
fn beside_processes_that_use_all_processors_too() {
    let _busy: Vec<_> = (0..2).map(|_| Program::start("busy")).collect();
    let mut program = Program::start("chain 2");
    let mut settler = tree(&program);
    for index in 0..1_000_u32 {
        round(&mut settler, &mut program, index.to_le_bytes()[0]);
    }
}

#[test]
fn several_messages_have_their_answers_after_one_settling() {
    let mut program = Program::start("chain 1");
    let mut settler = tree(&program);
    for _ in 0..100 {
        for message in 0..5 {
            settler.mark().unwrap();
            program.send(message);
        }
        settler.settle(PATIENCE).unwrap();
        let answers: Vec<_> = std::iter::from_fn(|| program.answer()).collect();
        assert_eq!(answers, [0, 1, 2, 3, 4]);
    }
}

#[test]
fn a_program_that_computes_or_sleeps_has_settled_when_it_is_done() {
    for name in ["compute 20", "sleep 20"] {
        let mut program = Program::start(name);
        let mut settler = tree(&program);
        for message in 0..10 {
            round(&mut settler, &mut program, message);
        }
    }
}

#[test]
fn what_comes_meanwhile_is_dealt_with_if_another_look_followed() {
    for name in ["chain 2", "compute 5"] {
        let mut program = Program::start(name);
        let mut settler = tree(&program);
        settler.mark().unwrap();
        for message in 0..50 {
            program.send(message);
            // Something comes before each look.
            let mut come = 0;
            let settled = settler.settle_all(Duration::ZERO, PATIENCE, || {
                come += 1;
                come
            });
            let settled = settled.unwrap();
            assert_eq!(program.answer(), Some(message), "{settled:?}");
            assert_eq!(u64::from(settled.looks), come);
            assert!((1..come).contains(&settled.stirred), "{settled:?}");
        }
    }
}

#[test]
fn a_message_that_is_sent_before_the_mark_of_another_is_not_forgotten() {
    let mut program = Program::start("sleep 50");
    let mut settler = tree(&program);
    let limit = Duration::from_millis(5);
    let why = loop {
        settler.mark().unwrap();
        program.send(1);
        match settler.settle(limit) {
            // This thread got no processor for as long as the program sleeps.
            Ok(_) => assert_eq!(program.answer(), Some(1)),
            // The same, and the limit had passed before two looks could be compared.
            Err(Unsettled::Limit {
                why: Why::IsNew, ..
            }) => {
                settler.settle(PATIENCE).unwrap();
                assert_eq!(program.answer(), Some(1));
            }
            Err(Unsettled::Limit { why, .. }) => break why,
            Err(error) => panic!("{error}"),
        }
    };
    assert!(
        matches!(why, Why::Sleeps | Why::Runs | Why::RunsAgain),
        "{why:?}"
    );
    // It sleeps for the first message now, and not by itself.
    settler.mark().unwrap();
    program.send(2);
    settler.settle(PATIENCE).unwrap();
    assert_eq!((program.answer(), program.answer()), (Some(1), Some(2)));
}

#[test]
fn a_thread_that_sleeps_in_a_loop_of_its_own_is_not_in_the_way() {
    let mut program = Program::start("loop 1");
    let mut settler = tree(&program);
    for index in 0..500_u32 {
        round(&mut settler, &mut program, index.to_le_bytes()[0]);
    }
}

#[test]
fn a_thread_that_never_waits_is_named() {
    for (name, whys) in [
        ("busy", [Why::Runs, Why::RunsAgain]),
        ("restless", [Why::RunsAgain, Why::Runs]),
    ] {
        let mut program = Program::start(name);
        let mut settler = tree(&program);
        settler.mark().unwrap();
        program.send(1);
        assert_eq!(program.wait_answer(), 1);
        // The thread that has answered is in the way until it waits for another message.
        until("the thread is named", || {
            let (thread, why) = in_the_way(&mut settler);
            assert_eq!(thread.id.process, program.id());
            assert!(!thread.process.is_empty(), "{thread}");
            thread.thread == name && whys.contains(&why)
        });
    }
}

/// Whether all threads of this process are stopped.
fn is_stopped(process: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    tasks.map(|task| task.unwrap().path()).all(|task| {
        let stat = std::fs::read_to_string(task.join("stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.starts_with("T ")
    })
}

#[test]
fn a_program_that_is_stopped_has_not_settled() {
    let mut program = Program::start("echo");
    let mut settler = tree(&program);
    round(&mut settler, &mut program, 1);
    let signal = |signal| {
        let id = rustix::process::Pid::from_raw(program.id().cast_signed()).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
    };
    signal(rustix::process::Signal::STOP);
    until("all its threads are stopped", || is_stopped(program.id()));
    settler.mark().unwrap();
    let (_, why) = in_the_way(&mut settler);
    assert_eq!(why, Why::Stopped);
    signal(rustix::process::Signal::CONT);
    settler.settle(PATIENCE).unwrap();
    round(&mut settler, &mut program, 2);
}

#[test]
fn all_processes_that_are_stopped_are_named_also_beside_one_that_runs() {
    let programs = ["busy", "echo", "echo"].map(Program::start);
    for program in &programs[1..] {
        let id = rustix::process::Pid::from_raw(program.id().cast_signed()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::STOP).unwrap();
    }
    let roots = programs.iter().map(Program::id).collect();
    let set = ThreadSet::new(Processes::Tree(roots), &[]).unwrap();
    let mut expected = [programs[1].id(), programs[2].id()];
    expected.sort_unstable();
    until("both are stopped", || {
        let stopped = set.stopped().unwrap().into_iter();
        let mut stopped: Vec<u32> = stopped.map(|it| it.id.process).collect();
        stopped.sort_unstable();
        stopped == expected
    });
}

#[test]
fn threads_that_come_and_go_are_found() {
    let mut program = Program::start("threads 6");
    let mut settler = tree(&program);
    for index in 0..300_u32 {
        round(&mut settler, &mut program, index.to_le_bytes()[0]);
    }
}

#[test]
fn a_process_that_is_started_for_a_message_is_found() {
    let mut program = Program::start("fork");
    let group = Settler::new(Processes::Group(program.id()), &[]).unwrap();
    for mut settler in [tree(&program), group] {
        for _ in 0..20 {
            let settled = round(&mut settler, &mut program, 7);
            let children = settled.gone.len();
            assert!(children <= 2, "{settled:?}");
        }
    }
}

#[test]
fn a_process_that_ends_is_a_fact_and_no_error() {
    let mut program = Program::start("die");
    let other = Program::start("echo");
    let both = Processes::Tree(vec![program.id(), other.id()]);
    let mut settler = Settler::new(both, &[]).unwrap();
    settler.mark().unwrap();
    program.send(1);
    let settled = settler.settle(PATIENCE).unwrap();
    let [gone] = &settled.gone[..] else {
        panic!("{settled:?}");
    };
    assert_eq!(gone.process, program.id());
    assert_eq!(settler.settle(PATIENCE).unwrap().gone, []);
    // The last one too, after its parent has asked for its result.
    drop((program, other));
    assert_eq!(settler.settle(PATIENCE).unwrap().gone.len(), 1);
    assert!(settler.threads().is_empty());
}

#[test]
fn a_thread_of_this_process_that_sends_is_waited_for() {
    let mut program = Program::start("chain 0");
    let mut socket = program.socket();
    let (send, messages) = sync_channel::<u8>(16);
    let sender = thread::Builder::new().name("tx-settle".to_owned());
    let sender = sender.spawn(move || {
        for message in messages {
            compute(Duration::from_millis(2));
            socket.write_all(&[message]).unwrap();
        }
    });
    // The thread takes its name itself.
    let processes = Processes::Tree(vec![program.id()]);
    let alone = tree(&program).threads().len();
    let mut settler = Settler::new(processes.clone(), &["tx-settle"]).unwrap();
    crate::support::patience::until("the thread has its name", || {
        settler = Settler::new(processes.clone(), &["tx-settle"]).unwrap();
        settler.threads().len() == alone + 1
    });
    for message in 0..100 {
        settler.mark().unwrap();
        send.send(message).unwrap();
        let settled = settler.settle(PATIENCE).unwrap();
        assert_eq!(program.answer(), Some(message), "{settled:?}");
    }
    drop(send);
    sender.unwrap().join().unwrap();
}

/// The names of the threads that run without input, once as many windows have passed as are needed.
fn unprompted(program: &Program) -> Vec<(String, f64)> {
    let mut idle = Idle::watch(Processes::Tree(vec![program.id()])).unwrap();
    let mut settler = tree(program);
    let end = settler.threads().now() + Duration::from_millis(600);
    until("half a second has passed", || {
        idle.look().unwrap();
        settler.threads().now() >= end
    });
    settler.mark().unwrap();
    let found = idle.unprompted().into_iter();
    found.map(|it| (it.thread.thread, it.per_second)).collect()
}

#[test]
fn threads_that_run_without_input_are_named() {
    let program = Program::start("loop 1");
    until(
        "the thread ran all the time",
        || matches!(unprompted(&program).as_slice(), [(name, often)] if name == "a-loop" && *often >= 10.0),
    );
    let waits = Program::start("echo");
    until("nothing runs in a program that waits", || {
        unprompted(&waits).is_empty()
    });
}
