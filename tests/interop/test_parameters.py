"""The node of a player as a whole, seen by a program that shares no code with it: its parameters, the topics on which it
tells about itself, and the definitions of its types."""

import hashlib
import json
import time
from contextlib import contextmanager

import numpy
import pytest
from mcap.writer import Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from node import CLOCK, Node, session
from player import Player
from recording import Topic
from service import HEADER, PlayerClient, ServiceClient, ServiceType
from test_latched import LateSubscriber

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
STRING_HASH = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"

# The messages of rcl_interfaces, as their package defines them; requests and responses are messages for `rosbags`.
VALUE = """uint8 type
bool bool_value
int64 integer_value
float64 double_value
string string_value
byte[] byte_array_value
bool[] bool_array_value
int64[] integer_array_value
float64[] double_array_value
string[] string_array_value
"""
TYPES = {
    "ParameterValue": VALUE,
    "Parameter": "string name\nrcl_interfaces/ParameterValue value\n",
    "SetParametersResult": "bool successful\nstring reason\n",
    "FloatingPointRange": "float64 from_value\nfloat64 to_value\nfloat64 step\n",
    "IntegerRange": "int64 from_value\nint64 to_value\nuint64 step\n",
    "ParameterDescriptor": """string name
uint8 type
string description
string additional_constraints
bool read_only
bool dynamic_typing
rcl_interfaces/FloatingPointRange[<=1] floating_point_range
rcl_interfaces/IntegerRange[<=1] integer_range
""",
    "ParameterEvent": """builtin_interfaces/Time stamp
string node
rcl_interfaces/Parameter[] new_parameters
rcl_interfaces/Parameter[] changed_parameters
rcl_interfaces/Parameter[] deleted_parameters
""",
    "Log": """builtin_interfaces/Time stamp
uint8 level
string name
string msg
string file
string function
uint32 line
""",
    "Names": "string[] names\n",
    "ListRequest": "string[] prefixes\nuint64 depth\n",
    "ListResponse": "string[] names\nstring[] prefixes\n",
    "Values": "rcl_interfaces/ParameterValue[] values\n",
    "Types": "uint8[] types\n",
    "Descriptors": "rcl_interfaces/ParameterDescriptor[] descriptors\n",
    "SetRequest": "rcl_interfaces/Parameter[] parameters\n",
    "SetResults": "rcl_interfaces/SetParametersResult[] results\n",
    "SetAllResult": "rcl_interfaces/SetParametersResult result\n",
    "SplitEvent": "string closed_file\nstring opened_file\nstring node_name\n",
    "FieldType": "uint8 type_id\nuint64 capacity\nuint64 string_capacity\nstring nested_type_name\n",
    "Field": "string name\nrcl_interfaces/FieldType type\nstring default_value\n",
    "IndividualTypeDescription": "string type_name\nrcl_interfaces/Field[] fields\n",
    "TypeDescription": """rcl_interfaces/IndividualTypeDescription type_description
rcl_interfaces/IndividualTypeDescription[] referenced_type_descriptions
""",
    "TypeSource": "string type_name\nstring encoding\nstring raw_file_contents\n",
    "KeyValue": "string key\nstring value\n",
    "TypeRequest": "string type_name\nstring type_hash\nbool include_type_sources\n",
    "TypeResponse": """bool successful
string failure_reason
rcl_interfaces/TypeDescription type_description
rcl_interfaces/TypeSource[] type_sources
rcl_interfaces/KeyValue[] extra_information
""",
}


def make_store():
    store = get_typestore(Stores.EMPTY)
    types = get_types_from_msg("int32 sec\nuint32 nanosec\n", "builtin_interfaces/msg/Time")
    for name, text in TYPES.items():
        types |= get_types_from_msg(text, f"rcl_interfaces/msg/{name}")
    store.register(types)
    return store


STORE = make_store()


def make(name: str, *values):
    return STORE.types[f"rcl_interfaces/msg/{name}"](*values)


def written(message) -> bytes:
    return bytes(STORE.serialize_cdr(message, message.__msgtype__))[4:]


def read(name: str, payload: bytes):
    # A copy: `rosbags` returns arrays that refer to the payload.
    return STORE.deserialize_cdr(bytes(payload), f"rcl_interfaces/msg/{name}")


def parameters(name: str, digits: str) -> ServiceType:
    return ServiceType(f"rcl_interfaces/srv/{name}", digits)


SERVICES = {
    "list_parameters": parameters(
        "ListParameters", "3e6062bfbb27bfb8730d4cef2558221f51a11646d78e7bb30a1e83afac3aad9d"
    ),
    "get_parameters": parameters(
        "GetParameters", "bf9803d5c74cf989a5de3e0c2e99444599a627c7ff75f97b8c05b01003675cbc"
    ),
    "get_parameter_types": parameters(
        "GetParameterTypes", "da199c878688b3e530bdfe3ca8f74cb9fa0c303101e980a9e8f260e25e1c80ca"
    ),
    "describe_parameters": parameters(
        "DescribeParameters", "845b484d71eb0673dae682f2e3ba3c4851a65a3dcfb97bddd82c5b57e91e4cff"
    ),
    "set_parameters": parameters(
        "SetParameters", "56eed9a67e169f9cb6c1f987bc88f868c14a8fc9f743a263bc734c154015d7e0"
    ),
    "set_parameters_atomically": parameters(
        "SetParametersAtomically", "0e192ef259c07fc3c07a13191d27002222e65e00ccec653ca05e856f79285fcd"
    ),
    "get_type_description": ServiceType(
        "type_description_interfaces/srv/GetTypeDescription",
        "69b9c19c1021405984cc60dbbb1edceb147a6538b411d812ba6afabeed962cd5",
    ),
}

FIELDS = {bool: (1, "bool_value"), int: (2, "integer_value"), float: (3, "double_value"), str: (4, "string_value")}
NAMES = [line.split()[1] for line in VALUE.splitlines()]


def value(content):
    kind, field = FIELDS[type(content)]
    fields = dict(zip(NAMES, (kind, False, 0, 0.0, "", *([] for _ in range(5)))))
    for name, kind_of in (("byte", "u1"), ("bool", "?"), ("integer", "i8"), ("double", "f8")):
        fields[f"{name}_array_value"] = numpy.array([], dtype=kind_of)
    return make("ParameterValue", *(fields | {field: content}).values())


def content(value):
    """What a ParameterValue has for its type."""
    field = NAMES[value.type]
    return getattr(value, field) if value.type else None


def parameter(name: str, content):
    return make("Parameter", name, value(content))


class Parameters:
    """A client of a node's parameters, as `ros2 param` is one: it waits for all six services."""

    def __init__(self, opened, node: str = "/rosbag2_player"):
        self.clients = {
            name: ServiceClient(opened, f"{node}/{name}", kind) for name, kind in SERVICES.items()
        }

    def call(self, service: str, request, response: str):
        return read(response, HEADER + self.clients[service].call(written(request)))

    def names(self, *prefixes: str, depth: int = 0):
        return self.call("list_parameters", make("ListRequest", list(prefixes), depth), "ListResponse")

    def get(self, *names: str) -> list:
        values = self.call("get_parameters", make("Names", list(names)), "Values").values
        return [content(value) for value in values]

    def types(self, *names: str) -> list:
        return list(self.call("get_parameter_types", make("Names", list(names)), "Types").types)

    def describe(self, *names: str) -> list:
        return self.call("describe_parameters", make("Names", list(names)), "Descriptors").descriptors

    def set(self, **wanted) -> list:
        request = make("SetRequest", [parameter(name, it) for name, it in wanted.items()])
        return self.call("set_parameters", request, "SetResults").results

    def set_all(self, **wanted):
        request = make("SetRequest", [parameter(name, it) for name, it in wanted.items()])
        return self.call("set_parameters_atomically", request, "SetAllResult").result

    def type(self, hash: str, sources: bool = False):
        return self.call("get_type_description", make("TypeRequest", "", hash, sources), "TypeResponse")


EVENTS = Topic("/parameter_events", "rcl_interfaces/msg/ParameterEvent", "", "any", "")
ROSOUT = Topic("/rosout", "rcl_interfaces/msg/Log", "", "any", "durability: transient_local")
SPLITS = Topic("/events/read_split", "rosbag2_interfaces/msg/ReadSplitEvent", "", "any", "")


@pytest.fixture
def started(demo):
    @contextmanager
    def start(*arguments: str):
        usual = ["--topics", "/odom", "--clock", "100"]
        with (
            Player(demo.path, *usual, *arguments) as player,
            Node(player.port, [CLOCK, EVENTS, ROSOUT]) as node,
            session(player.port) as opened,
        ):
            yield player, node, opened

    return start


def test_parameters_say_what_the_run_was_started_with(started, demo):
    arguments = ["--start-paused", "--loop", "--rate", "0.5", "--start-offset", "1.5", "--remap", "/odom:=/o"]
    with started(*arguments) as (_, _, opened):
        node = Parameters(opened)
        everything = node.names().names
        assert everything == sorted(everything)
        values = dict(zip(everything, node.get(*everything)))
        assert len(values) == len(everything) == len(node.describe(*everything))
        assert values["storage.uri"] == str(demo.path)
        assert values["storage.storage_id"] == "mcap"
        assert values["play.rate"] == 0.5 == values["rate"]
        assert values["play.start_paused"] is True is values["paused"]
        assert values["play.loop"] is True is values["loop"]
        assert values["play.clock_publish_frequency"] == 100
        assert values["play.topics_to_filter"] == ["/odom"]
        assert values["play.topic_remapping_options"] == ["/odom:=/o"]
        assert values["play.start_offset"] == pytest.approx(1.5, abs=1e-9)
        assert values["use_sim_time"] is False
        assert values["start_type_description_service"] is True
        for described in node.describe(*everything):
            is_settable = described.name in ("rate", "paused", "loop", "use_sim_time")
            assert described.read_only != is_settable
            assert described.description or described.name.startswith("qos_overrides.")
            assert node.types(described.name) == [described.type]
        [rate] = node.describe("rate")
        [allowed] = rate.floating_point_range
        assert (allowed.from_value, allowed.to_value, allowed.step) == (0.001, 1000, 0)


def test_names_are_listed_and_read_as_by_rclcpp(started):
    with started("--start-paused") as (_, _, opened):
        node = Parameters(opened)
        top = ["loop", "paused", "rate", "start_type_description_service", "use_sim_time"]
        assert node.names(depth=1).names == top
        assert node.names(depth=1).prefixes == []
        below = node.names("storage")
        assert below.names == ["storage.storage_id", "storage.uri", "storage.uris"]
        assert below.prefixes == ["storage"]
        assert node.names("storag").names == []
        assert node.names("qos_overrides", depth=1).names == []
        # One name that is not declared: nothing at all.
        assert node.get("rate", "none") == []
        assert node.types("rate", "none") == []
        assert node.describe("rate", "none") == []
        assert node.get() == []


def test_parameters_drive_playback(started):
    with started("--start-paused") as (player, node, opened):
        own, services = Parameters(opened), PlayerClient(opened)
        assert [result.successful for result in own.set(rate=4.0, loop=True)] == [True, True]
        assert services.rate() == 4
        assert own.set(paused=False)[0].successful
        assert not services.is_paused()
        services.pause()
        assert own.get("paused", "rate", "loop") == [True, 4.0, True]
        mixed = own.set(rate=0.5, **{"play.rate": 1.0}, none=1, paused=3, loop=False)
        assert [result.successful for result in mixed] == [True, False, False, False, True]
        reasons = [result.reason for result in mixed]
        assert reasons[0] == reasons[4] == ""
        assert reasons[1] == "parameter 'play.rate' cannot be set because it is read-only"
        assert reasons[2] == "parameter 'none' cannot be set because it was not declared"
        assert "is of type {bool}, setting it to {integer}" in reasons[3]
        for rate in (0.0, -1.0, 2000.0, float("nan"), float("inf")):
            [refused] = own.set(rate=rate)
            assert not refused.successful and "floating point range" in refused.reason
        [refused] = own.set(use_sim_time=True)
        assert not refused.successful and "/clock" in refused.reason
        assert own.set(use_sim_time=False)[0].successful
        assert services.rate() == 0.5
        refused = own.set_all(rate=3.0, paused=7)
        assert not refused.successful and "{paused}" in refused.reason
        assert not own.set_all(rate=3.0, none=True).successful
        assert services.rate() == 0.5
        assert own.set_all(rate=3.0, loop=True).successful
        assert own.get("rate", "loop") == [3.0, True]


def test_changes_are_published_once_for_whoever_made_them(started):
    with started("--start-paused") as (player, node, opened):
        own, services = Parameters(opened), PlayerClient(opened)

        def events() -> list:
            return [read("ParameterEvent", it.payload) for it in node.of(EVENTS.name)]

        def last(count: int) -> list:
            node.wait_for(lambda node: node.counts[EVENTS.name] >= count, timeout=30)
            changed = events()[-1].changed_parameters
            return [(it.name, content(it.value)) for it in changed]

        # This node may have come too late for the first event, which has all parameters as new ones.
        assert services.set_rate(7)
        node.wait_for(lambda node: node.of(EVENTS.name) and last(1) == [("rate", 7.0)], timeout=30)
        count = node.counts[EVENTS.name]
        services.resume()
        assert last(count + 1) == [("paused", False)]
        assert own.set(loop=True)[0].successful
        assert last(count + 2) == [("loop", True)]
        # Laps and jumps change no parameter.
        assert services.seek(START)
        assert own.set(rate=1000.0)[0].successful
        assert last(count + 3) == [("rate", 1000.0)]
        ticks = node.counts[CLOCK.name]
        node.wait_for(lambda node: node.counts[CLOCK.name] >= ticks + 50, timeout=30)
        assert node.counts[EVENTS.name] == count + 3
        assert all(event.node == "/rosbag2_player" and event.stamp.sec > 0 for event in events())


def test_warnings_appear_on_rosout_also_for_late_joiners(demo, tmp_path):
    # The file is warned of before there is a node.
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(demo.path.read_bytes()[:-1000])
    with Player(cut, "--start-paused") as player, session(player.port) as opened:
        client = ServiceClient(opened, "/rosbag2_player/get_parameters", SERVICES["get_parameters"])
        [reply] = list(client.send(HEADER + b"\1"))
        # No values.
        assert reply.ok.payload.to_bytes() == HEADER + bytes(4)
        words = f"a request to get_parameters from client {client.gid.hex('.')} cannot be read"
        player.wait_for_log(words)
        prefix = "warning: "
        lines = player.stderr().splitlines()
        warned = [line.removeprefix(prefix) for line in lines if line.startswith(prefix)]
        assert words in warned[-1] and "cut.mcap" in warned[0] and len(warned) >= 3
        with Node(player.port, []) as node:
            node.wait_for(lambda node: node.publishers(ROSOUT.name), timeout=30)
            [token] = node.publishers(ROSOUT.name)
        late = LateSubscriber(opened, Topic(ROSOUT.name, ROSOUT.type_name, "", token.split("/")[11], ""))
        late.settle(len(warned))
        logged = [read("Log", payload) for payload in late.payloads]
        assert [line.msg for line in logged] == warned
        assert {(line.level, line.name) for line in logged} == {(30, "rosbag2_player")}
        assert all(abs(line.stamp.sec - time.time()) < 600 for line in logged)


def test_definitions_are_served_by_their_hashes(started, demo):
    with started("--start-paused") as (_, _, opened):
        own = Parameters(opened)
        asked = 0
        for topic in demo.topics.values():
            described = own.type(topic.store.hash_rihs01(topic.type_name), sources=True)
            assert described.successful, (topic.type_name, described.failure_reason)
            text = hash_text(described.type_description)
            assert f"RIHS01_{sha256(text)}" == topic.store.hash_rihs01(topic.type_name)
            sources = described.type_sources
            assert sources[0].type_name == topic.type_name
            assert sources[0].raw_file_contents.strip() in topic.definition
            names = [it.type_name for it in described.type_description.referenced_type_descriptions]
            assert [it.type_name for it in sources[1:]] == names == sorted(names)
            assert {it.encoding for it in sources} == {"msg"}
            assert len(own.type(topic.store.hash_rihs01(topic.type_name)).type_sources) == 0
            asked += 1
        assert asked
        for hash, reason in (
            ("x", "Failed to parse type hash"),
            ("RIHS01_12", "Failed to parse type hash"),
            (f"RIHS01_{'1' * 64}", "Type not currently in use by this node"),
        ):
            refused = own.type(hash)
            assert (refused.successful, refused.failure_reason) == (False, reason)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def hash_text(description) -> str:
    """The text whose SHA-256 is the hash of a type, from the description that was received."""

    def individual(it) -> dict:
        fields = [
            {
                "name": field.name,
                "type": {
                    "type_id": int(field.type.type_id),
                    "capacity": int(field.type.capacity),
                    "string_capacity": int(field.type.string_capacity),
                    "nested_type_name": field.type.nested_type_name,
                },
            }
            for field in it.fields
        ]
        return {"type_name": it.type_name, "fields": fields}

    return json.dumps(
        {
            "type_description": individual(description.type_description),
            "referenced_type_descriptions": [
                individual(it) for it in description.referenced_type_descriptions
            ],
        }
    )


def test_the_next_file_of_a_recording_is_told(tmp_path):
    folder = tmp_path / "bag"
    folder.mkdir()
    paths = [folder / f"bag_{number}.mcap" for number in range(3)]
    for number, path in enumerate(paths):
        write_file(path, START + number * SECOND)
    topic = Topic("/split", "std_msgs/msg/String", "string data", STRING_HASH, "")
    with (
        Player(folder, "--rate", "10", "--wait-for-subscribers", "/split") as player,
        Node(player.port, [SPLITS, topic]) as node,
    ):
        node.wait_for(lambda node: node.counts[SPLITS.name] == 2, timeout=60)
        player.finish(timeout=60)
        node.wait_for(lambda node: node.counts["/split"] >= 6, timeout=60)
        events = [read("SplitEvent", it.payload) for it in node.of(SPLITS.name)]
        crossed = [(it.closed_file, it.opened_file) for it in events]
        assert crossed == [(str(a), str(b)) for a, b in zip(paths, paths[1:])]
        assert {it.node_name for it in events} == {"/rosbag2_player"}
        assert node.counts["/split"] == 6


def write_file(path, start: int) -> None:
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start(profile="ros2")
        schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
        channel = writer.register_channel("/split", "cdr", schema)
        for at in (start, start + SECOND // 2):
            writer.add_message(channel, at, HEADER + b"\2\0\0\0x\0", at)
        writer.finish()


def test_the_graph_shows_a_whole_node(started):
    with started("--start-paused") as (_, node, _):
        entities = lambda: {
            (c[5], c[9].replace("%", "/"), c[12])
            for c in (token.split("/") for token in node.tokens)
            if c[5] in ("MP", "SS") and c[8] == "rosbag2_player"
        }
        wanted = {
            ("MP", "/parameter_events", "::,1000:,:,:,,"),
            ("MP", "/rosout", ":1:,1000:,:10,0:,,"),
            ("MP", "/events/read_split", "::,3:,:,:,,"),
            ("SS", "/rosbag2_player/get_type_description", "::,10:,:,:,,"),
        } | {
            ("SS", f"/rosbag2_player/{name}", "::,1000:,:,:,,")
            for name in SERVICES
            if name != "get_type_description"
        }
        node.wait_for(lambda _: entities() >= wanted, timeout=30)
