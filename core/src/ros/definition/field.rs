//! What a field of a message definition is: its name, its type, how many elements it has.

/// The language of a definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// ROS 1: `time` and `duration` are built in; a definition may be empty.
    Ros1,
    /// ROS 1, for its translation to ROS 2: `byte` is kept apart from `int8`.
    Ros1ForRos2,
    /// ROS 2: bounds and wide strings.
    Ros2,
}

/// A number, a truth value or a character.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Primitive {
    Bool,
    Byte,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    WideChar,
}

impl Primitive {
    /// Its name in ROS 2 definitions.
    pub(crate) const fn ros2_name(self) -> &'static str {
        match self {
            Primitive::Bool => "bool",
            Primitive::Byte => "byte",
            Primitive::I8 => "int8",
            Primitive::U8 => "uint8",
            Primitive::I16 => "int16",
            Primitive::U16 => "uint16",
            Primitive::I32 => "int32",
            Primitive::U32 => "uint32",
            Primitive::I64 => "int64",
            Primitive::U64 => "uint64",
            Primitive::F32 => "float32",
            Primitive::F64 => "float64",
            Primitive::WideChar => "wchar",
        }
    }

    /// How many bytes it has in CDR and in ROS 1, and the multiple to which CDR aligns it.
    pub(crate) const fn size(self) -> u64 {
        match self {
            Self::Bool | Self::Byte | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 | Self::WideChar => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The type of that name. In a `.msg` file `char` is `uint8`; only IDL has character types of its own. In ROS 1
    /// `byte` is `int8`.
    pub(super) fn named(dialect: Dialect, base: &str) -> Option<Self> {
        Some(match (base, dialect) {
            ("byte", Dialect::Ros1) | ("int8", _) => Self::I8,
            ("uint8" | "char", _) => Self::U8,
            ("int16", _) => Self::I16,
            ("uint16", _) => Self::U16,
            ("int32", _) => Self::I32,
            ("uint32", _) => Self::U32,
            ("int64", _) => Self::I64,
            ("uint64", _) => Self::U64,
            ("float32", _) => Self::F32,
            ("float64", _) => Self::F64,
            ("bool", _) => Self::Bool,
            ("byte", Dialect::Ros2 | Dialect::Ros1ForRos2) => Self::Byte,
            ("wchar", Dialect::Ros2) => Self::WideChar,
            _ => return None,
        })
    }
}

/// The built-in types of ROS 1 for points in time and durations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ros1Stamp {
    /// `time`
    Time,
    /// `duration`
    Duration,
}

/// The type of one element of a field. Strings have their bound, if there is one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BaseType {
    /// One of fixed size.
    Primitive(Primitive),
    /// `string`
    Text(Option<u64>),
    /// `wstring`
    WideText(Option<u64>),
    /// A time or a duration of ROS 1.
    Stamp(Ros1Stamp),
    /// A message by its name, `package/msg/Name`.
    Message(String),
}

/// How many elements a field has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Array {
    /// Not an array.
    One,
    /// `[N]`
    Fixed(u64),
    /// `[<=N]`
    Bounded(u64),
    /// `[]`
    Unbounded,
}

/// A field of a definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub base: BaseType,
    /// How many elements it has.
    pub array: Array,
}
