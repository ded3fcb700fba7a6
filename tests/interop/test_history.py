"""`benches/history`: programs that write made-up figures stand for two builds of a benchmark."""

import json
import subprocess
from pathlib import Path

import pytest

from player import HOUSE

HISTORY = HOUSE / "benches/history"
PROGRAM = """#!/bin/sh
turn=$(cat "$0.turn" 2>/dev/null || echo 0)
echo $((turn + 1)) > "$0.turn"
sed "s/VALUE/$(sed -n "$((turn % 4 + 1))p" "$0.values")/" "$0.json" > "$BAGPLAY_BENCH_FIGURES/made_up.json"
"""


def run_of(value: object, better: str) -> dict:
    figures = [
        {"row": "r", "column": "c", "value": value, "unit": "ms", "better": better},
        {"row": "r", "column": "loop", "value": 1.0, "unit": "ms"},
    ]
    return {
        "bench": "made_up",
        "arguments": [],
        "when": "2026-11-25T10:00:00Z",
        "commit": "abc",
        "machine": {"cores": 2},
        "meanwhile": {"seconds": 1.0},
        "figures": figures,
    }


def build(folder: Path, name: str, values: list[float], better: str) -> Path:
    """An executable that writes these values, one in each run."""
    path = folder / name
    path.write_text(PROGRAM)
    path.chmod(0o755)
    Path(f"{path}.json").write_text(json.dumps(run_of("VALUE", better)).replace('"VALUE"', "VALUE"))
    Path(f"{path}.values").write_text("".join(f"{value}\n" for value in values))
    return path


def history(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([HISTORY, *map(str, arguments)], capture_output=True, text=True)


@pytest.mark.parametrize(
    ("a", "b", "better", "code", "verdict"),
    [
        ([10.0, 10.1, 10.0, 10.2], [12.0, 12.1, 12.0, 12.1], "lower", 1, "worse"),
        ([10.0, 10.1, 10.0, 10.2], [12.0, 12.1, 12.0, 12.1], "higher", 0, "better"),
        # As large as the noise of A.
        ([10.0, 13.0, 10.0, 13.0], [12.0, 12.0, 12.0, 12.0], "lower", 0, ""),
        # Below the floor.
        ([10.0, 10.0, 10.0, 10.0], [10.1, 10.1, 10.1, 10.1], "lower", 0, ""),
        ([0, 0, 0, 0], [0, 0, 0, 0], "lower", 0, ""),
        ([0, 0, 0, 0], [3, 1, 2, 3], "lower", 1, "worse"),
        ([0, 3, 0, 3], [3, 0, 3, 0], "lower", 0, ""),
    ],
)
def test_a_pair_is_judged_beyond_noise(tmp_path, a, b, better, code, verdict):
    a, b = build(tmp_path, "a", a, better), build(tmp_path, "b", b, better)
    done = history("pair", a, b, "--turns", 4)
    assert done.returncode == code, done.stdout + done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("made_up: r, c, ms")]
    words = line.split()
    assert words[-1] == verdict or not verdict and words[-1] not in ("worse", "better")
    # Only what says something about the program is judged.
    assert "loop" not in done.stdout


def test_what_cannot_be_run_is_an_error(tmp_path):
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\n")
    silent.chmod(0o755)
    done = history("pair", silent, silent)
    assert done.returncode == 2 and "writes no figures" in done.stderr
    done = history("pair", "no-such-commit", silent)
    assert done.returncode == 2 and "neither a file nor a commit" in done.stderr


def test_the_figures_of_a_summary_are_a_line(tmp_path):
    summary, kept = tmp_path / "summary.json", tmp_path / "kept/history.jsonl"
    summary.write_text(json.dumps({"runs": [run_of(5.0, "lower")], "missing": []}))
    for lines in (1, 2):
        done = history("record", "--summary", summary, "--file", kept)
        assert done.returncode == 0, done.stderr
        written = [json.loads(line) for line in kept.read_text().splitlines()]
        assert len(written) == lines
    assert written[0]["commit"] == "abc"
    assert written[0]["figures"] == {"made_up: r, c": {"value": 5.0, "unit": "ms"}}
