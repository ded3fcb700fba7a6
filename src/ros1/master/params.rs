//! [`Params`]: the parameters of a master: a tree of values, whose inner nodes are structs.

use std::collections::BTreeMap;

use dxr::Value;

use crate::ros1::rpc::size::size_of;

type Struct = BTreeMap<String, Value>;

/// The deepest name of a parameter, in parts.
const DEEPEST: usize = 64;
/// How many bytes all parameters may take together, about. Descriptions of robots have some hundred thousand.
const MOST_BYTES: usize = 16 << 20;

/// All parameters.
#[derive(Debug, Default)]
pub(super) struct Params {
    root: Struct,
    /// How many bytes they take. An upper bound: it may still count what was replaced or removed.
    at_most: usize,
}

/// The full name: a relative name is in the namespace of the node that calls, a private one (`~`) below the node.
pub(super) fn resolved(name: &str, caller: &str) -> String {
    let joined = if let Some(private) = name.strip_prefix('~') {
        format!("{caller}/{private}")
    } else if name.starts_with('/') {
        name.to_owned()
    } else {
        let namespace = caller
            .rsplit_once('/')
            .map_or("", |(namespace, _)| namespace);
        format!("{namespace}/{name}")
    };
    let parts: Vec<&str> = parts(&joined).collect();
    format!("/{}", parts.join("/"))
}

fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split('/').filter(|part| !part.is_empty())
}

impl Params {
    /// The value of a name; of a namespace: a struct.
    pub(super) fn get(&self, name: &str) -> Option<Value> {
        if parts(name).next().is_none() {
            return Some(Value::Struct(self.root.clone()));
        }
        self.find(name).cloned()
    }

    /// The value of a name, except of the root.
    fn find(&self, name: &str) -> Option<&Value> {
        let mut parts = parts(name);
        let first = parts.next()?;
        let mut value = self.root.get(first)?;
        for part in parts {
            let Value::Struct(members) = value else {
                return None;
            };
            value = members.get(part)?;
        }
        Some(value)
    }

    /// Sets a value. What is not a struct on the way is replaced. The error is why nothing was set.
    pub(super) fn set(&mut self, name: &str, value: Value) -> Result<(), &'static str> {
        let path: Vec<&str> = parts(name).collect();
        if path.len() > DEEPEST {
            return Err("the name has too many parts");
        }
        let added = PART * path.len() + name.len() + size_of(&value);
        if added + self.at_most > MOST_BYTES {
            let replaced = self.find(name).map_or(0, size_of);
            self.at_most = size_of_all(&self.root).saturating_sub(replaced);
            if added + self.at_most > MOST_BYTES {
                // Nothing is replaced.
                self.at_most += replaced;
                return Err("the parameters of this master would be too large");
            }
        }
        self.at_most += added;
        let Some((last, namespaces)) = path.split_last() else {
            let Value::Struct(members) = value else {
                return Err("the root is a struct");
            };
            self.root = members;
            return Ok(());
        };
        let mut members = &mut self.root;
        for part in namespaces {
            let inner = members.entry((*part).to_owned()).or_insert_with(empty);
            if !matches!(inner, Value::Struct(_)) {
                *inner = empty();
            }
            let Value::Struct(inner) = inner else {
                return Err("the namespace is not a struct");
            };
            members = inner;
        }
        members.insert((*last).to_owned(), value);
        Ok(())
    }

    /// Removes a value; returns whether there was one.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let path: Vec<&str> = parts(name).collect();
        let Some((last, namespaces)) = path.split_last() else {
            self.root.clear();
            return true;
        };
        let mut members = &mut self.root;
        for part in namespaces {
            match members.get_mut(*part) {
                Some(Value::Struct(inner)) => members = inner,
                _ => return false,
            }
        }
        members.remove(*last).is_some()
    }

    /// The name that a search for `name` finds, from the namespace of a node upwards.
    pub(super) fn search(&self, name: &str, node: &str) -> Option<String> {
        let first = parts(name).next()?;
        let namespace: Vec<&str> = parts(node).collect();
        let upwards = (0..=namespace.len()).rev();
        let mut candidates = upwards.map(|length| {
            let prefix = namespace[..length].iter().map(|part| format!("/{part}"));
            prefix.collect::<String>()
        });
        let found = candidates.find(|prefix| self.find(&format!("{prefix}/{first}")).is_some())?;
        Some(format!("{found}/{}", name.trim_start_matches('/')))
    }

    /// The names of all values that are not structs.
    pub(super) fn names(&self) -> Vec<String> {
        fn collect(prefix: &str, members: &Struct, names: &mut Vec<String>) {
            for (part, value) in members {
                let name = format!("{prefix}/{part}");
                match value {
                    // As deep as names and received values are at most.
                    Value::Struct(inner) if !inner.is_empty() => collect(&name, inner, names),
                    _ => names.push(name),
                }
            }
        }
        let mut names = Vec::new();
        collect("", &self.root, &mut names);
        names
    }
}

/// What each part of a name takes beside its text.
const PART: usize = 128;

fn size_of_all(members: &Struct) -> usize {
    let members = members.iter();
    members
        .map(|(key, value)| PART + key.len() + size_of(value))
        .sum()
}

fn empty() -> Value {
    Value::Struct(Struct::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(value: i32) -> Value {
        Value::Integer(value)
    }

    #[test]
    fn names_are_resolved_for_the_node_that_calls() {
        for (name, caller, full) in [
            ("/a/b", "/n/node", "/a/b"),
            ("a", "/n/node", "/n/a"),
            ("a", "/node", "/a"),
            ("~a", "/n/node", "/n/node/a"),
            ("//a//b/", "/node", "/a/b"),
            ("/", "/node", "/"),
        ] {
            assert_eq!(resolved(name, caller), full, "{name} {caller}");
        }
    }

    #[test]
    fn namespaces_are_structs() {
        let mut params = Params::default();
        params.set("/use_sim_time", Value::Boolean(true)).unwrap();
        params.set("/robot/arm/length", int(3)).unwrap();
        params.set("/robot/name", int(4)).unwrap();
        assert_eq!(params.get("/robot/arm/length"), Some(int(3)));
        let arm = Struct::from([("length".to_owned(), int(3))]);
        assert_eq!(params.get("/robot/arm/"), Some(Value::Struct(arm)));
        assert_eq!(params.get("/robot/name/x"), None);
        assert_eq!(
            params.names(),
            ["/robot/arm/length", "/robot/name", "/use_sim_time"]
        );
        let found = params.search("name", "/robot/arm/node");
        assert_eq!(found.as_deref(), Some("/robot/name"));
        assert_eq!(params.search("nothing", "/robot"), None);
        assert!(params.remove("/robot/arm"));
        assert!(!params.remove("/robot/arm"));
        params.set("/robot", int(1)).unwrap();
        params.set("/robot/name", int(2)).unwrap();
        assert_eq!(params.names(), ["/robot/name", "/use_sim_time"]);
        assert!(params.set("/", int(1)).is_err());
        assert!(params.set(&"/a".repeat(65), int(1)).is_err());
    }

    #[test]
    fn all_parameters_together_have_a_limit() {
        let mut params = Params::default();
        let large = || Value::String("x".repeat(MOST_BYTES / 2));
        params.set("/a", large()).unwrap();
        params.set("/a", large()).unwrap();
        assert!(params.set("/b", large()).is_err());
        assert_eq!(params.get("/b"), None);
        params.set("/a", int(1)).unwrap();
        params.set("/b", large()).unwrap();
        assert!(params.remove("/b"));
        // Many small ones, too.
        let set = |n: usize| params.set(&format!("/n/{n}"), int(1)).is_ok();
        let count = (0..MOST_BYTES / PART).map(set).take_while(|is_set| *is_set);
        let count = count.count();
        assert!(count > 10_000 && count < MOST_BYTES / PART, "{count}");
    }
}
