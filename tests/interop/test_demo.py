"""The demo recording, played at twice its speed with a clock of 100 Hz."""

import statistics
import time
from types import SimpleNamespace

import pytest

import checks
import clock
from node import CLOCK, Node
from player import Player

# 15 s: so long that the delays of a busy machine are less than 1 % of it.
RATE = 2.0
HERTZ = 100.0
LAST_TO_JOIN = "/scan"


@pytest.fixture(scope="module")
def run(demo):
    """One run: what the node received, and the summary of the player."""
    arguments = ["--clock", f"{HERTZ:g}", "--rate", f"{RATE:g}", "--wait-for-subscribers"]
    first = [topic for name, topic in demo.topics.items() if name != LAST_TO_JOIN]
    expected = demo.without(CLOCK.name)
    began = time.time_ns()
    with Player(demo.path, *arguments) as player, Node(player.port, first) as node:
        node.wait_for(lambda node: len(node.samples) >= 40, timeout=60)
        waiting = list(node.samples)
        node.join(demo.topics[LAST_TO_JOIN])
        summary = player.finish(timeout=60)
        node.settle(expected, until=demo.end)
        yield SimpleNamespace(
            node=node,
            summary=summary,
            waiting=waiting,
            expected=expected,
            wall=(began, time.time_ns()),
        )


def test_every_message_is_decoded_by_its_own_definition(demo):
    for message in demo.messages:
        topic = demo.topics[message.topic]
        again = topic.store.serialize_cdr(topic.decode(message.data), topic.type_name)
        # The serialiser leaves out the padding at the end.
        assert message.data.startswith(bytes(again).rstrip(b"\0")), message.topic


def test_recorded_hashes_are_those_of_the_definitions(demo):
    for topic in demo.topics.values():
        assert topic.recorded_hash == topic.store.hash_rihs01(topic.type_name), topic.name


def test_the_player_waits_for_the_last_subscriber_with_the_clock_at_the_start(run, demo):
    assert {sample.topic for sample in run.waiting} == {CLOCK.name}
    assert {clock.value(sample) for sample in run.waiting} == {demo.start}


def test_every_message_arrives_unchanged(run):
    checks.same_messages(run.node, run.expected)


def test_messages_of_one_reliability_arrive_in_the_recorded_order(run):
    checks.arrival_order(run.node, run.expected)


def test_type_hashes_are_the_recorded_ones(run, demo):
    checks.type_hashes(run.node, demo.topics.values())


def test_offered_qos_is_the_recorded_one(run, demo):
    for topic in demo.topics.values():
        (token,) = run.node.publishers(topic.name)
        reliability, durability, *_ = token.split("/")[12].split(":")
        assert durability == ("1" if topic.latched else ""), topic.name
        assert reliability == ("2" if "best_effort" in topic.qos else ""), topic.name


def test_clock_token_has_the_type_and_profile_of_a_clock(run):
    (token,) = run.node.publishers(CLOCK.name)
    assert token.split("/")[10:] == [CLOCK.dds_type, CLOCK.hash, "2::,1:,:,:,,"]


def test_source_times_are_the_time_of_sending(run):
    began, ended = run.wall
    for topic in {sample.topic for sample in run.node.samples}:
        times = [sample.source_time for sample in run.node.of(topic)]
        assert began <= times[0] and times[-1] <= ended, topic
        assert times == sorted(times), topic


def test_clock_runs_from_the_start_to_the_end(run, demo):
    values = clock.values(run.node)
    assert values == sorted(values)
    assert values[0] == demo.start
    assert values[-1] == demo.end


def test_recorded_clock_is_not_replayed(run, demo):
    recorded = {message.data for message in demo.of(CLOCK.name)}
    assert recorded and not recorded & {sample.payload for sample in run.node.of(CLOCK.name)}
    checks.attached(run.node, CLOCK.name)


def test_clock_and_messages_agree(run):
    clock.agrees_with_messages(run.node, run.expected)


def test_clock_ticks_at_the_requested_rate(run, demo):
    rolling = [s for s in run.node.of(CLOCK.name) if demo.start < clock.value(s) < demo.end]
    steps = [b.source_time - a.source_time for a, b in zip(rolling, rolling[1:])]
    assert statistics.median(steps) == pytest.approx(1e9 / HERTZ, rel=0.05)
    # Ticks that were missed during a halt of the machine are not made up for.
    ticks = HERTZ * (rolling[-1].source_time - rolling[0].source_time) / 1e9
    assert 0.8 * ticks <= len(steps) <= 1.01 * ticks


def test_clock_ticks_during_a_gap_without_messages(run, demo):
    times = [message.log_time for message in demo.messages]
    length, start = max((b - a, a) for a, b in zip(times, times[1:]))
    inside = [value for value in clock.values(run.node) if start < value < start + length]
    assert len(inside) >= 0.5 * HERTZ * (length / 1e9) / RATE


def test_rate_is_the_requested_one(run, demo):
    walk = clock.stamped(run.node, run.expected)
    messages = [(sample, time) for sample, time in walk if sample.topic != CLOCK.name]
    ticks = [(s, t) for s, t in walk if s.topic == CLOCK.name and demo.start < t < demo.end]
    # Time that the machine withheld from the player counts as "stalled".
    held = run.summary["held_ms"]
    assert clock.slope(messages, span=1) == pytest.approx(RATE, rel=0.01), held
    assert clock.slope(ticks, span=1) == pytest.approx(RATE, rel=0.01), held
    assert run.summary["rate"]["asked"] == RATE
    stalled = held["stalled"] / 1e3 / ((demo.end - demo.start) / 1e9 / RATE)
    assert run.summary["rate"]["achieved"] == pytest.approx(RATE, rel=0.01 + stalled)


def test_summary_agrees_with_the_recording(run, demo):
    checks.summary_agrees(run.summary, run.expected, skipped=(CLOCK.name,))
    recording = run.summary["recording"]
    assert (recording["start_ns"], recording["end_ns"]) == (demo.start, demo.end)


def test_unpaced_clock_shows_the_stamps_of_the_messages(demo):
    """`--rate max`: all messages of reliable topics arrive; each value of the clock is a message's log time."""
    reliable = [t for t in demo.topics.values() if "best_effort" not in t.qos]
    names = [topic.name for topic in reliable]
    expected = [message for message in demo.messages if message.topic in names]
    arguments = ["--rate", "max", "--clock", "--topics", *names, "--wait-for-subscribers"]
    with Player(demo.path, *arguments) as player, Node(player.port, [CLOCK, *reliable]) as node:
        summary = player.finish(timeout=60)
        node.settle(expected, until=expected[-1].log_time)
        checks.same_messages(node, expected)
        checks.summary_agrees(summary, expected)
        values = clock.values(node)
        assert values == sorted(values) and values[-1] >= expected[-1].log_time
        # The start and the end of the recording belong to messages of other topics.
        assert set(values) <= {message.log_time for message in demo.messages}
        clock.agrees_with_messages(node, expected)


def test_a_clock_before_each_message_has_its_exact_time(demo):
    """`--clock-topics-all`: clocks and messages share a queue, so their order of arrival is that of the puts."""
    end = demo.start + 2_000_000_000
    topics = [topic for topic in demo.topics.values() if topic.name != CLOCK.name]
    names = [topic.name for topic in topics]
    expected = [m for m in demo.without(CLOCK.name) if m.log_time <= end]
    arguments = ["--clock-topics-all", "--end", str(end), "--rate", "2", "--wait-for-subscribers"]
    with Player(demo.path, *arguments, *names) as player, Node(player.port, [CLOCK, *topics]) as node:
        player.finish(timeout=60)
        node.settle(expected)
        shown = None
        for sample, log_time in clock.stamped(node, expected):
            if sample.topic == CLOCK.name:
                shown = log_time
            else:
                assert shown == log_time, f"{sample.topic} at {log_time} under a clock of {shown}"
