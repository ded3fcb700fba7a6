"""What the library records of another node's messages is read by PyPI `mcap` and `rosbags`."""

import os
import subprocess
import time
from pathlib import Path

import pytest
import zenoh
from mcap.exceptions import EndOfFile
from mcap.reader import NonSeekingReader, make_reader
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosReliability
from rosbags.rosbag2 import Reader

from node import CLOCK, configuration, gid, open_router, session
from player import HOUSE, environment, free_port
from recording import Topic

PATIENCE = 30.0
DEFINITION = "std_msgs/Header header\nfloat64 value\n"
INSTALLED = {
    "test_msgs/msg/Reading.msg": DEFINITION,
    "std_msgs/msg/Header.msg": "builtin_interfaces/Time stamp\nstring frame_id\n",
    "builtin_interfaces/msg/Time.msg": "int32 sec\nuint32 nanosec\n",
}
RULE = "=" * 80
WHOLE = "\n".join(
    [
        DEFINITION,
        RULE,
        "MSG: std_msgs/Header",
        INSTALLED["std_msgs/msg/Header.msg"],
        RULE,
        "MSG: builtin_interfaces/Time",
        INSTALLED["builtin_interfaces/msg/Time.msg"],
    ]
)
READING = Topic("/reading", "test_msgs/msg/Reading", WHOLE, "", "")
UNKNOWN = Topic("/unknown", "test_msgs/msg/Unknown", "", "RIHS01_" + "12" * 32, "")
MESSAGES = 50
SECOND = 10**9


class Publisher:
    """A publisher with a token, as that of rmw_zenoh: best effort, depth 7."""

    def __init__(self, opened: zenoh.Session, entity: int, topic: Topic):
        name = topic.name.replace("/", "%")
        self.token = (
            f"@ros2_lv/0/{opened.info.zid()}/0/{entity}/MP/%/%/sensor/{name}/"
            f"{topic.dds_type}/{topic.hash}/2::,7:,:,:,,"
        )
        key = f"0/{topic.name.strip('/')}/{topic.dds_type}/{topic.hash}"
        self._publisher = opened.declare_publisher(key)
        self._declared = opened.liveliness().declare_token(self.token)
        self._sequence = 0
        deadline = time.monotonic() + PATIENCE
        while not self._publisher.matching_status.matching:
            assert time.monotonic() < deadline, f"nobody subscribes to {topic.name}"
            time.sleep(0.01)

    def put(self, payload: bytes) -> None:
        self._sequence += 1
        number = self._sequence.to_bytes(8, "little") + (SECOND * self._sequence).to_bytes(8, "little")
        self._publisher.put(payload, attachment=number + b"\x10" + gid(self.token))


def clock_message(nanos: int) -> bytes:
    sec, nanosec = divmod(nanos, SECOND)
    return b"\0\1\0\0" + sec.to_bytes(4, "little") + nanosec.to_bytes(4, "little")


@pytest.fixture
def recorded(tmp_path):
    """The file, and what the recorder printed."""
    prefix = tmp_path / "prefix"
    for name, text in INSTALLED.items():
        path = prefix / "share" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    binary = Path(os.environ.get("RECORD_BIN", HOUSE / "target/debug/examples/record_outputs"))
    assert binary.is_file(), f"{binary}: cargo build --example record_outputs"
    port, out = free_port(), tmp_path / "out.mcap"
    with open_router(port), session(port) as opened:
        recorder = subprocess.Popen(
            [binary, out, f"tcp/127.0.0.1:{port}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment() | {"AMENT_PREFIX_PATH": str(prefix)},
        )
        try:
            assert recorder.stdout.readline() == "ready\n"
            clock = Publisher(opened, 9, CLOCK)
            reading, unknown = Publisher(opened, 1, READING), Publisher(opened, 2, UNKNOWN)
            for n in range(MESSAGES):
                clock.put(clock_message(100 * SECOND + n))
                stamp = n.to_bytes(4, "little") + bytes(4)
                reading.put(b"\0\1\0\0" + stamp + b"\1\0\0\0\0\0\0\0" + bytes(8))
                unknown.put(b"\0\1\0\0" + bytes([n]))
            # What was put is on its way: the recorder ends when all of it has come.
            deadline = time.monotonic() + PATIENCE
            while count(out) < 2 * MESSAGES:
                assert time.monotonic() < deadline, "the messages have not come"
                time.sleep(0.05)
            said, _ = recorder.communicate(timeout=PATIENCE)
            assert recorder.returncode == 0
        finally:
            recorder.kill()
    return out, said


def count(path: Path) -> int:
    """How many messages a file has that is still being written."""
    found = 0
    with path.open("rb") as file:
        try:
            for _ in NonSeekingReader(file).iter_messages(log_time_order=False):
                found += 1
        except EndOfFile:
            pass
    return found


def test_readers_of_others_read_what_was_recorded(recorded):
    out, said = recorded
    assert f"/reading: {MESSAGES} messages, 0 lost" in said
    assert "/unknown (test_msgs/msg/Unknown) has no definition" in said
    with out.open("rb") as file:
        reader = make_reader(file)
        assert reader.get_header().profile == "ros2"
        assert reader.get_header().library.startswith("bagplay ")
        summary = reader.get_summary()
        assert all(chunk.compression == "zstd" for chunk in summary.chunk_indexes)
        schemas = {schema.name: schema.data.decode() for schema in summary.schemas.values()}
        assert schemas["test_msgs/msg/Unknown"] == ""
        assert schemas["test_msgs/msg/Reading"].startswith(DEFINITION)
        hashes = {c.topic: c.metadata["topic_type_hash"] for c in summary.channels.values()}
        assert hashes["/reading"] == READING.hash
        messages = [
            (channel.topic, message.sequence, message.publish_time)
            for _, channel, message in reader.iter_messages()
        ]
    for topic in ("/reading", "/unknown"):
        numbers = [(number, time) for name, number, time in messages if name == topic]
        assert numbers == [(n, n * SECOND) for n in range(1, MESSAGES + 1)]

    with Reader(out) as reader:
        assert reader.message_count == 2 * MESSAGES
        by_topic = {connection.topic: connection for connection in reader.connections}
        assert set(by_topic) == {"/reading", "/unknown"}
        for connection in by_topic.values():
            (qos,) = connection.ext.offered_qos_profiles
            assert isinstance(qos, Qos)
            assert (qos.history, qos.depth) == (QosHistory.KEEP_LAST, 7)
            assert qos.reliability == QosReliability.BEST_EFFORT
            assert qos.durability == QosDurability.VOLATILE
        found = Topic("/reading", "test_msgs/msg/Reading", by_topic["/reading"].msgdef.data, "", "")
        stamps = [
            found.decode(data).header.stamp.sec
            for _, _, data in reader.messages([by_topic["/reading"]])
        ]
        assert stamps == list(range(MESSAGES))
        # At the time of /clock, which may be a message behind: it comes over the same link, but to another thread.
        times = [time for _, time, _ in reader.messages()]
        assert times == sorted(times) and times[-1] < 100 * SECOND + MESSAGES
