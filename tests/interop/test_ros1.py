"""ROS 1 recordings of $BAGPLAY_DATA as ROS 2 messages, converted and played, against PyPI `rosbags`."""

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from mcap.reader import NonSeekingReader, make_reader
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

import checks
from late_node import LateSubscriber
from node import Node, session
from player import BINARY, Player, environment
from recording import Recording

RECORDINGS = [
    "cartographer_ros1/b0_tiny_lz4.mcap",
    "cartographer_ros1/b0_tiny_none.mcap",
    "cartographer_ros1/b0_tiny_zstd.mcap",
    "husky_ros1/test1_lz4.mcap",
    "ouster_ros1/test.mcap",
    "turtlesim_ros1/example_zstd.mcap",
]
LOG = "rosgraph_msgs/Log"
RENAMED = {LOG: "rcl_interfaces/msg/Log", "tf/tfMessage": "tf2_msgs/msg/TFMessage"}
LEVELS = {1: 10, 2: 20, 4: 30, 8: 40, 16: 50}
# Of packages that are no part of ROS 2.
OWN_TYPES = {"ouster_ros/msg/PacketMsg", "turtlesim/msg/Color", "turtlesim/msg/Pose"}


def convert(path: Path, out: Path, *flags: str) -> dict:
    """The report of `play convert`, which succeeds."""
    command = [BINARY, "convert", "--format", "json", path, "-o", out, *flags]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def read(path: Path) -> list[tuple]:
    """Schema, channel and message of each message, in the order of the file, with all checksums."""
    with path.open("rb") as file:
        return list(NonSeekingReader(file, validate_crcs=True).iter_messages(log_time_order=False))


class Types:
    """The types of ROS 1 definitions; `seq` of headers is kept or, for CDR, not."""

    def __init__(self):
        self._stores = {}

    def store(self, schema, for_cdr: bool):
        key = (schema.name, schema.data, for_cdr)
        if key not in self._stores:
            types = get_types_from_msg(schema.data.decode(), schema.name)
            if for_cdr:
                header = "std_msgs/msg/Header"
                types[header] = get_typestore(Stores.ROS2_JAZZY).fielddefs[header]
            store = get_typestore(Stores.EMPTY)
            # Of standard types, too: this store has none of its own.
            store.register(types)
            self._stores[key] = store
        return self._stores[key]

    def cdr(self, schema, data: bytes) -> bytes:
        return bytes(self.store(schema, True).ros1_to_cdr(data, normal(schema.name)))

    def ros1(self, schema, data: bytes):
        store = get_typestore(Stores.ROS1_NOETIC)
        return store.deserialize_ros1(data, normal(schema.name))


def normal(name: str) -> str:
    package, name = name.split("/")
    return f"{package}/msg/{name}"


@pytest.mark.parametrize("name", RECORDINGS)
def test_each_converted_message_has_the_bytes_of_rosbags(data, tmp_path, name):
    out = tmp_path / "ros2.mcap"
    report = convert(data / name, out)
    before, after = read(data / name), read(out)
    assert len(after) == len(before) == report["messages"] > 0
    assert report["left_out"] == 0 and not report["refused"]
    types = Types()
    for (schema, channel, message), (schema2, channel2, message2) in zip(before, after):
        assert (channel2.topic, channel2.message_encoding) == (channel.topic, "cdr")
        times = (message.log_time, message.publish_time, message.sequence)
        assert (message2.log_time, message2.publish_time, message2.sequence) == times
        assert schema2.encoding == "ros2msg"
        assert schema2.name == RENAMED.get(schema.name, normal(schema.name))
        if schema.name == LOG:
            log_is_same(types.ros1(schema, message.data), message2.data)
        else:
            assert message2.data == types.cdr(schema, message.data), channel.topic


def log_is_same(log, cdr: bytes) -> None:
    jazzy = get_typestore(Stores.ROS2_JAZZY)
    ros2 = jazzy.deserialize_cdr(cdr, "rcl_interfaces/msg/Log")
    assert (ros2.stamp.sec, ros2.stamp.nanosec) == (log.header.stamp.sec, log.header.stamp.nanosec)
    assert ros2.level == LEVELS[log.level]
    for field in ("name", "msg", "file", "function", "line"):
        assert getattr(ros2, field) == getattr(log, field)
    assert bytes(jazzy.serialize_cdr(ros2, "rcl_interfaces/msg/Log", little_endian=True)) == cdr


@pytest.mark.parametrize("name", RECORDINGS)
def test_converted_definitions_have_the_hashes_of_ros2(data, tmp_path, name):
    out = tmp_path / "ros2.mcap"
    convert(data / name, out)
    converted = Recording(out)
    jazzy = get_typestore(Stores.ROS2_JAZZY)
    standard = 0
    for topic in converted.topics.values():
        # The hash of our text as `rosbags` reads it.
        text_hash = topic.store.hash_rihs01(topic.type_name)
        assert topic.recorded_hash == text_hash
        if topic.type_name in OWN_TYPES:
            assert topic.type_name not in jazzy.fielddefs
        else:
            assert text_hash == jazzy.hash_rihs01(topic.type_name), topic.type_name
            standard += 1
    assert standard > 0
    for message in converted.messages:
        converted.topics[message.topic].decode(message.data)


def test_a_converted_recording_keeps_metadata_and_says_what_is_latched(data, tmp_path):
    name = "turtlesim_ros1/example_zstd.mcap"
    out = tmp_path / "ros2.mcap"
    convert(data / name, out)
    summaries = []
    for path in (data / name, out):
        with path.open("rb") as file:
            reader = make_reader(file)
            summaries.append((reader.get_header(), reader.get_summary()))
    (_, before), (header, after) = summaries
    assert header.profile == "ros2"
    assert {chunk.compression for chunk in after.chunk_indexes} == {"zstd"}
    assert before.channels.keys() == after.channels.keys()
    for number, channel in after.channels.items():
        recorded = before.channels[number].metadata
        offers = channel.metadata.get("offered_qos_profiles", "")
        assert recorded.items() <= channel.metadata.items()
        assert ("transient_local" in offers) == (recorded["latching"] == "1"), channel.topic


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_converted_directory_has_every_message_for_rosbags(data, tmp_path, name):
    """Also those of topics with several channels, whose publishers have latched or not."""
    out = tmp_path / "ros2"
    report = convert(data / name, out, "--rosbag2")
    with AnyReader([out]) as reader:
        counts = Counter(connection.topic for connection, _, _ in reader.messages())
        told = Counter()
        for connection in reader.connections:
            told[connection.topic] += connection.msgcount
    assert counts == told and counts.total() == report["messages"]


@pytest.mark.parametrize("name", ["turtlesim_ros1/example_zstd.mcap", "husky_ros1/test1_lz4.mcap", "ouster_ros1/test.mcap"])
def test_ros1_recordings_are_played_as_they_are_converted(data, tmp_path, name):
    out = tmp_path / "ros2.mcap"
    convert(data / name, out)
    converted = Recording(out)
    arguments = ["--rate", "max", "--wait-for-subscribers"]
    with Player(data / name, *arguments) as player:
        with Node(player.port, converted.topics.values()) as node:
            summary = player.finish(timeout=120)
            node.settle(converted.messages)
            checks.same_messages(node, converted.messages)
            checks.arrival_order(node, converted.messages)
            checks.type_hashes(node, converted.topics.values())
    assert summary["messages_sent"] == len(converted.messages)
    assert not summary["skipped"] and all(topic["dropped"] == 0 for topic in summary["topics"])


def test_without_transcoding_ros1_topics_are_not_played(data):
    arguments = ["--rate", "max", "--transcode", "off"]
    with Player(data / "husky_ros1/test1_lz4.mcap", *arguments) as player:
        assert player.exit_code(60) == 3
        assert "without --transcode off they are sent as ROS 2 messages" in player.stderr()


def test_late_nodes_get_the_last_message_of_each_latched_publisher(data, tmp_path):
    name, out, seconds = "turtlesim_ros1/example_zstd.mcap", tmp_path / "ros2.mcap", 20
    convert(data / name, out)
    converted = Recording(out)
    position = converted.start + seconds * 10**9
    # The last message of each channel that is latched, in order; a channel belongs to one publisher.
    last = {}
    for _, channel, message in read(data / name):
        if channel.metadata["latching"] == "1" and message.log_time <= position:
            last[channel.id] = channel.topic, message.log_time
    want = {topic: [] for topic, _ in last.values()}
    for topic, time in sorted(last.values(), key=lambda it: it[1]):
        want[topic] += [it.data for it in converted.messages if (it.topic, it.log_time) == (topic, time)]
    assert {topic: len(messages) for topic, messages in want.items()} == {"/rosout": 3, "/tf_static": 1}
    with Player(data / name, "--begin-at", f"+{seconds}s", "--start-paused") as player:
        player.wait_for_log("paused at the start")
        with session(player.port) as opened:
            for topic, messages in want.items():
                subscriber = LateSubscriber(opened, converted.topics[topic])
                # On `/rosout` comes what the player itself has logged, too.
                subscriber.settle(len(messages) + (topic == "/rosout"))
                recorded = [it for it in subscriber.payloads if b"rosbag2_player" not in it]
                assert recorded == messages, topic
