//! [`Event`]: what happens while cases run.

use crate::ci::report::RunRecord;

/// Something that happens.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A run begins.
    Started {
        /// The place of its case in the list.
        case: usize,
        /// The number of the repetition, from 1.
        repetition: u32,
    },
    /// A run has ended.
    RunEnded {
        /// The place of its case in the list.
        case: usize,
        /// The number of the repetition, from 1.
        repetition: u32,
    },
    /// All runs of a case have ended.
    CaseEnded {
        /// The place of the case in the list.
        case: usize,
        /// What became of it.
        record: &'a RunRecord,
    },
}
