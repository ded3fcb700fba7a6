//! `play attach`: the transport bar on a player elsewhere. Leaving it does not stop the player.

use std::cell::Cell;
use std::convert::Infallible;
use std::io;
use std::thread::{Builder, Scope};
use std::time::Duration as StdDuration;

use anyhow::{Context, anyhow};
use bagplay::cli::{AttachArgs, Exit, Format, OutputArgs, plural};
use bagplay::marks::Mark;
use bagplay::player::LeadMotion;
use bagplay::tui::{Event, EventSink, Followed, Lookup, Subscribers, has_usable_terminal};
use bagplay::untrusted::Foreign;
use bagplay::wire::{Attached, CallError, News, PlayerClient, RequestError, Session};
use crossbeam_channel::{Receiver, RecvError, TryRecvError, bounded};

use super::find_player::{find, join, leave};
use crate::app::bar::attached_run::{AttachedRun, End};
use crate::app::bar::look::Look;
use crate::app::bar::remote_lookup::look_up;
use crate::app::bar::{self, Shown, remote_model};
use crate::app::failure::{Failure, OrExit};
use crate::app::log::LogTarget;
use crate::app::network::mark_book::MarkChange;
use crate::app::signals;

/// How long the bar waits at most for one answer before it shows that there is none.
const ANSWER_TIMEOUT: StdDuration = StdDuration::from_secs(2);
/// How many requests of the screen may wait. It makes few a second.
const WAITING: usize = 256;

/// Shows the bar until it is left or the player has ended.
pub(crate) fn run(
    args: &AttachArgs,
    output: &OutputArgs,
    log_target: &LogTarget,
) -> Result<Exit, Failure> {
    if output.format == Format::Json {
        let error = anyhow!(
            "attach shows a screen and prints no result; hint: play ctl status --format json"
        );
        return Err(Failure::new(Exit::Usage, error));
    }
    if !has_usable_terminal() {
        let error =
            anyhow!("there is no terminal to draw on and to read keys from; hint: play ctl");
        return Err(Failure::new(Exit::Usage, error));
    }
    let look = Look::of_user(args.ascii, output)?;
    let (session, changes) = join(&args.reach)?;
    let exit = show(args, &session, &changes, &look, log_target);
    leave(session);
    exit
}

fn show(
    args: &AttachArgs,
    session: &Session,
    changes: &Receiver<()>,
    look: &Look,
    log_target: &LogTarget,
) -> Result<Exit, Failure> {
    let timeout = args.timeout.to_std();
    let player = find(session, changes, args.node.as_deref(), timeout)?;
    let node = Foreign::text(&player.node).to_string();
    let client = PlayerClient::new(session, player, timeout);
    let attached = Attached::new(client).map_err(|error| unattached(&node, &error))?;
    let attached = attached.answering_within(timeout.min(ANSWER_TIMEOUT));
    let signals = signals::listen()
        .context("signals cannot be received")
        .or_exit(Exit::Failed)?;
    let (end, done) = End::new();
    let transport = attached.transport();
    let (mut host, mark_changes) =
        AttachedRun::new(transport.clone(), (end.clone(), done), signals);
    let recording = attached.recording();
    let title = if recording.name.is_empty() {
        &node
    } else {
        &recording.name
    };
    let (stop, until) = bounded(0);
    let shown = std::thread::scope(|scope| {
        let start = |appearance, sink| {
            let model = remote_model::model(recording, transport.status(), appearance);
            let lookup = start(scope, &attached, &until, mark_changes, (sink, end, &node))?;
            let reach = attached.reach();
            Ok(Shown {
                model,
                reach,
                lookup,
            })
        };
        let ask = || look.appearance(false);
        let shown = bar::show(&mut host, log_target, title, ask, start);
        attached.leave_within(AT_THE_END);
        drop::<crossbeam_channel::Sender<Infallible>>(stop);
        shown
    });
    shown?;
    if bar::host::Host::is_ending(&host) {
        if attached.answers() {
            tracing::info!("{node} goes on");
        } else {
            tracing::warn!("{node} did not answer");
        }
    } else {
        tracing::info!("{node} has ended");
    }
    Ok(bar::host::Host::exit(&host))
}

/// How long the calls may take that are left when the bar is left.
const AT_THE_END: StdDuration = StdDuration::from_millis(300);

/// Starts the threads that ask the player, until `until` is disconnected.
fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    attached: &'scope Attached<'_>,
    until: &'scope Receiver<Infallible>,
    mark_changes: Receiver<MarkChange>,
    (sink, end, node): (EventSink, End, &'scope str),
) -> anyhow::Result<Lookup> {
    let (lookup, requests) = bounded(WAITING);
    spawn(scope, "attach-commands", move || {
        pass_on_commands(attached, until, node);
    })?;
    spawn(scope, "attach-marks", move || {
        while let Ok(change) = crossbeam_channel::select! {
            recv(mark_changes) -> change => change,
            recv(until) -> _ => mark_changes.try_recv().map_err(|_| RecvError),
        } {
            change_marks(attached, change);
        }
    })?;
    let found = EventSink::clone(&sink);
    spawn(scope, "attach-look-ups", move || {
        look_up(attached, &requests, until, &found);
    })?;
    spawn(scope, "attach-status", move || {
        attached.observe(until, |news| match event(news, node) {
            Some(event) => sink(event),
            None => end.end(),
        });
    })?;
    Ok(Lookup::to(lookup))
}

fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    run: impl FnOnce() + Send + 'scope,
) -> io::Result<()> {
    let thread = Builder::new().name(name.to_owned());
    thread.spawn_scoped(scope, run).map(drop)
}

fn pass_on_commands(attached: &Attached<'_>, until: &Receiver<Infallible>, node: &str) {
    let dropped = Cell::new(0);
    attached.pass_on_commands(until, |error| {
        let is_left = until.try_recv() == Err(TryRecvError::Disconnected);
        let reason = error.to_string();
        let reason = Foreign::text(&reason);
        match error {
            RequestError::Silent | RequestError::TooLate if is_left => {
                dropped.set(dropped.get() + 1);
            }
            RequestError::Call(CallError::NoAnswer(_)) => {
                tracing::warn!("not answered: {reason}; {node} may still do it");
            }
            _ => tracing::warn!("not done: {reason}"),
        }
    });
    if dropped.get() > 0 {
        let dropped = plural(dropped.get(), "command");
        tracing::warn!("{node} did not get the last {dropped}");
    }
}

fn change_marks(attached: &Attached<'_>, change: MarkChange) {
    let client = attached.client();
    let done = match change {
        _ if !attached.answers() => Err(RequestError::Silent),
        MarkChange::Add(Mark { time, name }) => client.add_mark(attached.clock_time(time), &name),
        MarkChange::Remove(time) => client.remove_mark(attached.clock_time(time)),
    };
    if let Err(error) = done {
        let error = error.to_string();
        tracing::warn!("this mark is not saved: {}", Foreign::text(&error));
    }
}

/// What the news mean for the screen; `None`: the player has ended.
fn event(news: News, node: &str) -> Option<Event> {
    Some(match news {
        News::Subscribers(topics, clock) => Event::Subscribers(Subscribers { topics, clock }),
        News::Clock(served) => Event::ClockServed(Foreign::text(&served).to_string()),
        News::Followed { name, stands } => Event::Followed(Followed {
            topic: Foreign::text(&name).to_string(),
            motion: if stands {
                LeadMotion::Stands
            } else {
                LeadMotion::Moves(None)
            },
        }),
        News::Marks(marks) => {
            let marks = marks.into_iter().map(|(time, name)| Mark { time, name });
            Event::Marks(marks.collect())
        }
        News::Silent(reason) => {
            tracing::warn!("{node} does not answer: {}", Foreign::text(&reason));
            Event::Answers(false)
        }
        News::Answers => {
            tracing::info!("{node} answers again");
            Event::Answers(true)
        }
        News::Ended => return None,
    })
}

fn unattached(node: &str, error: &RequestError) -> Failure {
    match error {
        RequestError::NotOffered { .. } => {
            let error = anyhow!(
                "{node} lacks the services that the transport bar needs: it is another player, or an older version; hint: play ctl drives it"
            );
            Failure::new(Exit::Failed, error)
        }
        RequestError::Call(_) => Failure::new(Exit::Timeout, anyhow!("{node}: {error}")),
        _ => {
            let error = error.to_string();
            Failure::new(Exit::Failed, anyhow!("{node}: {}", Foreign::text(&error)))
        }
    }
}
