//! What `play cut` writes.

use std::fs;
use std::path::{Path, PathBuf};

use super::range::part;
use super::select::{SelectError, select};
use crate::bag::{Bag, Selection};
use crate::cli::args::verbs::cut::CutArgs;
use crate::cut::{Cut, CutError, CutForm, Existing, LatchedState};
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
    if let Some(bag) = args.bags.iter().find(|bag| is_inside(&args.out, bag)) {
        return Err(CutPlanError::InsideInput {
            out: args.out.clone(),
            bag: bag.clone(),
        });
    }
    Ok(Cut {
        topics: Selection::of(selected, bag),
        latched: if args.no_latched {
            LatchedState::LeftOut
        } else {
            LatchedState::Added
        },
        form: if args.rosbag2 || args.out.to_string_lossy().ends_with('/') {
            CutForm::Rosbag2
        } else {
            CutForm::File
        },
        existing: if args.force {
            Existing::Replaced
        } else {
            Existing::Kept
        },
        ..Cut::new(bag, range)
    })
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
        CutError::IsInput { .. } => Some("give another name"),
        _ => None,
    }
}
