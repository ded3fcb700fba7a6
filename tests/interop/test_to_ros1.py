"""ROS 2 recordings on `--wire ros1`: what a node of `rospy` gets of every standard type, against PyPI `rosbags`."""

import hashlib
import random

import numpy
import pytest
from mcap.writer import Writer
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_typestore

from player import Player
from ros1 import until

ROS1 = get_typestore(Stores.ROS1_NOETIC)
LOG = ("rcl_interfaces/msg/Log", "rosgraph_msgs/msg/Log")
LEVELS = {10: 1, 20: 2, 30: 4, 40: 8, 50: 16}
EACH = 3
SECOND = 10**9


class Made:
    """Made-up messages of a ROS 2 distribution, and what ROS 1 has in their place."""

    def __init__(self, store):
        self._store = store
        self._random = random.Random(7)
        both = sorted(set(store.fielddefs) & set(ROS1.fielddefs))
        # Types that are built in in ROS 1 are no messages there.
        self.types = {name: name for name in both if not name.startswith("builtin_interfaces/")}
        self.types[LOG[0]] = LOG[1]

    def message(self, name: str):
        fields = self._store.fielddefs[name][1]
        message = self._store.types[name](**{field: self._value(kind) for field, kind in fields})
        if name == LOG[0]:
            message.level = self._random.choice(list(LEVELS))
        return message

    def _value(self, kind):
        node, detail = kind
        match node:
            case Nodetype.NAME:
                return self.message(detail)
            case Nodetype.BASE:
                return self._values(detail[0], 1)[0]
            case Nodetype.ARRAY:
                return self._list(*detail)
            case _:
                element, bound = detail
                return self._list(element, self._random.randrange(min(bound, 4) + 1 if bound else 5))

    def _list(self, element, count: int):
        if element[0] == Nodetype.BASE:
            values = self._values(element[1][0], count)
            return values if element[1][0] == "string" else numpy.array(values, dtype=dtype(element[1][0]))
        return [self._value(element) for _ in range(count)]

    def _values(self, base: str, count: int) -> list:
        if base == "string":
            return ["".join(self._random.choices("aß€/ ", k=self._random.randrange(6))) for _ in range(count)]
        if base == "bool":
            return [self._random.random() < 0.5 for _ in range(count)]
        if base.startswith("float"):
            return [dtype(base).type(self._random.uniform(-1e3, 1e3)).item() for _ in range(count)]
        # Times of ROS 1 are not negative, and `byte` has a sign there.
        most = 128 if base in ("byte", "octet") else int(numpy.iinfo(dtype(base)).max)
        return [self._random.randrange(most) for _ in range(count)]

    def cdr(self, name: str, message) -> bytes:
        return bytes(self._store.serialize_cdr(message, name))

    def definition(self, name: str) -> str:
        return self._store.generate_msgdef(name, ros_version=2)[0]


def dtype(base: str) -> numpy.dtype:
    return numpy.dtype({"bool": "bool", "byte": "uint8", "char": "uint8", "octet": "uint8"}.get(base, base))


def as_ros1(name: str, message):
    """The message of ROS 1 with the same values; what ROS 2 does not have is zero."""
    values = {}
    for field, kind in ROS1.fielddefs[name][1]:
        known = next((it for it in (field, field.lower()) if hasattr(message, it)), None)
        if name == LOG[1] and field == "header":
            header = ROS1.types["std_msgs/msg/Header"]
            values[field] = header(seq=0, stamp=as_ros1("builtin_interfaces/msg/Time", message.stamp), frame_id="")
        elif name == LOG[1] and field == "level":
            values[field] = LEVELS[message.level]
        elif known is None:
            assert (name, field) in ((LOG[1], "topics"), ("std_msgs/msg/Header", "seq"))
            values[field] = [] if field == "topics" else 0
        else:
            values[field] = value_as_ros1(kind, getattr(message, known))
    return ROS1.types[name](**values)


def value_as_ros1(kind, value):
    node, detail = kind
    if node == Nodetype.NAME:
        return as_ros1(detail, value)
    if node in (Nodetype.ARRAY, Nodetype.SEQUENCE) and detail[0][0] == Nodetype.NAME:
        return [as_ros1(detail[0][1], one) for one in value]
    return value


@pytest.mark.parametrize("distribution", [Stores.ROS2_HUMBLE, Stores.ROS2_JAZZY])
def test_a_node_gets_every_standard_type_with_its_sum_and_its_bytes(network, tmp_path, distribution):
    made = Made(get_typestore(distribution))
    expected = {}
    path = tmp_path / "types.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start(profile="ros2")
        for number, (ros2, ros1) in enumerate(made.types.items()):
            topic = "/" + ros2.replace("/", "_").lower()
            schema = writer.register_schema(ros2, "ros2msg", made.definition(ros2).encode())
            channel = writer.register_channel(topic, "cdr", schema)
            digests = []
            for count in range(EACH):
                message = made.message(ros2)
                payload = bytes(ROS1.serialize_ros1(as_ros1(ros1, message), ros1))
                digests.append(hashlib.sha256(payload).hexdigest())
                at = SECOND + (number * EACH + count) * 10**6
                writer.add_message(channel, at, made.cdr(ros2, message), at)
            expected[topic] = (ros1.replace("/msg/", "/"), ROS1.generate_msgdef(ros1, ros_version=1)[1], digests)
        writer.finish()
    assert len(expected) > 110
    network.master()
    node = network.node("listener", *(f"{topic}=*" for topic in expected))
    node.ready()
    with Player(path, "--wait-for-subscribers", master=network.port) as player:
        summary = player.finish(120)
    assert summary["messages_sent"] == EACH * len(expected) and not summary["skipped"]
    until("all messages", lambda: len(node.lines("topic")) >= EACH * len(expected))
    got = {topic: node.got(topic) for topic in expected}
    for topic, (kind, md5, digests) in expected.items():
        assert [it["digest"] for it in got[topic]] == digests, topic
        assert {(it["type"], it["md5"]) for it in got[topic]} == {(kind, md5)}, topic
