"""Real recordings of $BAGPLAY_DATA: no message is lost or changed, whether paced or unpaced."""

import pytest
import zenoh

import checks
import clock
from node import CLOCK, Node
from player import Player
from recording import Recording

UNPACED = [
    "rosbag2/talker/talker.mcap",
    "crazyflie/bag3",
    "crazyflie/bag8",
    "crazyflie/fly90bag",
    "crazyflie/pitch45bag",
    "crazyflie/roll45bag",
    "crazyflie/yx4bag",
    "humble_types",
    "turtlesim_ros2",
    "husky_ros2_v8",
]


def find(data, name: str) -> Recording:
    """The recording of that name; of a folder, the one file in it."""
    path = data / name
    if path.is_dir():
        (path,) = path.glob("*.mcap")
    return Recording(path)


@pytest.mark.parametrize("name", UNPACED)
def test_unpaced_playback_loses_no_message(data, name):
    recording = find(data, name)
    arguments = ["--rate", "max", "--wait-for-subscribers"]
    with Player(recording.path, *arguments) as player:
        with Node(player.port, recording.topics.values()) as node:
            summary = player.finish(timeout=120)
            node.settle(recording.messages)
            checks.same_messages(node, recording.messages)
            checks.arrival_order(node, recording.messages)
            checks.type_hashes(node, recording.topics.values())
            checks.summary_agrees(summary, recording.messages)
            decoded(node, recording)


@pytest.mark.parametrize("name", ["rosbag2/talker/talker.mcap", "humble_types"])
def test_paced_playback_with_a_clock_loses_no_message(data, name):
    recording = find(data, name)
    arguments = ["--clock", "50", "--rate", "1", "--wait-for-subscribers"]
    with Player(recording.path, *arguments) as player:
        with Node(player.port, [CLOCK, *recording.topics.values()]) as node:
            summary = player.finish(timeout=60)
            node.settle(recording.messages, until=recording.end)
            checks.same_messages(node, recording.messages)
            checks.summary_agrees(summary, recording.messages)
            clock.agrees_with_messages(node, recording.messages)
            values = clock.values(node)
            assert values == sorted(values)
            assert (values[0], values[-1]) == (recording.start, recording.end)
            walk = clock.stamped(node, recording.messages)
            messages = [(sample, time) for sample, time in walk if sample.topic != CLOCK.name]
            assert clock.slope(messages, span=1) == pytest.approx(1.0, rel=0.02), summary["held_ms"]


class LateTokens(Node):
    """Sees no token before `see_tokens`, as if the link that carries them were slow."""

    def __init__(self, *arguments):
        self._held: list[zenoh.Sample] | None = []
        super().__init__(*arguments)

    def _seen(self, sample: zenoh.Sample) -> None:
        with self._arrived:
            if self._held is None:
                super()._seen(sample)
            else:
                self._held.append(sample)

    def see_tokens(self) -> None:
        with self._arrived:
            held, self._held = self._held, None
            for sample in held:
                super()._seen(sample)


def test_a_message_that_arrives_before_the_token_of_its_publisher_counts(data):
    recording = find(data, "rosbag2/talker/talker.mcap")
    assert "/rosout" in recording.topics
    with Player(recording.path, "--rate", "max", "--wait-for-subscribers") as player:
        with LateTokens(player.port, recording.topics.values()) as node:
            player.finish(timeout=60)
            node.see_tokens()
            node.settle(recording.messages)
            checks.same_messages(node, recording.messages)


def decoded(node: Node, recording: Recording) -> None:
    """`rosbags` decodes what arrived, with the definitions of the recording."""
    for sample in node.samples:
        recording.topics[sample.topic].decode(sample.payload)
