//! The watched fields between two runs.

use bagplay::tui::{Model, SavedPin};

use super::state_file;

const FILE: &str = "watched.json";
/// The most fields that are saved; the oldest are left out.
const MOST: usize = 200;

/// The saved fields.
pub(crate) fn load() -> Vec<SavedPin> {
    state_file::load(FILE)
}

/// Saves what the model watches, and keeps what was saved for other recordings.
pub(crate) fn save(model: &Model) {
    state_file::update(FILE, |saved: &mut Vec<SavedPin>| {
        *saved = model.pins_to_save(saved);
        saved.drain(..saved.len().saturating_sub(MOST));
    });
}
