//! The program under test: started in a process group of its own, watched, and ended with everything that it started.
//!
//! A [`Program`] says what is started, a [`Child`] is the program while it runs, a [`ChildEnd`] says how it was ended.
//!
//! ```no_run
//! use std::time::Duration;
//! use bagplay::ci::child::{Child, Program};
//! use bagplay::ci::isolation::{Earlier, RunFolder};
//!
//! let folder = RunFolder::make("run-1".as_ref(), Earlier::Refuse)?;
//! let program = Program::new(["my_node", "--fast"], &folder);
//! let child = Child::start(&program)?;
//! // … `child.ended()` is ready when the program has ended …
//! let end = child.end(Duration::from_secs(5));
//! for note in end.notes() {
//!     println!("{note}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ending;
mod ends;
mod error;
mod limits;
mod processes;
mod program;
mod registry;
mod running;
mod tail;
mod wall;
mod watched;

pub use ending::{ChildEnd, Orphan};
pub use ends::{ChildExit, How, Meaning, ProcessEnd, ProcessEnds, Whose, signal_name};
pub use error::ChildError;
pub use limits::{Limits, Reached};
pub use processes::list::has_ended;
pub use program::{Claims, Program};
pub use registry::kill_all;
pub use running::Child;
pub use tail::Tail;
