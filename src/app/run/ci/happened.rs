//! [`Happened`]: what happened in one run, and [`Rest`], which collects it.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use bagplay::bag::{Bag, TopicId};
use bagplay::ci::child::{Child, ChildEnd, Program};
use bagplay::ci::drive::{Desk, Governor, MutedTopic, Progress, Waiting};
use bagplay::ci::outputs::{Outputs, OutputsEnd, PlayedTopic, RecordInputs};
use bagplay::ci::report::{Check, Input, Pacing, Spans, SystemRecord, Unsent};
use bagplay::ci::settle::Unprompted;
use bagplay::cli::{Ending, Exit, Plan, PlayArgs, as_sent, count, plural};
use bagplay::player::Report;
use bagplay::untrusted::Foreign;
use bagplay::wire::Subscribed;

use super::begin::pacing;
use super::held::System;
use super::reset::Reset;
use super::result::sent::{inputs, lateness, miscounted, unsent};
use crate::app::failure::{Failure, OrExit};
use crate::app::network::{Network, PlayOutput};
use crate::app::supervise::Ended;

/// What happened in one run.
#[derive(Debug)]
pub(super) struct Happened {
    /// The range that was played.
    pub(super) plan: Plan,
    pub(super) inputs: Vec<Input>,
    /// Recorded messages that were to be sent and could not be.
    pub(super) unsent: Vec<Unsent>,
    pub(super) unsent_bytes: u64,
    /// How many damaged places of the recording are known.
    pub(super) damaged: u64,
    /// A sentence, if the recording does not have the number of messages that it states.
    pub(super) miscounted: Option<String>,
    pub(super) pacing: Pacing,
    /// How late messages were sent; `None` if they were not due at given times.
    pub(super) lateness: Option<Spans>,
    pub(super) progress: Progress,
    pub(super) outputs: OutputsEnd,
    /// The publishers of the outputs.
    pub(super) publishers: Vec<Subscribed>,
    /// The threads of the program under test that ran repeatedly before anything was sent.
    pub(super) unprompted: Vec<Unprompted>,
    pub(super) recording: PathBuf,
    pub(super) child: Option<(Program, ChildEnd)>,
    /// The system that stays, and what is known of it.
    pub(super) system: Option<SystemRecord>,
    /// The check that the system was reset, if a reset was needed.
    pub(super) reset: Option<Check>,
    /// Nodes that do not get a topic, because they have another definition of its type, in sentences.
    pub(super) mismatches: Vec<String>,
    /// The topics that were not played any more, because another node began to publish them.
    pub(super) muted: Vec<MutedTopic>,
    pub(super) ended: Ended,
    /// Why it ended early, in a sentence.
    pub(super) reason: Option<String>,
    pub(super) notes: Vec<String>,
}

impl Happened {
    /// What is wrong with what was played, in sentences.
    pub(super) fn damage(&self) -> Vec<String> {
        let places = plural(self.damaged, "damaged place");
        let damaged = (self.damaged > 0).then(|| format!("{places} in the recording"));
        let of_file = damaged.or_else(|| self.miscounted.clone());
        let unsent = self.unsent.iter().map(Unsent::sentence);
        of_file.into_iter().chain(unsent).collect()
    }

    pub(super) fn has_played_nothing(&self) -> bool {
        self.inputs.iter().all(|input| input.messages == 0)
    }

    /// Whether nodes subscribe to what was played in lockstep, but no process under test ran after anything was sent.
    pub(super) fn is_unnoticed(&self) -> bool {
        let is_received = |input: &Input| input.messages > 0 && !input.subscribers.is_empty();
        let is_lockstep = self.progress.settling.count() > 0;
        is_lockstep && !self.progress.has_reacted && self.inputs.iter().any(is_received)
    }

    /// The topics of which only a part was played, because another node began to publish them: a sentence for each.
    /// What the program under test received of them depends on when that was.
    pub(super) fn cut_short(&self) -> Vec<String> {
        let sent = |topic: &str| {
            let input = self.inputs.iter().find(|input| input.topic == topic);
            input.map_or(0, |input| input.messages)
        };
        let muted = self.muted.iter().map(|muted| (muted, sent(&muted.topic)));
        let in_part = muted.filter(|(muted, sent)| *sent > 0 && muted.unsent > 0);
        let sentence = |(muted, sent): (&MutedTopic, u64)| {
            let (topic, node) = (Foreign::text(&muted.topic), Foreign::text(&muted.node));
            let (all, sent) = (count(sent.saturating_add(muted.unsent)), count(sent));
            let since = muted.since;
            format!(
                "{topic}: {sent} of {all} messages were played; {node} began to publish it at {since}"
            )
        };
        in_part.map(sentence).collect()
    }

    /// The topics that were not played at all, because another node began to publish them first: a sentence for each.
    pub(super) fn left_out(&self) -> Vec<String> {
        let is_sent = |topic: &str| {
            let mut inputs = self.inputs.iter();
            inputs.any(|input| input.topic == topic && input.messages > 0)
        };
        let muted = self.muted.iter().filter(|muted| !is_sent(&muted.topic));
        let sentence = |muted: &MutedTopic| {
            format!(
                "{} is not played, because {} publishes it",
                Foreign::text(&muted.topic),
                Foreign::text(&muted.node)
            )
        };
        muted.map(sentence).collect()
    }
}

/// What is known when a run begins, and is needed at its end.
pub(super) struct Rest<'a> {
    pub(super) args: &'a PlayArgs,
    pub(super) bag: &'a Bag,
    pub(super) recording: PathBuf,
    pub(super) pacing: Pacing,
    pub(super) notes: Vec<String>,
    pub(super) unprompted: Vec<Unprompted>,
    pub(super) outputs: Outputs,
    pub(super) system: Option<(&'a System, SystemRecord)>,
    /// The program of `system`.
    pub(super) program: Option<Program>,
    pub(super) reset: Option<Check>,
    pub(super) mismatches: Vec<String>,
}

/// How a run ended.
pub(super) struct End {
    pub(super) ended: Ended,
    /// Why it ended early, in a sentence.
    pub(super) reason: Option<String>,
    /// What the player reports, if it has played, and how many bytes no subscriber had taken.
    pub(super) played: Option<(Report, u64)>,
}

impl Rest<'_> {
    /// Keeps the result of the reset. Returns how the run ended, if it ended before it began.
    pub(super) fn begins(&mut self, begun: Option<Reset>) -> Option<Ended> {
        let begun = begun?;
        self.reset = begun.check;
        if let Some((_, record)) = &mut self.system {
            record.reset = begun.commands;
        }
        (begun.ended.how != Ending::End).then_some(begun.ended)
    }

    /// Starts the thread that waits for answers and, in lockstep, until the processes have settled.
    pub(super) fn govern(
        &mut self,
        desk: &Desk,
        waiting: Option<Waiting>,
    ) -> Result<Governor, Failure> {
        if waiting.is_none() {
            desk.without_lockstep();
        }
        self.pacing = pacing(self.args, waiting.is_some());
        Governor::start(desk, waiting)
            .context("the thread that governs the run cannot be started")
            .or_exit(Exit::Failed)
    }

    /// Wraps `out`, so that sent messages are recorded if `--record-inputs` is given.
    pub(super) fn record_inputs(
        &self,
        out: PlayOutput,
        plan: &Plan,
        desk: &Desk,
    ) -> RecordInputs<PlayOutput> {
        let as_sent = |id: TopicId| as_sent(self.args, &self.bag.topics()[id.index()]);
        let topics = plan.chosen.iter();
        let topics = topics.filter_map(|chosen| Some((chosen, as_sent(chosen.id)?)));
        let topics: Vec<_> = topics.collect();
        let topics = topics.iter().map(|(chosen, as_sent)| PlayedTopic {
            id: chosen.id,
            as_sent,
            name: &chosen.name,
        });
        let place = Arc::clone(desk.place());
        RecordInputs::new(out, self.outputs.input_recorder(), topics, move || {
            place.get()
        })
    }

    /// Adds notes to the reports and to the log.
    pub(super) fn say(&mut self, notes: impl IntoIterator<Item = String>) {
        say(&mut self.notes, notes);
    }

    /// Ends the recording, then the program under test: messages that it publishes while it ends are not outputs of the
    /// run.
    pub(super) fn finish(
        mut self,
        plan: Plan,
        network: &Network,
        desk: &Desk,
        child: Option<(Program, Child)>,
        end: End,
    ) -> Happened {
        let inputs = inputs(self.args, network, &plan, self.bag);
        let unsent = unsent(network, &plan);
        let publishers = self.outputs.subscribed();
        let outputs = self.outputs.finish();
        let grace = self.args.ci.grace.to_std();
        let child = child.map(|(program, child)| (program, child.end(grace)));
        let held = self.system.zip(self.program);
        let (held, system) = held.map_or((None, None), |((system, record), program)| {
            let place = desk.place();
            let clock = place.get().saturating_add(plan.options.clock.shift);
            let record = SystemRecord {
                outputs_before: outputs.before,
                ..record
            };
            let clock = place.has_begun().then_some(clock);
            let (end, record) = system.has_dealt_with_run(record, clock, &program);
            (Some((program, end)), Some(record))
        });
        let child = child.or(held);
        let said = child.iter().flat_map(|(_, end)| end.notes());
        say(&mut self.notes, said);
        let played = end.played.as_ref();
        Happened {
            unsent_bytes: played.map_or(0, |(_, unsent)| *unsent),
            inputs,
            unsent,
            damaged: played.map_or(0, |(report, _)| report.damaged()),
            miscounted: played.and_then(|_| miscounted(self.bag)),
            plan,
            pacing: self.pacing,
            lateness: played.and_then(|(report, _)| lateness(report, self.pacing)),
            progress: desk.progress(),
            outputs,
            publishers,
            unprompted: self.unprompted,
            recording: self.recording,
            child,
            system,
            reset: self.reset,
            mismatches: self.mismatches,
            muted: desk.muted(),
            ended: end.ended,
            reason: end.reason,
            notes: self.notes,
        }
    }
}

fn say(notes: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for note in more {
        tracing::warn!("{note}");
        notes.push(note);
    }
}
