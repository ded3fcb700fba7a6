"""A subscriber that is stopped, as by a debugger: neither the end nor ctrl-C waits for it as zenoh's close does."""

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
# Shorter than the ten seconds for which a closed link lingers.
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


def test_who_is_frozen_is_told_of_and_left(frozen):
    player = frozen("--stall-timeout", "2")
    assert player.exit_code(timeout=PATIENCE) == DONE
    assert "a subscriber did not take the last messages" in player.stderr()


def test_ctrl_c_leaves_who_is_frozen(frozen):
    player = frozen("--stall-timeout", "3600")
    player.wait_until_it_says("ctrl-C leaves them")
    player.interrupt()
    assert player.exit_code(timeout=PATIENCE) == INTERRUPTED


class FreezesAtOnce(Node):
    """Within the callback, or much would have been taken by then."""

    def arrived(self, sample) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)


def freeze(path: Path, port: int) -> None:
    with FreezesAtOnce(port, [Recording(path).topics["/odom"]]) as node:
        node.wait_for(lambda node: False, timeout=600)


if __name__ == "__main__":
    freeze(Path(sys.argv[1]), int(sys.argv[2]))
