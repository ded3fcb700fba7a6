//! What came of a run: its record, the checks, the verdicts and the reports.

pub(super) mod checks;
pub(super) mod judges;
pub(super) mod record;
pub(super) mod repetitions;
pub(super) mod reports;
pub(super) mod sent;
