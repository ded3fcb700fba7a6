"""Suites whose system under test stays between the cases: what it counts shows that it was not started again, and each way in
which it can be lost leads to a new one, which the report says."""

import json
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from ci_run import CHILD, DEMO, DONE, INPUT, PATIENCE, TIMEOUT, first_that, is_alive, node
from player import BINARY, HOUSE, environment
from recording import Recording
from strings import read_string

RESET = [sys.executable, str(HOUSE / "tests/interop/reset_node.py")]


@dataclass
class Suite:
    """A suite that has ended."""

    exit: int
    stderr: str
    out: Path

    def run(self, name: str) -> dict:
        runs = json.loads((self.out / "suite.json").read_text())["runs"]
        (run,) = [run for run in runs if run["name"] == name]
        return run

    def system(self, name: str) -> dict:
        return self.run(name)["system"]

    def folder(self, name: str) -> Path:
        return self.out / "runs-1-1" / name / "run"

    def texts(self, name: str) -> list[str]:
        recording = Recording(self.folder(name) / "outputs.mcap")
        return [read_string(message.data) for message in recording.of("/answer")]

    def numbers(self, name: str) -> list[int]:
        return [int(text.split()[0]) for text in self.texts(name)]

    def reasons(self, name: str) -> str:
        checks = [it for it in self.run(name)["checks"] if it["verdict"] != "passed"]
        return "\n".join(f"{it['name']}: {it['reason']}" for it in checks)

    def systems(self) -> list[Path]:
        return sorted((self.out / "systems-1-1").iterdir())


class SuiteRunner:
    def __init__(self, folder: Path, imu_hash: str):
        self._scenarios, self.out, self._hash = folder / "suite", folder / "out", imu_hash
        self._scenarios.mkdir()

    def case(self, name: str, command: list[str], **keys) -> None:
        keys = {"bags": str(DEMO), "command": command, "topics": INPUT, "end": "+0.3s", "restart": "never"} | keys
        lines = [f"{key.replace('_', '-')} = {json.dumps(value)}" for key, value in keys.items() if value is not None]
        (self._scenarios / f"{name}.toml").write_text("\n".join(lines) + "\n")

    def start(self, *flags: str) -> subprocess.Popen:
        words = [BINARY, "suite", self._scenarios, "--out", self.out, "--report", self.out.parent / "suite.json"]
        kept = {key: it for key, it in environment().items() if key != "GITHUB_STEP_SUMMARY"}
        self._log = (self.out.parent / "log").open("w")
        return subprocess.Popen(
            [*map(str, words), *flags],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=kept | {"IMU_HASH": self._hash},
        )

    def end(self, process: subprocess.Popen) -> Suite:
        try:
            exit = process.wait(3 * PATIENCE)
        finally:
            process.kill()
            process.wait()
            self._log.close()
        report = self.out.parent / "suite.json"
        if report.exists():
            report.rename(self.out / "suite.json")
        return Suite(exit, (self.out.parent / "log").read_text(errors="replace"), self.out)

    def __call__(self, *flags: str) -> Suite:
        return self.end(self.start(*flags))


@pytest.fixture
def suite(tmp_path, demo):
    return SuiteRunner(tmp_path, demo.topics[INPUT].hash)


def processes_of(out: Path) -> list[int]:
    """The processes whose environment names a folder of this suite."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str(out).encode() in (folder / "environ").read_bytes() and is_alive(int(folder.name)):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


COUNT = 60


def test_cases_share_a_system_and_each_sees_the_clock_go_back_before_its_first_message(suite):
    shows = node("--show-jumps", "--show-clock")
    for name in "abc":
        suite.case(name, shows)
    suite.case("alone", shows, restart=None)
    done = suite("--junit", str(suite.out.parent / "junit.xml"))
    assert done.exit == DONE, done.stderr
    start = done.run("a")["played_ns"][0]
    for runs, name in enumerate("abc"):
        texts = done.texts(name)
        assert done.numbers(name) == list(range(runs * COUNT, (runs + 1) * COUNT)), texts[:3]
        assert {text.split()[-1] for text in texts} == {str(runs)}
        # The clock of the message, not that of the run before.
        assert int(texts[0].split()[3]) >= start
        system = done.system(name)
        assert (system["runs_before"], system["after"]) == (runs, [None, "a", "b"][runs])
        assert system["clock_to_ns"] == start
        before = done.system("ab"[runs - 1])["clock_end_ns"] if runs else None
        assert system["clock_from_ns"] == before
        assert system["started_because"] is None
        for file in ("stdout", "stderr"):
            assert (done.folder(name) / done.run(name)["files"][file]).is_file()
    assert done.run("alone")["system"] is None and done.numbers("alone") == list(range(COUNT))
    assert len(done.systems()) == 1
    assert "the system under test had dealt with 2 runs before, the last one of b; the clock jumps from" in (
        suite.out / "runs-1-1/c/play.log"
    ).read_text()
    assert "had dealt with 2 runs before" in (suite.out.parent / "junit.xml").read_text()
    assert processes_of(suite.out) == []


def test_hooks_reset_the_system_between_two_cases_and_not_before_the_first(suite):
    resettable = node("--resettable")
    for name in "abc":
        suite.case(name, resettable, reset=RESET)
    suite.case("twice", resettable, reset=[RESET, ["true"]], repeat=2)
    done = suite()
    assert done.exit == DONE, done.stderr
    for name in "abc":
        assert done.numbers(name) == list(range(COUNT))
    assert done.system("a")["reset"] == [] and done.system("b")["reset"] == [RESET]
    assert done.system("twice")["reset"] == [RESET, ["true"]]
    assert done.run("twice")["repeated"]["digests"] == {done.run("twice")["digest"]: 2}
    assert (done.systems()[0] / "run/stdout.log").read_text().count("reset\n") == 4


@pytest.mark.parametrize(
    "hook, limit, said",
    [
        (["sh", "-c", "echo no such map >&2; exit 7"], "60s", "failed: sh ended with exit code 7"),
        (["sleep", "600"], "500ms", "did not end within 0.5 s"),
        (["/not/there"], "60s", "cannot be run"),
    ],
    ids=["fails", "hangs", "is not there"],
)
def test_a_hook_that_fails_or_hangs_fails_the_case_and_the_next_has_a_new_system(suite, hook, limit, said):
    plain = node()
    suite.case("a", plain)
    suite.case("b", plain, reset=hook, reset_timeout=limit)
    suite.case("c", plain)
    done = suite()
    assert done.exit == CHILD, done.stderr
    reasons = done.reasons("b")
    assert f"the system is reset: the reset hook `{' '.join(hook)}` " in reasons and said in reasons, reasons
    assert [done.run(name)["exit_code"] for name in "abc"] == [DONE, CHILD, DONE]
    assert done.run("b")["inputs"][0]["messages"] == 0
    assert done.numbers("c") == list(range(COUNT))
    assert done.system("c")["runs_before"] == 0
    assert "the run of b before it did not reach its end" in done.system("c")["started_because"]
    assert processes_of(suite.out) == []


def test_a_crash_in_the_second_of_three_cases(suite):
    crashes = node("--crash-at", str(COUNT + 20))
    for name in "abc":
        suite.case(name, crashes)
    done = suite()
    assert done.exit == CHILD, done.stderr
    assert [done.run(name)["exit_code"] for name in "abc"] == [DONE, CHILD, DONE]
    assert "signal 11" in done.reasons("b")
    assert done.numbers("c") == list(range(COUNT))
    because = done.system("c")["started_because"]
    assert "in the run of b" in because and "signal 11" in because
    assert len(done.systems()) == 2


def test_a_crash_at_the_jump_of_the_clock_is_a_failure_of_the_case_that_jumps(suite):
    for name in "ab":
        suite.case(name, node("--quit-at-jump"))
    done = suite()
    assert done.exit == CHILD, done.stderr
    assert [done.run(name)["exit_code"] for name in "ab"] == [DONE, CHILD]
    assert "exit code 4" in done.reasons("b")


def test_a_system_that_ends_between_two_cases_is_started_anew(tmp_path, demo):
    def dies() -> Suite:
        # It dies once more when the second case has ended.
        suite = SuiteRunner(Path(tempfile.mkdtemp(dir=tmp_path)), demo.topics[INPUT].hash)
        for name in "ab":
            suite.case(name, node("--die-alone"))
        return suite()

    # One that notices late that the player has left ends in the second case, which fails.
    done = first_that(lambda done: done.exit == DONE, dies)
    assert done.exit == DONE, done.stderr
    assert done.numbers("b") == list(range(COUNT))
    because = done.system("b")["started_because"]
    assert "after the run of a" in because and "exit code 3" in because
    assert len(done.systems()) == 2


def test_after_a_timeout_the_system_is_started_anew(suite):
    slow = node("--spin-at", str(COUNT + 5))
    for name in "abc":
        suite.case(name, slow, timeout="20s" if name == "b" else None)
    done = suite()
    assert done.exit == TIMEOUT, done.stderr
    assert [done.run(name)["exit_code"] for name in "abc"] == [DONE, TIMEOUT, DONE]
    assert done.numbers("c") == list(range(COUNT))
    assert processes_of(suite.out) == []


def test_a_command_that_does_not_exist_fails_each_case(suite):
    for name in "ab":
        suite.case(name, ["/not/there"])
    done = suite()
    assert done.exit == 2, done.stderr
    for name in "ab":
        assert "`/not/there` is not found" in done.reasons(name)


def test_two_workers_have_two_systems_and_a_case_of_another_program_has_its_own(suite):
    for name in "abcd":
        suite.case(name, node())
    suite.case("other", node("--no-timer"))
    done = suite("-j", "2")
    assert done.exit == DONE, done.stderr
    before = {name: done.system(name)["runs_before"] for name in [*"abcd", "other"]}
    assert sorted(before.values()) == [0, 0, 0, 1, 1] and before["other"] == 0
    assert len(done.systems()) == 3


@pytest.mark.parametrize("flags", [("--ignore-term", "--daemon")], ids=["deaf with daemon"])
def test_at_the_end_the_system_is_killed_and_what_it_left_is_named(suite, flags):
    for name in "ab":
        suite.case(name, node(*flags), grace="500ms")
    done = suite()
    assert done.exit == DONE, done.stderr
    notes = "\n".join(done.run("b")["notes"])
    assert "did not end within 0.5 s of SIGTERM and was killed" in notes
    assert "left processes behind" in notes and "sleep" in notes
    assert any("sleep" in orphan for orphan in done.run("b")["child"]["orphans"])
    assert processes_of(suite.out) == []


@pytest.mark.parametrize("how", ["TERM", "KILL"])
def test_when_the_suite_ends_its_systems_end(suite, how):
    suite.case("a", node(), end=None, rate=0.01, lockstep=False)
    process = suite.start()
    said = suite.out / "systems-1-1/1/run/stdout.log"
    deadline = time.monotonic() + PATIENCE
    while not (said.exists() and "first" in said.read_text()):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    assert processes_of(suite.out)
    process.send_signal(getattr(signal, f"SIG{how}"))
    done = suite.end(process)
    assert done.exit == (143 if how == "TERM" else -signal.SIGKILL), done.stderr
    deadline = time.monotonic() + PATIENCE
    while processes_of(suite.out):
        assert time.monotonic() < deadline, "the system still runs"
        time.sleep(0.02)
