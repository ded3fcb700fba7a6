"""What happens on the network during a run with verdicts, and ends it: the reports say what it was."""

import subprocess
from contextlib import contextmanager

import pytest

from ci_run import BINARY, DEMO, FAILED, INPUT, TIMEOUT, CaseRunner, node
from node import Node
from player import environment, free_port

SLOW = ("--rate", "0.1")


@pytest.fixture
def run(tmp_path, demo):
    return CaseRunner(tmp_path, demo.topics[INPUT].hash)


@contextmanager
def started(run, port: int, *flags: str):
    """A run that other nodes can join, when its node has received a message."""
    endpoint = f"tcp/127.0.0.1:{port}"
    command = ["env", f"BAGPLAY_ENDPOINT={endpoint}", *node()]
    network = ("--listen", endpoint)
    with run.start(*SLOW, *flags, command=command, end=None, network=network) as running:
        running.wait_for_node('"first"')
        yield running


def test_a_second_clock_ends_a_strict_run(run):
    port = free_port()
    with started(run, port, "--clock", "--strict-clock") as running:
        with other_player(port, "clock"):
            case = running.case()
    assert case.exit == FAILED, case.stderr
    case.says("/clock", "publishes")


@contextmanager
def other_player(port: int, *words: str):
    """A player of another process on the same network, until the end of the `with` block."""
    words = [BINARY, *words, "--connect", f"tcp/127.0.0.1:{port}"]
    quiet = subprocess.DEVNULL
    other = subprocess.Popen(words, stdin=quiet, stdout=quiet, stderr=quiet, env=environment())
    try:
        yield
    finally:
        other.kill()
        other.wait()


def test_a_topic_that_another_node_begins_to_publish_gives_no_verdict(run, demo, tmp_path):
    expect = tmp_path / "expect.toml"
    expect.write_text("[[expect]]\ntopic = '/answer'\ncount = { min = 1000000 }\n")
    port = free_port()
    endpoint = f"tcp/127.0.0.1:{port}"
    command = ["env", f"BAGPLAY_ENDPOINT={endpoint}", *node()]
    network = ("--listen", endpoint)
    flags = ("--rate", "0.5", "--expect", str(expect))
    with run.start(*flags, command=command, end="+3s", network=network) as running:
        running.wait_for_node('"first"')
        with other_player(port, str(DEMO), "--topics", INPUT, "--rate", "0.01"):
            running.wait_for(lambda: "/imu is not played after" in running.stderr(), "the other player is seen")
            case = running.case()
    assert case.exit == FAILED, case.stderr
    case.says("/imu: ", "messages were played; /", "began to publish it at", "--isolated")
    (check,) = [it for it in case.report["checks"] if it["kind"] == "expectation"]
    assert check["verdict"] == "skipped" and "messages are missing" in check["reason"], check
    (sent,) = [it["messages"] for it in case.report["inputs"]]
    assert 0 < sent < len(demo.of(INPUT))


def test_a_topic_that_loses_its_subscriber_ends_the_run_when_none_comes_back_in_time(run, demo):
    port = free_port()
    topic = demo.topics["/odom"]
    flags = ("--topics", "/odom", "--wait-for-subscribers", "/odom", "--wait-timeout", "10")
    endpoint = f"tcp/127.0.0.1:{port}"
    command = ["env", f"BAGPLAY_ENDPOINT={endpoint}", *node()]
    flags = (*SLOW, *flags, "--wait-for-subscribers", "/imu")
    with run.start(*flags, command=command, end=None, network=("--listen", endpoint)) as running:
        with Node(port, [topic]):
            running.wait_for_node('"first"')
        case = running.case()
    assert case.exit == TIMEOUT, case.stderr
    case.says("/odom", "subscriber")
