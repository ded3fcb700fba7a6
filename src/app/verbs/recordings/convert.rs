//! `play convert BAG… -o OUT`: recordings of ROS 1 as a recording of ROS 2.

use bagplay::cli::{ConvertArgs, Exit, OutputArgs, convert_plan};

use super::write::{Asked, open, write};
use crate::app::failure::{Failure, OrExit};
use crate::app::log::LogTarget;

/// Opens the recordings, writes the converted one and prints what it has.
pub(crate) fn run(
    args: &ConvertArgs,
    output: &OutputArgs,
    log_target: &LogTarget,
) -> Result<Exit, Failure> {
    let bag = open(&args.bags, "convert", log_target)?;
    let cut = convert_plan(args, &bag).or_exit(Exit::Usage)?;
    let asked = Asked {
        out: &args.out,
        is_strict: args.strict,
        output,
    };
    write(&cut, &bag, &asked, log_target)
}
