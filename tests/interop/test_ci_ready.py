"""When a run begins: which subscribers and nodes have to be there."""

import json
import shlex

import pytest

from ci_run import DONE, INPUT, TIMEOUT, USAGE, CaseRunner, node, play_in

UNREADABLE = 3
SOON = ("--wait-timeout", "10")


@pytest.fixture
def run(tmp_path, demo):
    return CaseRunner(tmp_path, demo.topics[INPUT].hash)


def two_nodes() -> list[str]:
    one = shlex.join(node("--no-timer"))
    return ["sh", "-c", f"{one} & exec {one}"]


def test_a_run_begins_when_a_topic_has_as_many_subscribers_as_were_asked_for(run, demo):
    wants = ("--lockstep", "--wait-for-subscribers", f"{INPUT}=2")
    alone = run(*wants, *SOON, command=node(), end="+0.1s")
    assert alone.exit == TIMEOUT, alone.stderr
    alone.says(f"1 of 2 subscribers of {INPUT}")
    both = run(*wants, command=two_nodes(), end="+0.1s")
    assert both.exit == DONE, both.stderr
    sent = [it for it in demo.of(INPUT) if it.log_time <= demo.start + 1e8]
    assert both.counts() == {"/answer": 2 * len(sent)}


def test_a_run_begins_when_the_nodes_have_joined_that_were_asked_for(run):
    there = run("--lockstep", "--wait-for-nodes", "ci_node", command=node(), end="+0.1s")
    assert there.exit == DONE, there.stderr
    wants = ("--wait-for-nodes", "/ci_node", "/planner")
    missing = run("--lockstep", *wants, *SOON, command=node(), end="+0.1s")
    assert missing.exit == TIMEOUT, missing.stderr
    missing.says("no node /planner (the nodes are /ci_node)")


@pytest.mark.parametrize("count", ["0", "-1", "two", ""])
def test_a_number_of_subscribers_is_above_zero(run, count):
    case = run("--wait-for-subscribers", f"{INPUT}={count}", command=node())
    assert case.exit == USAGE
    assert f"--wait-for-subscribers {INPUT}={count}: write TOPIC=N" in case.stderr


def test_a_topic_that_nobody_publishes_is_named_beside_those_that_are_published(run):
    case = run("--lockstep", "--record-topics", "/answr", *SOON, command=node(), end="+0.1s")
    assert case.exit == TIMEOUT, case.stderr
    case.says("no publisher of /answr", "published are /answer, /timer")


def test_a_recording_that_cannot_be_published_is_refused(run, tmp_path, data):
    ros1 = data / "turtlesim_ros1/example_zstd.mcap"
    report = tmp_path / "report.json"
    flags = ("--isolated", "--transcode", "off", "--run-dir", tmp_path / "run", "--report", report, "--no-tui")
    done = play_in(tmp_path, run.imu_hash, ros1, *flags, "--", "sleep", "100")
    assert done.returncode == UNREADABLE, done.stdout
    assert "no topic of the recording can be published" in done.stdout
    assert json.loads(report.read_text())["exit_code"] == UNREADABLE
