"""ROS 2 nodes that start before the player and any router, as is usual. Their zenoh is older than ours."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from node import CLOCK, token
from player import HOUSE, Player, environment, free_port

HERE = Path(__file__).parent
PYTHON = Path(os.environ.get("EARLY_PYTHON", HOUSE / "target/interop-venv-1.7/bin/python"))


class EarlyNode:
    """`early_node.py`, until the end of the `with` block."""

    def __init__(self, port: int, topic, *tokens: str):
        assert PYTHON.is_file(), f"no Python at {PYTHON}: see README.md, or set EARLY_PYTHON"
        key = f"0/{topic.name.strip('/')}/{topic.dds_type}/{topic.hash}"
        self._process = subprocess.Popen(
            [PYTHON, HERE / "early_node.py", str(port), key, *tokens],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert self._process.stdout.readline() == "ready\n"

    def received(self) -> tuple[int, int]:
        """How many messages came so far, and their bytes."""
        print(file=self._process.stdin, flush=True)
        count, size = self._process.stdout.readline().split()
        return int(count), int(size)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


@pytest.fixture
def early(demo):
    """A node that listens to /odom, wants another /imu and publishes /clock; and the port of its router."""
    port, odom, imu = free_port(), demo.topics["/odom"], demo.topics["/imu"]
    other = imu.hash.replace("RIHS01_", "RIHS01_0")[: len(imu.hash)]
    tokens = [
        "@ros2_lv/0/{zid}/0/0/NN/%/%/interop",
        token("{zid}", 1, odom),
        token("{zid}", 2, imu).replace(imu.hash, other),
        token("{zid}", 3, CLOCK).replace("/MS/", "/MP/"),
    ]
    with EarlyNode(port, odom, *tokens) as node:
        yield node, port


def test_nodes_that_started_first_are_found(demo, early):
    node, port = early
    want = demo.of("/odom")
    arguments = ["--clock", "--rate", "10", "--topics", "/odom", "/imu", "--wait-for-subscribers", "/odom"]
    # Later runs find the nodes as the first one does.
    for run in (1, 2):
        with Player(demo.path, *arguments, port=port) as player:
            player.finish(timeout=60)
            said = player.stderr()
        assert "/interop gets nothing of /imu" in said
        assert "/interop publishes /clock too" in said
        # The last messages may still be on their way to the node.
        total = (run * len(want), run * sum(len(message.data) for message in want))
        deadline = time.monotonic() + 60
        while node.received() != total:
            assert time.monotonic() < deadline, f"{node.received()} of {total}"
            time.sleep(0.05)
