//! The checks of a run itself: the program under test, the gates, what was played, and what was received.
//!
//! A [failed](Verdict::Failed) check is a verdict on the system under test. A check is an [error](Verdict::Error) if no
//! verdict is possible: outputs were lost before they were received, or nothing was played because of damage. With
//! `--strict`, any damage and any input that was lost or could not be sent is an error.

use std::collections::BTreeSet;

use bagplay::ci::child::{ChildEnd, How, Program};
use bagplay::ci::drive::OnMiss;
use bagplay::ci::gates::Tally;
use bagplay::ci::report::{Check, Kind, OutputTopic, RunRecord, Unreceived, Verdict};
use bagplay::cli::{Ending, Exit, PlayArgs, count};
use bagplay::untrusted::Foreign;

use crate::app::run::ci::happened::Happened;
use crate::app::supervise::Ended;

/// The name of the check that outputs are complete, as far as that is known.
const RECORDED: &str = "the outputs are recorded";
/// The name of the check that every topic could be subscribed to.
const RECEIVED: &str = "every output is received";

/// The checks of the run itself.
pub(in crate::app::run::ci) fn checks(args: &PlayArgs, happened: &Happened) -> Vec<Check> {
    let child = happened.child.as_ref();
    let child = child.map(|(program, end)| of_child(program, end, happened));
    let child = child.or_else(|| of_processes(happened));
    let gates = args.ci.gate.iter().enumerate().map(|(index, rule)| {
        let (tally, rule) = (&happened.progress.tallies[index], rule.to_string());
        let mut missed = happened.progress.missed.iter();
        let first = missed.find(|missed| missed.rule == index);
        let first = first.map(ToString::to_string).unwrap_or_default();
        let end = (happened.ended, happened.reason.as_deref());
        of_gate(args.ci.on_miss, rule, tally, first, end)
    });
    let reset = happened.reset.clone();
    let all = child.into_iter().chain(reset).chain(gates);
    let all = all.chain(of_recording(args, happened));
    let all = all.chain([of_run(args, happened)]);
    let all = all.chain(of_nodes(args, happened));
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
        // Whether the program still runs is unknown.
        Some(exit) if exit.how == How::Lost => {
            Check::new(Kind::Child, name, Verdict::Error, exit.to_string())
        }
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

/// The check that the questions of a gate were answered; `first` describes the first one that was not. A run that ended
/// because the network was lost gives no verdict: it is unknown whether the program under test has received the
/// question.
fn of_gate(
    on_miss: OnMiss,
    rule: String,
    tally: &Tally,
    first: String,
    (ended, reason): (Ended, Option<&str>),
) -> Check {
    let open = tally.asked - tally.answered - tally.missed;
    let most = match on_miss {
        OnMiss::Fail => 0,
        OnMiss::Count(most) => most,
    };
    let is_complete = ended.how == Ending::End;
    let is_lost = ended.how == Ending::Failed && ended.exit == Exit::Failed;
    if tally.missed > most && is_lost {
        let reason = reason.map_or(first, str::to_owned);
        Check::new(Kind::Gate, rule, Verdict::Error, reason)
    } else if tally.missed > most {
        Check::failed(Kind::Gate, rule, first)
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
            format!("{missed} of {asked} unanswered, which is allowed; the first: {first}");
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
    let damage = happened.damage();
    let damage = (!damage.is_empty()).then(|| damage.join("; "));
    match damage {
        Some(damage) if happened.has_played_nothing() => {
            Some(check(format!("nothing was played: {damage}")))
        }
        Some(damage) if args.time.strict => Some(check(format!("{damage} (--strict)"))),
        None if args.time.strict => Some(Check::passed(Kind::Recording, name)),
        _ => None,
    }
}

/// The name of the check of the run itself.
pub(super) const EVERYTHING: &str = "the recording is played to its end";

fn of_run(args: &PlayArgs, happened: &Happened) -> Check {
    let name = EVERYTHING;
    let reason = || happened.reason.clone().unwrap_or_default();
    let check = |verdict, reason: String| Check::new(Kind::Run, name, verdict, reason);
    let cut_short = happened.cut_short();
    match (happened.ended.how, happened.ended.exit) {
        (Ending::End, _) if happened.has_played_nothing() => {
            check(Verdict::Error, "no message was played".into())
        }
        // On an isolated network, only the program under test can have done that.
        (Ending::End, _) if !cut_short.is_empty() && !args.ci.isolated => {
            let hint = "hint: --exclude-topics leaves it out, --isolated keeps other nodes away";
            check(Verdict::Error, format!("{}; {hint}", cut_short.join("; ")))
        }
        (Ending::End, _) => match unsent(happened) {
            Some(unsent) if args.time.strict => {
                check(Verdict::Error, format!("{unsent} (--strict)"))
            }
            _ => check(Verdict::Passed, String::new()),
        },
        (Ending::Interrupted, _) => {
            let why = happened.reason.clone();
            check(
                Verdict::Skipped,
                why.unwrap_or_else(|| "interrupted".into()),
            )
        }
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

/// Nodes subscribe, but the processes under test did not run.
pub(super) const UNNOTICED: &str = "no process under test ran after a message was sent: other processes receive the messages; \
    hint: check --pid or --cgroup";

/// With `--strict`: the check that the messages have reached the nodes. `None` if they have.
fn of_nodes(args: &PlayArgs, happened: &Happened) -> Option<Check> {
    if !args.time.strict || happened.ended.how != Ending::End {
        return None;
    }
    let has_none =
        args.ci.has_program() && happened.inputs.iter().all(|it| it.subscribers.is_empty());
    let no_subscriber = "no node subscribes to a topic that was played";
    let reason = match happened.mismatches.as_slice() {
        [only] => only.clone(),
        [first, more @ ..] => format!("{first}; and {} more", more.len()),
        [] if has_none => no_subscriber.to_owned(),
        [] if happened.is_unnoticed() => UNNOTICED.to_owned(),
        [] => return None,
    };
    let reason = format!("{reason} (--strict)");
    let name = "the messages reach the nodes";
    Some(Check::new(Kind::Run, name, Verdict::Error, reason))
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
        Some(format!("{bytes} bytes were not sent before the end"))
    } else {
        None
    }
}

/// The check that all outputs were received and recorded.
fn of_outputs(args: &PlayArgs, happened: &Happened) -> Option<Check> {
    let recorded = happened.outputs.recorded.as_ref()?;
    let name = RECORDED;
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
            format!("some messages were missed or repeated: {said} (--strict)")
        }
        None => return Some(Check::passed(Kind::Run, name)),
    };
    Some(Check::new(Kind::Run, name, Verdict::Error, reason))
}

/// The check that the recording with inputs and outputs has all messages.
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

/// The check that every topic of the system under test could be received; `None` if all could. A topic that could not
/// is an error with `--strict`, or if it is `named`: by a flag, an expectation, or a reference.
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
    let name = RECEIVED;
    Some(Check::new(Kind::Run, name, verdict, reason))
}

/// Whether a run that came to its end is known to lack messages: outputs, or inputs that should have been played.
pub(in crate::app::run::ci) fn are_incomplete(record: &RunRecord) -> bool {
    let says_so = |check: &Check| {
        let is_about_messages = [EVERYTHING, RECORDED, RECEIVED].contains(&check.name.as_str());
        check.kind == Kind::Run && is_about_messages && check.verdict == Verdict::Error
    };
    record.checks.iter().any(says_so)
}

/// If messages are missing, failed expectations and comparisons give no verdict: that may be the reason.
pub(in crate::app::run::ci) fn withdraw_verdicts(record: &mut RunRecord) {
    if !are_incomplete(record) {
        return;
    }
    record.differences.clear();
    record.divergence = None;
    for check in &mut record.checks {
        let is_about_outputs = matches!(check.kind, Kind::Expectation | Kind::Golden);
        if is_about_outputs && check.verdict == Verdict::Failed {
            check.verdict = Verdict::Skipped;
            let reason = format!("no verdict, because messages are missing: {}", check.reason);
            check.reason = reason;
        }
    }
}

fn shown(topic: &str) -> String {
    Foreign::text(topic).to_string()
}

#[cfg(test)]
mod tests {
    use bagplay::ci::report::{Divergence, Outcome, Overall};

    use super::*;

    #[test]
    fn a_question_that_was_open_when_the_network_was_lost_is_no_verdict() {
        let tally = Tally {
            asked: 3,
            answered: 2,
            missed: 1,
            ..Tally::default()
        };
        let why = "the connection to the zenoh router was lost; after that, no answer";
        let outcome = |exit| {
            let end = (Ended::failed(exit), Some(why));
            let gate = of_gate(
                OnMiss::Fail,
                "/a -> /b".into(),
                &tally,
                "no answer".into(),
                end,
            );
            let record = RunRecord {
                checks: vec![gate],
                ended: bagplay::ci::report::Ended::Failed,
                exit_code: exit.code(),
                ..RunRecord::default()
            };
            Outcome::of(&record)
        };
        let lost = outcome(Exit::Failed);
        assert_eq!((lost.overall, lost.exit_code), (Overall::Error, 1));
        assert!(lost.sentence.ends_with(why), "{}", lost.sentence);
        let missed = outcome(Exit::Timeout);
        assert_eq!((missed.overall, missed.exit_code), (Overall::Failed, 4));
    }

    #[test]
    fn what_does_not_hold_of_incomplete_outputs_is_no_verdict() {
        let failed = [
            Check::failed(Kind::Expectation, "/b: count >= 3", "2"),
            Check::failed(Kind::Golden, "as in a.mcap", "1 message is missing"),
        ];
        let outcome = |checks: Vec<Check>| {
            let mut record = RunRecord {
                checks,
                ended: bagplay::ci::report::Ended::Complete,
                divergence: Some(Divergence::default()),
                ..RunRecord::default()
            };
            withdraw_verdicts(&mut record);
            assert_eq!(record.divergence.is_none(), are_incomplete(&record));
            (Outcome::of(&record).exit_code, record.checks)
        };
        for name in [EVERYTHING, RECORDED, RECEIVED] {
            let lost = Check::new(Kind::Run, name, Verdict::Error, "1 message was lost");
            let (code, checks) = outcome([&[lost], &failed[..]].concat());
            assert_eq!(code, 1, "{name}");
            let verdicts = checks.iter().map(|check| check.verdict);
            let expected = [Verdict::Error, Verdict::Skipped, Verdict::Skipped];
            assert!(verdicts.eq(expected), "{checks:?}");
            assert!(checks[1].reason.ends_with(": 2"), "{checks:?}");
        }
        let whole = Check::passed(Kind::Run, RECORDED);
        let (code, checks) = outcome([&[whole], &failed[..]].concat());
        assert_eq!((code, &checks[1..]), (5, &failed[..]));
    }
}
