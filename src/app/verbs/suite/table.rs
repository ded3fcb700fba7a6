//! [`Table`]: the runs of a suite while they run: on a terminal one line for each that runs, and everywhere one line of
//! the log for each case that has ended.

use std::collections::BTreeMap;
use std::time::Duration;

use bagplay::ci::report::{Kind, Outcome, Overall, RunRecord};
use bagplay::ci::suite::Event;
use bagplay::ci::suite::scenario::Case;
use bagplay::untrusted::Foreign;
use indicatif::{ProgressBar, ProgressStyle};

use crate::app::log::LogTarget;

const TICK: Duration = Duration::from_millis(250);
/// The longest name that is shown, in characters.
const LONGEST: usize = 60;

/// Shows what runs.
#[derive(Debug)]
pub(super) struct Table<'a> {
    cases: &'a [&'a Case],
    log_target: &'a LogTarget,
    /// Whether references are written, which is said of each case.
    makes_golden: bool,
    /// By case and repetition.
    rows: BTreeMap<(usize, u32), ProgressBar>,
    total: Option<ProgressBar>,
    ended: usize,
    failed: usize,
}

impl<'a> Table<'a> {
    pub(super) fn new(
        log_target: &'a LogTarget,
        cases: &'a [&'a Case],
        makes_golden: bool,
    ) -> Self {
        let total = log_target.is_drawn.then(|| {
            let style = ProgressStyle::with_template(
                "[{elapsed_precise}] [{bar:20}] {pos} of {len} cases{msg}",
            );
            let style = style.expect("the template is valid").progress_chars("━╸─");
            let bar = log_target
                .bars
                .add(ProgressBar::new(cases.len() as u64).with_style(style));
            bar.enable_steady_tick(TICK);
            bar
        });
        Self {
            cases,
            log_target,
            makes_golden,
            rows: BTreeMap::new(),
            total,
            ended: 0,
            failed: 0,
        }
    }

    pub(super) fn show(&mut self, event: Event<'_>) {
        match event {
            Event::Started { case, repetition } => self.start(case, repetition),
            Event::RunEnded { case, repetition } => {
                if let Some(row) = self.rows.remove(&(case, repetition)) {
                    row.finish_and_clear();
                    self.log_target.bars.remove(&row);
                }
            }
            Event::CaseEnded { record, .. } => self.end(record),
        }
    }

    pub(super) fn finish(self) {
        for bar in self.rows.into_values().chain(self.total) {
            bar.finish_and_clear();
        }
    }

    fn start(&mut self, case: usize, repetition: u32) {
        let Some(total) = &self.total else {
            return;
        };
        let style = ProgressStyle::with_template("{spinner} {elapsed:>4} {wide_msg}")
            .expect("the template is valid");
        let row = ProgressBar::new_spinner().with_style(style);
        let row = self.log_target.bars.insert_before(total, row);
        let name = Foreign::text(&self.cases[case].name)
            .at_most(LONGEST)
            .to_string();
        row.set_message(if repetition > 1 {
            format!("{name} #{repetition}")
        } else {
            name
        });
        row.enable_steady_tick(TICK);
        self.rows.insert((case, repetition), row);
    }

    fn end(&mut self, record: &RunRecord) {
        self.ended += 1;
        let outcome = Outcome::of(record);
        let name = Foreign::text(&record.name).at_most(LONGEST);
        let width = self.cases.len().to_string().len();
        let (ended, of, secs) = (self.ended, self.cases.len(), record.took_ms / 1e3);
        let line = format!(
            "[{ended:>width$}/{of}] {:<11} {secs:>7.1} s  {name}",
            outcome.overall.word()
        );
        if outcome.overall == Overall::Passed {
            let golden = record
                .checks
                .iter()
                .find(|check| check.kind == Kind::Golden);
            let said = golden.filter(|_| self.makes_golden);
            let said = said.map_or_else(String::new, |it| format!(": {}", it.reason));
            tracing::info!("{line}{said}");
        } else {
            self.failed += 1;
            tracing::warn!("{line}: {}", outcome.sentence);
        }
        if let Some(total) = &self.total {
            total.inc(1);
            if self.failed > 0 {
                total.set_message(format!(", {} not passed", self.failed));
            }
        }
    }
}
