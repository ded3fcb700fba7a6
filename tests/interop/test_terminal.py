"""A terminal that goes away: what a closed window does to the player that it shows."""

import os
import pty
import signal
import termios
import time

import pytest

from player import BINARY, environment

PATIENCE = 20
FAILED = 1
TERMINATED = 143


def until_seen(terminal: int, words: bytes) -> None:
    seen, deadline = b"", time.monotonic() + PATIENCE
    while words not in seen:
        assert time.monotonic() < deadline, seen
        seen += os.read(terminal, 65536)


def wait(pid: int) -> int:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError("it plays on though nobody can see it")


def close_window(demo, folder, state: bytes, *more: str, ignore_hangup: bool = False) -> tuple[int, str]:
    """Plays in a terminal that is closed once it shows the state; the exit code and the log."""
    log = folder / "log"
    arguments = [demo.path, "--tui", "--wire", "null", "--clock", "--log-file", log, *more]
    home = {name: str(folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    pid, terminal = pty.fork()
    if pid == 0:
        if ignore_hangup:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.execve(BINARY, [BINARY, *arguments], environment() | home | {"TERM": "xterm"})
    termios.tcsetwinsize(terminal, (24, 80))
    try:
        until_seen(terminal, state)
    finally:
        os.close(terminal)
    return wait(pid), log.read_text()


@pytest.mark.parametrize("more", [[], ["--start-paused"]])
def test_a_closed_window_ends_it_and_the_log_says_so(demo, tmp_path, more):
    code, log = close_window(demo, tmp_path, b"PAUSED" if more else b"PLAYING", *more)
    assert code == TERMINATED
    assert "interrupted after" in log


@pytest.mark.parametrize("more", [[], ["--start-paused"]])
def test_a_closed_window_ends_it_without_a_signal_too(demo, tmp_path, more):
    state = b"PAUSED" if more else b"PLAYING"
    code, log = close_window(demo, tmp_path, state, *more, ignore_hangup=True)
    assert code == FAILED
    assert "the terminal cannot be drawn on" in log
