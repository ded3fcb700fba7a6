"""The player under test: the release binary, started as a user would start it in a script."""

import json
import os
import random
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("PLAY_BIN", HOUSE / "target/release/play"))


# Variables of the developer's environment that would affect the player.
FOREIGN = ("ZENOH_", "ROS_", "BAGPLAY_", "RUST_LOG", "NO_COLOR", "COLORFGBG", "LC_ALL")


def written(file) -> str:
    """What a process has written to its `file` so far. The position of the file is also that of the process, so it is not moved:
    after a `seek`, the process would write over its first lines."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace")


def environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}


@dataclass(frozen=True)
class Run:
    exit: int
    # None if the run printed none.
    summary: dict | None
    stderr: str


def play_to_nobody(recording: Path, *arguments: str, timeout: float = 180) -> Run:
    """`play RECORDING ARGUMENTS… --wire null --rate max`, to its end."""
    assert BINARY.is_file(), f"no player at {BINARY}: build it, or set PLAY_BIN"
    command = [BINARY, recording, "--wire", "null", "--rate", "max", "--format", "json", *arguments]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=timeout,
    )
    summary = json.loads(done.stdout) if done.stdout else None
    return Run(done.returncode, summary, done.stderr)


# Tests may run in several processes. `PROCESS` is the number of this one, below `PROCESSES`.
PROCESSES = 8
PROCESS = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
assert PROCESS < PROCESSES, f"at most {PROCESSES} processes: each has ports of its own"

# What `free_port` has returned.
_ports: set[int] = set()


def free_port() -> int:
    """A loopback port on which nobody listens, outside the range that the system assigns to connections. No port is returned
    twice, nor to another process of these tests: a caller may ask for several before anybody listens on the first one."""
    while True:
        port = 20_000 + PROCESSES * random.randrange(1_500) + PROCESS
        if port in _ports:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _ports.add(port)
        return port


class Player:
    """`play RECORDING ARGUMENTS… --listen …`, or `--connect …` with the port of a router, or `--wire ros1` with that of a master
    of ROS 1; with both, the arguments name the wires. Killed at the end of the `with` block if it still runs."""

    def __init__(
        self,
        recording: Path,
        *arguments: str,
        port: int | None = None,
        router: int | None = None,
        master: int | None = None,
    ):
        assert BINARY.is_file(), f"no player at {BINARY}: build it, or set PLAY_BIN"
        self.port = router or port or master or free_port()
        flags = ["--connect" if router else "--listen", f"tcp/127.0.0.1:{self.port}"]
        own = {}
        if master and not router:
            flags = ["--wire", "ros1"]
        if master:
            own = {"ROS_MASTER_URI": f"http://127.0.0.1:{master}", "ROS_HOSTNAME": "127.0.0.1"}
        command = [BINARY, recording, *flags, "--no-tui"]
        command += ["--format", "json", "--wait-timeout", "300", *arguments]
        # Output goes to files: nobody has to empty a pipe while the player runs.
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            env=environment() | own,
        )

    def finish(self, timeout: float) -> dict:
        """Waits for a successful end; returns the summary."""
        assert self.exit_code(timeout) == 0, self.stderr()
        summary = self.summary()
        assert summary["ended"] == "end"
        return summary

    def summary(self) -> dict:
        return json.loads(self.stdout())

    def exit_code(self, timeout: float) -> int:
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {timeout} s\n{self.stderr()}") from None

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def wait_for_log(self, words: str, timeout: float = 60) -> None:
        deadline = time.monotonic() + timeout
        while words not in self.stderr():
            assert time.monotonic() < deadline, f"{words!r} was not logged in time\n{self.stderr()}"
            time.sleep(0.01)

    def stdout(self) -> str:
        return written(self._out)

    def stderr(self) -> str:
        return written(self._err)

    def __enter__(self):
        return self

    def __exit__(self, _, failure, __):
        if failure is not None:
            code = self._process.poll()
            state = "still running" if code is None else f"exit code {code}"
            failure.add_note(f"the player: {state}\n{self.stderr()}")
        self.close()

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._out.close()
        self._err.close()
