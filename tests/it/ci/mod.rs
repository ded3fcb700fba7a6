//! Runs against programs under test: at their speed, when these have settled, and with everything that they publish.

#[cfg(target_os = "linux")]
mod adopted;
#[cfg(target_os = "linux")]
mod child;
mod drive;
mod expect;
mod golden;
mod golden_property;
mod golden_update;
mod in_process;
#[cfg(all(target_os = "linux", feature = "wire"))]
mod isolated;
#[cfg(target_os = "linux")]
mod lockstep;
mod model;
#[cfg(feature = "wire")]
mod outputs;
#[cfg(all(target_os = "linux", feature = "wire"))]
mod over_zenoh;
mod payload_pairs;
#[cfg(target_os = "linux")]
mod process_ends;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(target_os = "linux")]
mod recorder;
mod repeat;
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
    let refused = Settler::new(Processes::Tree(Vec::new()), &[]);
    assert!(matches!(refused, Err(LookError::Unsupported)));
}
