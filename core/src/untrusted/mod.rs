//! Untrusted text: read under limits, escaped before it is shown.

mod file_name;
mod foreign;
mod text_file;
#[doc(hidden)]
pub mod yaml;

pub use file_name::FileName;
pub(crate) use foreign::CombiningRun;
pub use foreign::Foreign;
pub use text_file::open_file;
pub use text_file::{read_start, read_text};
pub use yaml::YamlError;
