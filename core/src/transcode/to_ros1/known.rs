//! [`known`]: the types that ROS 1 has with other fields or other constants than ROS 2.
//!
//! ROS 1 nodes recognise a definition by its MD5 sum, so it must be exactly theirs. These are those of ROS Noetic. All
//! other types that both have differ by no more than the rules of `ros1_text.rs`.

/// A type of ROS 2 and what ROS 1 has in its place.
#[derive(Debug)]
pub(super) struct Known {
    /// `pkg/msg/Name`.
    ros2: &'static str,
    /// The same for ROS 1.
    pub(super) name: &'static str,
    /// The definition of ROS 1, without those that it refers to.
    pub(super) text: &'static str,
}

/// What ROS 1 has in the place of a type, `pkg/msg/Name`, if its definition cannot be derived.
pub(super) fn known(ros2: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.ros2 == ros2)
}

const KNOWN: [Known; 10] = [
    Known {
        ros2: "rcl_interfaces/msg/Log",
        name: "rosgraph_msgs/msg/Log",
        text: "\
byte DEBUG=1
byte INFO=2
byte WARN=4
byte ERROR=8
byte FATAL=16
std_msgs/Header header
byte level
string name
string msg
string file
string function
uint32 line
string[] topics
",
    },
    Known {
        ros2: "sensor_msgs/msg/BatteryState",
        name: "sensor_msgs/msg/BatteryState",
        text: "\
uint8 POWER_SUPPLY_STATUS_UNKNOWN=0
uint8 POWER_SUPPLY_STATUS_CHARGING=1
uint8 POWER_SUPPLY_STATUS_DISCHARGING=2
uint8 POWER_SUPPLY_STATUS_NOT_CHARGING=3
uint8 POWER_SUPPLY_STATUS_FULL=4
uint8 POWER_SUPPLY_HEALTH_UNKNOWN=0
uint8 POWER_SUPPLY_HEALTH_GOOD=1
uint8 POWER_SUPPLY_HEALTH_OVERHEAT=2
uint8 POWER_SUPPLY_HEALTH_DEAD=3
uint8 POWER_SUPPLY_HEALTH_OVERVOLTAGE=4
uint8 POWER_SUPPLY_HEALTH_UNSPEC_FAILURE=5
uint8 POWER_SUPPLY_HEALTH_COLD=6
uint8 POWER_SUPPLY_HEALTH_WATCHDOG_TIMER_EXPIRE=7
uint8 POWER_SUPPLY_HEALTH_SAFETY_TIMER_EXPIRE=8
uint8 POWER_SUPPLY_TECHNOLOGY_UNKNOWN=0
uint8 POWER_SUPPLY_TECHNOLOGY_NIMH=1
uint8 POWER_SUPPLY_TECHNOLOGY_LION=2
uint8 POWER_SUPPLY_TECHNOLOGY_LIPO=3
uint8 POWER_SUPPLY_TECHNOLOGY_LIFE=4
uint8 POWER_SUPPLY_TECHNOLOGY_NICD=5
uint8 POWER_SUPPLY_TECHNOLOGY_LIMN=6
std_msgs/Header header
float32 voltage
float32 temperature
float32 current
float32 charge
float32 capacity
float32 design_capacity
float32 percentage
uint8 power_supply_status
uint8 power_supply_health
uint8 power_supply_technology
bool present
float32[] cell_voltage
float32[] cell_temperature
string location
string serial_number
",
    },
    Known {
        ros2: "sensor_msgs/msg/CameraInfo",
        name: "sensor_msgs/msg/CameraInfo",
        text: "\
std_msgs/Header header
uint32 height
uint32 width
string distortion_model
float64[] D
float64[9] K
float64[9] R
float64[12] P
uint32 binning_x
uint32 binning_y
sensor_msgs/RegionOfInterest roi
",
    },
    Known {
        ros2: "sensor_msgs/msg/NavSatStatus",
        name: "sensor_msgs/msg/NavSatStatus",
        text: "\
int8 STATUS_NO_FIX=-1
int8 STATUS_FIX=0
int8 STATUS_SBAS_FIX=1
int8 STATUS_GBAS_FIX=2
uint16 SERVICE_GPS=1
uint16 SERVICE_GLONASS=2
uint16 SERVICE_COMPASS=4
uint16 SERVICE_GALILEO=8
int8 status
uint16 service
",
    },
    Known {
        ros2: "sensor_msgs/msg/Range",
        name: "sensor_msgs/msg/Range",
        text: "\
uint8 ULTRASOUND=0
uint8 INFRARED=1
std_msgs/Header header
uint8 radiation_type
float32 field_of_view
float32 min_range
float32 max_range
float32 range
",
    },
    Known {
        ros2: "shape_msgs/msg/SolidPrimitive",
        name: "shape_msgs/msg/SolidPrimitive",
        text: "\
uint8 BOX=1
uint8 SPHERE=2
uint8 CYLINDER=3
uint8 CONE=4
uint8 BOX_X=0
uint8 BOX_Y=1
uint8 BOX_Z=2
uint8 SPHERE_RADIUS=0
uint8 CYLINDER_HEIGHT=0
uint8 CYLINDER_RADIUS=1
uint8 CONE_HEIGHT=0
uint8 CONE_RADIUS=1
uint8 type
float64[] dimensions
",
    },
    Known {
        ros2: "std_msgs/msg/Header",
        name: "std_msgs/msg/Header",
        text: "\
uint32 seq
time stamp
string frame_id
",
    },
    Known {
        ros2: "stereo_msgs/msg/DisparityImage",
        name: "stereo_msgs/msg/DisparityImage",
        text: "\
std_msgs/Header header
sensor_msgs/Image image
float32 f
float32 T
sensor_msgs/RegionOfInterest valid_window
float32 min_disparity
float32 max_disparity
float32 delta_d
",
    },
    Known {
        ros2: "visualization_msgs/msg/ImageMarker",
        name: "visualization_msgs/msg/ImageMarker",
        text: "\
uint8 CIRCLE=0
uint8 LINE_STRIP=1
uint8 LINE_LIST=2
uint8 POLYGON=3
uint8 POINTS=4
uint8 ADD=0
uint8 REMOVE=1
std_msgs/Header header
string ns
int32 id
int32 type
int32 action
geometry_msgs/Point position
float32 scale
std_msgs/ColorRGBA outline_color
uint8 filled
std_msgs/ColorRGBA fill_color
duration lifetime
geometry_msgs/Point[] points
std_msgs/ColorRGBA[] outline_colors
",
    },
    Known {
        ros2: "visualization_msgs/msg/Marker",
        name: "visualization_msgs/msg/Marker",
        text: "\
uint8 ARROW=0
uint8 CUBE=1
uint8 SPHERE=2
uint8 CYLINDER=3
uint8 LINE_STRIP=4
uint8 LINE_LIST=5
uint8 CUBE_LIST=6
uint8 SPHERE_LIST=7
uint8 POINTS=8
uint8 TEXT_VIEW_FACING=9
uint8 MESH_RESOURCE=10
uint8 TRIANGLE_LIST=11
uint8 ADD=0
uint8 MODIFY=0
uint8 DELETE=2
uint8 DELETEALL=3
std_msgs/Header header
string ns
int32 id
int32 type
int32 action
geometry_msgs/Pose pose
geometry_msgs/Vector3 scale
std_msgs/ColorRGBA color
duration lifetime
bool frame_locked
geometry_msgs/Point[] points
std_msgs/ColorRGBA[] colors
string text
string mesh_resource
bool mesh_use_embedded_materials
",
    },
];
