//! [`printable`]: clap's errors quote arguments unescaped; here they are quoted escaped.

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue};

use crate::untrusted::Foreign;

/// The same error with everything that it quotes escaped.
pub(crate) fn printable(mut error: clap::Error, command: &mut clap::Command) -> clap::Error {
    let quoted: Vec<(ContextKind, ContextValue)> = error
        .context()
        .map(|(kind, value)| (kind, value.clone()))
        .collect();
    let mut is_printable = true;
    for (kind, value) in quoted {
        let shown = match &value {
            ContextValue::String(text) => ContextValue::String(escaped(text)),
            ContextValue::Strings(texts) => {
                ContextValue::Strings(texts.iter().map(|text| escaped(text)).collect())
            }
            _ => continue,
        };
        if shown != value {
            is_printable = false;
            error.insert(kind, shown);
        }
    }
    if !is_printable {
        // It repeats the arguments, mixed with colours.
        error.remove(ContextKind::Suggested);
    }
    // The message of a value's own parser cannot be replaced, so a new error is built.
    let why = error.source().map(ToString::to_string);
    match why {
        Some(why) if escaped(&why) != why => {
            let [value, flag] = [ContextKind::InvalidValue, ContextKind::InvalidArg].map(|kind| {
                let quoted = error.get(kind);
                quoted.map_or_else(String::new, ToString::to_string)
            });
            let why = escaped(&why);
            command.error(
                error.kind(),
                format!("invalid value '{value}' for '{flag}': {why}"),
            )
        }
        _ => error,
    }
}

fn escaped(text: &str) -> String {
    Foreign::text(text).to_string()
}
