//! The checks of a run itself: the program under test, the gates, what was played, and what was received.
//!
//! What is [failed](Verdict::Failed) is a verdict on the system under test. Where something is in the way of a verdict, the check
//! is an [error](Verdict::Error): outputs that were lost on their way here, and damage because of which nothing was played. With
//! `--strict`, any damage is one, and so are inputs that were lost.

use std::collections::BTreeSet;

use bagplay::ci::child::{ChildEnd, Program};
use bagplay::ci::drive::OnMiss;
use bagplay::ci::gates::Tally;
use bagplay::ci::report::{Check, Kind, OutputTopic, RunRecord, Unreceived, Verdict};
use bagplay::cli::{Ending, Exit, PlayArgs, count};
use bagplay::untrusted::Foreign;

use crate::app::run::ci::once::Happened;

/// The checks of the run itself.
pub(in crate::app::run::ci) fn checks(args: &PlayArgs, happened: &Happened) -> Vec<Check> {
    let child = happened.child.as_ref();
    let child = child.map(|(program, end)| of_child(program, end, happened));
    let child = child.or_else(|| of_processes(happened));
    let gates = args.ci.gate.iter().enumerate().map(|(index, rule)| {
        let (tally, rule) = (&happened.progress.tallies[index], rule.to_string());
        of_gate(args.ci.on_miss, index, rule, tally, happened)
    });
    let reset = happened.reset.clone();
    let all = child.into_iter().chain(reset).chain(gates);
    let all = all.chain(of_recording(args, happened));
    let all = all.chain([of_run(args, happened)]);
    let all = all.chain(of_outputs(args, happened));
    all.chain(of_inputs(happened)).collect()
}

fn of_child(program: &Program, end: &ChildEnd, happened: &Happened) -> Check {
    let name = format!("{} runs to the end", program.name());
    let failed = |reason: String| Check::failed(Kind::Child, name.clone(), reason);
    // Without its own end a run fails with this code if the system could not be reset.
    let has_ended = happened.ended.exit == Exit::Child && happened.reason.is_some();
    match &end.exit {
        _ if has_ended => failed(happened.reason.clone().unwrap_or_default()),
        // A node runs until it is asked to end, whatever its exit code.
        Some(exit) if exit.reached.is_some() || !end.was_running => failed(exit.to_string()),
        _ => Check::passed(Kind::Child, name),
    }
}

/// Processes under test that were not started by this run and failed during it.
fn of_processes(happened: &Happened) -> Option<Check> {
    let reason = || happened.reason.clone().unwrap_or_default();
    let failed = || Check::failed(Kind::Child, "the processes run to the end", reason());
    (happened.ended.exit == Exit::Child).then(failed)
}

fn of_gate(
    on_miss: OnMiss,
    index: usize,
    rule: String,
    tally: &Tally,
    happened: &Happened,
) -> Check {
    let mut missed = happened.progress.missed.iter();
    let first = missed.find(|missed| missed.rule == index);
    let open = tally.asked - tally.answered - tally.missed;
    let most = match on_miss {
        OnMiss::Fail => 0,
        OnMiss::Count(most) => most,
    };
    let reason = first.map(ToString::to_string).unwrap_or_default();
    let is_complete = happened.ended.how == Ending::End;
    if tally.missed > most {
        Check::failed(Kind::Gate, rule, reason)
    } else if is_complete && tally.asked == 0 {
        let reason =
            "nothing was asked: no message of its topic was played, or no step of the clock made";
        Check::failed(Kind::Gate, rule, reason)
    } else if open > 0 {
        let reason = format!("the run ended while {open} of {} were open", tally.asked);
        Check::new(Kind::Gate, rule, Verdict::Skipped, reason)
    } else if tally.missed > 0 {
        let (missed, asked) = (tally.missed, tally.asked);
        let reason =
            format!("{missed} of {asked} unanswered, which is allowed; the first: {reason}");
        Check::new(Kind::Gate, rule, Verdict::Passed, reason)
    } else {
        Check::passed(Kind::Gate, rule)
    }
}

/// Whether all of the recording was played: with `--strict`, or if it explains why nothing was.
fn of_recording(args: &PlayArgs, happened: &Happened) -> Option<Check> {
    let name = "the recording is whole";
    if happened.ended.how != Ending::End {
        return None;
    }
    let check = |reason| Check::new(Kind::Recording, name, Verdict::Error, reason);
    match happened.damage() {
        Some(damage) if happened.has_played_nothing() => {
            Some(check(format!("nothing was played: {damage}")))
        }
        Some(damage) if args.time.strict => Some(check(format!("{damage} (--strict)"))),
        None if args.time.strict => Some(Check::passed(Kind::Recording, name)),
        _ => None,
    }
}

fn of_run(args: &PlayArgs, happened: &Happened) -> Check {
    let name = "everything is played";
    let reason = || happened.reason.clone().unwrap_or_default();
    let check = |verdict, reason: String| Check::new(Kind::Run, name, verdict, reason);
    match (happened.ended.how, happened.ended.exit) {
        (Ending::End, _) if happened.has_played_nothing() => {
            check(Verdict::Error, "no message was played".into())
        }
        (Ending::End, _) => match unsent(happened) {
            Some(unsent) if args.time.strict => {
                check(Verdict::Error, format!("{unsent} (--strict)"))
            }
            _ => check(Verdict::Passed, String::new()),
        },
        (Ending::Interrupted, _) => check(Verdict::Skipped, "interrupted".into()),
        (_, Exit::Timeout) => check(Verdict::Failed, reason()),
        (_, Exit::Child) => match &happened.reset {
            Some(reset) if happened.reason.is_none() => {
                check(Verdict::Skipped, reset.reason.clone())
            }
            _ => check(Verdict::Skipped, reason()),
        },
        (Ending::Stopped, _) => check(Verdict::Skipped, "it was stopped".into()),
        _ if happened.reason.is_some() => check(Verdict::Error, reason()),
        _ => check(Verdict::Error, "the network was lost".into()),
    }
}

/// What was played and has not reached its subscribers.
fn unsent(happened: &Happened) -> Option<String> {
    let lossy: Vec<_> = happened.inputs.iter().filter(|it| it.lost > 0).collect();
    let lost = lossy
        .iter()
        .fold(0_u64, |sum, it| sum.saturating_add(it.lost));
    let names: Vec<String> = lossy.iter().map(|it| shown(&it.topic)).collect();
    if lost > 0 {
        let names = names.join(", ");
        Some(format!(
            "subscribers missed at least {} messages of {names}",
            count(lost)
        ))
    } else if happened.unsent_bytes > 0 {
        let bytes = count(happened.unsent_bytes);
        Some(format!("{bytes} bytes have not left before the end"))
    } else {
        None
    }
}

/// What is missing of the outputs: then nothing is known of them.
fn of_outputs(args: &PlayArgs, happened: &Happened) -> Option<Check> {
    let recorded = happened.outputs.recorded.as_ref()?;
    let name = "the outputs are recorded";
    let left_out: u64 = recorded.unrecorded.values().sum();
    let topics = happened.outputs.topics.iter();
    let said: Vec<String> = topics.flat_map(OutputTopic::irregularities).collect();
    let said = said.join("; ");
    let sum = |number: fn(&OutputTopic) -> u64| {
        let topics = happened.outputs.topics.iter().map(number);
        topics.fold(0, u64::saturating_add)
    };
    let lost = sum(|topic| topic.lost);
    let reason = match &recorded.error {
        Some(error) => error.to_string(),
        None if left_out > 0 => format!("{} messages could not be recorded", count(left_out)),
        None if lost > 0 => format!("messages were lost on the way here: {said}"),
        None if args.time.strict && sum(|it| it.earlier.max(it.repeated)) > 0 => {
            format!("not every message came once: {said} (--strict)")
        }
        None => return Some(Check::passed(Kind::Run, name)),
    };
    Some(Check::new(Kind::Run, name, Verdict::Error, reason))
}

/// What is missing of the recording with inputs and outputs.
fn of_inputs(happened: &Happened) -> Option<Check> {
    let recorded = happened.outputs.with_inputs.as_ref()?;
    let name = "the inputs are recorded";
    let left_out: u64 = recorded.unrecorded.values().sum();
    let reason = match &recorded.error {
        Some(error) => error.to_string(),
        None if left_out > 0 => format!("{} messages could not be recorded", count(left_out)),
        None => return Some(Check::passed(Kind::Run, name)),
    };
    Some(Check::new(Kind::Run, name, Verdict::Error, reason))
}

/// Whether all that the system under test published could be received, if something could not. It is an error with `--strict`,
/// or if one of the topics is `named`: by a flag, an expectation, or a reference.
pub(in crate::app::run::ci) fn of_unreceived(
    args: &PlayArgs,
    named: &BTreeSet<String>,
    record: &RunRecord,
) -> Option<Check> {
    let plain = |name: &str| name.trim_start_matches('/').to_owned();
    let named: BTreeSet<String> = named.iter().map(|name| plain(name)).collect();
    let is_named = |one: &&Unreceived| named.contains(&plain(&one.topic));
    let mut unreceived = record.unreceived.iter();
    let first = record.unreceived.first()?;
    let culprit = unreceived.find(is_named);
    let (verdict, first, why) = match culprit {
        Some(one) => (Verdict::Error, one, ""),
        None if args.time.strict => (Verdict::Error, first, " (--strict)"),
        None => (Verdict::Passed, first, ", and nothing names it"),
    };
    let more = match record.unreceived.len() {
        1 => String::new(),
        number => format!("; and {} more", number - 1),
    };
    let reason = format!("{}{why}{more}", first.sentence());
    let name = "every output is received";
    Some(Check::new(Kind::Run, name, verdict, reason))
}

fn shown(topic: &str) -> String {
    Foreign::text(topic).to_string()
}
