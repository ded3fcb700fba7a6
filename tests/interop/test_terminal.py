"""A terminal that goes away: what a closed window does to the player that it shows."""

import os
import pty
import signal
import termios
import time

from player import BINARY, environment

PATIENCE = 20
TERMINATED = 143


def until_it_plays(terminal: int) -> None:
    seen, deadline = b"", time.monotonic() + PATIENCE
    while b"PLAYING" not in seen:
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


def test_a_closed_window_ends_it_and_the_log_says_so(demo, tmp_path):
    log = tmp_path / "log"
    arguments = [demo.path, "--tui", "--wire", "null", "--clock", "--log-file", log]
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(BINARY, [BINARY, *arguments], environment() | home | {"TERM": "xterm"})
    termios.tcsetwinsize(terminal, (24, 80))
    try:
        until_it_plays(terminal)
    finally:
        os.close(terminal)
    assert wait(pid) == TERMINATED
    assert "interrupted after" in log.read_text()
