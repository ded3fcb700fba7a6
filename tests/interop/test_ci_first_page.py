"""The first page of docs/ci.md, as a new user follows it: its commands and files, in order, with another node in place of theirs."""

import json
import pathlib
import re
import shlex
import tomllib

import pytest

from ci_run import DEMO, DONE, VERDICT, node, play_in
from recording import Recording

PAGE = (pathlib.Path(__file__).parents[2] / "docs/ci.md").read_text()
# From the first heading of the page to the next one.
(FIRST,) = re.findall(r"\n## From a recording and a node to a CI job\n(.*?)\n## ", PAGE, re.DOTALL)
NODE = node("--no-timer", "--echo", "0")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", FIRST, re.DOTALL)


def commands(block: str) -> list[list[str]]:
    """The command lines after `$`, with their continuations."""
    lines = block.replace("\\\n", " ").splitlines()
    return [shlex.split(line[2:]) for line in lines if line.startswith("$ ")]


def suited(text: str) -> str:
    """The topics of the page, as the node of this test has them."""
    return text.replace("/odom", "/answer").replace("/points", "/imu")


def words_of(command: list[str]) -> list[str]:
    """The words after `play`; what comes after `--` becomes this test's node."""
    assert command[0] == "play", command
    words = command[1:]
    if "--" in words:
        words = words[: words.index("--")] + ["--", *NODE]
    return words


@pytest.fixture
def play(tmp_path, demo):
    (tmp_path / "drive.mcap").symlink_to(DEMO)
    (tmp_path / "ci").mkdir()

    def play(*words: str, exit: int = DONE) -> str:
        done = play_in(tmp_path, demo.topics["/imu"].hash, *words)
        assert done.returncode == exit, done.stdout
        return done.stdout

    return play


def scenario(text: str) -> str:
    """The scenario of the page with the command of this test's node; the rest is as it stands there."""
    assert tomllib.loads(text)["command"][0] == "ros2"
    changed, number = re.subn(r"(?m)^command = .*$", lambda _: f"command = {json.dumps(NODE)}", text)
    assert number == 1
    # A part of the recording is enough.
    return changed + 'end = "+1s"\n'


def test_the_first_page_works_as_it_stands(play, tmp_path):
    (once,), (frozen, added) = map(commands, blocks("console"))
    expect, slam = blocks("toml")
    golden = re.search(r"Add `(golden = [^`]*)` to the scenario", FIRST)[1]
    ci = re.search(r"^ +play (suite ci .*)$", FIRST, re.MULTILINE)[1].split()

    # 1. Run it once.
    said = play(*words_of(once)[:1], "--end", "+1s", *words_of(once)[1:])
    answers = len(Recording(tmp_path / "out.mcap").of("/answer"))
    assert answers >= 100
    assert (tmp_path / "bagplay-run-drive/stdout.log").is_file(), said
    assert "/answer" in play("info", "out.mcap")

    # 2. Say what you expect.
    (tmp_path / "ci/expect.toml").write_text(suited(expect))
    words = words_of(once)
    at = words.index("--")
    play(*words[:at], "--end", "+1s", "--expect", "ci/expect.toml", *words[at:])

    # 3. Put everything into one file.
    (tmp_path / "ci/slam.toml").write_text(scenario(slam))
    (by_scenario,) = re.findall(r"`play (--scenario ci/slam.toml --isolated)` runs it", FIRST)
    play(*by_scenario.split())
    play("suite", "ci")

    # 4. Freeze what is right today.
    (tmp_path / "ci/slam.toml").write_text(scenario(slam) + golden + "\n")
    missing = play("suite", "ci", exit=2)
    assert "ci/slam.golden.mcap" in missing and "--update-golden" in missing
    play(*words_of(frozen))
    assert added[:2] == ["git", "add"] and (tmp_path / added[2]).is_file()
    assert len(Recording(tmp_path / added[2]).of("/answer")) == answers

    # 5. The command of the CI job.
    play(*ci)
    for report in (ci[ci.index("--junit") + 1], ci[ci.index("--html") + 1], "bagplay-suite"):
        assert (tmp_path / report).exists()
    # A node that differs is a red job.
    text = (tmp_path / "ci/slam.toml").read_text().replace(json.dumps(NODE), json.dumps([*NODE, "--differ-at", "20"]))
    (tmp_path / "ci/slam.toml").write_text(text)
    said = play(*ci, exit=VERDICT)
    assert "message 20 at " in said and "`linear_acceleration_covariance[8]` is " in said, said
    (measure,) = re.findall(r"`play (suite ci --filter slam --repeat )50`", FIRST)
    said = play(*measure.split(), "2", exit=VERDICT)
    assert "slam" in said
