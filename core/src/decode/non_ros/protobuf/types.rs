//! [`Types`]: the types that a descriptor set defines, and how a field names them.

use std::collections::HashMap;

use prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorSet};

use super::error::{LayoutError, MAX_TYPES};

/// The longest name of a type with its package, in bytes.
const MAX_NAME: usize = 1000;
/// How many packages and messages around a field are searched for the type that it names.
const MAX_SCOPES: usize = 32;

#[derive(Clone, Copy)]
pub(super) struct DefinedMessage<'a> {
    pub(super) message: &'a DescriptorProto,
    /// Whether a number that is not written is zero, as in `proto3`.
    pub(super) has_zeros: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Defined<'a> {
    Message(DefinedMessage<'a>),
    Enum(&'a EnumDescriptorProto),
}

/// All types of a descriptor set, by their names with the package.
pub(super) struct Types<'a>(HashMap<String, Defined<'a>>);

impl<'a> Types<'a> {
    pub(super) fn of(set: &'a FileDescriptorSet) -> Result<Self, LayoutError> {
        let mut types = Self(HashMap::new());
        for file in &set.file {
            types.enums(file.package(), &file.enum_type)?;
            let has_zeros = file.syntax() == "proto3";
            types.messages(file.package(), &file.message_type, has_zeros)?;
        }
        Ok(types)
    }

    /// The type of this name with its full name. One without a dot before it is searched from `scope` outwards.
    pub(super) fn find(&self, scope: &str, name: &str) -> Option<(String, Defined<'a>)> {
        let get = |full: String| self.0.get(&full).map(|found| (full, *found));
        if let Some(full) = name.strip_prefix('.') {
            return get(full.to_owned());
        }
        let mut scope = scope;
        for _ in 0..MAX_SCOPES {
            if let Ok(full) = qualified(scope, name)
                && let Some(found) = get(full)
            {
                return Some(found);
            }
            if scope.is_empty() {
                break;
            }
            scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
        None
    }

    /// Messages, and the types in them. The decoder of the set has limited how deep they are nested.
    fn messages(
        &mut self,
        outer: &str,
        messages: &'a [DescriptorProto],
        has_zeros: bool,
    ) -> Result<(), LayoutError> {
        for message in messages {
            let name = qualified(outer, message.name())?;
            self.enums(&name, &message.enum_type)?;
            self.messages(&name, &message.nested_type, has_zeros)?;
            self.add(
                name,
                Defined::Message(DefinedMessage { message, has_zeros }),
            )?;
        }
        Ok(())
    }

    fn enums(&mut self, outer: &str, enums: &'a [EnumDescriptorProto]) -> Result<(), LayoutError> {
        for found in enums {
            self.add(qualified(outer, found.name())?, Defined::Enum(found))?;
        }
        Ok(())
    }

    fn add(&mut self, name: String, defined: Defined<'a>) -> Result<(), LayoutError> {
        if self.0.len() >= MAX_TYPES {
            return Err(LayoutError::Many);
        }
        self.0.insert(name, defined);
        Ok(())
    }
}

fn qualified(outer: &str, name: &str) -> Result<String, LayoutError> {
    if outer.len() + name.len() > MAX_NAME {
        return Err(LayoutError::LongName(name.to_owned()));
    }
    Ok(match outer {
        "" => name.to_owned(),
        _ => format!("{outer}.{name}"),
    })
}
