"""`play --follow` plays by the clock of a simulator: an independent node that publishes `/clock` and no state of it."""

import struct
import threading
import time
from collections import Counter

import pytest

from node import CLOCK, Node, gid, open_router, session
from player import Player, free_port
from recording import Message
from service import HEADER, stamp

MS = 1_000_000
SECOND = 1000 * MS
PATIENCE = 60.0
# Reliable topics, whose messages arrive in one order, and latched ones.
LATCHED = ["/robot_description", "/tf_static"]
TOPICS = [*LATCHED, "/odom", "/tf"]


class Simulator:
    """A node that publishes `/clock` as rmw_zenoh does."""

    def __init__(self, port: int):
        self._session = session(port)
        zid = self._session.info.zid()
        liveliness = self._session.liveliness()
        self._node = liveliness.declare_token(f"@ros2_lv/0/{zid}/0/0/NN/%/%/simulator")
        token = f"@ros2_lv/0/{zid}/0/1/MP/%/%/simulator/%clock/{CLOCK.dds_type}/{CLOCK.hash}/::,10:,:,:,,"
        self._gid = gid(token)
        key = f"0/clock/{CLOCK.dds_type}/{CLOCK.hash}"
        self._publisher = self._session.declare_publisher(key)
        self._token = liveliness.declare_token(token)
        self._sequence = 0
        # What was shown, and when.
        self.shown: list[tuple[int, int]] = []

    def awaits_a_follower(self) -> None:
        is_heard = threading.Event()
        listener = self._publisher.declare_matching_listener(
            lambda status: is_heard.set() if status.matching else None
        )
        assert self._publisher.matching_status.matching or is_heard.wait(PATIENCE), "nobody follows"
        listener.undeclare()

    def shows(self, value: int) -> None:
        self._sequence += 1
        now = time.time_ns()
        attachment = struct.pack("<qqB", self._sequence, now, 16) + self._gid
        self.shown.append((now, value))
        self._publisher.put(HEADER + stamp(value), attachment=attachment)

    def runs(self, start: int, end: int, factor: int) -> None:
        """From `start` to `end`, 100 times a second of wall time."""
        for value in [*range(start, end, 10 * MS * factor), end]:
            self.shows(value)
            time.sleep(0.01)

    def stands(self, ticks: int) -> None:
        _, value = self.shown[-1]
        for _ in range(ticks):
            self.shows(value)
            time.sleep(0.01)

    def stands_until(self, what: str, holds) -> None:
        """The player looks at the clock now and then, and sees it only if the last tick is not long ago."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < deadline, f"{what}: not in time"
            self.stands(1)

    def close(self) -> None:
        self._session.close()


class Follower:
    """A player that follows the simulator, and a node that receives what it plays."""

    def __init__(self, demo, player: Player, node: Node):
        self.demo, self.player, self.node = demo, player, node
        # Every payload is of one message.
        self._messages = {
            (topic, message.data): message for topic in TOPICS for message in demo.of(topic)
        }
        assert len(self._messages) == sum(len(demo.of(topic)) for topic in TOPICS)
        self._taken = 0

    def message(self, sample) -> Message:
        return self._messages[sample.topic, sample.payload]

    def between(self, start: int, end: int) -> list[Message]:
        """The messages of the topics from `start` to `end`, which belongs to them."""
        played = [message for message in self.demo.messages if message.topic in TOPICS]
        return [message for message in played if start <= message.log_time <= end]

    def gets(self, expected: list[Message]) -> None:
        """The next samples are these, in this order."""
        self.node.wait_for(lambda node: len(node.samples) >= self._taken + len(expected), PATIENCE)
        taken = self.node.samples[self._taken : self._taken + len(expected)]
        self._taken += len(expected)
        assert [self.message(sample) for sample in taken] == expected

    def gets_latched(self, at: int) -> None:
        """The next samples are the last messages of the latched topics before `at`, in any order."""
        expected = [
            max((m for m in self.demo.of(topic) if m.log_time < at), key=lambda m: m.log_time)
            for topic in LATCHED
        ]
        self.node.wait_for(lambda node: len(node.samples) >= self._taken + len(expected), PATIENCE)
        taken = self.node.samples[self._taken : self._taken + len(expected)]
        self._taken += len(expected)
        assert Counter(map(self.message, taken)) == Counter(expected)

    def has_got_all(self) -> bool:
        return len(self.node.samples) == self._taken

    def assert_nothing_was_ahead(self, shown: list[tuple[int, int]], is_refill) -> None:
        """Each message was sent when the clock had shown its time."""
        events = [(when, 0, value) for when, value in shown]
        for place, sample in enumerate(self.node.samples):
            if not is_refill(place):
                events.append((sample.source_time, 1, self.message(sample).log_time))
        clock = None
        for when, kind, value in sorted(events):
            if kind == 0:
                clock = value
            else:
                assert clock is not None and value <= clock, f"{value} was sent at {clock}"


@pytest.fixture
def followed(demo):
    """A simulator, and a player that follows it."""
    port = free_port()
    with open_router(port):
        simulator = Simulator(port)
        arguments = ["--follow", "--follow-to-end", "--follow-timeout", "0.5"]
        arguments += ["--topics", *TOPICS, "--wait-for-subscribers"]
        topics = [demo.topics[topic] for topic in TOPICS]
        with (
            Node(port, topics) as node,
            Player(demo.path, *arguments, router=port) as player,
        ):
            yield simulator, Follower(demo, player, node)
        simulator.close()


def test_a_simulator_is_followed_through_pause_silence_jump_and_speed(demo, followed):
    simulator, follower = followed
    player = follower.player
    at = lambda ms: demo.start + ms * MS
    refills: set[int] = set()

    def jumps(to: int) -> None:
        place = len(follower.node.samples)
        refills.update(range(place, place + len(LATCHED)))
        simulator.shows(to)
        follower.gets_latched(to)

    simulator.awaits_a_follower()
    player.wait_for_log("waiting for the first value of /clock")
    # Playback begins where the clock is.
    jumps(at(500))
    # A clock whose first tick was seen too late is lost first, and then received again.
    said = ("following /clock of /simulator", "/clock is received again")
    simulator.stands_until("it is followed", lambda: any(words in player.stderr() for words in said))
    simulator.runs(at(500), at(1500), 1)
    follower.gets(follower.between(at(500), at(1500)))
    # It is paused, and goes on.
    simulator.stands(100)
    assert follower.has_got_all()
    simulator.runs(at(1500), at(2000), 1)
    follower.gets(follower.between(at(1500) + 1, at(2000)))
    # It says nothing at all.
    player.wait_for_log("nothing on /clock for")
    assert follower.has_got_all()
    simulator.runs(at(2000), at(2500), 1)
    simulator.stands_until("it is received again", lambda: "/clock is received again" in player.stderr())
    follower.gets(follower.between(at(2000) + 1, at(2500)))
    # Back, and five times as fast.
    jumps(at(1000))
    simulator.runs(at(1000), at(8000), 5)
    follower.gets(follower.between(at(1000), at(8000)))
    # Back again, and a hundred times as fast, past the end.
    jumps(at(400))
    simulator.runs(at(400), demo.end + SECOND, 100)
    follower.gets(follower.between(at(400), demo.end))

    summary = player.finish(PATIENCE)
    assert follower.has_got_all()
    assert summary["followed"]["node"] == "/simulator"
    assert summary["jumps"] == 3
    assert summary["messages_sent"] == len(follower.node.samples) - len(refills)
    follower.assert_nothing_was_ahead(simulator.shown, lambda place: place in refills)


def test_a_clock_that_does_not_say_who_sends_it_is_followed(demo, followed):
    """As by a program that is no ROS 2 node: without an attachment, in ticks that cannot be read now and then."""
    simulator, follower = followed
    simulator.awaits_a_follower()
    start = demo.start + 500 * MS
    simulator._publisher.put(HEADER + stamp(start))
    follower.gets_latched(start)
    simulator._publisher.put(b"\0\1broken")
    follower.player.wait_for_log("a message on /clock cannot be read and is ignored")
    simulator._publisher.put(HEADER + stamp(start + SECOND))
    follower.gets(follower.between(start, start + SECOND))
