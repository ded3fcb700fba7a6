"""The library follows a clock of another implementation: the example `follow_clock`, and a clock from this test."""

import itertools
import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from node import CLOCK, open_router
from player import HOUSE, free_port

PATIENCE = 30.0
SECOND = 10**9
# No divisor of a second, so that a wake-up at a time that was not published is noticed.
STEP = 100_000_007
KEY = f"0/clock/{CLOCK.dds_type}/{CLOCK.hash}"


def message(nanos: int) -> bytes:
    sec, nanosec = divmod(nanos, 10**9)
    return (
        b"\x00\x01\x00\x00"
        + sec.to_bytes(4, "little", signed=True)
        + nanosec.to_bytes(4, "little")
    )


def in_nanos(seconds: str) -> int:
    whole, fraction = seconds.split(".")
    return int(whole) * SECOND + int(fraction)


def publish_until_awake(publisher, follower: "Follower", start: int, before: range = range(0)) -> range:
    """Publishes times from `start` on until the follower has slept for a second; returns the published times.

    The number of times is open, because the test does not know when the follower falls asleep. The follower may first
    print a time of `before` at which it woke earlier, or the start.
    """
    deadline = time.monotonic() + PATIENCE
    for last in itertools.count(start, STEP):
        publisher.put(message(last))
        said = follower.now(patience=0.02)
        if said is not None and said != start and said not in before:
            published = range(start, last + 1, STEP)
            assert said in published and said >= start + SECOND
            return published
        assert time.monotonic() < deadline, "the follower did not wake up"


class Follower:
    """The example `follow_clock`, and its output."""

    def __init__(self, port: int):
        binary = os.environ.get(
            "FOLLOW_BIN", str(HOUSE / "target/debug/examples/follow_clock")
        )
        assert Path(binary).is_file(), f"{binary}: cargo build --example follow_clock"
        self._process = subprocess.Popen(
            [binary, f"tcp/127.0.0.1:{port}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._lines: list[str] = []
        self._said = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._process.stdout:
            with self._said:
                self._lines.append(line.strip())
                self._said.notify_all()

    def next(self, start: str) -> str:
        """The next line that begins so; those before it are dropped."""
        with self._said:
            while True:
                while self._lines:
                    line = self._lines.pop(0)
                    if line.startswith(start):
                        return line
                assert self._said.wait(PATIENCE), f"{start!r} was not printed in time"

    def now(self, patience: float) -> int | None:
        """The next time that it prints, in nanoseconds; None if it prints none for so long."""
        with self._said:
            if not any(line.startswith("now") for line in self._lines):
                self._said.wait(patience)
            while self._lines:
                line = self._lines.pop(0)
                if line.startswith("now"):
                    return in_nanos(line.split()[1])
        return None

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture
def router():
    """A router on a free port, and the port. Peers of it do not find each other by gossip."""
    port = free_port()
    with open_router(port, has_gossip=False) as session:
        yield session, port


def test_a_clock_of_another_implementation_is_followed_through_its_jumps(router):
    session, port = router
    follower = Follower(port)
    try:
        follower.next("ready")
        publisher = session.declare_publisher(KEY)
        is_heard = threading.Event()
        listener = publisher.declare_matching_listener(
            lambda status: is_heard.set() if status.matching else None
        )
        assert publisher.matching_status.matching or is_heard.wait(PATIENCE), "nobody subscribes"
        # The follower sleeps for a second of the clock's time, not of wall time.
        publisher.put(message(100 * SECOND))
        assert follower.next("Started") == "Started 0.000000000 100.000000000"
        published = publish_until_awake(publisher, follower, 100 * SECOND)
        # The follower may have skipped the last of them for this one.
        publisher.put(message(7 * SECOND))
        _, before, after = follower.next("Backward").split()
        assert in_nanos(before) in published and after == "7.000000000"
        publisher.put(b"\x00\x01broken")
        publish_until_awake(publisher, follower, 7 * SECOND, published)
        listener.undeclare()
    finally:
        follower.end()
