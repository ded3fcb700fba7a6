"""Runs of CI replay: `play` on the demo's /imu, with a program under test, to the end and with all reports."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from xml.etree import ElementTree

from player import BINARY, HOUSE, environment
from recording import Recording
from strings import read_string

DEMO = HOUSE / "testdata/demo.mcap"
NODE = HOUSE / "tests/interop/ci_node.py"
INPUT = "/imu"
# Exit codes.
DONE, FAILED, USAGE, TIMEOUT, VERDICT, CHILD, INTERRUPTED = 0, 1, 2, 4, 5, 6, 130
# No run of these tests takes longer, on a machine with much else to do.
PATIENCE = 60
# How often a run is made at most that a stop of one of its processes may spoil.
ATTEMPTS = 10


def node(*arguments: str) -> list[str]:
    """The command line of the node under test."""
    return [sys.executable, str(NODE), *arguments]


def first_that(holds, make, attempts: int = ATTEMPTS):
    """The first result of `make` for which `holds` is true; if there is none, the last result. For what a run shows
    unless one of its processes is stopped at the wrong moment."""
    for _ in range(attempts):
        made = make()
        if holds(made):
            break
    return made


@dataclass(frozen=True)
class Case:
    """A run that has ended."""

    exit: int
    stderr: str
    folder: Path

    @cached_property
    def report(self) -> dict:
        return json.loads((self.folder / "report.json").read_text())

    @cached_property
    def junit(self) -> ElementTree.Element:
        return ElementTree.parse(self.folder / "junit.xml").getroot()

    @property
    def outputs(self) -> Path:
        return self.folder / "out.mcap"

    @cached_property
    def recording(self) -> Recording:
        return Recording(self.outputs)

    @property
    def digest(self) -> str:
        return self.report["digest"]

    def counts(self) -> dict[str, int]:
        return {topic["topic"]: topic["messages"] for topic in self.report["outputs"]}

    def texts(self, topic: str) -> list[str]:
        return [read_string(message.data) for message in self.recording.of(topic)]

    def reasons(self) -> str:
        """All that the report says about what was not in order."""
        checks = [it for it in self.report["checks"] if it["verdict"] != "passed"]
        said = [f"{it['name']}: {it['reason']}" for it in checks]
        return "\n".join(said + self.report["notes"])

    def says(self, *words: str) -> None:
        """Both the log and the report have a sentence with all of these words."""
        for text in (self.stderr, self.reasons()):
            lines = text.splitlines()
            assert any(all(word in line for word in words) for line in lines), f"{words}\n{text}"


class CaseRunner:
    """Runs cases in folders of their own."""

    def __init__(self, folder: Path, imu_hash: str):
        self.folder, self.imu_hash, self._number = folder, imu_hash, 0

    def start(
        self,
        *flags: str,
        command: list[str],
        end: str | None = "+1s",
        network: tuple[str, ...] = ("--isolated",),
        prefix: tuple[str, ...] = (),
        run: Path | None = None,
    ) -> "Running":
        """`prefix`: the words of a program that executes the player; `run`: the folder of the run."""
        assert BINARY.is_file(), f"no player at {BINARY}: build it, or set PLAY_BIN"
        self._number += 1
        folder = self.folder / f"case-{self._number}"
        folder.mkdir()
        own = ["--topics", INPUT, *network, "--run-dir", run or folder / "run"]
        own += ["--end", end] if end else []
        own += ["--junit", folder / "junit.xml", "--report", folder / "report.json"]
        own += ["--record", folder / "out.mcap", "--no-tui"]
        words = [*prefix, BINARY, DEMO, *own, *flags, *(["--", *command] if command else [])]
        return Running([str(word) for word in words], folder, self.imu_hash)

    def __call__(
        self, *flags: str, command: list[str], timeout: float = PATIENCE, **how
    ) -> Case:
        with self.start(*flags, command=command, **how) as running:
            return running.case(timeout)


class Running:
    """A run; it and its program are killed at the end of the `with` block if they still run."""

    def __init__(self, words: list[str], folder: Path, imu_hash: str):
        self.folder = folder
        self._log = folder / "log"
        # GITHUB_STEP_SUMMARY: a run in a workflow would write there.
        kept = {key: it for key, it in environment().items() if key != "GITHUB_STEP_SUMMARY"}
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=kept | {"IMU_HASH": imu_hash},
            )

    def case(self, timeout: float = PATIENCE) -> Case:
        try:
            exit = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {timeout} s\n{self.stderr()}") from None
        return Case(exit, self.stderr(), self.folder)

    def stderr(self) -> str:
        return self._log.read_text(errors="replace")

    def wait_for(self, condition, what: str, timeout: float = PATIENCE):
        deadline = time.monotonic() + timeout
        while not (found := condition()):
            assert self._process.poll() is None, f"ended before: {what}\n{self.stderr()}"
            assert time.monotonic() < deadline, f"not in time: {what}\n{self.stderr()}"
            time.sleep(0.01)
        return found

    def wait_for_node(self, word: str) -> None:
        """Waits until the node has written this."""
        said = self.folder / "run/stdout.log"
        self.wait_for(lambda: said.exists() and word in said.read_text(), f"the node says {word}")

    def children(self) -> list[int]:
        pid = self._process.pid
        listed = Path(f"/proc/{pid}/task").glob("*/children")
        return [int(word) for file in listed for word in file.read_text().split()]

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def interrupt_until_it_ends(self) -> None:
        """Two signals of one kind that come together may be one."""
        deadline = time.monotonic() + PATIENCE
        while self._process.poll() is None:
            assert time.monotonic() < deadline, self.stderr()
            self.interrupt()
            time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.poll() is not None:
            return
        for child in self.children():
            os.kill(child, signal.SIGKILL)
        self._process.kill()
        self._process.wait()


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return fields.rpartition(")")[2].split()[0] != "Z"


@contextmanager
def busy_process():
    """A process that uses a processor until the end of the `with` block."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            yield
        finally:
            busy.kill()


def play_in(folder: Path, imu_hash: str, *words) -> subprocess.CompletedProcess:
    """`play WORDS…` in this current folder, to its end; the log and the output are one text, `stdout`."""
    kept = {key: it for key, it in environment().items() if key != "GITHUB_STEP_SUMMARY"}
    return subprocess.run(
        [str(word) for word in (BINARY, *words)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=kept | {"IMU_HASH": imu_hash},
        timeout=3 * PATIENCE,
    )
