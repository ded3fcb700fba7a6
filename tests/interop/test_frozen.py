"""A subscriber whose process is stopped, as by a debugger: a run does not wait for it as long as zenoh's close does."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from node import Node
from player import Player
from recording import Recording

DONE = 0
INTERRUPTED = 130
# Shorter than the ten seconds for which zenoh waits when it closes a link.
PATIENCE = 8


@pytest.fixture
def frozen(demo):
    """Starts players with a subscriber of /odom in another process, which stops at the first message."""
    children = []

    def start(*arguments: str) -> Player:
        player = Player(demo.path, "--topics", "/odom", "--rate", "max", "--wait-for-subscribers", *arguments)
        child = subprocess.Popen([sys.executable, __file__, str(demo.path), str(player.port)])
        children.append((player, child))
        os.waitid(os.P_PID, child.pid, os.WSTOPPED)
        return player

    yield start
    for player, child in children:
        child.kill()
        child.wait()
        player.__exit__()


def test_a_stopped_subscriber_is_reported_and_not_waited_for(frozen):
    player = frozen("--stall-timeout", "2")
    assert player.exit_code(timeout=PATIENCE) == DONE
    assert "a subscriber did not take the last messages" in player.stderr()


def test_ctrl_c_ends_a_run_with_a_stopped_subscriber(frozen):
    player = frozen("--stall-timeout", "3600")
    player.wait_for_log("ctrl-C ends now")
    player.interrupt()
    assert player.exit_code(timeout=PATIENCE) == INTERRUPTED


class StopsAtFirstMessage(Node):
    """Stops its process within the callback; later it would have received more messages."""

    def arrived(self, sample) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)


def freeze(path: Path, port: int) -> None:
    with StopsAtFirstMessage(port, [Recording(path).topics["/odom"]]) as node:
        node.wait_for(lambda node: False, timeout=600)


if __name__ == "__main__":
    freeze(Path(sys.argv[1]), int(sys.argv[2]))
