//! [`TypeDescription::definition`]: the `ros2msg` text of a type from its description, and from the texts of its
//! definitions.

use std::fmt::Write;

use super::definition::PLACEHOLDER;
use super::type_description::{FieldType, IndividualTypeDescription, TypeDescription};

/// Between two definitions.
const RULE: &str =
    "================================================================================";

impl TypeDescription {
    /// The text with which a schema of this type begins and continues: its own definition, then those that it refers
    /// to. Of constants, comments and default values a description knows nothing. `None` if a field has a type that
    /// definitions cannot express.
    pub fn definition(&self) -> Option<String> {
        let text = |one: &IndividualTypeDescription| Some((one.type_name.clone(), fields(one)?));
        let root = text(&self.type_description)?;
        let others = self.referenced_type_descriptions.iter().map(text);
        let texts: Option<Vec<_>> = std::iter::once(Some(root)).chain(others).collect();
        Some(join_definitions(&texts?))
    }
}

/// The text of a schema from the texts of its definitions, by the names of their types; that of the type itself is the
/// first.
pub fn join_definitions(texts: &[(String, String)]) -> String {
    let mut joined = String::new();
    for (index, (name, text)) in texts.iter().enumerate() {
        if index > 0 {
            let short = name.replacen("/msg/", "/", 1);
            write!(joined, "\n{RULE}\nMSG: {short}\n").expect("a string takes everything");
        }
        joined.push_str(text.trim_end_matches('\n'));
        joined.push('\n');
    }
    joined
}

fn fields(described: &IndividualTypeDescription) -> Option<String> {
    let mut text = String::new();
    let fields = described.fields.iter().filter(|it| it.name != PLACEHOLDER);
    for field in fields {
        let FieldType {
            type_id, capacity, ..
        } = field.field_type;
        let base = base_type(&field.field_type)?;
        let array = match type_id / 48 {
            0 => String::new(),
            1 => format!("[{capacity}]"),
            2 => format!("[<={capacity}]"),
            3 => "[]".to_owned(),
            _ => return None,
        };
        writeln!(text, "{base}{array} {}", field.name).expect("a string takes everything");
    }
    Some(text)
}

fn base_type(field: &FieldType) -> Option<String> {
    let bound = field.string_capacity;
    let name = match field.type_id % 48 {
        1 => return Some(field.nested_type_name.clone()),
        21 => return Some(format!("string<={bound}")),
        22 => return Some(format!("wstring<={bound}")),
        2 => "int8",
        3 => "uint8",
        4 => "int16",
        5 => "uint16",
        6 => "int32",
        7 => "uint32",
        8 => "int64",
        9 => "uint64",
        10 => "float32",
        11 => "float64",
        14 => "wchar",
        15 => "bool",
        16 => "byte",
        17 => "string",
        18 => "wstring",
        _ => return None,
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "type-hashes")]
    use crate::ros::message_hash;

    #[cfg(feature = "type-hashes")]
    #[test]
    fn the_text_of_a_description_has_its_hash() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/ros2msg");
        let mut tried = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_message = path.extension().is_some_and(|it| it == "msg");
            let stem = path.file_stem().unwrap().to_str().unwrap();
            let Some((package, name)) = stem.split_once('.').filter(|_| is_message) else {
                continue;
            };
            let name = format!("{package}/msg/{name}");
            let text = std::fs::read(&path).unwrap();
            let described = TypeDescription::read(&name, &text).unwrap();
            let written = described.definition().unwrap();
            let hash = |text: &[u8]| message_hash(&name, text).unwrap().hash;
            assert_eq!(hash(written.as_bytes()), hash(&text), "{written}");
            tried += 1;
        }
        assert!(tried > 3, "{tried}");
    }

    #[test]
    fn bounds_are_kept_and_unknown_types_are_refused() {
        let text = "string<=10 a\nwstring<=3[<=2] b\nfloat64[9] c\nbyte[] d\npkg/msg/Other[] e\n";
        let schema = format!("{text}\n{RULE}\nMSG: pkg/Other\nint8 x\n");
        let mut described = TypeDescription::read("pkg/msg/Root", schema.as_bytes()).unwrap();
        assert_eq!(described.definition().unwrap(), schema);
        for type_id in [0, 12, 13, 20, 199, 255] {
            described.type_description.fields[0].field_type.type_id = type_id;
            assert_eq!(described.definition(), None, "{type_id}");
        }
    }
}
