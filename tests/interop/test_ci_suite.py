"""Suites of real runs: references are written, hold, and name what is different; cases side by side by the nodes' own records;
filters and the end after a failure."""

import json
from xml.etree import ElementTree

import pytest

from ci_run import DEMO, DONE, INPUT, TIMEOUT, VERDICT, node, play_in
from lives import lives
from recording import Recording
from strings import read_string

COUNT = 40
EXPECT = f"""
[[expect]]
topic = "/answer"
count = {COUNT}
"""
NAMES = ("a", "b", "c")


class Suite:
    """A folder `ci` of scenarios, each with an expectation and a reference."""

    def __init__(self, folder, imu_hash: str):
        self.folder, self._hash, self.ci = folder, imu_hash, folder / "ci"
        self.lives = folder / "lives"
        self.lives.mkdir()
        self.ci.mkdir()
        (self.ci / "expect.toml").write_text(EXPECT)
        self._runs = 0

    def case(self, name: str, *faults: str, tags=()) -> None:
        keys = {
            "bags": str(DEMO),
            "command": node("--no-timer", "--life", str(self.lives), *faults),
            "topics": INPUT,
            "end": "+0.2s",
            "expect": "expect.toml",
            "golden": f"{name}.golden.mcap",
            "tags": list(tags),
        }
        lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        (self.ci / f"{name}.toml").write_text("\n".join(lines) + "\n")

    def __call__(self, *flags: str):
        """Runs the suite, with a new folder for its results."""
        self._runs += 1
        for file in self.lives.iterdir():
            file.unlink()
        out = self.folder / f"out-{self._runs}"
        reports = ("--out", out, "--junit", self.folder / "junit.xml", "--report", self.folder / "suite.json")
        return play_in(self.folder, self._hash, "suite", "ci", *reports, *flags)

    def runs(self) -> dict[str, dict]:
        return {run["name"]: run for run in json.loads((self.folder / "suite.json").read_text())["runs"]}

    def failures(self) -> list[str]:
        """What JUnit says of the checks that failed: the name and the reason of each."""
        root = ElementTree.parse(self.folder / "junit.xml").getroot()
        said = []
        for test in root.iter("testcase"):
            for it in [*test.findall("failure"), *test.findall("error")]:
                said.append(" ".join([test.get("classname", ""), test.get("name"), it.get("message", ""), it.text or ""]))
        return said


@pytest.fixture
def suite(tmp_path, demo):
    return Suite(tmp_path, demo.topics[INPUT].hash)


def test_references_are_written_then_hold_then_name_what_is_different(suite):
    for name in NAMES:
        suite.case(name)
    made = suite("--update-golden", "-j", "3")
    assert made.returncode == DONE, made.stdout
    for name in NAMES:
        assert len(Recording(suite.ci / f"{name}.golden.mcap").of("/answer")) == COUNT
    equal = suite("-j", "3")
    assert equal.returncode == DONE, equal.stdout
    assert suite.failures() == []
    kinds = {name: {it["kind"]: it["verdict"] for it in run["checks"]} for name, run in suite.runs().items()}
    assert set(kinds) == set(NAMES)
    assert all(it["golden"] == it["expectation"] == "passed" for it in kinds.values()), kinds

    suite.case("b", "--differ-at", "20")
    other = suite("-j", "3")
    assert other.returncode == VERDICT, other.stdout
    runs = suite.runs()
    assert {name: run["exit_code"] for name, run in runs.items()} == {"a": DONE, "b": VERDICT, "c": DONE}
    reference = Recording(suite.ci / "b.golden.mcap").of("/answer")[20]
    # Topic, place, field and the value that was expected.
    (failure,) = suite.failures()
    place = f"message 20 at {reference.log_time // 10**9}.{reference.log_time % 10**9:09}: `data` is "
    for word in ("/answer", place, read_string(reference.data)):
        assert word in failure, failure
    divergence = runs["b"]["divergence"]
    assert (divergence["topic"], divergence["index"], divergence["field"]) == ("/answer", 20, "data")
    assert divergence["times_ns"] == [reference.log_time] * 2


def test_an_expectation_that_fails_writes_no_reference(suite):
    suite.case("a")
    suite.case("b", "--skip", "3")
    made = suite("--update-golden")
    assert made.returncode == VERDICT, made.stdout
    assert (suite.ci / "a.golden.mcap").exists() and not (suite.ci / "b.golden.mcap").exists()
    (failure,) = suite.failures()
    assert "/answer" in failure and f"{COUNT - 1} messages" in failure and f"{COUNT}" in failure


def test_two_workers_run_two_cases_side_by_side(suite):
    # Each node waits until another has begun: one after the other they would wait for ever.
    for name in NAMES:
        suite.case(name, "--meet", "2")
    done = suite("-j", "2", "--update-golden")
    assert done.returncode == DONE, done.stdout
    first, second, third = lives(suite.lives)
    assert second[0] < first[1] and first[0] < second[1]
    # And not three.
    assert third[0] > min(first[1], second[1])
    # None has heard another one's inputs.
    for name in NAMES:
        assert len(Recording(suite.ci / f"{name}.golden.mcap").of("/answer")) == COUNT


def test_one_worker_runs_one_case_after_the_other(suite):
    for name in NAMES:
        suite.case(name)
    done = suite("--update-golden")
    assert done.returncode == DONE, done.stdout
    found = lives(suite.lives)
    assert len(found) == len(NAMES)
    assert all(before[1] < after[0] for before, after in zip(found, found[1:])), found


def test_filters_choose_cases_by_name_and_by_tag(suite):
    suite.case("a", tags=["smoke"])
    suite.case("b")
    suite.case("c", tags=["smoke", "long"])
    for flags, names in (
        (("--filter", "^b$"), {"b"}),
        (("--filter", "tag:smoke"), {"a", "c"}),
        (("--filter", "tag:long"), {"c"}),
    ):
        done = suite("--update-golden", *flags)
        assert done.returncode == DONE, done.stdout
        assert set(suite.runs()) == names
        assert len(lives(suite.lives)) == len(names)


def test_after_a_failure_fail_fast_starts_no_more_cases(suite):
    suite.case("a")
    suite.case("b", "--skip", "3")
    suite.case("c")
    done = suite("--update-golden", "--fail-fast")
    assert done.returncode == VERDICT, done.stdout
    # Cases of equal length go in the order of their names.
    runs = suite.runs()
    assert {name: run["exit_code"] for name, run in runs.items() if name in "ab"} == {"a": DONE, "b": VERDICT}
    assert "1 case not run: another case has failed (--fail-fast)" in done.stdout
    assert len(lives(suite.lives)) == 2 and not (suite.ci / "c.golden.mcap").exists()
    all_of_them = suite("--update-golden")
    assert all_of_them.returncode == VERDICT, all_of_them.stdout
    assert len(lives(suite.lives)) == len(NAMES) and (suite.ci / "c.golden.mcap").exists()


def test_repetitions_with_different_outputs_name_the_first_message_that_differs(suite):
    suite.case("a", "--differ-at", "5")
    assert suite("--update-golden").returncode == DONE
    done = suite("--repeat", "2")
    assert done.returncode == VERDICT, done.stdout
    (run,) = suite.runs().values()
    divergence = run["divergence"]
    assert (divergence["topic"], divergence["index"]) == ("/answer", 5), divergence
    assert divergence["input"][0] == INPUT and divergence["racing"]
    (said,) = (it["reason"] for it in run["checks"] if it["kind"] == "repeat")
    assert "2 different outputs" in said and "run 1 and run 2 diverge first in /answer, message 5" in said


def test_a_case_that_takes_too_long_says_what_it_waited_for(suite):
    suite.case("a", "--spin-at", "3")
    done = suite("--timeout", "15", "--update-golden")
    assert done.returncode == TIMEOUT, done.stderr
    (run,) = suite.runs().values()
    (reason,) = (it["reason"] for it in run["checks"] if it["name"] == "the run ends in time")
    assert "took longer than its time limit (15 s)" in reason and "has not settled: thread" in reason
