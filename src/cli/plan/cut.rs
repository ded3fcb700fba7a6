//! What `play cut` and `play convert` write.

use std::fs;
use std::path::{Path, PathBuf};

use super::range::part;
use super::select::{SelectError, select};
use crate::bag::{Bag, Selection};
use crate::cli::args::verbs::convert::ConvertArgs;
use crate::cli::args::verbs::cut::CutArgs;
use crate::cut::{CopiedChunks, Cut, CutError, CutForm, Existing, LatchedState, Payloads};
use crate::transcode::Transcoder;
use crate::untrusted::Foreign;

/// A command line of `play cut` that does not fit the recordings.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CutPlanError {
    /// A topic or expression.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// Nothing is selected.
    #[error("nothing to cut: {0}")]
    Empty(String),
    /// No topic is to be converted.
    #[error(
        "nothing to convert: no topic has `ros1` messages; hint: play cut writes recordings as they are"
    )]
    NoRos1,
    /// The cut would be a part of a recording that is cut.
    #[error(
        "--out {} would be a part of the recording {}; hint: give a name in another folder",
        Foreign::path(out),
        Foreign::path(bag)
    )]
    InsideInput {
        /// The target.
        out: PathBuf,
        /// The directory of the recording.
        bag: PathBuf,
    },
}

/// What the arguments select of a bag.
///
/// # Errors
/// They select nothing, or the place is in a directory that is cut.
pub fn cut_plan(args: &CutArgs, bag: &Bag) -> Result<Cut, CutPlanError> {
    let empty = |why: &str| CutPlanError::Empty(why.to_owned());
    let recording = bag.range();
    let recording = recording.ok_or_else(|| empty("the recording has no messages"))?;
    let time = |when: crate::time::When| when.in_range(recording);
    let start = args.start.map_or(recording.start(), time);
    let stop = args.end.map_or(recording.stop(), time);
    let range = part(start, stop, recording).map_err(CutPlanError::Empty)?;
    let selected = select(bag.topics(), &args.selection, &args.kinds)?;
    if selected.is_empty() {
        return Err(empty("no topic is selected"));
    }
    check_place(&args.out, &args.bags)?;
    Ok(Cut {
        topics: Selection::of(selected, bag),
        latched: if args.no_latched {
            LatchedState::LeftOut
        } else {
            LatchedState::Added
        },
        // Whether something is missing is known only of what was read.
        chunks: if args.check || args.strict {
            CopiedChunks::Checked
        } else {
            CopiedChunks::Unchecked
        },
        form: form(&args.out, args.rosbag2),
        existing: existing(args.force),
        ..Cut::new(bag, range)
    })
}

/// Everything in a bag, its ROS 1 messages as ROS 2 messages.
///
/// # Errors
/// There are none, or the place is in a directory that is converted.
pub fn convert_plan(args: &ConvertArgs, bag: &Bag) -> Result<Cut, CutPlanError> {
    let range = bag.range();
    let range = range.ok_or_else(|| CutPlanError::Empty("the recording has no messages".into()))?;
    let mut topics = bag.topics().iter();
    if !topics.any(|topic| Transcoder::for_topic(topic).is_some()) {
        return Err(CutPlanError::NoRos1);
    }
    check_place(&args.out, &args.bags)?;
    Ok(Cut {
        payloads: Payloads::Ros1AsCdr,
        chunks: CopiedChunks::Checked,
        form: form(&args.out, args.rosbag2),
        existing: existing(args.force),
        ..Cut::new(bag, range)
    })
}

fn form(out: &Path, is_rosbag2: bool) -> CutForm {
    if is_rosbag2 {
        CutForm::Rosbag2
    } else {
        CutForm::of(out)
    }
}

fn existing(is_forced: bool) -> Existing {
    if is_forced {
        Existing::Replaced
    } else {
        Existing::Kept
    }
}

fn check_place(out: &Path, bags: &[PathBuf]) -> Result<(), CutPlanError> {
    match bags.iter().find(|bag| is_inside(out, bag)) {
        None => Ok(()),
        Some(bag) => Err(CutPlanError::InsideInput {
            out: out.to_owned(),
            bag: bag.clone(),
        }),
    }
}

/// Whether a file or directory is, or would be, in the directory of a recording, or is that directory.
fn is_inside(out: &Path, bag: &Path) -> bool {
    let folder = out.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
    let out = fs::canonicalize(out);
    let bag = fs::canonicalize(bag).ok().filter(|bag| bag.is_dir());
    bag.is_some_and(|bag| [folder, out].into_iter().flatten().any(|it| it == bag))
}

/// What a user can do about an error.
pub fn cut_hint(error: &CutError) -> Option<&'static str> {
    match error {
        CutError::Exists { .. } => Some("--force replaces it"),
        CutError::IsInput { .. } | CutError::NotReplaceable { .. } => Some("give another name"),
        _ => None,
    }
}
