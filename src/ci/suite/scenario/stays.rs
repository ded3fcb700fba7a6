//! [`check_stay`]: what a case with a system that stays must have, and must not have.

use super::case::Case;

/// A system that stays is reached over the router of its own network.
pub(super) fn check_stay(case: &Case) -> Result<(), String> {
    if !case.stays {
        if case.reset.is_empty() {
            return Ok(());
        }
        return Err("`reset` needs `restart = \"never\"`: a program that is started for each case needs no reset".into());
    }
    if case.command.is_empty() {
        return Err("`restart = \"never\"` needs a `command`".into());
    }
    let flags = ["cgroup", "connect", "listen", "pid", "zenoh-config"];
    if let Some(name) = flags.iter().find(|name| case.has(name)) {
        return Err(format!(
            "`restart = \"never\"` and `{name}` exclude each other: the system has a network of its own"
        ));
    }
    if case.off.contains("isolated") {
        return Err("`restart = \"never\"` and `isolated = false` exclude each other: the system has a network of its own".into());
    }
    Ok(())
}
