"""Checks of `/clock` while one generation is played forward."""

import statistics
from itertools import pairwise

from node import CLOCK, Node, Sample, clock_value
from recording import Message


def is_at_100_hz(values: list[int]) -> bool:
    """Whether these values of a clock at rate 1 are in order, and most of them 10 ms apart. Some may be missing: none
    is put while the player is stopped, and the link of a reader that takes nothing drops some."""
    steps = [after - before for before, after in pairwise(values)]
    return len(values) > 50 and values == sorted(values) and 9_000_000 < statistics.median(steps) < 11_000_000


def value(sample: Sample) -> int:
    return clock_value(sample.payload)


def values(node: Node) -> list[int]:
    return [value(sample) for sample in node.of(CLOCK.name)]


def stamped(node: Node, expected: list[Message]) -> list[tuple[Sample, int]]:
    """All samples as they arrived with their time: the clock's value, or the message's log time.

    The n-th sample of a topic is its n-th message, which `same_messages` has checked.
    """
    times = {topic: [] for topic in {message.topic for message in expected}}
    for message in expected:
        times[message.topic].append(message.log_time)
    following = {topic: iter(list_) for topic, list_ in times.items()}
    return [
        (sample, value(sample) if sample.topic == CLOCK.name else next(following[sample.topic]))
        for sample in node.samples
    ]


def agrees_with_messages(node: Node, expected: list[Message]) -> None:
    """No tick is past a message that was put after it, and no new tick is before a message that was put earlier.

    While a put waits for a slow receiver, the last tick is repeated; also for a subscriber whose link comes up after it,
    so the first tick that a node receives may be a repeated one.

    Ticks and messages are compared in the order in which they were put. Source times show it, because one thread puts
    both. A clock on a grid has a priority of its own and may overtake messages on the network.
    """
    walk = sorted(stamped(node, expected), key=lambda one: one[0].source_time)
    data = {sample.priority for sample, _ in walk if sample.topic != CLOCK.name}
    assert len(data) == 1 and len(data) < len(walk)
    ahead, after, shown = -1, None, None
    for sample, time in walk:
        if sample.topic == CLOCK.name:
            is_repeated, shown = shown in (None, time), time
            assert is_repeated or time >= ahead, f"the clock shows {time} after a message of {ahead}"
        else:
            ahead = max(ahead, time)
    for sample, time in reversed(walk):
        if sample.topic != CLOCK.name:
            after = time if after is None else min(after, time)
        elif after is not None:
            assert time <= after, f"the clock shows {time} before a message of {after}"


def slope(samples: list[tuple[Sample, int]], span: float) -> float:
    """The rate of the stamps by the receiver's time: the median over all spans of so many seconds.

    A short halt of the machine does not change it.
    """
    slopes, last = [], 0
    for sample, start in samples:
        while last < len(samples) and samples[last][0].received - sample.received < span * 1e9:
            last += 1
        if last == len(samples):
            break
        slopes.append((samples[last][1] - start) / (samples[last][0].received - sample.received))
    return statistics.median(slopes)
