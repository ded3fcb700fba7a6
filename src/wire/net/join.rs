//! Joining the network: chooses the role of this process and opens its zenoh sessions. Used by `session.rs`.

use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use zenoh::Wait;

use super::endpoint::{Use, any_port, check, is_loopback};
use super::env::{Environment, RouterCheck};
use super::probe::{answers, has_router, router_listeners};
use super::router::takeover::Successor;
use super::router::{Router, RouterSlot};
use super::zenoh_config::{Role, beside, built_in, from_file, is_router};
use crate::untrusted::Foreign;
use crate::wire::error::WireError;
use crate::wire::event::Events;
use crate::wire::options::{Congestion, WireOptions};

/// How long an endpoint on another host may take to accept a connection.
const REMOTE_PATIENCE: Duration = Duration::from_secs(2);
/// How many files the process must be allowed to open. Zenoh's threads panic when they find none left, some of
/// them only when the first link is made. With a router and a second session of this process, a screen and a
/// log file, about 44 are open besides those of the recording, which take a quarter of the limit. The rest is
/// for five nodes, each linked to all three sessions.
const FILES_NEEDED: u64 = 80;
/// The same for each session that carries messages, with five nodes linked to it.
const FILES_OF_SESSION: u64 = 20;
/// The system chooses the port.
const FREE_PORT: &str = "tcp/127.0.0.1:0";

/// A zenoh session and what is known about it.
pub(crate) struct Joined {
    pub(crate) zenoh: zenoh::Session,
    /// The configuration with which it was opened.
    pub(crate) config: zenoh::Config,
    /// The router of this process, if no other router was there.
    pub(crate) router: RouterSlot,
    /// How to become the router later; `None` if this process must not.
    pub(crate) successor: Option<Successor>,
    pub(crate) target: Target,
    /// Whether an endpoint to link to accepts connections.
    pub(crate) is_answered: bool,
}

/// What a session connects to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// Whatever a configuration says.
    Configured { by: String },
    /// These endpoints, as text for the user.
    Endpoints(String),
}

/// How this session joins the others.
#[derive(Debug)]
enum JoinAs {
    /// Beside a router of this process.
    OwnRouter { listen: Vec<String> },
    /// Beside the router of this host; this process becomes the router if that one has ended.
    Successor(Role),
    /// Anywhere else, without becoming the router.
    Only(Role),
}

/// Opens the session that options and environment describe.
pub(crate) fn join(
    options: &WireOptions,
    environment: &Environment,
    events: &Events,
) -> Result<Joined, WireError> {
    if options.is_isolated {
        return join_alone(options, environment, events);
    }
    for warning in &environment.warnings {
        events.warn(warning.clone());
    }
    for endpoint in &options.connect {
        check(endpoint, Use::Connect)?;
    }
    for endpoint in &options.listen {
        check(endpoint, Use::Listen)?;
    }
    require_files(0)?;
    if let Some((mut config, by)) = configured(options, environment)? {
        for warning in environment.override_in(&mut config) {
            events.warn(warning);
        }
        return open_configured(config, &by, router_patience(options));
    }
    let (role, is_successor) = match choose(options, environment.router_check)? {
        JoinAs::OwnRouter { listen } => {
            match Router::open(
                router_config(&listen, options.stall_timeout, environment)?,
                None,
                router_patience(options),
            ) {
                Ok(router) => return open_beside(router, &listen, options, environment, events),
                // Another process became the router between the check and the listening.
                Err(_)
                    if options.listen.is_empty()
                        && has_router(RouterCheck::Times(1), &local(options)) =>
                {
                    (beside_router(options, true), true)
                }
                Err(error) => return Err(error),
            }
        }
        JoinAs::Successor(role) => (role, true),
        JoinAs::Only(role) => (role, false),
    };
    if let Some(connect) = role.unanswered() {
        let endpoints = connect.join(", ");
        events.warn(format!(
            "no router answers at {endpoints} yet; it is tried again until one does"
        ));
    }
    let (zenoh, config) = open(&role, options, environment, events)?;
    Ok(Joined {
        zenoh,
        config,
        router: RouterSlot::default(),
        successor: is_successor.then(|| successor(options, environment)),
        target: Target::Endpoints(role.endpoints().join(", ")),
        is_answered: role.unanswered().is_none(),
    })
}

/// Fails if the process may not open the files of another wire; `sessions`: those that carry messages already.
pub(super) fn require_files(sessions: u64) -> Result<(), WireError> {
    let needed = FILES_NEEDED + sessions * FILES_OF_SESSION;
    // `None` means no limit.
    let allowed = getrlimit(Resource::Nofile).current;
    match allowed.filter(|allowed| *allowed < needed) {
        Some(allowed) => Err(WireError::OpenFiles { allowed, needed }),
        None => Ok(()),
    }
}

/// Opens a session beside a router of its own on a free loopback port, which connects to nothing else; or
/// beside the isolated router of another process.
fn join_alone(
    options: &WireOptions,
    environment: &Environment,
    events: &Events,
) -> Result<Joined, WireError> {
    let environment = environment.clone().isolated();
    let connect: Vec<String> = options.isolated_router.iter().cloned().collect();
    let listen = if connect.is_empty() {
        vec![FREE_PORT.to_owned()]
    } else {
        Vec::new()
    };
    let alone = WireOptions {
        connect,
        listen,
        config_file: None,
        is_isolated: false,
        ..options.clone()
    };
    join(&alone, &environment, events)
}

/// A configuration from elsewhere, before the overrides, and its origin: a file; or the configuration of
/// `rmw_zenoh` if the overrides set the mode or the endpoints of the session.
fn configured(
    options: &WireOptions,
    environment: &Environment,
) -> Result<Option<(zenoh::Config, String)>, WireError> {
    let (connect, listen) = (&options.connect, &options.listen);
    let file = options.config_file.as_ref();
    if let Some(file) = file.or(environment.config_file.as_ref()) {
        let config = from_file(file, connect, listen, options.stall_timeout)?;
        return Ok(Some((config, Foreign::path(file).to_string())));
    }
    if !environment.places_session() {
        return Ok(None);
    }
    let role = match (connect.is_empty(), listen.is_empty()) {
        (true, true) => beside_router(options, true),
        (true, false) => Role::Router {
            listen: listen.clone(),
        },
        (false, _) => Role::Peer {
            connect: connect.clone(),
            listen: if listen.is_empty() {
                anywhere()
            } else {
                listen.clone()
            },
            is_answered: true,
        },
    };
    let config = built_in(&role, options.stall_timeout)?;
    Ok(Some((config, "ZENOH_CONFIG_OVERRIDE".to_owned())))
}

fn open_configured(
    config: zenoh::Config,
    by: &str,
    patience: Option<Duration>,
) -> Result<Joined, WireError> {
    let (router, config) = if is_router(&config) {
        let router = Router::open(config.clone(), Some(by), patience)?;
        let listen = beside_listeners(router.listen());
        let config = beside(config, &own_endpoint(&router)?, &listen)?;
        (Some(router), config)
    } else {
        (None, config)
    };
    let (zenoh, config) = open_session(config, &format!("configured by {by}"))?;
    Ok(Joined {
        zenoh,
        config,
        router: RouterSlot::new(router),
        successor: None,
        target: Target::Configured { by: by.to_owned() },
        is_answered: true,
    })
}

/// Opens this process's session beside its own router.
fn open_beside(
    router: Router,
    listen: &[String],
    options: &WireOptions,
    environment: &Environment,
    events: &Events,
) -> Result<Joined, WireError> {
    let role = Role::Peer {
        connect: vec![own_endpoint(&router)?],
        listen: beside_listeners(listen),
        is_answered: true,
    };
    let (zenoh, config) = open(&role, options, environment, events)?;
    Ok(Joined {
        zenoh,
        config,
        target: Target::Endpoints(role.endpoints().join(", ")),
        router: RouterSlot::new(Some(router)),
        successor: None,
        is_answered: true,
    })
}

fn own_endpoint(router: &Router) -> Result<String, WireError> {
    router.endpoint().ok_or_else(|| WireError::Open {
        what: "beside a router that listens nowhere".to_owned(),
        source: "it has no address".into(),
    })
}

/// How long a router of this process waits for a client that has no room, if it forwards blocking puts.
fn router_patience(options: &WireOptions) -> Option<Duration> {
    (options.congestion == Congestion::Block).then_some(options.stall_timeout)
}

fn router_config(
    listen: &[String],
    stall_timeout: Duration,
    environment: &Environment,
) -> Result<zenoh::Config, WireError> {
    let listen = listen.to_vec();
    let mut config = built_in(&Role::Router { listen }, stall_timeout)?;
    // The id is for the session, not the router.
    let mut environment = environment.clone();
    environment.overrides.retain(|(key, _)| key != "id");
    // Overrides that cannot be used are reported when the session opens.
    drop(environment.override_in(&mut config));
    Ok(config)
}

/// How this process becomes the router of this host.
fn successor(options: &WireOptions, environment: &Environment) -> Successor {
    let (port, stall_timeout) = (options.router_port, options.stall_timeout);
    let patience = router_patience(options);
    let environment = environment.clone();
    Successor {
        endpoint: local(options),
        open: Box::new(move || {
            let listen = router_listeners(port);
            let config = router_config(&listen, stall_timeout, &environment)?;
            Router::open(config, None, patience)
        }),
    }
}

fn choose(options: &WireOptions, check: RouterCheck) -> Result<JoinAs, WireError> {
    let (connect, listen) = (options.connect.clone(), options.listen.clone());
    if connect.is_empty() {
        let is_there = |check| has_router(check, &local(options));
        return Ok(match (listen.is_empty(), check) {
            (false, _) => JoinAs::OwnRouter { listen },
            (true, RouterCheck::Skip) => {
                JoinAs::Only(beside_router(options, is_there(RouterCheck::Times(1))))
            }
            (true, RouterCheck::Forever) => JoinAs::Only(beside_router(options, is_there(check))),
            (true, RouterCheck::Times(_)) if is_there(check) => {
                JoinAs::Successor(beside_router(options, true))
            }
            (true, RouterCheck::Times(_)) => JoinAs::OwnRouter {
                listen: router_listeners(options.router_port),
            },
        });
    }
    if !listen.is_empty() || connect.iter().all(|endpoint| is_loopback(endpoint)) {
        let is_answered = connect
            .iter()
            .any(|endpoint| answers(endpoint, REMOTE_PATIENCE).is_ok());
        let listen = if listen.is_empty() {
            anywhere()
        } else {
            listen
        };
        return Ok(JoinAs::Only(Role::Peer {
            connect,
            listen,
            is_answered,
        }));
    }
    // A client's session cannot open without its router: give the reason here, which zenoh would not.
    let mut refused = None;
    for endpoint in &connect {
        match answers(endpoint, REMOTE_PATIENCE) {
            Ok(()) => return Ok(JoinAs::Only(Role::Client { connect })),
            Err(source) => {
                refused = Some(WireError::Unreachable {
                    endpoint: endpoint.clone(),
                    source,
                });
            }
        }
    }
    Err(refused.expect("connect is not empty"))
}

fn local(options: &WireOptions) -> String {
    format!("tcp/localhost:{}", options.router_port)
}

/// Nodes on this host find this listener by gossip.
fn anywhere() -> Vec<String> {
    vec!["tcp/localhost:0".to_owned()]
}

/// A peer that can reach the router must be able to reach the session too: a router forwards nothing between two
/// peers.
fn beside_listeners(listen: &[String]) -> Vec<String> {
    let elsewhere = listen.iter().filter(|endpoint| !is_loopback(endpoint));
    let elsewhere = elsewhere.filter_map(|endpoint| any_port(endpoint));
    anywhere().into_iter().chain(elsewhere).collect()
}

fn beside_router(options: &WireOptions, is_answered: bool) -> Role {
    Role::Peer {
        connect: vec![local(options)],
        listen: anywhere(),
        is_answered,
    }
}

fn open(
    role: &Role,
    options: &WireOptions,
    environment: &Environment,
    events: &Events,
) -> Result<(zenoh::Session, zenoh::Config), WireError> {
    let mut config = built_in(role, options.stall_timeout)?;
    for warning in environment.override_in(&mut config) {
        events.warn(warning);
    }
    open_session(config, &role.describe())
}

fn open_session(
    config: zenoh::Config,
    what: &str,
) -> Result<(zenoh::Session, zenoh::Config), WireError> {
    let opened = zenoh::open(config.clone()).wait();
    let zenoh = opened.map_err(|source| WireError::Open {
        what: what.to_owned(),
        source,
    })?;
    Ok((zenoh, config))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join_as(connect: &[&str], listen: &[&str]) -> Result<JoinAs, WireError> {
        let own = |endpoints: &[&str]| {
            endpoints
                .iter()
                .map(|&endpoint| endpoint.to_owned())
                .collect()
        };
        let options = WireOptions {
            connect: own(connect),
            listen: own(listen),
            ..WireOptions::default()
        };
        choose(&options, RouterCheck::Skip)
    }

    #[test]
    fn the_router_of_this_process_has_the_settings_of_its_sessions_except_the_id() {
        let mut environment = Environment::read().unwrap().overtaking();
        let overrides = [("id", "\"a1\""), ("queries_default_timeout", "5")];
        environment.overrides = overrides
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .to_vec();
        let config = router_config(&anywhere(), Duration::from_secs(5), &environment).unwrap();
        let value = |key: &str| config.get_json(key).unwrap();
        assert_eq!(value("transport/link/tcp/so_sndbuf"), "65536");
        assert_eq!(value("queries_default_timeout"), "5");
        assert_eq!(value("id"), "null");
    }

    #[test]
    fn the_role_follows_from_the_endpoints() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        // Reaches this host, but does not look like a loopback address.
        let (here, elsewhere) = (
            format!("tcp/127.0.0.1:{port}"),
            format!("tcp/0.0.0.0:{port}"),
        );
        assert!(matches!(
            join_as(&[], &[&here]),
            Ok(JoinAs::OwnRouter { .. })
        ));
        // With `RouterCheck::Skip` a router is assumed, so this process does not become it.
        assert!(matches!(
            join_as(&[], &[]),
            Ok(JoinAs::Only(Role::Peer { .. }))
        ));
        assert!(matches!(
            join_as(&[&here], &[]),
            Ok(JoinAs::Only(Role::Peer {
                is_answered: true,
                ..
            }))
        ));
        assert!(matches!(
            join_as(&[&elsewhere], &[&here]),
            Ok(JoinAs::Only(Role::Peer { .. }))
        ));
        assert!(matches!(
            join_as(&[&elsewhere], &[]),
            Ok(JoinAs::Only(Role::Client { .. }))
        ));
        drop(taken);
        assert!(matches!(
            join_as(&[&here], &[]),
            Ok(JoinAs::Only(Role::Peer {
                is_answered: false,
                ..
            }))
        ));
        let error = join_as(&[&elsewhere], &[]).unwrap_err();
        assert!(error.to_string().contains(&elsewhere), "{error}");
    }
}
