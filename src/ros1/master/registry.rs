//! [`Registry`]: the nodes, topics and services that are registered with a master, as a value. It tells whom the master
//! has to call after each change ([`Notice`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use dxr::Value;

use crate::ros1::rpc::server::texts;

/// The most registrations, and the most topics whose types are known.
const MOST: usize = 20_000;
/// The longest name of a node, topic, type or service, and the longest address, in bytes.
const LONGEST: usize = 1024;
/// The type of a topic whose type is not known yet.
const ANY_TYPE: &str = "*";

/// A call that the master has to make.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Notice {
    /// The address of the node, as it was registered.
    pub(super) uri: String,
    pub(super) method: &'static str,
    /// Shared by the notices of one change.
    pub(super) params: Arc<[Value]>,
}

/// What a node registers for a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Role {
    Publisher,
    Subscriber,
    /// One that is told of changes of a parameter.
    ParamSubscriber,
}

/// Registrations: for each name the nodes, in the order in which they came.
type Registrations = BTreeMap<String, Vec<String>>;

/// Everything that is registered.
#[derive(Debug, Default)]
pub(super) struct Registry {
    /// The addresses of nodes by their names.
    nodes: BTreeMap<String, String>,
    roles: BTreeMap<Role, Registrations>,
    /// How many registrations `roles` has.
    in_roles: usize,
    /// Services: the node and the address of the service.
    services: BTreeMap<String, (String, String)>,
    types: BTreeMap<String, String>,
}

impl Registry {
    fn names(&self, role: Role) -> impl Iterator<Item = (&String, &Vec<String>)> {
        self.roles.get(&role).into_iter().flatten()
    }

    /// The addresses of the nodes that are registered for a name.
    pub(super) fn uris(&self, role: Role, name: &str) -> Vec<&str> {
        let nodes = self.roles.get(&role).and_then(|names| names.get(name));
        let nodes = nodes.into_iter().flatten();
        nodes.filter_map(|node| self.uri(node)).collect()
    }

    /// The address of a node.
    pub(super) fn uri(&self, node: &str) -> Option<&str> {
        self.nodes.get(node).map(String::as_str)
    }

    /// The address of a service.
    pub(super) fn service(&self, name: &str) -> Option<&str> {
        self.services.get(name).map(|(_, uri)| uri.as_str())
    }

    fn count(&self) -> usize {
        self.nodes.len() + self.services.len() + self.in_roles
    }

    /// Registers a node for a name. A node of the same name at another address is told to end. The error is why
    /// nothing is registered.
    pub(super) fn register(
        &mut self,
        role: Role,
        name: &str,
        (node, uri): (&str, &str),
    ) -> Result<Vec<Notice>, &'static str> {
        check_length(name)?;
        let mut notices = self.join(node, uri)?;
        let names = self.roles.entry(role).or_default();
        let nodes = names.entry(name.to_owned()).or_default();
        if !nodes.iter().any(|other| other == node) {
            nodes.push(node.to_owned());
            self.in_roles += 1;
        }
        if role == Role::Publisher {
            notices.extend(self.publisher_updates(name));
        }
        Ok(notices)
    }

    /// Removes a registration; returns whether there was one.
    pub(super) fn unregister(
        &mut self,
        role: Role,
        name: &str,
        (node, uri): (&str, &str),
    ) -> (bool, Vec<Notice>) {
        // A node that was replaced by another of its name has nothing to say.
        if self.uri(node) != Some(uri) {
            return (false, Vec::new());
        }
        let Some(names) = self.roles.get_mut(&role) else {
            return (false, Vec::new());
        };
        let Some(nodes) = names.get_mut(name) else {
            return (false, Vec::new());
        };
        let before = nodes.len();
        nodes.retain(|other| other != node);
        let is_removed = nodes.len() < before;
        self.in_roles -= usize::from(is_removed);
        if nodes.is_empty() {
            names.remove(name);
        }
        let notices = if is_removed && role == Role::Publisher {
            self.publisher_updates(name)
        } else {
            Vec::new()
        };
        self.forget_if_idle(node);
        (is_removed, notices)
    }

    /// Registers a service.
    pub(super) fn register_service(
        &mut self,
        name: &str,
        service_uri: &str,
        (node, uri): (&str, &str),
    ) -> Result<Vec<Notice>, &'static str> {
        check_length(name)?;
        check_length(service_uri)?;
        let notices = self.join(node, uri)?;
        let service = (node.to_owned(), service_uri.to_owned());
        self.services.insert(name.to_owned(), service);
        Ok(notices)
    }

    /// Removes a service, if it is registered with this address.
    pub(super) fn unregister_service(&mut self, name: &str, node: &str, service_uri: &str) -> bool {
        let is_it = |(_, uri): &(String, String)| uri == service_uri;
        let is_removed = self.services.get(name).is_some_and(is_it);
        if is_removed {
            self.services.remove(name);
        }
        self.forget_if_idle(node);
        is_removed
    }

    /// Learns the type of a topic. The first publisher knows best; subscribers may take any type.
    pub(super) fn learn_type(&mut self, topic: &str, type_name: &str, role: Role) {
        let known = self.types.get(topic).map(String::as_str);
        let is_known = known.is_some_and(|known| known != ANY_TYPE);
        let is_better = if type_name == ANY_TYPE {
            known.is_none() && role == Role::Publisher
        } else {
            role == Role::Publisher || !is_known
        };
        if !is_better || type_name.len() > LONGEST {
            return;
        }
        if self.types.len() >= MOST && known.is_none() {
            let roles = &self.roles;
            let is_used = |topic: &String| roles.values().any(|names| names.contains_key(topic));
            self.types.retain(|topic, _| is_used(topic));
        }
        if self.types.len() < MOST || self.types.contains_key(topic) {
            self.types.insert(topic.to_owned(), type_name.to_owned());
        }
    }

    /// Makes a node known.
    fn join(&mut self, node: &str, uri: &str) -> Result<Vec<Notice>, &'static str> {
        check_length(node)?;
        check_length(uri)?;
        if self.count() >= MOST {
            return Err("this master has too many registrations");
        }
        let before = self.nodes.insert(node.to_owned(), uri.to_owned());
        let Some(before) = before.filter(|before| before != uri) else {
            return Ok(Vec::new());
        };
        let mut notices = Vec::new();
        // Its registrations end with it.
        let mut published = Vec::new();
        for (role, names) in &mut self.roles {
            for (name, nodes) in names.iter_mut() {
                let count = nodes.len();
                nodes.retain(|other| other != node);
                let is_removed = nodes.len() < count;
                self.in_roles -= usize::from(is_removed);
                if is_removed && *role == Role::Publisher {
                    published.push(name.clone());
                }
            }
            names.retain(|_, nodes| !nodes.is_empty());
        }
        self.services.retain(|_, (other, _)| other != node);
        for topic in published {
            notices.extend(self.publisher_updates(&topic));
        }
        let reason = format!("[{node}] Reason: new node registered with same name");
        notices.push(Notice {
            uri: before,
            method: "shutdown",
            params: [text("/master"), Value::String(reason)].into(),
        });
        Ok(notices)
    }

    /// Forgets a node that has no registration left.
    fn forget_if_idle(&mut self, node: &str) {
        let is = |other: &String| other == node;
        let mut registered = self.roles.values().flat_map(BTreeMap::values).flatten();
        let has_service = self.services.values().any(|(other, _)| is(other));
        if !has_service && !registered.any(is) {
            self.nodes.remove(node);
        }
    }

    /// All subscribers of a topic are told its publishers.
    fn publisher_updates(&self, topic: &str) -> Vec<Notice> {
        let subscribers = self.uris(Role::Subscriber, topic).into_iter();
        let publishers = texts(self.uris(Role::Publisher, topic));
        let params: Arc<[Value]> = [text("/master"), text(topic), publishers].into();
        let notice = |uri: &str| Notice {
            uri: uri.to_owned(),
            method: "publisherUpdate",
            params: Arc::clone(&params),
        };
        subscribers.map(notice).collect()
    }

    /// Those that are to be told of a changed parameter: subscribers of it, of namespaces around it, and of what is in
    /// it. `value` gives the value of the name of a subscription.
    pub(super) fn param_updates<'a>(
        &'a self,
        changed: &'a str,
        value: impl Fn(&str) -> Value,
    ) -> Vec<Notice> {
        let below = |name: &str, of: &str| {
            let rest = name.strip_prefix(of.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut notices = Vec::new();
        let mut params_of: BTreeMap<&str, Arc<[Value]>> = BTreeMap::new();
        for (subscribed, nodes) in self.names(Role::ParamSubscriber) {
            let told = if below(changed, subscribed) {
                changed
            } else if below(subscribed, changed) {
                subscribed
            } else {
                continue;
            };
            let params = params_of.entry(told).or_insert_with(|| {
                [text("/master"), text(&format!("{told}/")), value(told)].into()
            });
            let uris = nodes.iter().filter_map(|node| self.uri(node));
            notices.extend(uris.map(|uri| Notice {
                uri: uri.to_owned(),
                method: "paramUpdate",
                params: Arc::clone(params),
            }));
        }
        notices
    }

    /// Publishers, subscribers and services: for each name the nodes.
    pub(super) fn system_state(&self) -> Value {
        let row = |name: &str, nodes: Value| Value::Array(vec![text(name), nodes]);
        let of_role = |role| {
            let rows = self.names(role);
            let rows = rows.map(|(name, nodes)| row(name, texts(nodes.iter().map(String::as_str))));
            Value::Array(rows.collect())
        };
        let services = self.services.iter();
        let services = services.map(|(name, (node, _))| row(name, texts([node.as_str()])));
        Value::Array(vec![
            of_role(Role::Publisher),
            of_role(Role::Subscriber),
            Value::Array(services.collect()),
        ])
    }

    /// The types of all topics.
    pub(super) fn topic_types(&self) -> Value {
        let rows = self.types.iter();
        let rows = rows.map(|(topic, kind)| texts([topic.as_str(), kind.as_str()]));
        Value::Array(rows.collect())
    }

    /// The topics with publishers, and their types; in a namespace, or all if it is empty.
    pub(super) fn published_topics(&self, namespace: &str) -> Value {
        let namespace = namespace.trim_end_matches('/');
        let prefix = format!("{namespace}/");
        let rows = self.names(Role::Publisher);
        let rows = rows.filter(|(topic, _)| namespace.is_empty() || topic.starts_with(&prefix));
        let rows = rows.map(|(topic, _)| {
            let kind = self.types.get(topic).map_or(ANY_TYPE, String::as_str);
            texts([topic.as_str(), kind])
        });
        Value::Array(rows.collect())
    }
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn check_length(name: &str) -> Result<(), &'static str> {
    if name.len() > LONGEST {
        return Err("a name or an address is too long");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAYER: (&str, &str) = ("/player", "http://h:1/");
    const LISTENER: (&str, &str) = ("/listener", "http://h:2/");

    fn update(uri: &str, topic: &str, publishers: &[&str]) -> Notice {
        Notice {
            uri: uri.to_owned(),
            method: "publisherUpdate",
            params: [
                text("/master"),
                text(topic),
                texts(publishers.iter().copied()),
            ]
            .into(),
        }
    }

    #[test]
    fn subscribers_are_told_of_publishers_that_come_and_go() {
        let mut registry = Registry::default();
        assert_eq!(
            registry.register(Role::Subscriber, "/a", LISTENER),
            Ok(vec![])
        );
        registry.learn_type("/a", "*", Role::Subscriber);
        let told = registry.register(Role::Publisher, "/a", PLAYER).unwrap();
        registry.learn_type("/a", "p/T", Role::Publisher);
        assert_eq!(told, [update("http://h:2/", "/a", &["http://h:1/"])]);
        assert_eq!(registry.uris(Role::Publisher, "/a"), ["http://h:1/"]);
        let all = Value::Array(vec![texts(["/a", "p/T"])]);
        assert_eq!(registry.published_topics(""), all);
        assert_eq!(registry.topic_types(), all);
        assert_eq!(registry.published_topics("/other"), Value::Array(vec![]));
        let (is_removed, told) = registry.unregister(Role::Publisher, "/a", PLAYER);
        assert!(is_removed);
        assert_eq!(told, [update("http://h:2/", "/a", &[])]);
        assert_eq!(registry.uri("/player"), None);
        assert_eq!(registry.published_topics(""), Value::Array(vec![]));
    }

    #[test]
    fn a_node_is_replaced_by_another_of_its_name() {
        let mut registry = Registry::default();
        registry.register(Role::Subscriber, "/a", LISTENER).unwrap();
        registry.register(Role::Publisher, "/a", PLAYER).unwrap();
        registry.register(Role::Publisher, "/b", PLAYER).unwrap();
        let other = ("/player", "http://h:3/");
        let told = registry.register(Role::Publisher, "/a", other).unwrap();
        let [gone, shutdown, come] = told.as_slice() else {
            panic!("{told:?}");
        };
        assert_eq!(*gone, update("http://h:2/", "/a", &[]));
        assert_eq!(
            (shutdown.uri.as_str(), shutdown.method),
            (PLAYER.1, "shutdown")
        );
        assert_eq!(*come, update("http://h:2/", "/a", &[other.1]));
        assert_eq!(registry.uris(Role::Publisher, "/b"), [""; 0]);
        // The first one takes nothing away from the second.
        let (is_removed, _) = registry.unregister(Role::Publisher, "/a", PLAYER);
        assert!(!is_removed);
        assert_eq!(registry.uris(Role::Publisher, "/a"), [other.1]);
    }

    #[test]
    fn those_who_watch_a_parameter_are_told() {
        let mut registry = Registry::default();
        for name in ["/a", "/a/b/c", "/ab"] {
            let node = (name, name);
            registry
                .register(Role::ParamSubscriber, name, node)
                .unwrap();
        }
        let told = registry.param_updates("/a/b", text);
        let told: Vec<_> = told
            .iter()
            .map(|it| (it.uri.as_str(), &it.params[1..]))
            .collect();
        let value = |key: &str, value: &str| [text(key), text(value)];
        assert_eq!(
            told,
            [
                ("/a", &value("/a/b/", "/a/b")[..]),
                ("/a/b/c", &value("/a/b/c/", "/a/b/c")[..])
            ]
        );
    }

    #[test]
    fn names_registrations_and_known_types_have_limits() {
        let mut registry = Registry::default();
        let long = "/".repeat(LONGEST + 1);
        for (topic, node) in [(&long[..], PLAYER), ("/a", (&long, "http://h:1/"))] {
            assert!(registry.register(Role::Publisher, topic, node).is_err());
        }
        assert!(registry.register_service("/s", &long, PLAYER).is_err());
        registry.register(Role::Publisher, "/a", PLAYER).unwrap();
        registry.learn_type("/a", &long, Role::Publisher);
        registry.learn_type("/a", "p/T", Role::Publisher);
        // A node that registers one topic after the other leaves nothing behind.
        for n in 0..=MOST {
            registry.learn_type(&format!("/gone/{n}"), "p/T", Role::Publisher);
        }
        assert!(registry.types.len() <= MOST);
        assert_eq!(registry.types["/a"], "p/T");
        let register = |n: usize| {
            let topic = format!("/topic/{n}");
            registry.register(Role::Publisher, &topic, PLAYER).is_ok()
        };
        let count = (0..=MOST)
            .map(register)
            .take_while(|is_registered| *is_registered);
        assert_eq!(count.count(), MOST - 2);
        // What ends makes room.
        registry.unregister(Role::Publisher, "/topic/7", PLAYER);
        registry.register(Role::Publisher, "/a", PLAYER).unwrap();
        registry.register(Role::Publisher, "/b", PLAYER).unwrap();
        assert!(registry.register(Role::Publisher, "/c", PLAYER).is_err());
    }
}
