//! Joining the network: what to be on it, and the zenoh session that is it.

use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use zenoh::Wait;
use zenoh::config::EndPoint;

use super::config::{Role, built_in, from_file, set};
use super::env::{Environment, RouterCheck};
use super::error::WireError;
use super::event::Events;
use super::options::WireOptions;
use super::path::News;
use super::probe::{ROUTER_PORT, answers, has_router, is_loopback, router_listeners};

/// How long somebody elsewhere may take to accept a connection.
const REMOTE_PATIENCE: Duration = Duration::from_secs(2);
/// How many files have to be allowed to be open: zenoh's threads panic where they find none left, some only
/// when the first link comes. With a link, a screen and a log file 30 are open besides those of the recording,
/// which take a quarter; the rest is for six links more.
const FILES_NEEDED: u64 = 48;

/// A zenoh session and what it is.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) zenoh: zenoh::Session,
    pub(super) description: String,
    /// Which changes of its links are worth telling.
    pub(super) news: News,
    /// Nobody can be there yet.
    pub(super) is_alone: bool,
}

/// Opens the session that options and environment ask for.
pub(super) fn join(
    options: &WireOptions,
    environment: &Environment,
    events: &Events,
) -> Result<Joined, WireError> {
    for complaint in &environment.complaints {
        events.warn(complaint.clone());
    }
    for endpoint in options.connect.iter().chain(&options.listen) {
        endpoint
            .parse::<EndPoint>()
            .map_err(|_| WireError::Endpoint(endpoint.clone()))?;
    }
    // None is no limit.
    let allowed = getrlimit(Resource::Nofile).current;
    if let Some(allowed) = allowed.filter(|allowed| *allowed < FILES_NEEDED) {
        return Err(WireError::OpenFiles {
            allowed,
            needed: FILES_NEEDED,
        });
    }
    if let Some(file) = options
        .config_file
        .as_ref()
        .or(environment.config_file.as_ref())
    {
        let config = from_file(
            file,
            &options.connect,
            &options.listen,
            options.stall_timeout,
        )?;
        return open(
            config,
            format!("configured by {}", file.display()),
            environment,
            events,
            News::AllButFirst,
        );
    }
    let role = choose(options, environment.router_check)?;
    match (open_role(&role, options, environment, events), &role) {
        // Somebody else became the router between our look and our listening.
        (Err(_), Role::Router { .. })
            if options.listen.is_empty() && has_router(RouterCheck::Times(1), &local()) =>
        {
            open_role(&beside_router(true), options, environment, events)
        }
        (joined, _) => joined,
    }
}

fn choose(options: &WireOptions, check: RouterCheck) -> Result<Role, WireError> {
    let (connect, listen) = (options.connect.clone(), options.listen.clone());
    if connect.is_empty() {
        return Ok(match (listen.is_empty(), check) {
            (false, _) => Role::Router { listen },
            (true, RouterCheck::Skip) => beside_router(has_router(RouterCheck::Times(1), &local())),
            (true, check) if has_router(check, &local()) => beside_router(true),
            (true, _) => Role::Router {
                listen: router_listeners(ROUTER_PORT),
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
        return Ok(Role::Peer {
            connect,
            listen,
            is_answered,
        });
    }
    // A client's session cannot open without its router: say why before zenoh says less.
    let mut refused = None;
    for endpoint in &connect {
        match answers(endpoint, REMOTE_PATIENCE) {
            Ok(()) => return Ok(Role::Client { connect }),
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

fn local() -> String {
    format!("tcp/localhost:{ROUTER_PORT}")
}

/// Nodes on this host find our listener by gossip.
fn anywhere() -> Vec<String> {
    vec!["tcp/localhost:0".to_owned()]
}

fn beside_router(is_answered: bool) -> Role {
    Role::Peer {
        connect: vec![local()],
        listen: anywhere(),
        is_answered,
    }
}

fn open_role(
    role: &Role,
    options: &WireOptions,
    environment: &Environment,
    events: &Events,
) -> Result<Joined, WireError> {
    let config = built_in(role, options.stall_timeout)?;
    let news = match role {
        Role::Peer {
            connect,
            is_answered: false,
            ..
        } => {
            let who = connect.join(", ");
            events.warn(format!(
                "nobody answers at {who} yet; it is tried again until somebody does"
            ));
            News::All
        }
        _ => News::AllButFirst,
    };
    let mut joined = open(config, role.describe(), environment, events, news)?;
    joined.is_alone = matches!(
        role,
        Role::Router { .. }
            | Role::Peer {
                is_answered: false,
                ..
            }
    );
    Ok(joined)
}

fn open(
    mut config: zenoh::Config,
    description: String,
    environment: &Environment,
    events: &Events,
    news: News,
) -> Result<Joined, WireError> {
    for (key, value) in &environment.overrides {
        // As ROS 2 nodes have it: what cannot be used is told and passed over.
        if let Err(error) = set(&mut config, key, value) {
            events.warn(format!("ZENOH_CONFIG_OVERRIDE: {error}"));
        }
    }
    let is_router = config
        .get_json("mode")
        .is_ok_and(|mode| mode.contains("router"));
    let zenoh = zenoh::open(config).wait();
    let zenoh = zenoh.map_err(|source| WireError::Open {
        what: description.clone(),
        source,
    })?;
    Ok(Joined {
        zenoh,
        description,
        news: if is_router { News::None } else { news },
        is_alone: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(connect: &[&str], listen: &[&str]) -> Result<Role, WireError> {
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
    fn what_we_are_follows_from_where_the_others_are() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        // Reaches this host, and is no loopback address by its looks.
        let (here, elsewhere) = (
            format!("tcp/127.0.0.1:{port}"),
            format!("tcp/0.0.0.0:{port}"),
        );
        assert!(matches!(role(&[], &[&here]), Ok(Role::Router { .. })));
        assert!(matches!(role(&[], &[]), Ok(Role::Peer { .. })));
        assert!(matches!(
            role(&[&here], &[]),
            Ok(Role::Peer {
                is_answered: true,
                ..
            })
        ));
        assert!(matches!(
            role(&[&elsewhere], &[&here]),
            Ok(Role::Peer { .. })
        ));
        assert!(matches!(role(&[&elsewhere], &[]), Ok(Role::Client { .. })));
        drop(taken);
        assert!(matches!(
            role(&[&here], &[]),
            Ok(Role::Peer {
                is_answered: false,
                ..
            })
        ));
        let error = role(&[&elsewhere], &[]).unwrap_err();
        assert!(error.to_string().contains(&elsewhere), "{error}");
    }
}
