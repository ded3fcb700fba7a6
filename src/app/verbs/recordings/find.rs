//! `play find BAG… EXPR…`: searches recordings for messages by conditions on their fields.

use bagplay::bag::{Bag, Direction, MessageOrder};
use bagplay::cli::{
    Exit, FindArgs, FindEnd, FindReport, Format, OutputArgs, count, find_range, plural,
};
use bagplay::find::{Conditions, FindError, Found, Search, SearchProgress};
use bagplay::time::TimeRange;
use crossbeam_channel::Receiver;
use jiff::tz::TimeZone;

use crate::app::failure::{Failure, OrExit};
use crate::app::headless::slow_work::SlowWork;
use crate::app::log::LogTarget;
use crate::app::log::stdout::{self, Lines};
use crate::app::run::open_bag;
use crate::app::signals;

/// The progress bar.
const BAR: &str = "searching [{bar:20}] {percent} %  {msg}";
/// The length of the bar: progress is a share.
const BAR_LENGTH: u64 = 1000;
/// More topics than these are only counted.
const MOST_LEFT_OUT: usize = 8;
/// How many bytes of results are written together, at least; fewer before a chunk is opened.
const WRITTEN_TOGETHER: usize = 64 << 10;

/// Runs the command. The exit code tells whether something was found.
pub(crate) fn run(
    args: &FindArgs,
    output: &OutputArgs,
    log_target: &LogTarget,
) -> Result<Exit, Failure> {
    let signals = signals::listen().or_exit(Exit::Failed)?;
    let bag = open_bag::open(&args.bags, MessageOrder::Received, log_target)?;
    let conditions = Conditions::new(bag.topics(), &args.expressions);
    let conditions = conditions.map_err(|error| Failure::new(exit_of(&error), error))?;
    let left_out = conditions.left_out();
    for one in left_out.iter().take(MOST_LEFT_OUT) {
        tracing::warn!("left out {one}");
    }
    if let Some(more @ 1..) = left_out.len().checked_sub(MOST_LEFT_OUT) {
        tracing::warn!("left out {} more", count(more as u64));
    }
    let range = match bag.range() {
        Some(recording) => find_range(args, recording).or_exit(Exit::Usage)?,
        None => TimeRange::ALL,
    };
    let report = FindReport::new(&bag, &conditions, TimeZone::system());
    let finder = Finder {
        args,
        format: output.format,
        log_target,
        signals,
        report,
        lines: Lines::default(),
    };
    finder.run(&bag, conditions, range)
}

/// A recording with messages that cannot be decoded is in the way, not the command line.
fn exit_of(error: &FindError) -> Exit {
    match error {
        FindError::Undecodable { .. } => Exit::Recording,
        _ => Exit::Usage,
    }
}

struct Finder<'a> {
    args: &'a FindArgs,
    format: Format,
    log_target: &'a LogTarget,
    signals: Receiver<Exit>,
    report: FindReport<'a>,
    lines: Lines,
}

impl Finder<'_> {
    fn run(mut self, bag: &Bag, conditions: Conditions, range: TimeRange) -> Result<Exit, Failure> {
        let mut search = Search::new(bag, conditions, range, Direction::Forward);
        let work = SlowWork::begin(self.log_target, BAR);
        let mut interrupted = None;
        let mut failed = Ok(());
        let ended = loop {
            let found = search.next_while(|progress| {
                self.show(&work, progress);
                interrupted = interrupted.or(self.signals.try_recv().ok());
                // A reader of the results gets them before the search goes on.
                failed = self.write(&work);
                interrupted.is_none() && failed.is_ok()
            });
            failed?;
            failed = Ok(());
            match found {
                _ if interrupted.is_some() => break FindEnd::Interrupted,
                None => break FindEnd::End,
                Some(found) => self.take(found)?,
            }
            if self.args.limit == Some(self.report.hits()) {
                break FindEnd::Limit;
            }
            if self.lines.bytes() >= WRITTEN_TOGETHER {
                self.write(&work)?;
            }
        };
        let messages = search.progress().messages;
        self.write(&work)?;
        drop(work);
        self.finish(messages, ended)?;
        Ok(interrupted.unwrap_or_else(|| self.exit()))
    }

    fn take(&mut self, found: Found) -> Result<(), Failure> {
        match found {
            Found::Damage(damage) => self.report.take_damage(&damage),
            Found::Unreadable(message) => self.report.take_unreadable(message),
            Found::Hit(hit) => {
                self.report.count_hit();
                match self.format {
                    _ if self.args.count => {}
                    Format::Text => self.lines.page(&self.report.line(&hit)),
                    Format::Json => self.lines.json(&self.report.json(&hit))?,
                }
            }
        }
        Ok(())
    }

    fn show(&self, work: &SlowWork<'_>, progress: SearchProgress) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share is between 0 and 1"
        )]
        let done = (progress.share * BAR_LENGTH as f64) as u64;
        let hits = || plural(self.report.hits(), "hit");
        work.show(done, BAR_LENGTH, hits, || format!("searching, {}", hits()));
    }

    fn write(&mut self, work: &SlowWork<'_>) -> Result<(), Failure> {
        if self.lines.bytes() == 0 {
            return Ok(());
        }
        // Results and the bar may be on the same terminal.
        work.hide();
        self.lines.write()
    }

    /// Writes the totals, and reports what could not be read.
    fn finish(&self, messages: u64, ended: FindEnd) -> Result<(), Failure> {
        for finding in self.report.damage().list() {
            tracing::warn!("{finding}");
        }
        for warning in self.report.warnings() {
            tracing::warn!("{warning}");
        }
        tracing::info!("{}", self.report.summary(messages, ended));
        match self.format {
            Format::Json => stdout::json(&self.report.totals(messages, ended)),
            Format::Text if self.args.count => stdout::page(&self.report.hits().to_string()),
            Format::Text => Ok(()),
        }
    }

    /// Nothing is only found to be missing if everything could be read.
    fn exit(&self) -> Exit {
        let report = &self.report;
        if report.damage().has_defect() {
            Exit::Failed
        } else if report.hits() > 0 {
            Exit::Done
        } else if report.is_sound() {
            Exit::Verdict
        } else {
            Exit::Recording
        }
    }
}
