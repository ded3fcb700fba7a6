"""Messages as PyPI `mcap` reads them: of files, also cut or compressed ones, and of rosbag2 directories."""

import io
import struct
from collections.abc import Iterator
from pathlib import Path

import zstandard
from mcap.exceptions import McapError
from mcap.reader import NonSeekingReader
from mcap.records import Channel
from mcap.records import Message as Record
from mcap.stream_reader import StreamReader
from ruamel.yaml import YAML

from recording import Message


def messages(path: Path, is_cut: bool = False) -> list[Message]:
    """In the order (input, place in the file); of a file that `is_cut`, what comes before the cut."""
    read = before_the_cut if is_cut else whole
    return [message for part in parts(path) for message in read(unpacked(part))]


def parts(path: Path) -> list[Path]:
    """The files of a directory in the order in which its metadata lists them, or the file itself."""
    if not path.is_dir():
        return [path]
    about = YAML(typ="safe").load(path / "metadata.yaml")["rosbag2_bagfile_information"]
    return [path / name for name in about["relative_file_paths"]]


def unpacked(path: Path) -> io.BytesIO:
    data = path.read_bytes()
    if path.suffix == ".zstd":
        data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read()
    return io.BytesIO(data)


def whole(file: io.BytesIO) -> Iterator[Message]:
    """Read without the index, in the order of the file."""
    for _, channel, message in NonSeekingReader(file).iter_messages(log_time_order=False):
        yield Message(channel.topic, message.log_time, message.publish_time, message.data)


def before_the_cut(file: io.BytesIO) -> Iterator[Message]:
    """Read up to the first error, so only complete chunks are included."""
    topics: dict[int, str] = {}
    try:
        for record in StreamReader(file).records:
            if isinstance(record, Channel):
                topics[record.id] = record.topic
            elif isinstance(record, Record):
                topic = topics[record.channel_id]
                yield Message(topic, record.log_time, record.publish_time, record.data)
    # The reader reports a cut by either exception.
    except (McapError, struct.error):
        return
    raise AssertionError("the file should be cut and is not")


def received(messages: list[Message]) -> list[Message]:
    return sorted(messages, key=lambda message: message.log_time)


def sent(messages: list[Message]) -> list[Message]:
    return sorted(messages, key=lambda message: message.publish_time)
