//! Runs at the speed of the programs under test: when these have settled.

mod model;
#[cfg(all(target_os = "linux", feature = "wire"))]
mod over_zenoh;
#[cfg(target_os = "linux")]
mod programs;
mod report;
#[cfg(target_os = "linux")]
mod set;
#[cfg(target_os = "linux")]
mod settle;
mod suite;

#[cfg(not(target_os = "linux"))]
#[test]
fn elsewhere_threads_cannot_be_looked_at() {
    use bagplay::ci::settle::{LookError, Processes, Settler};
    let refused = Settler::new(Processes::Tree(Vec::new()), None);
    assert!(matches!(refused, Err(LookError::Unsupported)));
}
