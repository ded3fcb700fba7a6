"""Recordings of `std_msgs/msg/String`, written by PyPI `mcap`'s writer for one test."""

from collections.abc import Iterable
from pathlib import Path

from mcap.writer import Writer

from recording import Topic
from service import HEADER, string, text

SECOND = 1_000_000_000
# The time of the first message.
START = 1_700_000_000 * SECOND
TYPE = "std_msgs/msg/String"
DEFINITION = "string data"
DIGITS = "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"


def string_topic(name: str) -> Topic:
    return Topic(name, TYPE, DEFINITION, f"RIHS01_{DIGITS}", "")


def write_strings(path: Path, messages: Iterable[tuple[str, int, str]]) -> None:
    """Writes messages of (topic, nanoseconds after `START`, text) in this order."""
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start(profile="ros2")
        schema = writer.register_schema(TYPE, "ros2msg", DEFINITION.encode())
        channels: dict[str, int] = {}
        for topic, after, value in messages:
            if topic not in channels:
                channels[topic] = writer.register_channel(topic, "cdr", schema)
            at = START + after
            writer.add_message(channels[topic], at, HEADER + string(value), at)
        writer.finish()


def read_string(payload: bytes) -> str:
    assert payload[:4] == HEADER
    value, end = text(payload[4:], 0)
    assert len(payload) == 4 + end
    return value
