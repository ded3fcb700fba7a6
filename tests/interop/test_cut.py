"""Cuts by `play cut`, as PyPI `mcap` and `rosbags` read them."""

import json
import subprocess
from pathlib import Path

import pytest
from mcap.reader import make_reader
from mcap.records import Message as Record
from mcap.stream_reader import StreamReader
from mcap.writer import CompressionType, Writer
from rosbags.interfaces import QosDurability, QosReliability
from rosbags.rosbag2 import Reader

from everything import messages
from player import BINARY, environment
from recording import Message, Recording

SECOND = 10**9


def cut(*arguments) -> dict:
    """The report of `play cut`, which succeeds."""
    command = [BINARY, "cut", "--format", "json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(path: Path, due: list[Message], report: dict) -> None:
    """Each reader finds the messages, all checksums are right, and the statistics are those of the messages."""
    with path.open("rb") as file:
        records = list(StreamReader(file, validate_crcs=True).records)
    assert sum(isinstance(record, Record) for record in records) == len(due)
    by_place = messages(path)
    by_place.sort(key=lambda message: message.log_time)
    assert by_place == due
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        statistics = reader.get_summary().statistics
        by_index = [
            Message(channel.topic, message.log_time, message.publish_time, message.data)
            for _, channel, message in reader.iter_messages(log_time_order=True)
        ]
        attachments = list(reader.iter_attachments())
        metadata = list(reader.iter_metadata())
    assert sorted(by_index, key=key) == sorted(due, key=key)
    assert [message.log_time for message in by_index] == [message.log_time for message in due]
    assert statistics.message_count == len(due) == report["messages"] + report["latched"]
    assert sum(statistics.channel_message_counts.values()) == len(due)
    assert statistics.message_start_time == due[0].log_time == report["start_ns"]
    assert statistics.message_end_time == due[-1].log_time == report["end_ns"]
    assert statistics.chunk_count == report["copied_chunks"] + report["new_chunks"]
    assert statistics.attachment_count == len(attachments) == report["attachments"]
    assert statistics.metadata_count == len(metadata) == report["metadata"]


def key(message: Message):
    return message.log_time, message.topic, message.data


@pytest.mark.parametrize("arguments", [[], ["--exclude-topics", "/imu"]])
def test_a_part_of_the_demo_is_read_whole(demo, tmp_path, arguments):
    start, end = demo.start + 4 * SECOND, demo.start + 9 * SECOND
    out = tmp_path / "part.mcap"
    times = ["--start", str(start), "--end", str(end), "--no-latched"]
    report = cut(demo.path, "-o", out, *times, *arguments)
    left_out = arguments[1:]
    due = [m for m in demo.without(*left_out) if start <= m.log_time <= end]
    assert report["copied_chunks"] > 0 or arguments
    check(out, due, report)


def test_a_rosbag2_directory_is_read_by_rosbags(demo, tmp_path):
    start = demo.start + 10 * SECOND
    out = tmp_path / "part"
    report = cut(demo.path, "-o", out, "--rosbag2", "--start", str(start))
    latched = [m for name, topic in demo.topics.items() if topic.latched for m in demo.of(name)]
    latched = [Message(m.topic, start, m.publish_time, m.data) for m in sorted(latched, key=lambda m: m.log_time)]
    assert report["latched"] == len(latched) == 3
    due = latched + [m for m in demo.messages if m.log_time >= start]
    check(out / "part_0.mcap", due, report)
    with Reader(out) as reader:
        assert (reader.start_time, reader.message_count) == (start, len(due))
        # Its end is not included.
        assert reader.end_time == demo.end + 1
        found = [(c.topic, stamp, bytes(data)) for c, stamp, data in reader.messages()]
        counts: dict[str, int] = {}
        for connection in reader.connections:
            topic = demo.topics[connection.topic]
            assert connection.msgtype == topic.type_name
            assert connection.digest == topic.hash
            counts[connection.topic] = connection.msgcount
            profiles = connection.ext.offered_qos_profiles
            assert len(profiles) == topic.qos.count("reliability:")
            for profile in profiles:
                is_local = profile.durability == QosDurability.TRANSIENT_LOCAL
                assert is_local == topic.latched, topic.name
                assert profile.reliability in (QosReliability.RELIABLE, QosReliability.BEST_EFFORT)
    assert sorted(found) == sorted((m.topic, m.log_time, m.data) for m in due)
    assert counts == {name: sum(m.topic == name for m in due) for name in demo.topics}


def write(path: Path, topics: list[str], stamps: range) -> None:
    with path.open("wb") as file:
        writer = Writer(file, chunk_size=500, compression=CompressionType.LZ4)
        writer.start(profile="ros2", library="test")
        channels = []
        for topic in topics:
            schema = writer.register_schema(f"test_msgs/msg/{topic}", "ros2msg", b"string data")
            channels.append(writer.register_channel(f"/{topic}", "cdr", schema, {"of": path.name}))
        for i, stamp in enumerate(stamps):
            writer.add_message(channels[i % len(channels)], stamp, b"\0\1\0\0%08d" % stamp, stamp, i)
        writer.add_metadata(path.name, {"a": "b"})
        writer.add_attachment(1, 2, path.name, "text/plain", b"words")
        writer.finish()


def test_recordings_whose_ids_mean_different_topics_become_one(tmp_path):
    one, two, out = tmp_path / "one.mcap", tmp_path / "two.mcap", tmp_path / "both.mcap"
    write(one, ["A", "B", "C"], range(1000, 2000, 3))
    write(two, ["C", "D", "A"], range(1001, 2000, 3))
    report = cut(one, two, "-o", out)
    due = sorted([*messages(one), *messages(two)], key=lambda message: message.log_time)
    assert report["attachments"] == report["metadata"] == 2
    check(out, due, report)
    with out.open("rb") as file:
        summary = make_reader(file).get_summary()
    for channel in summary.channels.values():
        # Topic and type belong together.
        assert summary.schemas[channel.schema_id].name == "test_msgs/msg/" + channel.topic.strip("/")
    assert len(summary.channels) == 6


@pytest.mark.parametrize("name", ["split_humble", "split_jazzy", "split_file_zstd"])
def test_the_splits_of_a_recording_become_one(data, tmp_path, name):
    source = data / "derived" / name
    out = tmp_path / "whole"
    report = cut(source, "-o", f"{out}/")
    due = sorted(messages(source), key=lambda message: message.log_time)
    check(out / "whole_0.mcap", due, report)
    with Reader(source) as reader, Reader(out) as copy:
        assert copy.message_count == reader.message_count
        assert (copy.start_time, copy.end_time) == (reader.start_time, reader.end_time)
        counts = [{c.topic: (c.msgtype, c.msgcount) for c in bag.connections} for bag in (reader, copy)]
    assert counts[0] == counts[1]


def test_the_recording_class_of_these_tests_reads_a_cut(demo, tmp_path):
    out = tmp_path / "whole.mcap"
    cut(demo.path, "-o", out)
    assert Recording(out).messages == demo.messages
