#!/usr/bin/env python3
"""Takes the pictures of the transport bar from real runs of the demo, in tmux, with a node that subscribes. Prints the
bar in 80 columns, for the README.

    target/interop-venv/bin/python docs/images/take.py target/release/play

The venv is the one of `tests/interop/README.md`.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/interop"))

from node import CLOCK, Node  # noqa: E402
from recording import Recording  # noqa: E402

SERVER, SESSION = f"bagplay-pictures-{os.getpid()}", "play"
SUBSCRIBED = ["/imu", "/odom", "/scan", "/tf", "/tf_static"]
PORT = 29417


def tmux(*args: str) -> str:
    command = ["tmux", "-L", SERVER, "-f", "/dev/null", *args]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def screen(*flags: str) -> str:
    return tmux("capture-pane", "-t", SESSION, "-p", *flags)


def wait(what: str, is_shown) -> None:
    deadline = time.monotonic() + 60
    while not is_shown(screen()):
        if time.monotonic() > deadline:
            sys.exit(f"never saw {what}, but\n{screen()}")
        time.sleep(0.02)


def press(keys: str, then: str) -> None:
    """Keys by their names in tmux, or as letters, separated by blanks; then waits for a text."""
    for key in keys.split():
        tmux("send-keys", "-t", SESSION, key)
    wait(then, lambda shown: then in shown)


def go_to(seconds: str) -> None:
    """To this many seconds after the start, which is at 10:53:20."""
    press("g", " go to: ")
    shown = f"10:53:{20 + float(seconds):06.3f}"
    tmux("send-keys", "-t", SESSION, "-l", shown)
    press("Enter", f" {shown} CEST")


def selected(shown: str) -> list[str]:
    """The selected line of a card, and the lines that it is part of, without values."""
    lines = [line.strip("│").split(":")[0].rstrip() for line in shown.split("\n")]
    at = next((at for at, line in enumerate(lines) if line.startswith("›")), None)
    if at is None:
        return []
    path, depth = [], len(lines[at])
    for line in (lines[at].replace("›", " "), *reversed(lines[:at])):
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent < depth:
            path.insert(0, line.split()[0])
            depth = indent
    return path


def watch(*path: str) -> None:
    """Moves down in a card to a field and watches it."""
    while selected(screen())[-len(path) :] != list(path):
        before = selected(screen())
        tmux("send-keys", "-t", SESSION, "Down")
        wait("another field", lambda shown: selected(shown) not in ([], before))
    press("w", f"{path[-1]} is watched")
    press("Escape", "q quit")


def save(name: str) -> None:
    command = [sys.executable, ROOT / "docs/images/screen.py"]
    made = subprocess.run(command, input=screen("-e"), check=True, capture_output=True, text=True)
    (ROOT / f"docs/images/{name}.svg").write_text(made.stdout)


def run(play: Path, size: tuple[int, int], take) -> None:
    """Calls `take` with a bar that is paused at the start and has six subscribers."""
    with tempfile.TemporaryDirectory() as home:
        settings = f"HOME={home} XDG_STATE_HOME={home} XDG_CONFIG_HOME={home} TZ=Europe/Berlin"
        settings += " COLORTERM=truecolor LC_ALL=C.UTF-8"
        # Marks are kept beside the recording.
        demo = shutil.copy(ROOT / "testdata/demo.mcap", home)
        flags = f"--clock --rate 0.5 --start-paused --listen tcp/127.0.0.1:{PORT}"
        command = f"env -u CI -u NO_COLOR {settings} {play} {demo} {flags}"
        area = ["-x", str(size[0]), "-y", str(size[1])]
        tmux("new-session", "-d", "-s", SESSION, *area, command)
        try:
            tmux("set", "-g", "status", "off")
            tmux("resize-window", "-t", SESSION, *area)
            wait("the bar", lambda shown: "PAUSED" in shown and "/camera" in shown)
            topics = Recording(ROOT / "testdata/demo.mcap").topics
            node = Node(PORT, [CLOCK, *(topics[name] for name in SUBSCRIBED)])
            wait("the subscribers", lambda shown: "6 subscribers" in shown)
            take()
            node.session.close()
        finally:
            tmux("kill-server")


def watch_imu() -> None:
    go_to("5")
    press("j j Enter", "recorded QoS")
    wait("a message", lambda shown: selected(shown))
    watch("angular_velocity", "z")


def pictures() -> None:
    watch_imu()
    press("k k Enter", "picture ")
    wait("a message", lambda shown: selected(shown))
    watch("picture")
    for mark in ["3.75", "22.05"]:
        go_to(mark)
        press("m", f"mark at +00:{int(float(mark)):02}")
    go_to("7.65")
    press("l", "A at +00:")
    go_to("20.55")
    press("l", "loops from A")
    go_to("19.5")
    press("Space", "lap 2")
    wait("some seconds", lambda shown: re.search(r"\+00:11\.\d+ /", shown) is not None)
    save("transport-bar")
    press("Enter", "recorded QoS")
    wait("the picture", lambda shown: re.search(r"│›picture +\d", shown) is not None and "▀▀▀▀" in shown)
    save("topic-card")


def text() -> None:
    watch_imu()
    press("0", "+00:00.000 / ")
    press("Space", "PLAYING")
    wait("some seconds", lambda shown: re.search(r"\+00:11\.7\d+ /", shown) is not None)
    press("Space", "PAUSED")
    press("<", "sent 1 message of /imu")
    before = ""
    # The last rates and the read-ahead.
    while before != screen():
        before = screen()
        time.sleep(0.5)
    print(screen(), end="")


if __name__ == "__main__":
    run(Path(sys.argv[1]).resolve(), (135, 44), pictures)
    run(Path(sys.argv[1]).resolve(), (80, 24), text)
