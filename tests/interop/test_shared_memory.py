"""Large messages through shared memory (`--shm on`): subscribers that take part get them whole and in order, beside one
that does not take part, also if their process is stopped for some time or killed.

The subscribers are there before the player, which then has links to all of them when it begins."""

import json
import os
import select
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import xxhash
from mcap.writer import Writer

import checks
from node import Node, Sample, open_router
from player import Player, free_port
from recording import Message, Recording
from service import HEADER, string
from strings import DEFINITION, START, TYPE

TOPIC = "/image"
MESSAGES = 150
SIZE = 200_000
PERIOD_NS = 10_000_000
# So slow that many messages are left when a subscriber has been stopped, and when it is killed.
SLOW = "0.2"
# After so many messages the stopped subscriber goes on: longer after its first one than zenoh's watchdog lets memory
# exist for which no process vouches (0.1 s).
LATER = 40
# From this size on messages are shared.
SHARED = 8 << 10
PATIENCE = 60


def settings(takes_part: bool) -> dict:
    """As of nodes of rmw_zenoh, which have an admin space, with or without shared memory."""
    return {
        "adminspace/enabled": True,
        "transport/shared_memory/enabled": takes_part,
        # Otherwise this process makes a memory of its own.
        "transport/shared_memory/transport_optimization/enabled": False,
    }


@pytest.fixture(scope="module")
def images(tmp_path_factory) -> Recording:
    """Large messages, each with another content; 30 MB, so the player's memory has room for all of them."""
    path = tmp_path_factory.mktemp("shared") / "images.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start(profile="ros2")
        schema = writer.register_schema(TYPE, "ros2msg", DEFINITION.encode())
        channel = writer.register_channel(TOPIC, "cdr", schema)
        for n in range(MESSAGES):
            text = f"{n:08} " * (SIZE // 9)
            at = START + n * PERIOD_NS
            writer.add_message(channel, at, HEADER + string(text), at)
        writer.finish()
    return Recording(path)


@pytest.fixture(params=["images", "humble_types/rosbag2_2025_09_10-13_03_56_0.mcap"])
def recording(request, images) -> Recording:
    """A generated recording, and a real one with messages of many sizes."""
    if request.param == "images":
        return images
    return Recording(request.getfixturevalue("data") / request.param)


def is_large(message: Message) -> bool:
    return len(message.data) >= SHARED


def gate(recording: Recording) -> str:
    """The topic with most large messages. It is joined last, so its subscribers have all other topics, too."""
    counts = Counter(message.topic for message in recording.messages if is_large(message))
    ((topic, _),) = counts.most_common(1)
    return topic


def player(recording: Recording, router: int, rate: str, subscribers: int) -> Player:
    begin = ["--wait-for-subscribers", f"{gate(recording)}={subscribers}"]
    return Player(recording.path, "--shm", "on", "--rate", rate, *begin, router=router)


@pytest.fixture
def router() -> Iterator[int]:
    """The port of a router."""
    port = free_port()
    with open_router(port):
        yield port


class Subscriber(Node):
    """A node in shared memory, or not."""

    def __init__(self, port: int, recording: Recording, takes_part: bool):
        last = gate(recording)
        topics = sorted(recording.topics.values(), key=lambda topic: topic.name == last)
        super().__init__(port, topics, settings(takes_part))


def has_all(node: Node, recording: Recording, takes_part: bool) -> None:
    """Everything is there, whole and in order, and through shared memory what should come through it."""
    node.settle(recording.messages, timeout=PATIENCE)
    checks.same_messages(node, recording.messages)
    checks.arrival_order(node, recording.messages)
    for topic in recording.topics.values():
        shared = [sample.is_shared for sample in node.of(topic.name)]
        # Latched messages are copies: the player keeps them for late joiners.
        can_be_shared = takes_part and not topic.latched
        assert shared == [can_be_shared and is_large(m) for m in recording.of(topic.name)], topic.name


def test_large_messages_are_shared_with_the_subscribers_that_take_part(recording, router):
    assert any(map(is_large, recording.messages))
    with (
        Subscriber(router, recording, takes_part=True) as one,
        Subscriber(router, recording, takes_part=True) as other,
        Subscriber(router, recording, takes_part=False) as copied,
        player(recording, router, "max", subscribers=3) as running,
    ):
        summary = running.finish(PATIENCE)
        for node, takes_part in [(one, True), (other, True), (copied, False)]:
            has_all(node, recording, takes_part)
        checks.summary_agrees(summary, recording.messages)


class Stopping:
    """A subscriber in another process, which takes part in shared memory and stops at the first message."""

    def __init__(self, recording: Recording, port: int):
        command = [sys.executable, __file__, str(recording.path), str(port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._line() == "ready"

    def wait_until_stopped(self) -> None:
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def received(self) -> dict:
        """What it says when it has all messages."""
        return json.loads(self._line())

    def _line(self) -> str:
        assert select.select([self._process.stdout], [], [], PATIENCE)[0], "it says nothing"
        return self._process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self._process.stdout.close()


@pytest.fixture
def beside(images, router) -> Iterator[tuple]:
    """A player, a subscriber, and another one that has just stopped."""
    with (
        Stopping(images, router) as stopping,
        Subscriber(router, images, takes_part=True) as node,
        player(images, router, SLOW, subscribers=2) as running,
    ):
        stopping.wait_until_stopped()
        yield running, node, stopping


def wait_for_more(node: Node) -> None:
    """Waits until much more was sent, and not everything."""
    node.wait_for(lambda node: len(node.samples) >= LATER, PATIENCE)


def test_a_stopped_subscriber_gets_everything_after_it_goes_on(images, beside):
    running, node, stopping = beside
    wait_for_more(node)
    stopping.resume()
    assert stopping.received() == {
        "numbers": list(range(1, MESSAGES + 1)),
        "shared": MESSAGES,
        "content": content(message.data for message in images.messages),
    }
    summary = running.finish(PATIENCE)
    has_all(node, images, takes_part=True)
    checks.summary_agrees(summary, images.messages)
    assert summary["lost"] == summary["stalled"] == 0, summary


def test_a_killed_subscriber_does_not_disturb_the_others(images, beside):
    running, node, stopping = beside
    wait_for_more(node)
    stopping.kill()
    # The player holds until there are as many subscribers as it was to wait for.
    with Subscriber(running.port, images, takes_part=True) as next_one:
        summary = running.finish(PATIENCE)
        has_all(node, images, takes_part=True)
        next_one.wait_for(lambda node: node.samples and node.samples[-1].sequence == MESSAGES, PATIENCE)
        rest = len(next_one.samples)
        assert [sample.payload for sample in next_one.samples] == [m.data for m in images.messages[-rest:]]
        assert all(sample.is_shared for sample in next_one.samples)
    # What the killed one held stays taken, and counts at the end: at least the message at which it had stopped.
    assert summary["unsent_bytes"] > 0
    assert summary["unsent_bytes"] % len(images.messages[0].data) == 0
    checks.summary_agrees({**summary, "unsent_bytes": 0}, images.messages)


def content(payloads: Iterable[bytes]) -> str:
    state = xxhash.xxh3_128()
    for payload in payloads:
        state.update(payload)
    return state.hexdigest()


class StopsAtFirstMessage(Subscriber):
    """Stops its process within the callback."""

    def arrived(self, sample: Sample) -> None:
        if not self.samples:
            os.kill(os.getpid(), signal.SIGSTOP)
        super().arrived(sample)


def stop(path: Path, port: int) -> None:
    with StopsAtFirstMessage(port, Recording(path), takes_part=True) as node:
        print("ready", flush=True)
        node.wait_for(lambda node: len(node.samples) >= MESSAGES, timeout=600)
        said = {
            "numbers": [sample.sequence for sample in node.samples],
            "shared": sum(sample.is_shared for sample in node.samples),
            "content": content(sample.payload for sample in node.samples),
        }
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    stop(Path(sys.argv[1]), int(sys.argv[2]))
