"""Checks for every run of the player, whatever it plays."""

import re

from node import CLOCK, Node, gid
from recording import Message, digest

ATTACHMENT_LENGTH = 33


def same_messages(node: Node, expected: list[Message]) -> None:
    """Each topic byte for byte and in order, under one publisher with numbers from 1 on."""
    topics = {message.topic for message in expected}
    for topic in sorted(topics):
        got = [sample.payload for sample in node.of(topic)]
        want = [message.data for message in expected if message.topic == topic]
        numbers = {sample.sequence for sample in node.of(topic)}
        missing = sorted(set(range(1, len(want) + 1)) - numbers)
        lost = f"without {missing[0]} to {missing[-1]}" if missing else ""
        assert len(got) == len(want), f"{topic}: {len(got)} of {len(want)} messages {lost}"
        wrong = [n for n, (a, b) in enumerate(zip(got, want)) if a != b]
        assert not wrong, f"{topic}: {len(wrong)} messages differ, first number {wrong[0]}"
        attached(node, topic)
    played = {sample.topic for sample in node.samples} - {CLOCK.name}
    assert played <= topics, f"more than was to be played: {sorted(played - topics)}"


def attached(node: Node, topic: str) -> None:
    """Attachments and key of a topic agree with its publisher's token in the graph."""
    samples = node.of(topic)
    assert all(len(sample.attachment) == ATTACHMENT_LENGTH for sample in samples), topic
    assert all(sample.attachment[16] == 16 for sample in samples), topic
    # The clock ticks before this node joins; of other topics it receives the first message.
    first = samples[0].sequence if topic == CLOCK.name else 1
    numbers = [sample.sequence for sample in samples]
    assert numbers == list(range(first, first + len(samples))), f"{topic}: {numbers[:3]}…{numbers[-1]}"
    tokens = node.publishers(topic)
    assert len(tokens) == 1, f"{topic}: {tokens}"
    assert {sample.gid for sample in samples} == {gid(tokens[0])}, topic
    name, dds_type, type_hash = tokens[0].split("/")[9:12]
    key = f"0/{name.replace('%', '/').strip('/')}/{dds_type}/{type_hash}"
    assert {sample.key for sample in samples} == {key}, topic


def type_hashes(node: Node, topics) -> None:
    """The hash in the graph is the recorded one, or else the one that `rosbags` computes from the definition."""
    for topic in topics:
        (token,) = node.publishers(topic.name)
        assert token.split("/")[11] == topic.hash, topic.name
        assert re.fullmatch(r"RIHS01_[0-9a-f]{64}", topic.hash)


def arrival_order(node: Node, expected: list[Message]) -> None:
    """All reliable topics together kept the order of the recording, and so did all best effort topics."""
    played = {message.topic for message in expected}
    reliable = {topic for topic in played if is_reliable(node, topic)}
    for topics in (reliable, played - reliable):
        got = [(sample.topic, sample.payload) for sample in node.samples if sample.topic in topics]
        want = [(message.topic, message.data) for message in expected if message.topic in topics]
        assert len(got) == len(want)
        wrong = [n for n, (a, b) in enumerate(zip(got, want)) if a != b]
        assert not wrong, f"{len(wrong)} messages at another place, first at {wrong[0]}: {want[wrong[0]][0]}"


def is_reliable(node: Node, topic: str) -> bool:
    """By the publisher's token: the first field of its QoS, which is empty for the default."""
    (token,) = node.publishers(topic)
    return token.rsplit("/", 1)[1].split(":")[0] in ("", "1")


def summary_agrees(summary: dict, expected: list[Message], skipped: tuple[str, ...] = ()) -> None:
    """Counts, bytes and digest; `skipped` are the topics that were left out for a stated reason."""
    assert summary["messages_sent"] == len(expected)
    assert summary["bytes_sent"] == sum(len(message.data) for message in expected)
    assert summary["unsent_bytes"] == 0
    assert summary["digest"] == digest(expected)
    assert summary["order"] == "received"
    assert not summary["damage"] and summary["jumps"] == 0
    assert tuple(left_out["topic"] for left_out in summary["skipped"]) == skipped
    sent = {topic["name"]: topic["sent"] for topic in summary["topics"]}
    for topic in {message.topic for message in expected}:
        assert sent[topic] == sum(message.topic == topic for message in expected), topic
    assert all(topic["dropped"] == 0 for topic in summary["topics"])
