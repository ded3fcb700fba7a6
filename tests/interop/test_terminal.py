"""A terminal that is closed: the player in it ends."""

import os
import pty
import select
import signal
import termios
import time

import pytest

from player import BINARY, environment

PATIENCE = 60
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
    raise AssertionError("the player goes on without its terminal")


def close_terminal(demo, folder, *more: str, is_controlling: bool = True) -> tuple[int, str]:
    """Plays in a terminal that is closed once it shows the bar; the exit code and the log."""
    log = folder / "log"
    arguments = [demo.path, "--tui", "--wire", "null", "--clock", "--log-file", log, *more]
    home = {name: str(folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    terminal, other = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    pid = os.fork()
    if pid == 0:
        if is_controlling:
            os.login_tty(other)
        else:
            os.setsid()
            for fd in range(3):
                os.dup2(other, fd)
        os.execve(BINARY, [BINARY, *arguments], environment() | home | {"TERM": "xterm"})
    os.close(other)
    try:
        is_paused = "--start-paused" in more
        until_seen(terminal, b"PAUSED" if is_paused else b"PLAYING")
        # Until nothing has been drawn for a second, so that no write fails after the terminal was closed.
        while is_paused and select.select([terminal], [], [], 1)[0]:
            os.read(terminal, 65536)
    finally:
        os.close(terminal)
    return wait(pid), log.read_text()


@pytest.mark.parametrize("more", [[], ["--start-paused"]])
def test_a_closed_terminal_ends_the_player_and_the_log_says_so(demo, tmp_path, more):
    code, log = close_terminal(demo, tmp_path, *more)
    assert code == TERMINATED
    assert "interrupted after" in log


@pytest.mark.parametrize("more", [[], ["--start-paused"]])
def test_a_closed_terminal_ends_the_player_without_a_signal_too(demo, tmp_path, more):
    code, log = close_terminal(demo, tmp_path, *more, is_controlling=False)
    assert code == FAILED
    assert "the terminal cannot be drawn on" in log
