"""`play find` on recordings with protobuf, compared with what Google's library reads."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcap.reader import make_reader
from mcap_protobuf.decoder import DecoderFactory

from player import BINARY, environment


def found(recording: Path, expression: str) -> list[tuple[str, int, dict]]:
    """Topic, log time and values of each hit."""
    command = [BINARY, "find", recording, expression, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60)
    assert done.returncode == 0, done.stderr
    *hits, totals = map(json.loads, done.stdout.splitlines())
    assert totals["unreadable"] == []
    return [
        (hit["topic"], hit["time_ns"], {it["field"]: it.get("value", it.get("value_ns")) for it in hit["values"]})
        for hit in hits
    ]


def at(message, path: str):
    """The value of a path; a time in nanoseconds, bytes as a text."""
    for name in path.split("."):
        message = getattr(message, name)
    if hasattr(message, "ToNanoseconds"):
        return message.ToNanoseconds()
    return message.decode() if isinstance(message, bytes) else message


def decoded(recording: Path, paths: list[str]) -> Iterator[tuple[str, int, dict]]:
    """The same of each protobuf message, by the other library."""
    factory = DecoderFactory()
    with recording.open("rb") as file:
        for schema, channel, message in make_reader(file).iter_messages():
            if decoder := factory.decoder_for(channel.message_encoding, schema):
                values = decoder(message.data)
                yield channel.topic, message.log_time, {path: at(values, path) for path in paths}


@pytest.mark.parametrize(
    ("name", "topics", "shown"),
    [
        ("ais_protobuf/test.mcap", '=~ ".*"', ["value"]),
        (
            "web_json_protobuf/simple-protobuf.mcap",
            "pose",
            ["frame_id", "pose.orientation.w", "pose.position.x"],
        ),
    ],
)
def test_fields_have_the_values_that_another_library_reads(data, name, topics, shown):
    recording = data / name
    hits = found(recording, f"{topics} timestamp >= 0 show {', '.join(shown)}")
    expected = list(decoded(recording, ["timestamp", *shown]))
    assert expected
    assert sorted(hits, key=str) == sorted(expected, key=str)


def test_a_condition_finds_the_messages_that_satisfy_it(data):
    recording = data / "ais_protobuf/test.mcap"
    part = '"msg_type":5,'
    hits = found(recording, f"""=~ ".*" value contains '{part}'""")
    expected = [topic for topic, _, values in decoded(recording, ["value"]) if part in values["value"]]
    assert expected
    assert sorted(topic for topic, _, _ in hits) == sorted(expected)
