"""The library follows a clock that is published by somebody else: a program of ours, a clock from here."""

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from node import CLOCK
from player import HOUSE

PATIENCE = 30.0
KEY = f"0/clock/{CLOCK.dds_type}/{CLOCK.hash}"


def message(nanos: int) -> bytes:
    sec, nanosec = divmod(nanos, 10**9)
    return (
        b"\x00\x01\x00\x00"
        + sec.to_bytes(4, "little", signed=True)
        + nanosec.to_bytes(4, "little")
    )


class Follower:
    """The example `follow_clock`, and what it says."""

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
        """The next line that begins so; those before it are forgotten."""
        with self._said:
            while True:
                while self._lines:
                    line = self._lines.pop(0)
                    if line.startswith(start):
                        return line
                assert self._said.wait(PATIENCE), f"it never said {start!r}"

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture
def router():
    """A router of PyPI's zenoh on a free port, and the port."""
    import json
    import socket

    import zenoh

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = zenoh.Config()
    for key, value in {
        "mode": "router",
        "listen/endpoints": [f"tcp/127.0.0.1:{port}"],
        "scouting/multicast/enabled": False,
        "scouting/gossip/enabled": False,
    }.items():
        config.insert_json5(key, json.dumps(value))
    with zenoh.open(config) as session:
        yield session, port


def test_a_clock_from_elsewhere_is_followed_through_its_jumps(router):
    session, port = router
    follower = Follower(port)
    try:
        follower.next("ready")
        publisher = session.declare_publisher(KEY)
        # It is slept for a second of the clock's time, whatever the wall says.
        tick = 100 * 10**9
        deadline = time.monotonic() + PATIENCE
        while not publisher.matching_status.matching:
            assert time.monotonic() < deadline, "nobody subscribes"
            time.sleep(0.01)
        publisher.put(message(tick))
        assert follower.next("Started") == "Started 0.000000000 100.000000000"
        publisher.put(message(tick + 999_999_999))
        publisher.put(message(tick + 10**9))
        assert follower.next("now") == "now 101.000000000"
        publisher.put(message(7 * 10**9))
        assert follower.next("Backward") == "Backward 101.000000000 7.000000000"
        publisher.put(b"\x00\x01broken")
        publisher.put(message(8 * 10**9 + 1))
        assert follower.next("now") == "now 8.000000001"
    finally:
        follower.end()
