//! Writes the reports of runs, copies the recording, and prints the verdict.

use std::cell::Cell;
use std::time::Instant;

use bagplay::ci::isolation::RunFolder;
use bagplay::ci::report::{Check, Kind, Outcome, RunRecord, Verdict, to_text};
use bagplay::cli::{Exit, Format, OutputArgs, PlayArgs};

use crate::app::failure::{Failure, OrExit};
use crate::app::log::stdout;
use crate::app::reports::{ReportTargets, Target};

/// The file name of the recording with inputs and outputs.
pub(in crate::app::run::ci) const WITH_INPUTS: &str = "with-inputs.mcap";

/// Where the results of a run go.
#[derive(Debug)]
pub(in crate::app::run::ci) struct Results {
    reports: ReportTargets,
    recording: Option<Target>,
    is_begun: Cell<bool>,
}

impl Results {
    /// Those that were asked for. What cannot be written is known before anything is started.
    pub(in crate::app::run::ci) fn of(args: &PlayArgs) -> Result<Self, Failure> {
        let recording = args.ci.record.as_ref();
        let recording = recording.map(|file| Target::new("--record", file));
        Ok(Self {
            reports: ReportTargets::of_run(&args.ci)?,
            recording: recording.transpose()?,
            is_begun: Cell::new(false),
        })
    }

    /// Removes the results of an earlier run from where those of this one will be. Called again it does nothing.
    ///
    /// # Errors
    /// Names the file that cannot be removed.
    pub(in crate::app::run::ci) fn remove_earlier(&self) -> Result<(), Failure> {
        if self.is_begun.replace(true) {
            return Ok(());
        }
        if let Some(recording) = &self.recording {
            recording.remove_earlier().or_exit(Exit::Usage)?;
        }
        self.reports.remove_earlier()
    }

    /// Copies the recording to where it was asked for. An error is one of the run. After `until`, the reader of a pipe
    /// may take nothing for a second at most.
    pub(in crate::app::run::ci) fn copy(
        &self,
        args: &PlayArgs,
        folder: &RunFolder,
        (record, until): (&mut RunRecord, Option<Instant>),
    ) {
        let Some(target) = &self.recording else {
            return;
        };
        let source = first_recording(args, folder);
        // A run that could not begin has none.
        if !source.exists() {
            return;
        }
        if let Err(error) = target.copy(&source, until) {
            let (name, why) = (
                "the recording of the outputs is copied",
                format!("{error:#}"),
            );
            let check = Check::new(Kind::Run, name, Verdict::Error, why);
            record.checks.push(check);
            record.exit_code = Outcome::of(record).exit_code;
        }
    }

    /// Writes the reports. After `until`, the reader of a pipe may take nothing for a second at most.
    ///
    /// # Errors
    /// The first one that failed; the others have been written.
    pub(in crate::app::run::ci) fn report(
        &self,
        record: &RunRecord,
        until: Option<Instant>,
    ) -> Result<(), Failure> {
        self.reports
            .write(std::slice::from_ref(record), record, until)
    }

    /// Writes the reports as [`Self::report`], and prints the verdict.
    ///
    /// # Errors
    /// The first one that failed; the others have been written.
    pub(in crate::app::run::ci) fn write(
        &self,
        output: &OutputArgs,
        record: &RunRecord,
        until: Option<Instant>,
    ) -> Result<(), Failure> {
        let records = std::slice::from_ref(record);
        let written = self.report(record, until);
        match output.format {
            Format::Json => stdout::json(record)?,
            Format::Text => {
                for line in to_text(records).lines() {
                    tracing::info!("{line}");
                }
            }
        }
        written
    }
}

/// The recording of the only run, or of the first one.
fn first_recording(args: &PlayArgs, folder: &RunFolder) -> std::path::PathBuf {
    let name = if args.ci.record_inputs {
        WITH_INPUTS
    } else {
        "outputs.mcap"
    };
    if args.ci.repeat.get() > 1 {
        folder.file("run-1").join(name)
    } else {
        folder.file(name)
    }
}
