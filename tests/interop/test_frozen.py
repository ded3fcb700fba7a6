"""A subscriber whose process is stopped, as by a debugger: a run does not wait for it as long as zenoh's close does, and
it receives messages again when its process goes on."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ci_run import first_that
from node import CLOCK, Node, Sample, open_router
from player import Player, free_port
from recording import Recording

DONE = 0
INTERRUPTED = 130
# Shorter than the ten seconds for which zenoh waits when it closes a link.
SHORT = 8
PATIENCE = 60
# A player that waits for zenoh is late each time; one that is stopped meanwhile is late once.
ATTEMPTS = 3


class Frozen:
    """A player, and a subscriber of /odom in another process, which stops at the first message."""

    def __init__(self, path: Path):
        self.path = path
        self._player: Player | None = None
        self._child: subprocess.Popen | None = None

    def __call__(self, *arguments: str, router: int | None = None) -> Player:
        self.close()
        own = ["--topics", "/odom", "--rate", "max", "--wait-for-subscribers"]
        self._player = Player(self.path, *own, *arguments, router=router)
        command = [sys.executable, __file__, str(self.path), str(self._player.port)]
        self._child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        os.waitid(os.P_PID, self._child.pid, os.WSTOPPED)
        return self._player

    def resume(self) -> None:
        """Lets the process go on."""
        self._child.send_signal(signal.SIGCONT)

    def missed(self, timeout: float = 60) -> int:
        """Waits until the process that goes on has received messages and the clock; how many messages it missed."""
        assert select.select([self._child.stdout], [], [], timeout)[0], self._player.stderr()
        return int(self._child.stdout.readline())

    def close(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._child.stdout.close()
        if self._player is not None:
            self._player.close()
        self._player = self._child = None


def time_of_end(player: Player, code: int) -> float:
    """Waits for an end with this exit code; how many seconds it took."""
    began = time.monotonic()
    assert player.exit_code(timeout=PATIENCE) == code
    return time.monotonic() - began


def is_short(seconds: float) -> bool:
    return seconds < SHORT


@pytest.fixture
def frozen(demo):
    frozen = Frozen(demo.path)
    yield frozen
    frozen.close()


def test_a_stopped_subscriber_is_reported_and_not_waited_for(frozen):
    def ends() -> float:
        player = frozen("--stall-timeout", "2")
        took = time_of_end(player, DONE)
        assert "a subscriber did not take the last messages" in player.stderr()
        return took

    assert first_that(is_short, ends, ATTEMPTS) < SHORT


def test_ctrl_c_ends_a_run_with_a_stopped_subscriber(frozen):
    def ends() -> float:
        player = frozen("--stall-timeout", "3600")
        player.wait_for_log("ctrl-C ends now")
        player.interrupt()
        return time_of_end(player, INTERRUPTED)

    assert first_that(is_short, ends, ATTEMPTS) < SHORT


@pytest.fixture(params=["the player is the router", "another process is the router"])
def router(request):
    """The port of a router of another process; None if the player is to be it."""
    if request.param == "the player is the router":
        yield None
        return
    port = free_port()
    with open_router(port):
        yield port


def test_a_stopped_subscriber_that_goes_on_receives_messages_and_the_clock_again(frozen, router):
    player = frozen("--loop", "--clock", "--stall-timeout", "1", router=router)
    player.wait_for_log("read nothing for")
    frozen.resume()
    missed = frozen.missed()
    player.wait_for_log("reading again after")
    player.interrupt()
    assert player.exit_code(timeout=PATIENCE) == INTERRUPTED
    assert "or more" in player.stderr()
    summary = json.loads(player.stdout())
    odometry = next(topic for topic in summary["topics"] if topic["name"] == "/odom")
    assert missed > 0
    assert odometry["stalled"] > 0 and odometry["lost"] > 0, summary
    assert summary["stalled"] >= odometry["stalled"] and summary["lost"] >= odometry["lost"], summary


class StopsAtFirstMessage(Node):
    """Stops its process within the callback; later it would have received more messages. If the process goes on, says
    how many messages are missing in the first gap, once both the messages behind it and the clock have arrived."""

    def __init__(self, *arguments):
        self.last: int | None = None
        self.missed = 0
        self.is_told = False
        super().__init__(*arguments)

    def arrived(self, sample: Sample) -> None:
        if sample.topic == CLOCK.name:
            if self.missed and not self.is_told:
                self.is_told = True
                print(self.missed, flush=True)
            return
        if self.last is None:
            os.kill(os.getpid(), signal.SIGSTOP)
        elif not self.missed:
            self.missed = sample.sequence - self.last - 1
        self.last = sample.sequence


def freeze(path: Path, port: int) -> None:
    with StopsAtFirstMessage(port, [CLOCK, Recording(path).topics["/odom"]]) as node:
        node.wait_for(lambda node: False, timeout=600)


if __name__ == "__main__":
    freeze(Path(sys.argv[1]), int(sys.argv[2]))
