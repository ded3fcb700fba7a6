"""What a run waits for, and for how long: before it begins, while it is under way, and without its network. Processes that run
already."""

import os
import re
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from ci_run import DONE, FAILED, INPUT, TIMEOUT, USAGE, CaseRunner, first_that, node
from node import open_router
from player import environment, free_port

GATE = ("--gate", "/imu -> /answer")
LONG = ("--gate-timeout", "600", "--wait-timeout", "600", "--settle-limit", "600")


@pytest.fixture
def run(tmp_path, demo):
    return CaseRunner(tmp_path, demo.topics[INPUT].hash)


def inputs(demo, seconds: float, topic: str = INPUT) -> int:
    first = min(messages[0].log_time for messages in map(demo.of, demo.topics) if messages)
    return sum(it.log_time <= first + seconds * 1e9 for it in demo.of(topic))


# It has a longest time


def test_a_run_that_takes_too_long_names_the_message_that_is_not_answered(run):
    case = run(*GATE, *LONG, "--timeout", "10", command=node("--silent"))
    assert case.exit == TIMEOUT, case.stderr
    case.says("took longer than 10", "--timeout", "message 0 of /imu", "not answered by /answer")


def test_a_run_that_takes_too_long_names_the_thread_that_does_not_settle(run):
    case = run("--lockstep", *LONG, "--timeout", "10", command=node("--spin-at", "5"))
    assert case.exit == TIMEOUT, case.stderr
    case.says("took longer than 10", "has not settled", 'thread "')


def test_a_run_that_takes_too_long_names_the_subscriber_that_never_came(run):
    case = run(*GATE, *LONG, "--timeout", "10", command=node("--deaf"))
    assert case.exit == TIMEOUT, case.stderr
    case.says("took longer than 10", "no subscriber of /imu")


def test_the_longest_time_is_one_of_all_repetitions(run):
    flags = (*GATE, *LONG, "--timeout", "15", "--repeat", "1000")
    case = run(*flags, command=node("--no-timer"), end="+0.1s")
    assert case.exit == TIMEOUT, case.stderr
    repeated = case.report["repeated"]
    made = repeated["runs"]
    assert 0 < made < 1000 and repeated["failed"] == 0 and list(repeated["digests"].values()) == [made]
    case.says(f"{made} of 1000 runs were made within 15", "(--timeout)")


# It does not settle


def test_a_node_that_publishes_without_a_pause_in_lockstep(run):
    case = run("--lockstep", "--settle-limit", "1", command=node("--chatter"))
    assert case.exit == TIMEOUT, case.stderr
    case.says("has not settled after")
    (said,) = [line for line in case.stderr.splitlines() if line.startswith("error: ")]
    assert 'thread "' in said or "the last one of /text" in said


def test_a_thread_that_runs_without_input_is_named(run):
    def wakes():
        case = run("--lockstep", command=node("--wall-timer", "0.002"), end="+0.1s")
        assert case.exit == DONE, case.stderr
        return case

    # A thread is named if it runs in each tenth of a second before the run. One that is stopped meanwhile is not.
    case = first_that(lambda case: case.report["unprompted"], wakes)
    threads = case.report["unprompted"]
    assert threads and all(it["per_second"] >= 10 for it in threads), case.report
    started = re.search(r"started ci_node.py, process (\d+)\n", case.stderr)[1]
    assert any(f"({started})" in it["thread"] for it in threads)
    assert any("times a second without input" in note for note in case.report["notes"])
    waits = run("--lockstep", command=node(), end="+0.1s")
    assert not any(" ran " in note for note in waits.report["notes"])


# Answers


def test_a_stamp_from_the_future_is_named(run):
    gate = ("--gate", "/imu -> /answer by stamp", "--gate-timeout", "5")
    case = run(*gate, command=node("--echo", str(10**9)))
    assert case.exit == TIMEOUT, case.stderr
    case.says("message 0 of /imu", "/answer has the wrong stamp", "later than everything that was sent")
    (gate,) = case.report["gates"]
    assert (gate["answered"], gate["wrong_stamps"]) == (0, 1)


def test_a_gate_by_stamp_on_a_topic_without_stamps_is_refused_before_anything_is_sent(run):
    case = run("--gate", "/imu -> /answer by stamp", command=node())
    assert case.exit == USAGE, case.stderr
    case.says("/answer", "std_msgs/msg/String", "has no header.stamp")
    assert all(it["messages"] == 0 for it in case.report["inputs"])


def test_answers_that_come_twice_are_named_with_their_node(run):
    case = run(*GATE, command=node("--twice"), end="+0.3s")
    assert case.exit == DONE, case.stderr
    (note,) = [it for it in case.report["notes"] if "not asked for" in it]
    assert all(word in note for word in ("/ci_node", "/answer", "hint: by stamp")), note


def test_in_lockstep_a_second_copy_does_not_answer_the_next_question(run, demo):
    case = run(*GATE, "--lockstep", command=node("--twice"), end="+0.3s")
    assert case.exit == DONE, case.stderr
    (gate,) = case.report["gates"]
    asked = inputs(demo, 0.3)
    assert (gate["asked"], gate["answered"], gate["unrequested"]) == (asked, asked, asked)


# What joins late


# Without lockstep, the time without an answer tells the end, and the node may be stopped meanwhile.
@pytest.mark.parametrize("flags", [("--settle", "5"), ("--lockstep",)], ids=["time", "lockstep"])
def test_a_second_subscription_that_comes_later_misses_nothing(run, demo, monkeypatch, flags):
    monkeypatch.setenv("ODOM_HASH", demo.topics["/odom"].hash)
    topics = ("--topics", "/odom", "--wait-for-subscribers", "/imu")
    case = run(*topics, *flags, command=node("--late", "0.02"), end="+0.3s")
    assert case.exit == DONE, case.stderr
    assert case.counts()["/late"] == inputs(demo, 0.3, "/odom") > 0


def test_a_topic_that_the_program_publishes_later_is_not_played_any_more(run, demo):
    case = run("--lockstep", "--topics", "/odom", command=node("--odom-at", "5"), end="+3s")
    assert case.exit == DONE, case.stderr
    case.says("/odom: 2 of ", "messages were played; /ci_node began to publish it")
    sent = {it["topic"]: it["messages"] for it in case.report["inputs"]}
    assert 0 < sent["/odom"] < inputs(demo, 3, "/odom")
    assert sent["/imu"] == inputs(demo, 3)


# Without a network


def test_a_router_that_is_lost_ends_the_run_as_infrastructure(run):
    port = free_port()
    network = ("--connect", f"tcp/127.0.0.1:{port}")
    flags = ("--gate", "/imu -> /answer within 600s", "--rate", "0.1", "--wait-timeout", "10")
    with running_node(run, port) as (attached, _), open_router(port) as router:
        with run.start(*flags, command=[], network=network) as running:
            attached.wait_for_first(running)
            router.close()
            case = running.case(60)
    assert case.exit == FAILED, case.stderr
    case.says("zenoh router")


def test_without_a_router_the_run_ends_as_infrastructure(run):
    network = ("--connect", f"tcp/127.0.0.1:{free_port()}")
    case = run("--lockstep", "--wait-timeout", "1", command=["sleep", "600"], network=network)
    assert case.exit == FAILED, case.stderr
    case.says("no connection to the zenoh router within 1 s")


# Processes that run already


class Attached:
    """A node that was started here."""

    def __init__(self, process, log: Path):
        self.process, self._log = process, log

    def says(self, word: str) -> bool:
        return word in self._log.read_text()

    def wait_for_first(self, running) -> None:
        running.wait_for(lambda: self.says('"first"'), "the node has a message")


@contextmanager
def running_node(run, port: int, *faults: str):
    """The node under test, started by this test, which looks for a router on this port; and its process."""
    log = run.folder / f"node-{port}"
    settings = {
        "BAGPLAY_ENDPOINT": f"tcp/127.0.0.1:{port}",
        "IMU_HASH": run.imu_hash,
        "ZENOH_CONFIG_OVERRIDE": "transport/link/tx/queue/batching/enabled=false",
    }
    with log.open("w") as out:
        process = subprocess.Popen(
            node(*faults), stdin=subprocess.DEVNULL, stdout=out, env=environment() | settings
        )
    try:
        yield Attached(process, log), process.pid
    finally:
        process.kill()
        process.wait()


def attached(run, demo, port: int, *flags: str, prefix=()):
    network = ("--listen", f"tcp/127.0.0.1:{port}")
    case = run(*flags, "--lockstep", command=[], end="+1s", network=network, prefix=prefix)
    assert case.exit == DONE, case.stderr
    assert case.report["pacing"] == "lockstep", case.stderr
    # Without lockstep a node that keeps ten messages loses most.
    assert case.counts()["/answer"] == inputs(demo, 1)
    return case


def test_a_process_that_runs_already_is_played_to_in_lockstep(run, demo):
    port = free_port()
    with running_node(run, port, "--compute", "0.004") as (_, pid):
        case = attached(run, demo, port, "--pid", str(pid))
        assert "cannot see whether a thread" not in case.stderr


def test_a_process_that_is_stopped_before_the_run_is_named(run):
    with subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL) as stopped:
        try:
            stopped.send_signal(signal.SIGSTOP)
            network = ("--listen", f"tcp/127.0.0.1:{free_port()}")
            flags = ("--pid", str(stopped.pid), "--wait-timeout", "1")
            case = run(*flags, "--lockstep", command=[], network=network)
        finally:
            stopped.kill()
    assert case.exit == TIMEOUT, case.stderr
    case.says(f"process {stopped.pid} (sleep) is stopped; no node has joined")


def test_a_node_that_stays_is_played_to_again_and_its_earlier_outputs_are_not_missing(run, demo):
    port = free_port()
    with running_node(run, port) as (_, pid):
        for _ in range(2):
            case = attached(run, demo, port, "--pid", str(pid), "--strict")
            assert {(it["lost"], it["earlier"]) for it in case.report["outputs"]} == {(0, 0)}


@pytest.mark.parametrize("strict, exit", [((), DONE), (("--strict",), FAILED)])
def test_a_process_that_receives_nothing_is_not_what_was_tested(run, demo, strict, exit):
    port = free_port()
    network = ("--listen", f"tcp/127.0.0.1:{port}")
    with subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL) as other, running_node(run, port):
        try:
            flags = ("--pid", str(other.pid), "--wait-for-subscribers", INPUT, *strict)
            case = run(*flags, "--lockstep", command=[], end="+1s", network=network)
        finally:
            other.kill()
    assert case.exit == exit, case.stderr
    case.says("no process under test ran after a message was sent")


@pytest.mark.parametrize(
    "flags, pacing, instead",
    [
        (("--gate", "/imu -> /answer"), "gates", "with its gates alone"),
        # Without a gate, the time without an answer tells the end, and the node may be stopped meanwhile.
        (("--settle", "5"), "time", "at the recorded rate"),
        (("--settle", "5", "--rate", "2"), "time", "at the given rate"),
    ],
    ids=["gate", "neither", "rate"],
)
def test_where_lockstep_is_not_possible_the_run_says_so_and_goes_on(run, demo, tmp_path, flags, pacing, instead):
    # A folder that is no control group: it has no list of threads.
    port = free_port()
    lockstep = ("--lockstep", "--cgroup", str(tmp_path), "--listen", f"tcp/127.0.0.1:{port}")
    with running_node(run, port, "--depth", "1000"):
        case = run(*lockstep, *flags, command=[], end="+0.3s", network=())
    assert case.exit == DONE, case.stderr
    case.says("--lockstep is not possible here", str(tmp_path), f"the run goes {instead}")
    assert case.report["pacing"] == pacing
    assert case.counts()["/answer"] == inputs(demo, 0.3)


def untraced() -> tuple[str, ...]:
    """The beginning of a command line whose program may trace only what its user may."""
    return ("setpriv", "--bounding-set", "-sys_ptrace") if os.geteuid() == 0 else ()


def test_a_run_that_cannot_see_sleeps_says_so(run, demo):
    port = free_port()
    with running_node(run, port, "--untraceable") as (_, pid):
        case = attached(run, demo, port, "--pid", str(pid), prefix=untraced())
    case.says("cannot see whether a thread of the program under test sleeps")


@contextmanager
def new_cgroup():
    """A new control group of version 2. Where none can be made, the test is skipped and says why."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    folders = [Path(words[1]) for words in mounts if words[2] == "cgroup2"]
    if not folders:
        pytest.skip("no cgroup v2 is mounted here")
    own = Path("/proc/self/cgroup").read_text().splitlines()
    inner = next((line[3:] for line in own if line.startswith("0::")), "/")
    folder = folders[0] / inner.lstrip("/") / f"bagplay-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    try:
        yield folder
    finally:
        folder.rmdir()


def test_a_control_group_is_played_to_in_lockstep(run, demo):
    port = free_port()
    with new_cgroup() as group, running_node(run, port, "--compute", "0.004") as (_, pid):
        try:
            (group / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            pytest.skip(f"no process can be moved to a cgroup here: {error}")
        attached(run, demo, port, "--cgroup", str(group))
