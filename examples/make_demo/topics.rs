//! The demo's topics, as a Jazzy recorder describes them: type, definition, hash and offered `QoS`.

/// A recorded topic.
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    pub(crate) type_name: &'static str,
    /// The definition with all it refers to, in the form of encoding `ros2msg`.
    pub(crate) definition: &'static str,
    /// RIHS01 of the type: see `testdata/README.md` for how it was checked.
    pub(crate) hash: &'static str,
    pub(crate) reliability: &'static str,
    pub(crate) durability: &'static str,
    pub(crate) depth: u32,
    /// One profile is offered by each publisher.
    pub(crate) publishers: usize,
}

const VOLATILE: &str = "volatile";
const LATCHED: &str = "transient_local";
const RELIABLE: &str = "reliable";
const BEST_EFFORT: &str = "best_effort";

pub(crate) static CLOCK: Topic = Topic {
    name: "/clock",
    type_name: "rosgraph_msgs/msg/Clock",
    definition: include_str!("schemas/Clock.msg"),
    hash: "RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564",
    reliability: BEST_EFFORT,
    durability: VOLATILE,
    depth: 1,
    publishers: 1,
};

pub(crate) static IMU: Topic = Topic {
    name: "/imu",
    type_name: "sensor_msgs/msg/Imu",
    definition: include_str!("schemas/Imu.msg"),
    hash: "RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b",
    reliability: BEST_EFFORT,
    durability: VOLATILE,
    depth: 5,
    publishers: 1,
};

pub(crate) static ODOM: Topic = Topic {
    name: "/odom",
    type_name: "nav_msgs/msg/Odometry",
    definition: include_str!("schemas/Odometry.msg"),
    hash: "RIHS01_3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0",
    reliability: RELIABLE,
    durability: VOLATILE,
    depth: 10,
    publishers: 1,
};

const TF_HASH: &str = "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087";

pub(crate) static TF: Topic = Topic {
    name: "/tf",
    type_name: "tf2_msgs/msg/TFMessage",
    definition: include_str!("schemas/TFMessage.msg"),
    hash: TF_HASH,
    reliability: RELIABLE,
    durability: VOLATILE,
    depth: 100,
    publishers: 1,
};

pub(crate) static TF_STATIC: Topic = Topic {
    name: "/tf_static",
    type_name: "tf2_msgs/msg/TFMessage",
    definition: include_str!("schemas/TFMessage.msg"),
    hash: TF_HASH,
    reliability: RELIABLE,
    durability: LATCHED,
    depth: 1,
    publishers: 2,
};

pub(crate) static ROBOT_DESCRIPTION: Topic = Topic {
    name: "/robot_description",
    type_name: "std_msgs/msg/String",
    definition: include_str!("schemas/String.msg"),
    hash: "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18",
    reliability: RELIABLE,
    durability: LATCHED,
    depth: 1,
    publishers: 1,
};

pub(crate) static SCAN: Topic = Topic {
    name: "/scan",
    type_name: "sensor_msgs/msg/LaserScan",
    definition: include_str!("schemas/LaserScan.msg"),
    hash: "RIHS01_64c191398013af96509d518dac71d5164f9382553fce5c1f8cca5be7924bd828",
    reliability: BEST_EFFORT,
    durability: VOLATILE,
    depth: 5,
    publishers: 1,
};

pub(crate) static CAMERA: Topic = Topic {
    name: "/camera/image/compressed",
    type_name: "sensor_msgs/msg/CompressedImage",
    definition: include_str!("schemas/CompressedImage.msg"),
    hash: "RIHS01_15640771531571185e2efc8a100baf923961a4d15d5569652e6cb6691e8e371a",
    reliability: BEST_EFFORT,
    durability: VOLATILE,
    depth: 5,
    publishers: 1,
};

pub(crate) static DIAGNOSTICS: Topic = Topic {
    name: "/diagnostics",
    type_name: "diagnostic_msgs/msg/DiagnosticArray",
    definition: include_str!("schemas/DiagnosticArray.msg"),
    hash: "RIHS01_5a8a36efb05fb25070fa0fb3810290c0e6cd4862b54a8fb975a1ee8dc55a333e",
    reliability: RELIABLE,
    durability: VOLATILE,
    depth: 10,
    publishers: 1,
};

/// All of them, in the order in which the recorder met them.
pub(crate) static ALL: [&Topic; 9] = [
    &ROBOT_DESCRIPTION,
    &TF_STATIC,
    &TF,
    &ODOM,
    &IMU,
    &SCAN,
    &CAMERA,
    &DIAGNOSTICS,
    &CLOCK,
];

impl Topic {
    /// The offered profiles as YAML text, the way rosbag2 writes it from metadata version 9 on.
    pub(crate) fn qos_profiles(&self) -> String {
        let Self {
            reliability,
            durability,
            depth,
            ..
        } = self;
        let profile = format!(
            "- history: keep_last\n  depth: {depth}\n  reliability: {reliability}\n  durability: {durability}\n  \
             deadline:\n    sec: 9223372036\n    nsec: 854775807\n  \
             lifespan:\n    sec: 9223372036\n    nsec: 854775807\n  \
             liveliness: automatic\n  \
             liveliness_lease_duration:\n    sec: 9223372036\n    nsec: 854775807\n  \
             avoid_ros_namespace_conventions: false"
        );
        vec![profile; self.publishers].join("\n")
    }
}
