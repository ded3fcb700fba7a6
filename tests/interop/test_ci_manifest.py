"""What `--report` says of a run, against what is known from elsewhere; and runs from a scenario, with and without flags beside
it."""

import json
import platform
import socket
from xml.etree import ElementTree

import pytest
import xxhash

from ci_run import CHILD, DEMO, DONE, INPUT, TIMEOUT, USAGE, VERDICT, CaseRunner, node, play_in
from player import BINARY
from recording import Recording

GATES = ("--gate", "/imu -> /answer", "--gate", "tick 100ms -> /timer")


@pytest.fixture
def run(tmp_path, demo):
    return CaseRunner(tmp_path, demo.topics[INPUT].hash)


def inputs(demo, seconds: float):
    return [it for it in demo.of(INPUT) if it.log_time <= demo.start + seconds * 1e9]


# The manifest


def test_the_manifest_of_a_run(run, demo):
    case = run(*GATES, command=node("--sleep", "0.004"), end="+0.5s")
    assert case.exit == DONE, case.stderr
    report = case.report
    # The digest is the one that is printed and that JUnit has.
    properties = {it.get("name"): it.get("value") for it in case.junit.iter("property")}
    assert len(case.digest) == 32 and int(case.digest, 16)
    assert case.digest in case.stderr and properties["digest"] == case.digest
    # Where, when and how it ran.
    host = report["host"]
    assert host["name"] == socket.gethostname()
    assert host["system"].lower().startswith(platform.system().lower()) and host["processors"] >= 1
    assert report["version"] and report["version"] in play_in(run.folder, "", "--version").stdout
    words = report["command_line"]
    assert words[1:2] == [str(DEMO)] and words[0].endswith(BINARY.name)
    assert words[words.index("--") + 1 :] == node("--sleep", "0.004") == report["child"]["command"]
    assert all(flag in words for flag in GATES)
    assert report["began_unix_ns"] > 0 and report["took_ms"] > 0
    # What went in and came out.
    sent = inputs(demo, 0.5)
    (given,) = report["inputs"]
    assert (given["topic"], given["type_name"]) == (INPUT, demo.topics[INPUT].type_name)
    assert (given["messages"], given["bytes"]) == (len(sent), sum(len(it.data) for it in sent))
    assert (given["lost"], given["subscribers"]) == (0, ["/ci_node"])
    for topic in report["outputs"]:
        recorded = case.recording.of(topic["topic"])
        assert (topic["messages"], topic["bytes"]) == (len(recorded), sum(len(it.data) for it in recorded))
        assert topic["lost"] == topic["unrecorded"] == 0
    assert case.counts() == {"/answer": len(sent), "/timer": 5}
    assert report["played_ns"][0] == demo.start
    # How long the answers took. The sum of the latencies fits into the run: questions are asked one after the other.
    assert [gate["rule"] for gate in report["gates"]] == ["/imu -> /answer", "tick 0.1s -> /timer"]
    for gate in report["gates"]:
        spans = gate["latency"]
        assert spans["count"] == gate["answered"] == gate["asked"] and gate["missed"] == 0
        assert 0 < spans["p50"] <= spans["p99"] <= spans["max"] <= report["took_ms"]
        assert spans["p50"] * spans["count"] / 2 <= report["took_ms"]


def test_the_digest_of_a_recording_is_that_of_its_bytes(run):
    case = run(*GATES, command=node(), end="+0.1s")
    assert case.exit == DONE, case.stderr
    data = DEMO.read_bytes()
    assert case.report["recordings"] == [
        {"name": str(DEMO), "bytes": len(data), "xxh3_128": xxhash.xxh3_128_hexdigest(data)}
    ]


# Runs from a scenario


SCENARIO = """
bags = ["../drive.mcap"]
command = {command}
topics = ["/imu"]
end = "+0.2s"
gate = ["/imu -> /answer"]
gate-timeout = 5
expect = "expect.toml"
golden = "run.golden.mcap"
"""
COUNT = """
[[expect]]
topic = "/answer"
count = {count}
"""


class Scenario:
    """A folder `ci` with a scenario and the files that it reads, below the current folder of its runs."""

    def __init__(self, folder, imu_hash: str, count: int):
        self.folder, self._hash, self.count = folder, imu_hash, count
        (folder / "drive.mcap").symlink_to(DEMO)
        (folder / "ci").mkdir()
        self.file = folder / "ci/run.toml"
        self.file.write_text(SCENARIO.format(command=json.dumps(node("--no-timer"))))
        self.expect(count)

    def expect(self, count: int) -> None:
        (self.folder / "ci/expect.toml").write_text(COUNT.format(count=count))

    def __call__(self, *flags):
        return play_in(self.folder, self._hash, "--scenario", "ci/run.toml", "--isolated", "--no-tui", *flags)

    def report(self) -> dict:
        return json.loads((self.folder / "report.json").read_text())


@pytest.fixture
def scenario(tmp_path, demo):
    return Scenario(tmp_path, demo.topics[INPUT].hash, len(inputs(demo, 0.2)))


def test_files_of_a_scenario_are_relative_to_it_and_results_to_the_current_folder(scenario):
    made = scenario("--update-golden")
    assert made.returncode == DONE, made.stdout
    golden = Recording(scenario.folder / "ci/run.golden.mcap")
    assert len(golden.of("/answer")) == scenario.count
    done = scenario("--report", "report.json", "--junit", "junit.xml", "--record", "out.mcap")
    assert done.returncode == DONE, done.stdout
    assert Recording(scenario.folder / "out.mcap").messages
    report = scenario.report()
    assert {check["kind"]: check["verdict"] for check in report["checks"]}["golden"] == "passed"
    assert report["inputs"][0]["messages"] == scenario.count
    suite = ElementTree.parse(scenario.folder / "junit.xml").getroot().find("testsuite")
    assert int(suite.get("failures")) == 0


def test_what_is_given_beside_a_scenario_replaces_what_it_has(scenario):
    flags = ("--end", "+0.1s", "--gate", "tick 100ms -> /timer", "--report", "report.json", "--update-golden")
    less = scenario(*flags, "--", *node())
    # Another end, which the expectation does not hold for; another gate; another command.
    assert less.returncode == VERDICT, less.stdout
    report = scenario.report()
    assert 0 < report["inputs"][0]["messages"] < scenario.count
    assert [gate["rule"] for gate in report["gates"]] == ["tick 0.1s -> /timer"]
    assert report["child"]["command"] == node()
    assert "/answer" in less.stdout and f"{scenario.count}" in less.stdout


@pytest.mark.parametrize(
    "faults, exit, said",
    [
        (("--skip", "3"), TIMEOUT, "message 3 of /imu"),
        (("--crash-at", "3"), CHILD, "signal 11 (SIGSEGV)"),
        (("--differ-at", "3"), VERDICT, "message 3, data"),
    ],
    ids=["timeout", "crash", "golden"],
)
def test_a_run_of_a_scenario_ends_with_the_exit_codes_of_runs(scenario, faults, exit, said):
    made = scenario("--update-golden")
    assert made.returncode == DONE, made.stdout
    done = scenario("--", *node("--no-timer", *faults))
    assert done.returncode == exit, done.stdout
    assert said in done.stdout


def test_errors_of_a_scenario_are_found_before_anything_is_started(scenario):
    missing = scenario()
    assert missing.returncode == USAGE and "--update-golden" in missing.stdout, missing.stdout
    text = scenario.file.read_text()
    scenario.file.write_text(text.replace("gate-timeout", "gate-timout"))
    wrong = scenario("--update-golden")
    assert wrong.returncode == USAGE and "ci/run.toml:7:1" in wrong.stdout, wrong.stdout
    for said in (missing, wrong):
        assert "started" not in said.stdout
    scenario.file.write_text(text.replace("../drive.mcap", "drive.mcap"))
    nowhere = scenario("--update-golden")
    assert nowhere.returncode != DONE and "drive.mcap" in nowhere.stdout
