//! Systems that stay between cases: what the processes of a suite tell each other about them.
//!
//! `play suite` starts a process that holds a system: it has the isolated router and the program under test. Each case
//! is another process, which joins that network and watches the running program.
//!
//! ```text
//! play suite ──Said◀── holder ── program under test
//!     │                  ║ router
//!     └──Told──▶ play (a case)
//! ```

mod lines;
mod told;

pub use lines::{Lines, write_line};
pub use told::{Held, Over, Said, SystemOfCase, Told};
