//! [`children_first`]: the messages of a definition, each after all messages that it contains.
//!
//! It has no cycles, and no message is nested deeper than [`MAX_NESTING`], so code that walks over its values
//! needs no other limit of its recursion.

use std::collections::{BTreeMap, BTreeSet};

use super::field::{BaseType, Field};
use super::message::{Definitions, SchemaError, name};

/// Real definitions are nested up to about ten levels; each level takes stack.
const MAX_NESTING: usize = 64;

/// Why no message can have the layout of a definition.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NestingError {
    /// A type is not defined.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A type contains itself.
    #[error("{} contains itself", name(.0))]
    Recursive(String),
    /// A type has too many levels of types in it.
    #[error("{} contains messages nested more than {MAX_NESTING} deep", name(.0))]
    Deep(String),
}

/// All messages that the root contains, and the root as the last one. Messages for which `is_opaque` are left out, with
/// all that they contain.
pub(crate) fn children_first(
    definitions: &Definitions,
    is_opaque: impl Fn(&str) -> bool,
) -> Result<Vec<(&str, &[Field])>, NestingError> {
    let fields_of = |name: &str| {
        let fields = definitions.types.get(name).map(Vec::as_slice);
        fields.ok_or_else(|| SchemaError::Missing(name.to_owned()))
    };
    let mut found = Vec::new();
    // How many levels of messages each of them has.
    let mut heights: BTreeMap<&str, usize> = BTreeMap::new();
    let mut on_path: BTreeSet<&str> = BTreeSet::from([definitions.root.as_str()]);
    let mut path: Vec<(&str, usize)> = vec![(&definitions.root, 0)];
    while let Some((name, next)) = path.last_mut() {
        let name = *name;
        let fields = fields_of(name)?;
        let Some(field) = fields.get(*next) else {
            let nested = fields.iter().filter_map(|field| match &field.base {
                BaseType::Message(nested) => heights.get(nested.as_str()),
                _ => None,
            });
            let height = nested.max().map_or(1, |height| height + 1);
            if height > MAX_NESTING {
                return Err(NestingError::Deep(name.to_owned()));
            }
            heights.insert(name, height);
            found.push((name, fields));
            on_path.remove(name);
            path.pop();
            continue;
        };
        *next += 1;
        if let BaseType::Message(nested) = &field.base
            && !is_opaque(nested)
            && !heights.contains_key(nested.as_str())
        {
            if !on_path.insert(nested) {
                return Err(NestingError::Recursive(nested.clone()));
            }
            path.push((nested, 0));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::ros::definition::{Dialect, read_message};

    fn order(text: &str) -> Result<Vec<String>, NestingError> {
        let text = text.replace("---", &"=".repeat(80));
        let read = read_message(Dialect::Ros2, "p/Root", text.as_bytes()).unwrap();
        let found = children_first(&read, |name| name == "p/msg/Opaque")?;
        Ok(found.into_iter().map(|(name, _)| name.to_owned()).collect())
    }

    #[test]
    fn a_message_comes_after_all_that_it_contains() {
        let text = "A a\nB b\nOpaque o\n---\nMSG: p/A\nB[] b\n---\nMSG: p/B\nint8 x\n---\nMSG: p/Unused\nC c\n";
        let found = order(text).unwrap();
        assert_eq!(found, ["p/msg/B", "p/msg/A", "p/msg/Root"]);
    }

    #[test]
    fn cycles_missing_messages_and_deep_nesting_are_errors() {
        let cycle = order("A a\n---\nMSG: p/A\nB b\n---\nMSG: p/B\nA a\n");
        assert_eq!(cycle, Err(NestingError::Recursive("p/msg/A".to_owned())));
        let missing = SchemaError::Missing("p/msg/A".to_owned());
        assert_eq!(order("A a\n"), Err(missing.into()));
        for (levels, is_read) in [(63, true), (64, false)] {
            let mut text = String::from("N1 x\n");
            for n in 1..=levels {
                let next = match n {
                    _ if n == levels => "int8".to_owned(),
                    _ => format!("N{}", n + 1),
                };
                write!(text, "---\nMSG: p/N{n}\n{next} x\n").unwrap();
            }
            assert_eq!(order(&text).is_ok(), is_read, "{levels}");
        }
    }
}
