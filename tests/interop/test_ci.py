"""Runs against a program under test: equal outputs run for run, the drained end, the recorded outputs, expectations, golden
recordings, and what JUnit and JSON say about them."""

import os

import pytest
from rosbags.interfaces import QosDurability, QosReliability
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from ci_run import DONE, INPUT, USAGE, VERDICT, CaseRunner, busy_process, first_that, node
from strings import DEFINITION, DIGITS, TYPE

RUNS = int(os.environ.get("BAGPLAY_CI_RUNS", "4"))
GATES = ("--gate", "/imu -> /answer", "--gate", "tick 100ms -> /timer")
COMPUTES = node("--show-clock", "--compute", "0.0005")
SECOND = 10**9
# Seconds within which all runs of a test end, on a machine with much else to do.
LIMIT = 60 + 10 * RUNS


@pytest.fixture
def run(tmp_path, demo):
    return CaseRunner(tmp_path, demo.topics[INPUT].hash)


def inputs(demo, seconds: float):
    return [it for it in demo.of(INPUT) if it.log_time <= demo.start + seconds * SECOND]


def stamp(message) -> str:
    """The `header.stamp` of an Imu, as the node writes it."""
    sec, nanosec = (int.from_bytes(message.data[at : at + 4], "little") for at in (4, 8))
    return f"{sec}.{nanosec:09}"


def same_digest(case) -> str:
    """The one digest of all runs of a case."""
    assert case.exit == DONE, case.stderr
    assert case.report["repeated"] == {"runs": RUNS, "failed": 0, "digests": {case.digest: RUNS}}
    return case.digest


def contents(case):
    return [(it.topic, it.log_time, it.data) for it in case.recording.messages]


# Determinism


def test_with_gates_a_node_that_sleeps_at_random_gives_one_digest(run):
    sleeps = node("--sleep", "0.02")
    case = run(*GATES, "--repeat", str(RUNS), command=sleeps, end="+0.3s", timeout=LIMIT)
    digest = same_digest(case)
    with busy_process():
        other = run(*GATES, "--repeat", str(RUNS), command=sleeps, end="+0.3s", timeout=LIMIT)
    assert same_digest(other) == digest
    assert contents(other) == contents(case)


def test_in_lockstep_a_node_that_computes_at_random_gives_one_digest(run, demo):
    flags = ("--lockstep", "--repeat", str(RUNS))
    case = run(*flags, command=COMPUTES, end="+0.5s", timeout=LIMIT)
    digest = same_digest(case)
    assert case.counts() == {"/answer": len(inputs(demo, 0.5)), "/timer": 5}
    with busy_process():
        beside = run(*flags, command=COMPUTES, end="+0.5s", timeout=LIMIT)
    assert same_digest(beside) == digest
    assert contents(beside) == contents(case)


def test_without_either_the_repetitions_differ_and_topic_and_input_are_named(run):
    flags = ("--rate", "max", "--clock-topics-all", "--repeat", "3")
    case = run(*flags, command=COMPUTES)
    assert case.exit == VERDICT, case.stderr
    divergence = case.report["divergence"]
    topic = divergence["topic"]
    assert topic in ("/answer", "/timer") and divergence["input"][0] == INPUT
    case.says("all repetitions have equal outputs", f"diverge first in {topic},", "after the input /imu")
    assert any("/imu has no gate" in reason for reason in divergence["racing"]), divergence
    assert len(case.report["repeated"]["digests"]) > 1
    # Both recordings are kept.
    kept = list((case.folder / "run").glob("run-*/outputs.mcap"))
    assert len(kept) >= 2


# The drained end


@pytest.mark.parametrize(
    "flags, sleep",
    [
        (("--gate", "/imu -> /answer"), "0.02"),
        (("--gate", "/imu -> /answer", "--in-flight", "4"), "0.02"),
        # Only the time without an answer tells the end of this one, and the node may be stopped meanwhile.
        (("--rate", "1", "--settle", "5"), "0.004"),
    ],
    ids=["gate", "four in flight", "neither"],
)
def test_the_last_input_is_answered_and_recorded(run, demo, flags, sleep):
    case = run(*flags, command=node("--sleep", sleep, "--depth", "1000"), end="+0.3s")
    assert case.exit == DONE, case.stderr
    sent = inputs(demo, 0.3)
    assert case.texts("/answer")[-1] == f"{len(sent) - 1} {stamp(sent[-1])}"


def test_a_tail_lets_timers_go_on(run, demo):
    # The steps of the clock count from the start; the node's timer counts from the epoch.
    start = (demo.end - SECOND // 2) // (SECOND // 10) / 10
    ticks = ("--start", str(start), "--gate", "tick 100ms -> /timer")
    short = run(*ticks, command=node(), end=None)
    long = run(*ticks, "--tail", "1", command=node(), end=None)
    assert (short.exit, long.exit) == (DONE, DONE), long.stderr
    assert long.counts()["/timer"] == short.counts()["/timer"] + 10
    before = len(short.texts("/timer"))
    assert long.texts("/timer")[:before] == short.texts("/timer")
    gaps = [int(b) - int(a) for a, b in zip(long.texts("/timer"), long.texts("/timer")[1:])]
    assert set(gaps) == {1}


# The recorded outputs


@pytest.mark.parametrize("flags", [GATES, ("--lockstep",)], ids=["gates", "lockstep"])
def test_outputs_are_recorded_at_the_position_of_their_input(run, demo, flags):
    case = run(*flags, command=node("--no-timer") if flags is not GATES else node())
    assert case.exit == DONE, case.stderr
    sent = inputs(demo, 1)
    answers = case.recording.of("/answer")
    assert case.texts("/answer") == [f"{number} {stamp(it)}" for number, it in enumerate(sent)]
    assert [it.log_time for it in answers] == [it.log_time for it in sent]
    # The source stamps are wall times, in the order of publishing.
    published = [it.publish_time for it in answers]
    assert published == sorted(published)
    began = case.report["began_unix_ns"]
    assert began <= published[0] and published[-1] <= began + case.report["took_ms"] * 1e6
    counts = {name: len(case.recording.of(name)) for name in case.recording.topics}
    assert counts == case.counts()
    in_timeline = [it["log_ns"] for it in case.report["timeline"] if (it["what"], it["of"]) == ("output", "/answer")]
    assert in_timeline == [it.log_time for it in answers]
    topic = case.recording.topics["/answer"]
    assert topic.type_name == TYPE and topic.definition.strip() == DEFINITION
    assert topic.recorded_hash == f"RIHS01_{DIGITS}"


def test_rosbags_reads_the_outputs(run):
    case = run(*GATES, command=node(), end="+0.5s")
    assert case.exit == DONE, case.stderr
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(DEFINITION, TYPE))
    with Reader(case.outputs) as reader:
        read = [(connection.topic, at, bytes(raw)) for connection, at, raw in reader.messages()]
        assert {connection.topic for connection in reader.connections} == {"/answer", "/timer"}
        for connection in reader.connections:
            assert connection.msgtype == TYPE
            assert connection.msgdef.data.strip() == DEFINITION
            (qos,) = connection.ext.offered_qos_profiles
            found = (qos.depth, qos.reliability, qos.durability)
            assert found == (100, QosReliability.RELIABLE, QosDurability.VOLATILE)
        span = (reader.start_time, reader.end_time)
    assert sorted(read) == sorted(contents(case))
    texts = [store.deserialize_cdr(raw, TYPE).data for topic, _, raw in read if topic == "/answer"]
    assert texts == case.texts("/answer")
    # The end of rosbags is open.
    times = [at for _, at, _ in read]
    assert span == (min(times), max(times) + 1)


# Verdicts


EXPECTATIONS = """
[[expect]]
topic = "/answer"
count = 60
rate = { min = 150, max = 210 }
max-gap = "20ms"
latency = { from = "/imu", max = "0ms" }

[[expect.field]]
path = "data"
in = "first"
compare = "matches"
value = "^0 1760000000[.]"

[[expect]]
topic = "/emergency_stop"
absent = true

[[gate]]
rule = "/imu -> /answer"
max = "10s"
"""


def judged(case, kind: str) -> dict[str, str]:
    return {it["name"]: it["verdict"] for it in case.report["checks"] if it["kind"] == kind}


def test_expectations_hold(run, tmp_path):
    file = tmp_path / "expect.toml"
    file.write_text(EXPECTATIONS)
    case = run(*GATES, "--expect", file, command=node(), end="+0.3s")
    assert case.exit == DONE, case.stderr
    checks = judged(case, "expectation")
    assert len(checks) == 7 and set(checks.values()) == {"passed"}, checks


def test_expectations_that_do_not_hold_are_named(run, tmp_path):
    file = tmp_path / "expect.toml"
    file.write_text(
        EXPECTATIONS.replace("count = 60", "count = 61")
        .replace("0 1760000000", "7 1760000000")
        .replace("/emergency_stop", "/timer")
    )
    case = run(*GATES, "--expect", file, command=node(), end="+0.3s")
    assert case.exit == VERDICT, case.stderr
    failed = [name for name, verdict in judged(case, "expectation").items() if verdict == "failed"]
    assert len(failed) == 3, case.stderr
    case.says("/answer", "60 messages", "61")
    case.says("/timer", "3 messages")
    case.says("/answer: data = ", "0 1760000000.")


def test_an_error_in_the_expectations_names_its_line_before_anything_is_started(run, tmp_path):
    file = tmp_path / "expect.toml"
    file.write_text(EXPECTATIONS.replace("max-gap", "max-gab"))
    case = run("--expect", file, command=node())
    assert case.exit == USAGE
    assert f"{file}:6:1: " in case.stderr and "max-gab" in case.stderr
    assert "started" not in case.stderr


def test_a_golden_recording_is_made_and_compared_with(run, tmp_path):
    golden = tmp_path / "golden.mcap"
    flags = ("--lockstep", "--golden", golden)
    missing = run(*flags, command=node(), end="+0.3s")
    assert missing.exit == USAGE and "--update-golden" in missing.stderr
    made = run(*flags, "--update-golden", command=node(), end="+0.3s")
    assert made.exit == DONE, made.stderr
    assert made.recording.messages == type(made.recording)(golden).messages
    equal = run(*flags, command=node("--compute", "0.0005"), end="+0.3s")
    assert equal.exit == DONE, equal.stderr
    assert equal.digest == made.digest
    assert set(judged(equal, "golden").values()) == {"passed"}

    other = run(*flags, command=node("--differ-at", "20"), end="+0.3s")
    assert other.exit == VERDICT, other.stderr
    assert other.digest != made.digest
    divergence = other.report["divergence"]
    place = (divergence["topic"], divergence["index"], divergence["field"])
    assert place == ("/answer", 20, "data")
    expected, found = divergence["values"]
    assert made.texts("/answer")[20] in expected and other.texts("/answer")[20] in found
    assert divergence["times_ns"] == [made.recording.of("/answer")[20].log_time] * 2
    assert "/answer" in other.stderr and "message 20, data" in other.stderr
    (difference,) = other.report["differences"]
    assert (difference["topic"], difference["field"], difference["messages"]) == ("/answer", "data", 1)

    short = run(*flags, command=node("--no-timer"), end="+0.3s")
    assert short.exit == VERDICT, short.stderr
    short.says("/timer", "missing")


def test_a_golden_recording_of_repetitions_is_written_once_and_only_if_they_are_equal(run, tmp_path):
    golden = tmp_path / "golden.mcap"
    flags = ("--lockstep", "--golden", golden, "--update-golden", "--repeat", "2")
    differing = run(*flags, command=node("--differ-at", "5"), end="+0.2s")
    assert differing.exit == VERDICT, differing.stderr
    assert not golden.exists()
    differing.says("is not replaced, because the repetitions differ")
    equal = run(*flags, command=node(), end="+0.2s")
    assert equal.exit == DONE, equal.stderr
    assert equal.stderr.count("golden.mcap was made") == 1, equal.stderr
    assert equal.recording.messages == type(equal.recording)(golden).messages


# The reports


@pytest.mark.parametrize("differs", [(), ("--differ-at", "20")], ids=["passed", "failed"])
def test_junit_and_json_agree(run, tmp_path, differs):
    file, golden = tmp_path / "expect.toml", tmp_path / "golden.mcap"
    file.write_text(EXPECTATIONS)
    flags = (*GATES, "--expect", file, "--golden", golden)
    assert run(*flags, "--update-golden", command=node(), end="+0.3s").exit == DONE
    case = run(*flags, command=node(*differs), end="+0.3s")
    assert case.exit == (VERDICT if differs else DONE), case.stderr
    assert case.report["exit_code"] == case.exit
    assert case.report["ended"] == "complete"
    (suite,) = case.junit.findall("testsuite")
    failed = {test.get("name") for test in suite.findall("testcase") if test.find("failure") is not None}
    errors = {test.get("name") for test in suite.findall("testcase") if test.find("error") is not None}
    checks = case.report["checks"]
    names = [check["name"] for check in checks]
    assert sorted(test.get("name") for test in suite.findall("testcase")) == sorted(names)
    assert len(set(names)) == len(names)
    assert failed == {check["name"] for check in checks if check["verdict"] == "failed"}
    assert errors == set() and bool(failed) == bool(differs)
    counted = {key: int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped")}
    assert counted == {"tests": len(names), "failures": len(failed), "errors": 0, "skipped": 0}
    properties = {it.get("name"): it.get("value") for it in suite.iter("property")}
    assert properties["digest"] == case.digest
    assert properties["exit_code"] == str(case.exit)
    for name in failed:
        (test,) = [test for test in suite.findall("testcase") if test.get("name") == name]
        (reason,) = [check["reason"] for check in checks if check["name"] == name]
        said = test.find("failure")
        assert reason in (said.get("message") or "") + (said.text or "")
    sent = {it["topic"]: it["messages"] for it in case.report["inputs"]}
    assert sent == {INPUT: 60}


# What belongs to a run


def test_what_is_published_when_the_program_is_asked_to_end_is_no_output(run, demo):
    case = run("--lockstep", command=node("--farewell"), end="+0.3s")
    assert case.exit == DONE, case.stderr
    assert len(case.texts("/answer")) == len(inputs(demo, 0.3))
    assert "farewell" not in case.texts("/answer")


def test_a_recorded_topic_that_the_program_publishes_is_not_played(run, demo):
    case = run("--lockstep", "--topics", "/odom", command=node("--odom"), end="+0.3s")
    assert case.exit == DONE, case.stderr
    case.says("/odom is not played, because /ci_node publishes it")
    assert [topic["topic"] for topic in case.report["inputs"]] == ["/imu"]
    assert len(case.texts("/answer")) == len(inputs(demo, 0.3))


@pytest.mark.parametrize("named", [(), ("--record-topics", "/odom", "/answer", "/late")])
def test_a_recorded_topic_that_the_program_publishes_is_moved_aside(run, demo, monkeypatch, named):
    monkeypatch.setenv("ODOM_HASH", demo.topics["/odom"].hash)
    follower = node("--odom", "--late", "0.01", "--late-topic", "/recorded/odom")
    case = run("--lockstep", "--topics", "/odom", "--aside", "recorded", *named, command=follower, end="+0.3s")
    assert case.exit == DONE, case.stderr
    if not named:
        case.says("/odom is played as /recorded/odom, because /ci_node publishes it")
    sent = {topic["topic"]: topic["messages"] for topic in case.report["inputs"]}
    assert sent == {"/imu": len(inputs(demo, 0.3)), "/recorded/odom": len(case.texts("/late"))}
    assert sent["/recorded/odom"] > 5
    assert len(case.texts("/answer")) == sent["/imu"]


def test_the_report_of_repetitions_names_a_recording_that_is_kept(run):
    case = run("--lockstep", "--repeat", "3", command=node(), end="+0.2s")
    assert case.exit == DONE, case.stderr
    assert case.report["files"]["outputs"] == "run-1/outputs.mcap"
    assert (case.folder / "run" / "run-1/outputs.mcap").is_file()


# Bursts


def test_a_burst_that_a_queue_cannot_hold_is_said_before_the_run(run, demo):
    # Thirty messages may be unanswered, and the node keeps ten.
    gate = ("--gate", "/imu -> /answer", "--in-flight", "30", "--gate-timeout", "5")
    slow = node("--no-timer", "--compute", "0.004")
    lossy = run(*gate, command=slow, end="+0.5s")
    lossy.says("/ci_node queues at most 10 messages of /imu, but 30 are sent back to back")
    refused = run(*gate, "--strict", command=slow, end="+0.5s")
    assert refused.exit == USAGE, refused.stderr
    assert refused.report["inputs"][0]["messages"] == 0
    refused.says("a subscriber cannot keep the messages of a burst")
    # A node that is stopped while messages are spread loses some.
    spread = first_that(lambda case: case.exit == DONE, lambda: run(*gate, "--spread", command=slow, end="+0.5s"))
    assert spread.exit == DONE, spread.stderr
    assert spread.counts()["/answer"] == len(inputs(demo, 0.5))


@pytest.mark.parametrize("flags", [(), ("--strict",)], ids=["told", "refused"])
def test_without_gates_all_that_goes_out_at_once_is_one_burst(run, demo, flags):
    case = run("--rate", "max", *flags, command=node("--no-timer"), end="+0.5s")
    count = len(inputs(demo, 0.5))
    case.says(f"/ci_node queues at most 10 messages of /imu, but {count} are sent back to back")
    assert case.exit == (USAGE if flags else DONE), case.stderr
    assert case.report["inputs"][0]["messages"] == (0 if flags else count)
