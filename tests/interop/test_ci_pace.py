"""How a run keeps pace with nodes that sleep, answer late or more than once, publish without an end, or never join; and the
source timestamps that a node sees."""

import queue
import re

import pytest

from ci_run import DONE, FAILED, INPUT, PATIENCE, TIMEOUT, CaseRunner, first_that, node
from node import session

GATE = ("--gate", "/imu -> /answer")


@pytest.fixture
def run(tmp_path, demo):
    return CaseRunner(tmp_path, demo.topics[INPUT].hash)


def inputs(demo, seconds: float):
    return [it for it in demo.of(INPUT) if it.log_time <= demo.start + seconds * 1e9]


def times(messages) -> list[int]:
    return [it.log_time for it in messages]


# It sleeps


def test_in_lockstep_a_callback_that_sleeps_is_waited_for(run, demo):
    flags = ("--lockstep", "--repeat", "3")
    case = run(*flags, command=node("--no-timer", "--sleep", "0.02"), end="+0.3s")
    assert case.exit == DONE, case.stderr
    assert case.report["repeated"] == {"runs": 3, "failed": 0, "digests": {case.digest: 3}}
    for file in sorted((case.folder / "run").glob("run-*/outputs.mcap")) + [case.outputs]:
        answers = type(case.recording)(file).of("/answer")
        assert times(answers) == times(inputs(demo, 0.3))


# It answers late


def late(run, demo, seconds: str):
    """A run with `--settle 5` whose last input is answered after so many seconds, and how many inputs it has."""
    sent = inputs(demo, 0.1)
    command = node("--no-timer", "--depth", "1000", "--slow-at", str(len(sent) - 1), "--sleep", seconds)
    return run("--settle", "5", command=command, end="+0.1s"), len(sent)


def test_settle_waits_for_an_answer_that_comes_late(run, demo):
    case, sent = late(run, demo, "1")
    assert case.exit == DONE, case.stderr
    assert [text.split()[0] for text in case.texts("/answer")] == [str(n) for n in range(sent)]


def test_for_an_answer_that_comes_later_it_does_not_wait(run, demo):
    case, sent = late(run, demo, "60")
    assert case.exit == DONE, case.stderr
    assert len(case.texts("/answer")) == sent - 1


# It answers each input with two messages


def test_a_gate_of_two_answers_for_each_input(run, demo):
    gate = ("--gate", "/imu -> /answer x2")
    case = run(*gate, "--repeat", "3", command=node("--no-timer", "--twice", "--sleep", "0.01"), end="+0.3s")
    assert case.exit == DONE, case.stderr
    sent = inputs(demo, 0.3)
    (found,) = case.report["gates"]
    assert (found["asked"], found["answered"], found["unrequested"]) == (len(sent), len(sent), 0)
    assert times(case.recording.of("/answer")) == [it.log_time for it in sent for _ in range(2)]
    numbers = [int(text.split()[0]) for text in case.texts("/answer")]
    assert numbers == [n for n in range(len(sent)) for _ in range(2)]
    assert case.report["repeated"]["digests"] == {case.digest: 3}


def test_one_answer_is_not_enough_for_a_gate_of_two(run):
    gate = ("--gate", "/imu -> /answer x2", "--gate-timeout", "5")
    case = run(*gate, command=node("--no-timer"))
    assert case.exit == TIMEOUT, case.stderr
    case.says("message 0 of /imu", "was not answered by /answer within 5s")
    assert len(case.texts("/answer")) == 1


# It never joins


def test_a_program_that_runs_and_never_joins_the_network(run):
    case = run("--wait-timeout", "1", command=["sleep", "1000"])
    assert case.exit == TIMEOUT, case.stderr
    case.says("not ready within 1 s", "no node has joined the network")
    assert all(it["messages"] == 0 for it in case.report["inputs"])


# It publishes without an end


@pytest.mark.parametrize("flags", [GATE, ("--rate", "1")], ids=["gate", "neither"])
def test_a_node_that_publishes_without_an_end_does_not_keep_the_run(run, demo, flags):
    expected = [str(number) for number in range(len(inputs(demo, 0.01)))]
    assert len(expected) > 1
    # It runs in each tenth of a second before the run.
    runs_by_itself = "times a second without input"
    # 25 times --settle.
    kept_coming = "outputs kept coming for 5 s after the last input"
    cases, lost = [], []

    def chatters():
        # An answer comes after all that the node has published before it, so each one takes its time.
        case = run(*flags, command=node("--no-timer", "--chatter"), end="+0.01s", timeout=3 * PATIENCE)
        assert case.exit in (DONE, FAILED), case.stderr
        (text,) = (it for it in case.report["outputs"] if it["topic"] == "/text")
        if case.exit == FAILED:
            # While the node publishes, a direct link to the player may replace the way through the router. Messages may be lost then.
            assert text["lost"] > 0, case.stderr
            case.says("/text", f"at least {text['lost']:,} message")
            lost.append(case)
            return cases
        answers = [text.split()[0] for text in case.texts("/answer")]
        # Without a gate, nobody waits for the last answers longer than for other outputs.
        assert answers == (expected if flags is GATE else expected[: len(answers)])
        assert text["lost"] == text["unrecorded"] == 0
        if runs_by_itself in case.reasons():
            case.says("thread", runs_by_itself)
        if kept_coming in case.reasons():
            case.says(kept_coming)
            assert text["messages"] > 1000
        cases.append(case)
        return cases

    def are_told(cases) -> bool:
        return all(any(words in case.reasons() for case in cases) for words in (runs_by_itself, kept_coming))

    # A node that is stopped runs no thread, and is silent.
    assert are_told(first_that(are_told, chatters)), [case.stderr for case in cases + lost]


# What it sees


@pytest.mark.parametrize("flags", [GATE, ("--lockstep",)], ids=["gate", "lockstep"])
def test_source_timestamps_are_log_times(run, demo, flags):
    command = node("--no-timer", "--show-source")
    case = run(*flags, "--source-stamp", "log", command=command, end="+0.2s")
    assert case.exit == DONE, case.stderr
    seen = [int(text.rpartition(" source ")[2]) for text in case.texts("/answer")]
    assert seen == times(inputs(demo, 0.2))
    wall = run(*flags, "--source-stamp", "wall", command=command, end="+0.2s")
    assert wall.exit == DONE, wall.stderr
    began = wall.report["began_unix_ns"]
    seen = [int(text.rpartition(" source ")[2]) for text in wall.texts("/answer")]
    assert len(seen) == len(inputs(demo, 0.2)) and seen == sorted(seen)
    assert began <= seen[0] and seen[-1] <= began + wall.report["took_ms"] * 1e6


def test_the_state_of_the_clock_is_published_in_a_run_too(run):
    flags = ("--rate", "1", "--clock", "--clock-state")
    with run.start(*flags, command=node(), end="+2s") as running:
        port = running.wait_for(lambda: re.search(r"router on tcp/127\.0\.0\.1:(\d+)", running.stderr()), "a router")[1]
        seen = queue.SimpleQueue()
        with session(int(port)) as observer:
            states = observer.declare_subscriber("**/clock_state/**", seen.put)
            seen.get(timeout=PATIENCE)
            states.undeclare()
        assert running.case().exit == DONE
