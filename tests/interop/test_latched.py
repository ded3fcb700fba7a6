"""A late joiner gets the latched messages. It requests them as the subscriptions of rmw_zenoh do."""

import clock
from late_node import LateSubscriber
from node import CLOCK, Node, session
from player import Player
from recording import digest

# So slow that most of the recording is left when the late subscribers have joined.
RATE = 1
SECOND = 1_000_000_000
# The camera's /tf_static comes at 1.7 s.
LATE_NS = 3 * SECOND


def test_a_late_joiner_gets_the_latched_messages(demo):
    latched = [topic for topic in demo.topics.values() if topic.latched]
    assert {topic.name for topic in latched} == {"/tf_static", "/robot_description"}
    imu = demo.topics["/imu"]
    arguments = ["--clock", "20", "--rate", str(RATE), "--wait-for-subscribers", "/imu"]
    with Player(demo.path, *arguments) as player, Node(player.port, [CLOCK, imu]) as node:
        late = demo.start + LATE_NS
        node.wait_for(lambda node: node.has_shown(late), timeout=60)
        with session(player.port) as opened:
            subscribers = {topic.name: LateSubscriber(opened, topic) for topic in latched}
            want = {name: [message.data for message in demo.of(name)] for name in subscribers}
            for name, subscriber in subscribers.items():
                subscriber.settle(len(want[name]))
            # A message too many would arrive by then.
            later = node.shown + 2 * SECOND
            node.wait_for(lambda node: node.has_shown(later), timeout=60)
            for name, subscriber in subscribers.items():
                assert subscriber.payloads == want[name], name
                numbers = [int.from_bytes(a[:8], "little") for a in subscriber.attachments]
                assert numbers == list(range(1, len(numbers) + 1)), name
        player.interrupt()
        assert player.exit_code(timeout=60) == 130


def test_a_late_start_gives_the_latched_messages_too(demo):
    latched = [topic for topic in demo.topics.values() if topic.latched]
    start = demo.start + 10 * SECOND
    expected = [message for message in demo.without(CLOCK.name) if message.log_time >= start]
    imu = demo.topics["/imu"]
    arguments = ["--start-offset", "10", "--clock", "--rate", "10", "--wait-for-subscribers", "/imu"]
    with Player(demo.path, *arguments) as player, session(player.port) as opened:
        subscribers = {topic.name: LateSubscriber(opened, topic) for topic in latched}
        with Node(player.port, [CLOCK, imu]) as node:
            summary = player.finish(timeout=60)
            want = [message for message in expected if message.topic == imu.name]
            node.settle(want, until=demo.end)
            assert [sample.payload for sample in node.of(imu.name)] == [m.data for m in want]
            values = clock.values(node)
            assert (values[0], values[-1]) == (start, demo.end) and values == sorted(values)
        for name, subscriber in subscribers.items():
            subscriber.settle(len(demo.of(name)))
            assert subscriber.payloads == [message.data for message in demo.of(name)], name
    # Refills are not part of the digest and of the count.
    assert summary["digest"] == digest(expected)
    assert summary["messages_sent"] == len(expected)
