//! `type_description_interfaces/srv/GetTypeDescription`: the definition of a type, by its hash.

use serde::{Deserialize, Serialize};

use super::service::{Failed, service};
use crate::ros::TypeDescription;

service!(
    /// The definition of a type that the node uses.
    GetTypeDescription,
    "type_description_interfaces/srv/GetTypeDescription",
    "69b9c19c1021405984cc60dbbb1edceb147a6538b411d812ba6afabeed962cd5",
    TypeRequest => TypeResponse
);

/// Which type.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TypeRequest {
    /// `package/msg/Name`; not used for the look-up.
    pub type_name: String,
    /// The hash of the type.
    pub type_hash: String,
    /// Whether the texts of the definitions are wanted, too.
    pub include_type_sources: bool,
}

/// The definition.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TypeResponse {
    /// Whether the type is known.
    pub successful: bool,
    /// Why not.
    pub failure_reason: String,
    /// The type and all that it refers to.
    pub type_description: TypeDescription,
    /// Their texts, if wanted.
    pub type_sources: Vec<TypeSource>,
    /// Anything else.
    pub extra_information: Vec<KeyValue>,
}

/// The text of a definition.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TypeSource {
    /// `package/msg/Name`.
    pub type_name: String,
    /// `msg` for the format of `.msg` files.
    pub encoding: String,
    /// The text.
    pub raw_file_contents: String,
}

/// A pair of texts.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct KeyValue {
    /// The first.
    pub key: String,
    /// The second.
    pub value: String,
}

impl Failed for TypeResponse {
    fn failed(reason: &str) -> Self {
        Self {
            failure_reason: reason.to_owned(),
            ..Self::default()
        }
    }
}
