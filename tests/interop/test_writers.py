"""Files by PyPI `mcap`'s writer with any options: all play whole, and `info --check` finds no damage."""

import itertools
import json
import subprocess

import pytest
from mcap.writer import CompressionType, IndexType, Writer

from player import BINARY, environment, play_to_nobody

INDEXES = {
    "none": IndexType.NONE,
    "chunk": IndexType.CHUNK,
    "message": IndexType.MESSAGE,
    "both": IndexType.CHUNK | IndexType.MESSAGE,
    "all": IndexType.ALL,
}
FLAGS = ["repeat_channels", "repeat_schemas", "use_chunking", "use_statistics", "use_summary_offsets"]
MESSAGES = 60


def write(path, stamps, **options) -> None:
    with path.open("wb") as file:
        writer = Writer(file, chunk_size=200, **options)
        writer.start(profile="ros2", library="test")
        channels = []
        for i, stamp in enumerate(stamps):
            # The second topic begins in the middle of the recording.
            if i in (0, MESSAGES // 2):
                schema = writer.register_schema(f"std_msgs/msg/T{i}", "ros2msg", b"string data")
                channels.append(writer.register_channel(f"/t{i}", "cdr", schema))
            channel = channels[i % len(channels)]
            writer.add_message(channel, stamp, b"\0\1\0\0%08d" % i, stamp, i)
        writer.finish()


@pytest.mark.parametrize("indexes", INDEXES)
@pytest.mark.parametrize("first", [0, 1_700_000_000_000_000_000])
def test_every_file_of_the_writer_plays_whole(tmp_path, indexes, first):
    for values in itertools.product([True, False], repeat=len(FLAGS)):
        options = dict(zip(FLAGS, values))
        path = tmp_path / "x.mcap"
        compression = CompressionType.ZSTD if values[0] else CompressionType.NONE
        stamps = [first + i * 1_000_000 for i in range(MESSAGES)]
        write(path, stamps, index_types=INDEXES[indexes], compression=compression, **options)
        for arguments, count in [([], MESSAGES), (["--topics", "/t30"], MESSAGES // 4)]:
            run = play_to_nobody(path, "--strict", *arguments)
            assert run.exit == 0, (options, run.stderr)
            assert run.summary["messages_sent"] == count, (options, run.stderr)
            assert run.summary["damage"] == [], options
        command = [BINARY, "info", "--check", "--format", "json", path]
        done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60)
        assert done.returncode == 0, (options, done.stdout)
        info = json.loads(done.stdout)
        assert info["message_count"] == MESSAGES, options
        counts = {topic["name"]: topic["message_count"] for topic in info["topics"]}
        assert counts == {"/t0": 45, "/t30": 15}, options
