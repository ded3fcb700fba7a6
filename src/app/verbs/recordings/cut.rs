//! `play cut BAG… -o OUT`: a part of recordings as a recording of its own.

use bagplay::cli::{CutArgs, Exit, OutputArgs, cut_plan};

use super::write::{Asked, open, write};
use crate::app::failure::{Failure, OrExit};
use crate::app::log::LogTarget;

/// Opens the recordings, writes the cut and prints what it has.
pub(crate) fn run(
    args: &CutArgs,
    output: &OutputArgs,
    log_target: &LogTarget,
) -> Result<Exit, Failure> {
    let bag = open(&args.bags, "cut", log_target)?;
    let cut = cut_plan(args, &bag).or_exit(Exit::Usage)?;
    let asked = Asked {
        out: &args.out,
        is_strict: args.strict,
        output,
    };
    write(&cut, &bag, &asked, log_target)
}
