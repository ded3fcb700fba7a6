//! `rcl_interfaces/srv`: the parameter services of a node.

use serde::{Deserialize, Serialize};

use super::service::{Failed, service};

service!(
    /// Names of parameters.
    ListParameters,
    "rcl_interfaces/srv/ListParameters",
    "3e6062bfbb27bfb8730d4cef2558221f51a11646d78e7bb30a1e83afac3aad9d",
    ListRequest => ListResponse
);
service!(
    /// Values of parameters.
    GetParameters,
    "rcl_interfaces/srv/GetParameters",
    "bf9803d5c74cf989a5de3e0c2e99444599a627c7ff75f97b8c05b01003675cbc",
    Names => Values
);
service!(
    /// Types of parameters.
    GetParameterTypes,
    "rcl_interfaces/srv/GetParameterTypes",
    "da199c878688b3e530bdfe3ca8f74cb9fa0c303101e980a9e8f260e25e1c80ca",
    Names => Types
);
service!(
    /// What parameters are for and may be set to.
    DescribeParameters,
    "rcl_interfaces/srv/DescribeParameters",
    "845b484d71eb0673dae682f2e3ba3c4851a65a3dcfb97bddd82c5b57e91e4cff",
    Names => Descriptors
);
service!(
    /// Sets parameters, each on its own.
    SetParameters,
    "rcl_interfaces/srv/SetParameters",
    "56eed9a67e169f9cb6c1f987bc88f868c14a8fc9f743a263bc734c154015d7e0",
    Parameters => SetResults
);
service!(
    /// Sets all parameters or none.
    SetParametersAtomically,
    "rcl_interfaces/srv/SetParametersAtomically",
    "0e192ef259c07fc3c07a13191d27002222e65e00ccec653ca05e856f79285fcd",
    Parameters => SetAllResult
);

/// Which names to list.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ListRequest {
    /// Only names below one of these; all if empty.
    pub prefixes: Vec<String>,
    /// How many levels of names, separated by dots; 0 for all.
    pub depth: u64,
}

/// The names of parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ListResponse {
    /// The names.
    pub names: Vec<String>,
    /// The parents of those names.
    pub prefixes: Vec<String>,
}

/// Names of parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Names {
    /// The names.
    pub names: Vec<String>,
}

/// Values, one for each name; empty if one of the names is unknown.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Values {
    /// The values.
    pub values: Vec<ParameterValue>,
}

/// Types, one for each name; empty if one of the names is unknown.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Types {
    /// See [`ParameterValue::kind`].
    pub types: Vec<u8>,
}

/// Descriptions, one for each name; empty if one of the names is unknown.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Descriptors {
    /// The descriptions.
    pub descriptors: Vec<Descriptor>,
}

/// Parameters with the values that they are to have.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Parameters {
    /// The parameters.
    pub parameters: Vec<Parameter>,
}

/// The results, one for each parameter.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SetResults {
    /// The results.
    pub results: Vec<SetResult>,
}

/// The result for all parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SetAllResult {
    /// The result.
    pub result: SetResult,
}

/// Whether a parameter was set.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SetResult {
    /// It was.
    pub successful: bool,
    /// Why it was not.
    pub reason: String,
}

/// A parameter: `rcl_interfaces/msg/Parameter`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: ParameterValue,
}

/// `rcl_interfaces/msg/ParameterValue`: a type, and a field for each type; the other fields are empty.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ParameterValue {
    /// 0 not set, 1 bool, 2 integer, 3 double, 4 string, 5 byte array, 6 bool array, 7 integer array, 8 double array,
    /// 9 string array.
    pub kind: u8,
    /// For type 1.
    pub bool_value: bool,
    /// For type 2.
    pub integer_value: i64,
    /// For type 3.
    pub double_value: f64,
    /// For type 4.
    pub string_value: String,
    /// For type 5.
    pub byte_array_value: Vec<u8>,
    /// For type 6.
    pub bool_array_value: Vec<bool>,
    /// For type 7.
    pub integer_array_value: Vec<i64>,
    /// For type 8.
    pub double_array_value: Vec<f64>,
    /// For type 9.
    pub string_array_value: Vec<String>,
}

impl From<bool> for ParameterValue {
    fn from(value: bool) -> Self {
        Self {
            kind: 1,
            bool_value: value,
            ..Self::default()
        }
    }
}

impl From<i64> for ParameterValue {
    fn from(value: i64) -> Self {
        Self {
            kind: 2,
            integer_value: value,
            ..Self::default()
        }
    }
}

impl From<f64> for ParameterValue {
    fn from(value: f64) -> Self {
        Self {
            kind: 3,
            double_value: value,
            ..Self::default()
        }
    }
}

impl From<String> for ParameterValue {
    fn from(value: String) -> Self {
        Self {
            kind: 4,
            string_value: value,
            ..Self::default()
        }
    }
}

impl From<Vec<String>> for ParameterValue {
    fn from(value: Vec<String>) -> Self {
        Self {
            kind: 9,
            string_array_value: value,
            ..Self::default()
        }
    }
}

/// `rcl_interfaces/msg/ParameterDescriptor`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Descriptor {
    /// The parameter's name.
    pub name: String,
    /// See [`ParameterValue::kind`].
    pub kind: u8,
    /// What it is for.
    pub description: String,
    /// What it may be set to, in words.
    pub additional_constraints: String,
    /// It cannot be set.
    pub read_only: bool,
    /// Its type may change.
    pub dynamic_typing: bool,
    /// At most one range for a double.
    pub floating_point_range: Vec<FloatRange>,
    /// At most one range for an integer.
    pub integer_range: Vec<IntegerRange>,
}

/// The values that a double may have; both ends are included.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FloatRange {
    /// The least value.
    pub from_value: f64,
    /// The greatest value.
    pub to_value: f64,
    /// The distance between values; 0 for any.
    pub step: f64,
}

/// The values that an integer may have; both ends are included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct IntegerRange {
    /// The least value.
    pub from_value: i64,
    /// The greatest value.
    pub to_value: i64,
    /// The distance between values; 0 for any.
    pub step: u64,
}

impl Failed for ListResponse {
    fn failed(_: &str) -> Self {
        Self::default()
    }
}

impl Failed for Values {
    fn failed(_: &str) -> Self {
        Self::default()
    }
}

impl Failed for Types {
    fn failed(_: &str) -> Self {
        Self::default()
    }
}

impl Failed for Descriptors {
    fn failed(_: &str) -> Self {
        Self::default()
    }
}

impl Failed for SetResults {
    fn failed(reason: &str) -> Self {
        Self {
            results: vec![SetResult::failed(reason)],
        }
    }
}

impl Failed for SetAllResult {
    fn failed(reason: &str) -> Self {
        Self {
            result: SetResult::failed(reason),
        }
    }
}

impl Failed for SetResult {
    fn failed(reason: &str) -> Self {
        Self {
            successful: false,
            reason: reason.to_owned(),
        }
    }
}

impl SetResult {
    /// It was set.
    pub fn done() -> Self {
        Self {
            successful: true,
            reason: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::services::messages::cdr::{from_cdr, to_cdr};

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
        digits.chunks(2).map(|pair| byte(pair).unwrap()).collect()
    }

    #[track_caller]
    fn is_both_ways<T>(message: &T, hex: &str)
    where
        T: Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
    {
        assert_eq!(to_cdr(message).unwrap(), bytes(hex));
        assert_eq!(&from_cdr::<T>(&bytes(hex)).unwrap(), message);
    }

    #[test]
    fn messages_have_the_bytes_of_other_encoders() {
        is_both_ways(
            &ListRequest::default(),
            "00010000 00000000 00000000 0000000000000000",
        );
        is_both_ways(
            &ListResponse {
                names: vec!["a".into(), "bb".into()],
                prefixes: vec![],
            },
            "00010000 02000000 02000000 6100 0000 03000000 626200 00 00000000",
        );
        is_both_ways(
            &Values {
                values: vec![true.into()],
            },
            "0001000001000000010100000000000000000000000000000000000001000000000000000000000000000000000000000000000000000000",
        );
        is_both_ways(
            &Values {
                values: vec![String::from("hi").into()],
            },
            "0001000001000000040000000000000000000000000000000000000003000000686900000000000000000000000000000000000000000000",
        );
        is_both_ways(
            &Descriptors {
                descriptors: vec![Descriptor {
                    name: "use_sim_time".into(),
                    kind: 1,
                    ..Descriptor::default()
                }],
            },
            "00010000010000000d0000007573655f73696d5f74696d6500010000010000000000000001000000000000000000000000000000",
        );
        is_both_ways(
            &SetResults {
                results: vec![SetResult {
                    successful: false,
                    reason: "read-only".into(),
                }],
            },
            "0001000001000000000000000a000000726561642d6f6e6c7900",
        );
    }

    #[test]
    fn what_is_cut_off_or_too_long_is_refused() {
        let whole = to_cdr(&Values {
            values: vec![1.5.into(), 7.into()],
        })
        .unwrap();
        for length in 0..whole.len() - 3 {
            assert!(from_cdr::<Values>(&whole[..length]).is_err(), "{length}");
        }
        let long: Vec<u8> = whole.iter().copied().chain([0; 4]).collect();
        assert!(from_cdr::<Values>(&long).is_err());
        // A sequence that declares four billion elements.
        assert!(from_cdr::<Values>(&bytes("00010000 ffffffff 00")).is_err());
    }
}
