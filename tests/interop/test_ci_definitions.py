"""The source of the definition of an output whose type is not in the recording: its node, a package, or none."""

import sys

import pytest

from ci_run import DONE, INPUT, CaseRunner
from player import HOUSE
from readings import DEFINITION, READING, REFERENCED

GATE = ("--gate", "/imu -> /reading")
PROGRAM = [sys.executable, str(HOUSE / "tests/interop/reading_node.py")]


@pytest.fixture
def run(tmp_path, demo):
    return CaseRunner(tmp_path, demo.topics[INPUT].hash)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A folder of installed packages that the environment names."""
    prefix = tmp_path / "prefix"
    for name, text in ({READING.type_name: DEFINITION} | REFERENCED).items():
        file = prefix / "share" / f"{name}.msg"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix))


def check(case, demo, expected: bool):
    assert case.exit == DONE, case.stderr
    sent = [it for it in demo.of(INPUT) if it.log_time <= demo.start + 0.1 * 1e9]
    messages = case.recording.of(READING.name)
    assert len(messages) == len(sent)
    topic = case.recording.topics[READING.name]
    assert topic.type_name == READING.type_name and topic.recorded_hash == READING.hash
    assert bool(topic.definition) == expected, case.reasons()
    if expected:
        # The reader of others reads the messages by it alone, and its hash is the published one.
        assert topic.store.hash_rihs01(topic.type_name) == READING.hash
        for message, question in zip(messages, sent):
            decoded = topic.decode(message.data)
            assert decoded.value == 1.5
            assert message.data[4:12] == question.data[4:12]
        assert not any("has no definition" in note for note in case.report["notes"])


def test_a_definition_that_the_node_serves(run, demo, monkeypatch):
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    check(run(*GATE, command=[*PROGRAM, "--describe"], end="+0.1s"), demo, True)


def test_a_definition_of_installed_packages(run, demo, installed):
    check(run(*GATE, command=PROGRAM, end="+0.1s"), demo, True)


def test_without_a_definition_the_channel_has_none_and_the_report_says_so(run, demo, monkeypatch):
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    case = run(*GATE, command=PROGRAM, end="+0.1s")
    check(case, demo, False)
    case.says(READING.name, READING.type_name, "has no definition", "get_type_description")


def test_a_gate_by_stamp_reads_stamps_by_a_definition_that_the_node_serves(run, demo, monkeypatch):
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    gate = ("--gate", "/imu -> /reading by stamp")
    check(run(*gate, command=[*PROGRAM, "--describe"], end="+0.1s"), demo, True)
