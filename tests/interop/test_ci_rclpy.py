"""Runs against a stock ROS 2 node: `rclpy` on DDS (`rclpy_node.py`), joined to the player's network by `dds_bridge.py`. The node, its
executor and its timers are those of ROS; both processes are under test, so lockstep waits for both.
"""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from ci_run import DONE, INPUT, CaseRunner
from service import text

HERE = Path(__file__).parent
PYTHON = Path(os.environ.get("ROS_PYTHON", HERE.parents[1] / "target/interop-venv-ros/bin/python"))
RUNS = int(os.environ.get("BAGPLAY_CI_RUNS", "4"))
PERIOD = 100_000_000


@pytest.fixture
def run(tmp_path, demo):
    assert PYTHON.is_file(), f"no Python at {PYTHON}: see README.md, or set ROS_PYTHON"
    return CaseRunner(tmp_path, demo.topics[INPUT].hash)


def stock(*arguments: str) -> list[str]:
    return [str(PYTHON), str(HERE / "dds_bridge.py"), *arguments]


def inputs(demo, seconds: float):
    return [it for it in demo.of(INPUT) if it.log_time <= demo.start + seconds * 1e9]


def texts(case, topic: str) -> list[str]:
    """The messages of a topic of String; Fast CDR has written zeros behind some."""
    return [text(it.data, 4)[0] for it in case.recording.of(topic)]


def stamp(message) -> str:
    """The `header.stamp` of an Imu, as the node writes it."""
    sec, nanosec = (int.from_bytes(message.data[at : at + 4], "little") for at in (4, 8))
    return f"{sec}.{nanosec:09}"


def test_a_stock_node_in_lockstep_answers_each_message_at_its_time(run, demo):
    case = run("--lockstep", command=stock("--compute", "0.002"), end="+0.5s")
    assert case.exit == DONE, case.stderr
    # Each callback saw the time of its message on the clock, and the queue of ten lost none.
    expected = [f"{n} {stamp(it)} at {it.log_time}" for n, it in enumerate(inputs(demo, 0.5))]
    assert texts(case, "/answer") == expected
    ticks = [int(it) for it in texts(case, "/timer")]
    assert len(ticks) >= 4
    assert [after - before for before, after in pairwise(ticks)] == [PERIOD] * (len(ticks) - 1)


@pytest.mark.parametrize("way", [("--lockstep",), ("--lockstep", "--gate", "/imu -> /answer")])
def test_a_stock_node_gives_equal_outputs_in_each_run(run, demo, way):
    node = stock("--compute", "0.002")
    case = run(*way, "--repeat", str(RUNS), command=node, end="+0.5s", timeout=60 + 10 * RUNS)
    assert case.exit == DONE, case.stderr
    assert case.report["repeated"] == {"runs": RUNS, "failed": 0, "digests": {case.digest: RUNS}}
    assert len(texts(case, "/answer")) == len(inputs(demo, 0.5))
