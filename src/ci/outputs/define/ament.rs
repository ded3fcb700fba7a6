//! [`AmentIndex`]: definitions of messages in the installed packages of ROS 2 (`share/<package>/msg/<Name>.msg`).

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::bag::Schema;
use crate::ros::definition::{BaseType, Dialect, SchemaError, read_message};
use crate::ros::{dds_type, join_definitions};
use crate::untrusted::{Foreign, read_text};

/// How many definitions a type may refer to. Real ones have some twenty.
const MOST: usize = 500;

/// Where packages are installed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AmentIndex {
    prefixes: Vec<PathBuf>,
}

/// Why a type cannot be read from the installed packages.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AmentError {
    /// No package is installed.
    #[error("AMENT_PREFIX_PATH is not set")]
    NoPrefix,
    /// It is no message type: services and actions are defined in other files.
    #[error("{} is not a type that a .msg file defines", Foreign::text(.0))]
    NoMessage(String),
    /// No package has it.
    #[error("no installed package defines {}", Foreign::text(.0))]
    NotInstalled(String),
    /// A file cannot be read.
    #[error("{} cannot be read: {source}", Foreign::path(path))]
    File {
        /// The file.
        path: PathBuf,
        /// The error from the system.
        source: io::Error,
    },
    /// A file is no definition.
    #[error("{} is not a definition: {source}", Foreign::path(path))]
    Definition {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: SchemaError,
    },
    /// It refers to more types than any real one.
    #[error("{} refers to more than {MOST} types", Foreign::text(.0))]
    TooMany(String),
}

impl AmentIndex {
    /// Packages below these prefixes; the first that has a type counts.
    pub fn new(prefixes: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            prefixes: prefixes.into_iter().collect(),
        }
    }

    /// The packages of `AMENT_PREFIX_PATH`.
    pub fn of_environment() -> Self {
        let value = std::env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
        let given = std::env::split_paths(&value);
        Self::new(given.filter(|prefix| prefix.is_absolute()))
    }

    /// The definition of a type (`package/msg/Name`) and of all types that it refers to.
    pub fn find(&self, type_name: &str) -> Result<Schema, AmentError> {
        if self.prefixes.is_empty() {
            return Err(AmentError::NoPrefix);
        }
        let mut known = BTreeSet::from([type_name.to_owned()]);
        let mut open = vec![type_name.to_owned()];
        let mut texts = Vec::new();
        while let Some(name) = open.pop() {
            let path = self.file(&name)?;
            let text = match read_text(&path) {
                Ok(text) => text,
                Err(source) => return Err(AmentError::File { path, source }),
            };
            let referred = match read_message(Dialect::Ros2, &name, text.as_bytes()) {
                Ok(mut read) => read.types.remove(&name).unwrap_or_default(),
                Err(source) => return Err(AmentError::Definition { path, source }),
            };
            for field in referred {
                if let BaseType::Message(nested) = field.base
                    && known.insert(nested.clone())
                {
                    open.push(nested);
                }
            }
            if known.len() > MOST {
                return Err(AmentError::TooMany(type_name.to_owned()));
            }
            texts.push((name, text));
        }
        Ok(Schema {
            name: type_name.to_owned(),
            encoding: "ros2msg".to_owned(),
            data: join_definitions(&texts).into(),
        })
    }

    fn file(&self, type_name: &str) -> Result<PathBuf, AmentError> {
        let no_message = || AmentError::NoMessage(type_name.to_owned());
        // Its parts are words, so the path stays below the prefix.
        dds_type(type_name).ok_or_else(no_message)?;
        let (package, name) = type_name.split_once("/msg/").ok_or_else(no_message)?;
        let below = Path::new("share")
            .join(package)
            .join("msg")
            .join(format!("{name}.msg"));
        let mut files = self.prefixes.iter().map(|prefix| prefix.join(&below));
        files
            .find(|file| file.is_file())
            .ok_or_else(|| AmentError::NotInstalled(type_name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A prefix with these definitions.
    fn installed(definitions: &[(&str, &str)]) -> tempfile::TempDir {
        let prefix = tempfile::tempdir().unwrap();
        for (name, text) in definitions {
            let (package, name) = name.split_once('/').unwrap();
            let folder = prefix.path().join("share").join(package).join("msg");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(format!("{name}.msg")), text).unwrap();
        }
        prefix
    }

    fn index(prefixes: &[&tempfile::TempDir]) -> AmentIndex {
        AmentIndex::new(prefixes.iter().map(|it| it.path().to_owned()))
    }

    #[test]
    fn a_type_is_found_with_all_that_it_refers_to() {
        let mine = installed(&[
            (
                "a/Odd",
                "std_msgs/Header header\nInner[] inner\nInner one\n",
            ),
            ("a/Inner", "int8 x\n"),
        ]);
        let system = installed(&[
            ("a/Inner", "int64 hidden\n"),
            (
                "std_msgs/Header",
                "builtin_interfaces/Time stamp\nstring frame_id\n",
            ),
            ("builtin_interfaces/Time", "int32 sec\nuint32 nanosec\n"),
        ]);
        let found = index(&[&mine, &system]).find("a/msg/Odd").unwrap();
        let text = String::from_utf8(found.data.to_vec()).unwrap();
        let read = read_message(Dialect::Ros2, "a/msg/Odd", text.as_bytes()).unwrap();
        let names: Vec<&str> = read.types.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "a/msg/Inner",
                "a/msg/Odd",
                "builtin_interfaces/msg/Time",
                "std_msgs/msg/Header"
            ]
        );
        assert!(
            text.contains("int8 x") && !text.contains("hidden"),
            "{text}"
        );
        assert!(text.starts_with("std_msgs/Header header\n"), "{text}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let prefix = installed(&[
            ("a/Odd", "b/Gone gone\n"),
            ("a/Bad", "?? x\n"),
            ("a/Loop", "Loop[] more\n"),
        ]);
        let index = index(&[&prefix]);
        let error = |name: &str| index.find(name).unwrap_err().to_string();
        assert_eq!(
            error("a/msg/Odd"),
            "no installed package defines b/msg/Gone"
        );
        assert!(error("a/msg/Bad").contains("Bad.msg is not a definition: `?? x`"));
        for name in ["a/srv/X_Request", "../x/msg/Y", "a/msg/../Y", "", "a"] {
            assert!(
                error(name).contains("is not a type"),
                "{name}: {}",
                error(name)
            );
        }
        assert!(index.find("a/msg/Loop").is_ok());
        let nowhere = AmentIndex::default().find("a/msg/Odd").unwrap_err();
        assert_eq!(nowhere.to_string(), "AMENT_PREFIX_PATH is not set");
    }
}
