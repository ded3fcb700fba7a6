"""A recording as PyPI `mcap` and `rosbags` read it: the messages that the player has to send."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import xxhash
from mcap.reader import NonSeekingReader, make_reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore


@dataclass(frozen=True)
class Message:
    topic: str
    log_time: int
    publish_time: int
    data: bytes


@dataclass(frozen=True)
class Topic:
    name: str
    type_name: str
    definition: str
    # As recorded; "" if the recording has none.
    recorded_hash: str
    qos: str

    @property
    def dds_type(self) -> str:
        *package, name = self.type_name.split("/")
        return "::".join([*package, "dds_", name + "_"])

    @property
    def latched(self) -> bool:
        return "durability: transient_local" in self.qos or "durability: 1" in self.qos

    @cached_property
    def store(self):
        """The types of this topic's definition alone, as recorded."""
        store = get_typestore(Stores.EMPTY)
        store.register(get_types_from_msg(self.definition, self.type_name))
        return store

    @cached_property
    def hash(self) -> str:
        return self.recorded_hash or self.store.hash_rihs01(self.type_name)

    def decode(self, data: bytes):
        return self.store.deserialize_cdr(data, self.type_name)


class Recording:
    """The cdr topics and messages of a file, messages in the order (log time, place in the file)."""

    def __init__(self, path: Path):
        self.path = path
        with path.open("rb") as file:
            summary = make_reader(file).get_summary()
        channels = [c for c in summary.channels.values() if c.message_encoding == "cdr"]
        self.topics: dict[str, Topic] = {
            channel.topic: Topic(
                channel.topic,
                summary.schemas[channel.schema_id].name,
                summary.schemas[channel.schema_id].data.decode(),
                channel.metadata.get("topic_type_hash", ""),
                channel.metadata.get("offered_qos_profiles", ""),
            )
            for channel in channels
        }
        with path.open("rb") as file:
            # The linear reader gives the order of the file, whatever its index says.
            messages = [
                Message(channel.topic, message.log_time, message.publish_time, message.data)
                for _, channel, message in NonSeekingReader(file).iter_messages(log_time_order=False)
                if channel.message_encoding == "cdr"
            ]
        self.messages: list[Message] = sorted(messages, key=lambda message: message.log_time)

    @property
    def start(self) -> int:
        return self.messages[0].log_time

    @property
    def end(self) -> int:
        return self.messages[-1].log_time

    def of(self, topic: str) -> list[Message]:
        return [message for message in self.messages if message.topic == topic]

    def without(self, *topics: str) -> list[Message]:
        return [message for message in self.messages if message.topic not in topics]


def digest(messages: list[Message]) -> str:
    """The digest of the player's summary, from its definition."""
    state = xxhash.xxh3_128()
    for message in messages:
        state.update(message.topic.encode() + b"\0")
        for number in (message.log_time, message.publish_time, len(message.data)):
            state.update(number.to_bytes(8, "little"))
        state.update(message.data)
    return state.hexdigest()
