//! [`Isolation`]: the environment of a program that hears only its own run.
//!
//! The run has a router of its own, on a free loopback port. The program gets the address of that router, and settings
//! by which it looks nowhere else: `rmw_zenoh_cpp` reads `ZENOH_CONFIG_OVERRIDE` (`key=value;key=value`, values in
//! JSON5), and a program without ROS reads `BAGPLAY_ENDPOINT`.

use std::ffi::OsString;
use std::sync::atomic::{AtomicU32, Ordering};

use super::run_folder::RunFolder;

const OVERRIDE: &str = "ZENOH_CONFIG_OVERRIDE";
/// Without this, zenoh may hold a small message back for a millisecond, while no thread of the program runs: it would
/// look as if the program had settled.
const AT_ONCE: &str = "transport/link/tx/queue/batching/enabled=false";
/// Domains whose ports are free on every system. Domain 0 is that of programs without a domain of their own.
const DOMAINS: u32 = 101;

/// What keeps a run apart from others on the network.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Isolation {
    domain_id: u32,
}

impl Default for Isolation {
    fn default() -> Self {
        Self::new()
    }
}

impl Isolation {
    /// With a ROS domain from 1 to 101: another one than the last ones of this process. Runs of other processes may
    /// have the same; what separates runs is the router, a domain only helps programs that do not use it.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let number = std::process::id().wrapping_mul(37).wrapping_add(number);
        Self::in_domain(1 + number % DOMAINS)
    }

    /// In this ROS domain.
    pub const fn in_domain(domain_id: u32) -> Self {
        Self { domain_id }
    }

    /// The ROS domain.
    pub const fn domain_id(self) -> u32 {
        self.domain_id
    }

    /// The options of the session that plays: beside a router of its own, which [`Session::router_endpoint`] names.
    ///
    /// [`Session::router_endpoint`]: crate::wire::Session::router_endpoint
    #[cfg(feature = "wire")]
    pub fn wire_options(self, options: crate::wire::WireOptions) -> crate::wire::WireOptions {
        crate::wire::WireOptions {
            domain_id: Some(self.domain_id),
            is_isolated: true,
            ..options
        }
    }

    /// Variables for the program, beside those of this process: `endpoint` is that of the router, as in
    /// `tcp/127.0.0.1:40123`. What this process has in `ZENOH_CONFIG_OVERRIDE` is kept as far as it does not lead
    /// elsewhere.
    pub fn environment(self, endpoint: &str, folder: &RunFolder) -> Vec<(OsString, OsString)> {
        let inherited = std::env::var(OVERRIDE).unwrap_or_default();
        let pairs: [(&str, OsString); 8] = [
            ("RMW_IMPLEMENTATION", "rmw_zenoh_cpp".into()),
            (OVERRIDE, overrides(endpoint, &inherited).into()),
            ("ROS_DOMAIN_ID", self.domain_id.to_string().into()),
            ("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST".into()),
            ("ROS_STATIC_PEERS", OsString::new()),
            ("ROS_LOG_DIR", folder.ros_log().into()),
            ("BAGPLAY_ENDPOINT", endpoint.into()),
            ("BAGPLAY_RUN_DIR", folder.path().into()),
        ];
        let pairs = pairs.into_iter();
        pairs.map(|(name, value)| (name.into(), value)).collect()
    }
}

/// The variable for a program that is not isolated and whose threads are looked at: it sends each message at once. What
/// this process has in `ZENOH_CONFIG_OVERRIDE` is kept.
pub fn sending_at_once() -> (OsString, OsString) {
    let inherited = std::env::var(OVERRIDE).unwrap_or_default();
    let kept = Some(inherited.as_str()).filter(|inherited| !inherited.trim().is_empty());
    let pairs: Vec<&str> = [AT_ONCE].into_iter().chain(kept).collect();
    (OVERRIDE.into(), pairs.join(";").into())
}

/// The overrides for a program, followed by those of `inherited` that do not place its session.
fn overrides(endpoint: &str, inherited: &str) -> String {
    let own = [
        AT_ONCE.to_owned(),
        "mode=\"peer\"".to_owned(),
        format!("connect/endpoints=[{endpoint:?}]"),
        "listen/endpoints=[\"tcp/localhost:0\"]".to_owned(),
        "scouting/multicast/enabled=false".to_owned(),
    ];
    let kept = inherited.split(';').map(str::trim).filter(|pair| {
        let key = pair.split('=').next().unwrap_or_default().trim();
        !pair.is_empty() && !places_session(key)
    });
    let pairs: Vec<String> = own.into_iter().chain(kept.map(str::to_owned)).collect();
    pairs.join(";")
}

/// Whether a setting of zenoh says where a session looks for others, or which one it is.
fn places_session(key: &str) -> bool {
    let mut parts = key.split('/');
    matches!(
        parts.next(),
        Some("mode" | "connect" | "listen" | "scouting" | "id")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ci::isolation::run_folder::Earlier;

    #[test]
    fn overrides_that_lead_elsewhere_are_left_out() {
        let own = "transport/link/tx/queue/batching/enabled=false;mode=\"peer\";connect/endpoints=[\"tcp/127.0.0.1:5\"];listen/endpoints=[\"tcp/localhost:0\"];scouting/multicast/enabled=false";
        for (inherited, kept) in [
            ("", ""),
            (";; ", ""),
            ("mode=\"client\";connect/endpoints=[\"tcp/robot:7447\"]", ""),
            (
                "scouting={multicast:{enabled:true}}; listen = {endpoints:[]};id=\"ab\"",
                "",
            ),
            (
                " transport/shared_memory/enabled=true;listener=1",
                ";transport/shared_memory/enabled=true;listener=1",
            ),
        ] {
            assert_eq!(
                overrides("tcp/127.0.0.1:5", inherited),
                format!("{own}{kept}")
            );
        }
    }

    #[test]
    fn runs_of_a_process_have_domains_of_their_own() {
        let domains = [(); 8].map(|()| Isolation::new().domain_id());
        let mut different = domains.to_vec();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), domains.len());
        assert!(domains.iter().all(|domain| (1..=101).contains(domain)));
    }

    #[test]
    fn the_environment_leads_to_the_router_and_the_folder() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::make(root.path(), Earlier::Refuse).unwrap();
        let all = Isolation::in_domain(7).environment("tcp/127.0.0.1:5", &folder);
        let value = |name: &str| {
            let pair = all.iter().find(|(other, _)| other == name);
            pair.unwrap().1.to_str().unwrap().to_owned()
        };
        assert_eq!(value("RMW_IMPLEMENTATION"), "rmw_zenoh_cpp");
        assert_eq!(value("ROS_DOMAIN_ID"), "7");
        assert_eq!(value("BAGPLAY_ENDPOINT"), "tcp/127.0.0.1:5");
        assert_eq!(value("BAGPLAY_RUN_DIR"), folder.path().to_str().unwrap());
        assert!(value("ROS_LOG_DIR").starts_with(folder.path().to_str().unwrap()));
        assert!(value(OVERRIDE).contains("[\"tcp/127.0.0.1:5\"]"));
    }
}
