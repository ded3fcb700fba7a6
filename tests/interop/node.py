"""A ROS 2 node of our own on eclipse-zenoh: it subscribes, appears in the graph and records what it receives."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import xxhash
import zenoh

from recording import Message, Topic

CLOCK_TYPE = "rosgraph_msgs/msg/Clock"
CLOCK_HASH = "RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564"
# Topics that the player publishes beside recorded ones of the same name.
OF_EVERY_NODE = ("/rosout", "/parameter_events")
CLOCK = Topic("/clock", CLOCK_TYPE, "", CLOCK_HASH, "")


def clock_value(payload: bytes) -> int:
    """Nanoseconds; the payload is a `rosgraph_msgs/msg/Clock` in little-endian CDR."""
    assert len(payload) == 12 and payload[:4] == bytes([0, 1, 0, 0])
    seconds = int.from_bytes(payload[4:8], "little", signed=True)
    return seconds * 1_000_000_000 + int.from_bytes(payload[8:12], "little")


@dataclass(frozen=True)
class Sample:
    # Monotonic nanoseconds.
    received: int
    topic: str
    key: str
    payload: bytes
    attachment: bytes
    priority: str
    # Whether the payload is in memory that the player shares.
    is_shared: bool = False

    @property
    def sequence(self) -> int:
        return int.from_bytes(self.attachment[0:8], "little", signed=True)

    @property
    def source_time(self) -> int:
        return int.from_bytes(self.attachment[8:16], "little", signed=True)

    @property
    def gid(self) -> bytes:
        return self.attachment[17:33]


# As by rmw_zenoh, for routers and peers.
GOSSIP = {
    "scouting/gossip/target": {"router": ["router", "peer"], "peer": ["router"]},
    "scouting/gossip/autoconnect": {"router": [], "peer": ["router", "peer"]},
    "scouting/gossip/autoconnect_strategy": {
        "peer": {"to_router": "always", "to_peer": "greater-zid"}
    },
}


def configuration(settings: dict) -> zenoh.Config:
    config = zenoh.Config()
    for key, value in settings.items():
        config.insert_json5(key, json.dumps(value))
    return config


def open_router(port: int, has_gossip: bool = True) -> zenoh.Session:
    """A router on loopback port `port`; with gossip its peers find each other, as with rmw_zenohd."""
    gossip = GOSSIP if has_gossip else {"scouting/gossip/enabled": False}
    endpoints = [f"tcp/127.0.0.1:{port}"]
    settings = {"mode": "router", "listen/endpoints": endpoints, "scouting/multicast/enabled": False}
    return zenoh.open(configuration(settings | gossip))


def session(port: int, timeout: float = 60, settings: dict | None = None) -> zenoh.Session:
    """A peer configured as by rmw_zenoh and by `settings`, which finds other peers by the router on loopback port
    `port`."""
    usual = {
        "mode": "peer",
        "connect/endpoints": [f"tcp/127.0.0.1:{port}"],
        "connect/retry": {
            "period_init_ms": 20,
            "period_max_ms": 100,
            "period_increase_factor": 1.5,
        },
        "listen/endpoints": ["tcp/localhost:0"],
        "scouting/multicast/enabled": False,
        "scouting/delay": 1,
        "timestamping/enabled": True,
    }
    opened = zenoh.open(configuration(usual | GOSSIP | (settings or {})))
    deadline = time.monotonic() + timeout
    while not opened.info.routers_zid():
        if time.monotonic() > deadline:
            opened.close()
            raise TimeoutError(f"no router on port {port}")
        time.sleep(0.01)
    return opened


def token(zid: str, entity: int, topic: Topic) -> str:
    """The token that a node `interop` in that session declares for a subscription."""
    name = topic.name.replace("/", "%")
    qos = ":1:,10:,:,:,," if topic.latched else "::,10:,:,:,,"
    return f"@ros2_lv/0/{zid}/0/{entity}/MS/%/%/interop/{name}/{topic.dds_type}/{topic.hash}/{qos}"


class Node:
    """Subscribes to `topics` on any type hash; `samples` is in the order of arrival.

    Topics are joined in the given order. The player may begin when the last one is joined, so the clock is named first.
    """

    def __init__(self, port: int, topics: Iterable[Topic], settings: dict | None = None):
        self._samples: list[Sample] = []
        # By topic and publisher. The publisher is empty for topics that only the recording has.
        self._counts: Counter[tuple[str, bytes]] = Counter()
        # The last value of the clock.
        self.shown: int | None = None
        self.tokens: set[str] = set()
        self._arrived = threading.Condition()
        self.session = session(port, settings=settings)
        self._entities = []
        self._joined = 0
        seen = zenoh.handlers.Callback(self._seen, indirect=False)
        liveliness = self.session.liveliness()
        self._entities.append(liveliness.declare_subscriber("@ros2_lv/0/**", seen, history=True))
        self._declare(f"@ros2_lv/0/{self.session.info.zid()}/0/0/NN/%/%/interop")
        for topic in topics:
            self.join(topic)

    def join(self, topic: Topic) -> None:
        """Subscribes to one more topic, first the data, then the token: as rmw_zenoh does."""
        self._subscribe(topic)
        self._joined += 1
        self._declare(token(str(self.session.info.zid()), self._joined, topic))

    def _declare(self, key: str) -> None:
        self._entities.append(self.session.liveliness().declare_token(key))

    def _subscribe(self, topic: Topic) -> None:
        def record(sample: zenoh.Sample) -> None:
            now = time.monotonic_ns()
            attachment = sample.attachment.to_bytes() if sample.attachment else b""
            got = Sample(
                now,
                topic.name,
                str(sample.key_expr),
                sample.payload.to_bytes(),
                attachment,
                str(sample.priority),
                sample.payload.as_shm() is not None,
            )
            self.arrived(got)

        # A direct callback runs on the link's own thread: that keeps the order between topics of one link.
        handler = zenoh.handlers.Callback(record, indirect=False)
        key = f"0/{topic.name.strip('/')}/{topic.dds_type}/*"
        self._entities.append(self.session.declare_subscriber(key, handler))

    def arrived(self, sample: Sample) -> None:
        with self._arrived:
            self._samples.append(sample)
            publisher = sample.gid if sample.topic in OF_EVERY_NODE else b""
            self._counts[sample.topic, publisher] += 1
            if sample.topic == CLOCK.name:
                self.shown = clock_value(sample.payload)
            self._arrived.notify_all()

    @property
    def samples(self) -> list[Sample]:
        """Without those of `OF_EVERY_NODE` that the player publishes of its own.

        They are told apart when asked for, not when they arrive: the player has two sessions, so a sample may arrive on
        one link before the token of its publisher arrives on the other."""
        with self._arrived:
            if not any(publisher for _, publisher in self._counts):
                return self._samples
            played = {topic: self._played(topic) for topic in OF_EVERY_NODE}
            return [s for s in self._samples if s.topic not in played or s.gid in played[s.topic]]

    @property
    def counts(self) -> Counter[str]:
        """The number of `samples` of each topic."""
        with self._arrived:
            counts: Counter[str] = Counter()
            for (topic, publisher), count in self._counts.items():
                if not publisher or publisher in self._played(topic):
                    counts[topic] += count
            return counts

    def _played(self, topic: str) -> set[bytes]:
        """The ids of the publishers of a recorded topic, as far as their tokens are known."""
        return {gid(token) for token in self.publishers(topic)}

    def _seen(self, sample: zenoh.Sample) -> None:
        # Tokens that were undeclared are kept, because tests use them after the player has ended.
        if sample.kind == zenoh.SampleKind.PUT:
            with self._arrived:
                self.tokens.add(str(sample.key_expr))
                self._arrived.notify_all()

    def of(self, topic: str) -> list[Sample]:
        return [sample for sample in self.samples if sample.topic == topic]

    def publishers(self, topic: str) -> list[str]:
        """The tokens of the publishers of `topic`. Of those that the player has for a topic of every node, only the first
        one: it is that of the recorded topic, if there is one."""
        name = topic.replace("/", "%")
        with self._arrived:
            chunks = [(token, token.split("/")) for token in self.tokens]
        found = [(int(c[4]), token) for token, c in chunks if c[5] == "MP" and c[9] == name]
        tokens = [token for _, token in sorted(found)]
        return tokens[:1] if topic in OF_EVERY_NODE else tokens

    def wait_for(self, condition, timeout: float) -> None:
        """Waits until `condition(self)` holds; it is checked whenever something has arrived."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: condition(self), timeout):
                raise TimeoutError(f"{len(self._samples)} samples and {len(self.tokens)} tokens so far")

    def settle(self, expected: list[Message], until: int | None = None, timeout: float = 60) -> None:
        """After the player has ended: waits for `expected`, the clock at `until` and the tokens of the publishers."""
        counts = Counter(message.topic for message in expected)

        def is_settled(node: Node) -> bool:
            has_all = node.counts >= counts and node.has_shown(until)
            return has_all and all(node.publishers(topic) for topic in counts)

        try:
            self.wait_for(is_settled, timeout)
        except TimeoutError:
            pass  # The caller compares and reports what is missing.

    def has_shown(self, time_ns: int | None) -> bool:
        """Whether the clock has reached that time."""
        return time_ns is None or (self.shown is not None and self.shown >= time_ns)

    def wait_for_ticks(self, count: int, timeout: float = 60) -> None:
        """Waits for so many values of the clock that were put from now on. One thread of the player puts values and
        messages, so each message that it put before these values has an earlier source time."""
        now = time.time_ns()
        self.wait_for(lambda node: sum(it.source_time > now for it in node.of(CLOCK.name)) >= count, timeout)

    def close(self) -> None:
        self.session.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def gid(token: str) -> bytes:
    """The id that rmw_zenoh derives from an endpoint's liveliness token."""
    return xxhash.xxh3_128_intdigest(token.encode()).to_bytes(16, "little")
