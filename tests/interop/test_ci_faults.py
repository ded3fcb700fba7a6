"""Programs under test that do what they should not: each run ends in time, with the exit code of its class, and one sentence
names the culprit."""

import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ci_run import (
    CHILD,
    DONE,
    FAILED,
    INPUT,
    INTERRUPTED,
    TIMEOUT,
    USAGE,
    CaseRunner,
    is_alive,
    node,
)
from player import free_port

GATE = ("--gate", "/imu -> /answer")
BY_STAMP = ("--gate", "/imu -> /answer by stamp")
SHORT = ("--gate-timeout", "5")


@pytest.fixture
def run(tmp_path, demo):
    yield CaseRunner(tmp_path, demo.topics[INPUT].hash)
    # Some of these programs write much.
    shutil.rmtree(tmp_path)


def check(case, kind: str) -> dict:
    """The only check of a kind."""
    (found,) = [it for it in case.report["checks"] if it["kind"] == kind]
    return found


def shell(script: str, *arguments: str) -> list[str]:
    """A shell that runs a script, in which NODE is the node with these arguments."""
    return ["sh", "-c", script.replace("NODE", shlex.join(node(*arguments)))]


# It gets nothing


@pytest.mark.parametrize(
    "flags, exit",
    [((), DONE), (("--strict",), FAILED), (GATE + ("--wait-timeout", "10"), TIMEOUT)],
    ids=["alone", "strict", "gate"],
)
def test_a_node_with_another_definition_of_a_type_is_named(run, flags, exit):
    run.imu_hash = "RIHS01_" + "0" * 64
    case = run("--lockstep", *flags, command=node(), end="+0.2s")
    assert case.exit == exit, case.stderr
    case.says("/ci_node gets nothing of /imu", run.imu_hash)


# It does not begin


def test_a_command_that_does_not_exist(run):
    case = run(*GATE, command=["no-such-program-of-anybody"])
    assert case.exit == USAGE
    assert "no-such-program-of-anybody" in case.stderr


def test_a_program_that_subscribes_to_nothing(run):
    case = run("--wait-timeout", "10", command=node("--deaf"))
    assert case.exit == TIMEOUT, case.stderr
    case.says("not ready within 10 s", "no subscriber of any topic that is played")


def test_a_program_that_does_not_subscribe_to_the_question_of_a_gate(run):
    case = run(*GATE, "--wait-timeout", "10", command=node("--deaf"))
    assert case.exit == TIMEOUT, case.stderr
    case.says("not ready within 10 s", "no subscriber of /imu")


@pytest.mark.parametrize("flags", [GATE, ("--lockstep",), ()], ids=["gate", "lockstep", "neither"])
def test_a_program_that_fails_before_the_run_begins(run, flags):
    case = run(*flags, command=["sh", "-c", "echo it is broken >&2; exit 3"])
    assert case.exit == CHILD, case.stderr
    case.says("sh", "exit code 3", "before the run began")
    assert any("it is broken" in line for line in case.report["child"]["tail"])


@pytest.mark.parametrize("flags", [GATE, ("--lockstep",), ()], ids=["gate", "lockstep", "neither"])
def test_a_program_that_ends_early_with_code_0(run, flags):
    case = run(*flags, command=node("--quit-at", "5"))
    assert case.exit == CHILD, case.stderr
    assert check(case, "child")["verdict"] == "failed"
    assert case.report["child"]["ended"] == "exit code 0"


# A process of it ends, and the program itself goes on. A shell that has become `sleep` asks for no results.


@pytest.mark.parametrize("flags", [GATE, ("--lockstep",), ()], ids=["gate", "lockstep", "neither"])
def test_a_process_that_crashes_below_a_launcher(run, flags):
    case = run(*flags, command=shell("NODE & exec sleep 1000", "--crash-at", "5"))
    assert case.exit == CHILD, case.stderr
    case.says("process ci_node.py (", "was ended by signal 11 (SIGSEGV) at ", "before the end of the run")
    assert check(case, "child")["verdict"] == "failed"
    assert case.report["child"]["ended"] == "ended by play"


def test_a_process_that_ends_with_code_0_below_a_launcher_is_a_note(run):
    case = run("--lockstep", command=shell("NODE & exec sleep 1000", "--quit-at", "5"))
    assert case.exit == DONE, case.stderr
    case.says("process ci_node.py (", "ended with exit code 0 at ", "before the end of the run")


def test_with_strict_an_end_with_an_unknown_result_fails_the_run(run):
    # The shell and the player ask for the result at the same moment.
    command = shell("NODE; exec sleep 1000", "--crash-at", "5")
    case = run("--lockstep", "--strict", command=command)
    assert case.exit == CHILD, case.stderr
    case.says("process ci_node.py (", "before the end of the run")


@pytest.fixture
def sleepers():
    processes = [subprocess.Popen(["sleep", "1000"]) for _ in range(2)]
    yield processes
    for process in processes:
        process.kill()
        process.wait()


def test_processes_that_the_run_has_not_started(run, sleepers):
    first, second = sleepers
    pids = ("--pid", str(first.pid), "--pid", str(second.pid))
    # Processes that run already are in no network of the run alone.
    endpoint = f"tcp/127.0.0.1:{free_port()}"
    command = ["env", f"BAGPLAY_ENDPOINT={endpoint}", *node()]
    flags = ("--lockstep", "--rate", "0.1", *pids)
    network = ("--listen", endpoint)
    with run.start(*flags, command=command, end=None, network=network) as running:
        running.wait_for_node('"first"')
        second.send_signal(signal.SIGSEGV)
        case = running.case()
    assert case.exit == CHILD, case.stderr
    case.says(f"process sleep ({second.pid}) was ended by signal 11 (SIGSEGV) at ")


# It does not answer


@pytest.mark.parametrize("flags", [GATE, ("--lockstep",), ()], ids=["gate", "lockstep", "neither"])
def test_a_program_that_crashes(run, flags):
    case = run(*flags, command=node("--crash-at", "5"))
    assert case.exit == CHILD, case.stderr
    case.says("ci_node.py", "signal 11 (SIGSEGV)")
    assert case.report["child"]["ended"] == "signal 11 (SIGSEGV)"
    assert check(case, "child")["verdict"] == "failed"
    # What came before is kept. Without gate and lockstep, the crash may come before the last answers are on their way.
    answers = [text.split()[0] for text in case.texts("/answer")]
    expected = ["0", "1", "2", "3", "4"]
    assert answers == (expected if flags else expected[: len(answers)])


def test_a_program_that_never_answers(run):
    case = run(*GATE, *SHORT, command=node("--silent"))
    assert case.exit == TIMEOUT, case.stderr
    case.says("message 0 of /imu", "was not answered by /answer within 5s")


def test_one_answer_that_is_missing(run):
    case = run(*GATE, *SHORT, command=node("--skip", "7"))
    assert case.exit == TIMEOUT, case.stderr
    case.says("message 7 of /imu", "was not answered by /answer within 5s")
    counted = run(*GATE, *SHORT, "--on-miss", "count:1", command=node("--skip", "7"), end="+0.3s")
    assert counted.exit == DONE, counted.stderr
    (gate,) = counted.report["gates"]
    assert (gate["asked"], gate["answered"], gate["missed"]) == (60, 59, 1)
    assert "message 7 of /imu" in check(counted, "gate")["reason"]


def test_a_repetition_that_fails_does_not_end_the_others(run):
    gate = ("--gate", "/imu -> /answer within 3s")
    case = run(*gate, "--repeat", "3", command=node("--skip", "5"))
    assert case.exit == TIMEOUT, case.stderr
    assert (case.report["repeated"]["runs"], case.report["repeated"]["failed"]) == (3, 3)
    case.says("3 of 3 runs failed; run 1:", "was not answered by /answer")


def test_answers_with_a_stamp_from_before_their_question(run, demo):
    right = run(*BY_STAMP, command=node("--echo", "0"), end="+0.3s")
    assert right.exit == DONE, right.stderr
    answers = right.recording.of("/answer")
    assert [it.data for it in answers] == [it.data for it in demo.of(INPUT)[: len(answers)]]
    assert len(answers) == 60
    case = run(*BY_STAMP, *SHORT, command=node("--echo", "-1"))
    assert case.exit == TIMEOUT, case.stderr
    case.says("message 0 of /imu", "with stamp", "was not answered by /answer within 5s")
    (gate,) = case.report["gates"]
    assert (gate["answered"], gate["unrequested"]) == (0, 1)


def test_answers_that_come_twice(run):
    case = run(*GATE, command=node("--twice"), end="+0.3s")
    assert case.exit == DONE, case.stderr
    (gate,) = case.report["gates"]
    assert gate["answered"] == 60 and gate["unrequested"] > 0
    assert f"{gate['unrequested']} not asked for" in case.stderr
    assert gate["answered"] + gate["unrequested"] == case.counts()["/answer"]


def test_a_thread_that_spins_for_ever_in_lockstep(run):
    case = run("--lockstep", "--settle-limit", "1", command=node("--spin-at", "5"))
    assert case.exit == TIMEOUT, case.stderr
    started = re.search(r"started ci_node.py, process (\d+)\n", case.stderr)[1]
    case.says(re.search(r"has not settled after \d+\.\ds", case.stderr)[0], 'thread "', f"({started})")


# It writes, publishes and leaves behind too much


def test_a_program_that_floods_its_output(run):
    """Less than the limit of 1 GiB, which a fast disk takes within a second."""
    case = run(*GATE, command=node("--flood-stdout", "2e8"), end="+0.1s")
    assert case.exit == DONE, case.stderr
    assert (case.folder / "run/stdout.log").stat().st_size > 1 << 20


def test_a_program_whose_files_may_not_grow(run):
    """The file of its standard output is one of them."""
    command = node("--flood-stdout", "--file-limit", "1000000")
    case = run("--rate", "0.1", command=command, end=None)
    assert case.exit == CHILD, case.stderr
    case.says("ci_node.py", "was ended by signal 25 (SIGXFSZ)")
    assert (case.folder / "run/stdout.log").stat().st_size == 1_000_000


def test_a_recording_that_may_not_grow(run):
    """A limit of the player and all below it: 1024 blocks of 512 bytes, or of 1 KiB."""
    below = ("sh", "-c", 'ulimit -f 1024; exec "$0" "$@"')
    case = run(*GATE, command=node("--extra", "2000", "--no-timer"), end="+0.3s", prefix=below)
    assert case.exit == FAILED, case.stderr
    case.says("the outputs are recorded", "outputs.mcap", "File too large")


@pytest.fixture
def small_disk():
    """The words before a command that give it a disk of 80 MiB in a folder, which no other process sees."""
    folder = Path("/mnt")
    mount = f'mount -t tmpfs -o size=80m none {folder} && exec "$0" "$@"'
    below = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount)
    if subprocess.run([*below, "true"], capture_output=True).returncode != 0:
        pytest.skip("this system lets nobody mount a disk of their own")
    return folder, below


def test_a_program_that_fills_the_disk(run, small_disk):
    folder, below = small_disk
    command = node("--flood-stdout")
    case = run("--rate", "0.1", command=command, end=None, prefix=below, run=folder / "run")
    assert case.exit == CHILD, case.stderr
    case.says("ci_node.py was ended after", "MiB of the disk with /mnt/run are free")


def test_nothing_is_started_on_a_disk_that_is_full(run, small_disk):
    folder, below = small_disk
    fill = (*below[:-1], f"{below[-1]}".replace("exec", f"head -c 40m /dev/zero > {folder}/big && exec"))
    case = run(*GATE, command=node(), prefix=fill, run=folder / "run")
    assert case.exit == FAILED, case.stderr
    assert "the disk with /mnt/run has only" in case.stderr


def test_a_program_that_closes_its_output(run):
    case = run(*GATE, command=node("--close-stdout"), end="+0.3s")
    assert case.exit == DONE, case.stderr
    assert case.counts()["/answer"] == 60


@pytest.mark.parametrize("flags", [GATE, ("--lockstep",)], ids=["gate", "lockstep"])
def test_a_node_that_publishes_thousands_of_messages_for_each(run, flags):
    extra = 2000
    case = run(*flags, command=node("--extra", str(extra), "--no-timer"), end="+0.05s")
    assert case.exit == DONE, case.stderr
    answers = case.counts()["/answer"]
    assert case.counts() == {"/answer": answers, "/text": answers * extra}
    assert all(topic["lost"] == topic["unrecorded"] == 0 for topic in case.report["outputs"])
    assert case.texts("/text") == [f"{n} {i}" for n in range(answers) for i in range(extra)]


def test_a_program_that_ignores_term(run):
    case = run(*GATE, "--grace", "0.5", command=node("--ignore-term"), end="+0.1s")
    assert case.exit == DONE, case.stderr
    case.says("ci_node.py", "did not end within 0.5 s of SIGTERM and was killed")


def test_a_daemon_is_ended_and_named(run):
    case = run(*GATE, command=node("--daemon"), end="+0.1s")
    assert case.exit == DONE, case.stderr
    case.says("ci_node.py", "left processes behind, which were ended", "sleep (")
    (orphan,) = case.report["child"]["orphans"]
    assert not is_alive(int(re.fullmatch(r"sleep \((\d+)\)", orphan)[1]))


# It is interrupted


@pytest.mark.parametrize("flags", [GATE, ("--lockstep",)], ids=["gate", "lockstep"])
@pytest.mark.parametrize("faults", [(), ("--silent",)], ids=["answers", "silent"])
def test_ctrl_c_ends_run_and_program_and_writes_the_reports(run, flags, faults):
    # It would take minutes.
    slow = (*flags, "--rate", "0.1", "--gate-timeout", "600")
    with run.start(*slow, command=node("--daemon", *faults), end=None) as running:
        running.wait_for_node('"first"')
        children = running.children()
        running.interrupt()
        case = running.case(30)
    assert case.exit == INTERRUPTED, case.stderr
    assert case.report["ended"] == "interrupted" and case.report["exit_code"] == INTERRUPTED
    assert check(case, "child")["verdict"] == "passed"
    assert case.junit.find("testsuite") is not None
    assert children and not any(is_alive(child) for child in children)
    (orphan,) = case.report["child"]["orphans"]
    assert not is_alive(int(re.fullmatch(r"sleep \((\d+)\)", orphan)[1]))
    assert set(case.recording.topics) <= {"/answer", "/timer"}


# Outputs that do not come as they were published


def test_a_lost_output_and_one_that_comes_twice_are_counted_each_and_named(run):
    case = run(*GATE, command=node("--lose-at", "3"), end="+0.2s")
    assert case.exit == 1, case.stderr
    (answer,) = (it for it in case.report["outputs"] if it["topic"] == "/answer")
    # The one that came twice does not stand for the one that is lost.
    assert (answer["lost"], answer["repeated"], answer["earlier"], answer["reordered"]) == (1, 1, 0, 0)
    (publisher,) = answer["publishers"]
    assert (publisher["node"], publisher["lost"], publisher["repeated"]) == ("/ci_node", 1, 1)
    case.says("/answer by /ci_node: at least 1 message lost, 1 received twice")


@pytest.mark.parametrize("flags, exit", [((), DONE), (("--strict",), 1)], ids=["", "strict"])
def test_outputs_from_before_the_first_one_are_counted_and_fail_a_strict_run(run, flags, exit):
    case = run(*GATE, *flags, command=node("--early", "4"), end="+0.2s")
    assert case.exit == exit, case.stderr
    (answer,) = (it for it in case.report["outputs"] if it["topic"] == "/answer")
    assert (answer["earlier"], answer["lost"]) == (4, 0)
    case.says("/answer by /ci_node: 4 messages were published before the first one that was received")


@pytest.mark.parametrize("flags, exit", [((), DONE), (("--strict",), 1)], ids=["", "strict"])
def test_an_output_that_cannot_be_received_is_named_and_fails_a_strict_run(run, flags, exit):
    case = run(*GATE, *flags, command=node("--odd"), end="+0.2s")
    assert case.exit == exit, case.stderr
    (unreceived,) = case.report["unreceived"]
    assert (unreceived["topic"], unreceived["node"]) == ("/odd//name", "/ci_node")
    case.says("/odd//name by /ci_node is not received")
    assert "1 publisher not received" in case.stderr


def test_an_output_that_cannot_be_received_fails_a_run_that_names_it(run, tmp_path):
    file = tmp_path / "expect.toml"
    file.write_text('[[expect]]\ntopic = "/odd//name"\nabsent = true\n')
    case = run(*GATE, "--expect", file, command=node("--odd"), end="+0.2s")
    (check,) = (it for it in case.report["checks"] if it["name"] == "every output is received")
    assert check["verdict"] == "error", case.stderr
    assert case.exit != DONE


LEASE = """
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, lambda *_: print("opened", flush=True))
file = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
while True:
    signal.pause()
"""


class Lease(subprocess.Popen):
    """A process that holds a lease of a file until the end of the `with` block."""

    def __init__(self, file):
        words = [sys.executable, "-c", LEASE, file]
        super().__init__(words, stdout=subprocess.PIPE, text=True)

    def __exit__(self, *reason):
        self.kill()
        super().__exit__(*reason)


def test_a_second_ctrl_c_ends_a_run_whose_program_cannot_be_opened_yet(run, tmp_path):
    """As on a disk that does not answer: executing the file waits until the lease is given back."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexec sleep 1000\n")
    program.chmod(0o755)
    with Lease(program) as holder:
        assert holder.stdout.readline() == "held\n"
        with run.start(*GATE, command=[str(program)]) as running:
            assert holder.stdout.readline() == "opened\n"
            children = running.children()
            running.interrupt()
            running.interrupt_until_it_ends()
            case = running.case(30)
    assert case.exit == INTERRUPTED, case.stderr
    assert children and not any(is_alive(child) for child in children)
