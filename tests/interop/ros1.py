"""A network of ROS 1 as Debian has it: its master, nodes of `rospy` (`ros1_node.py`) and of `roscpp`, its tools."""

import json
import os
import signal
import subprocess
import time
import xmlrpc.client
from pathlib import Path

HERE = Path(__file__).parent
# The packages of Debian are for this one.
PYTHON = "/usr/bin/python3"
RELAY = "/usr/lib/topic_tools/relay"
PATIENCE = 60
# The name of the player's node.
PLAYER = "/rosbag2_player"


def until(what: str, holds, timeout: float = PATIENCE) -> None:
    deadline = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not in time"
        time.sleep(0.01)


class Network:
    """What uses the master at a port. Everything that was started is killed at the end of the `with` block."""

    def __init__(self, folder: Path, port: int):
        self.port = port
        self._folder = folder
        self._processes = []
        # Of the environment of a developer, or of a virtual one, nothing reaches these programs.
        self._environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}
        self._environment |= {
            "ROS_MASTER_URI": f"http://127.0.0.1:{port}",
            "ROS_HOSTNAME": "127.0.0.1",
            "ROS_HOME": str(folder),
            "ROS_PACKAGE_PATH": str(folder),
            "HOME": str(folder),
        }
        self.api = xmlrpc.client.ServerProxy(f"http://127.0.0.1:{port}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.wait()

    def start(self, name: str, *command) -> subprocess.Popen:
        """Its output is in a file of that name."""
        with (self._folder / name).open("w") as out:
            process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self._environment,
            )
        self._processes.append(process)
        return process

    def output(self, name: str) -> str:
        return (self._folder / name).read_text()

    def call(self, *command) -> subprocess.CompletedProcess:
        """Runs a tool."""
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=self._environment, timeout=PATIENCE)

    def run(self, *command) -> str:
        """The output of a tool that succeeds."""
        done = self.call(*command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def master(self) -> subprocess.Popen:
        """Debian's master, which answers."""
        process = self.start("rosmaster", "/usr/bin/rosmaster", "--core", "-p", self.port)
        until("the master", self.answers)
        return process

    def answers(self) -> bool:
        try:
            return self.api.getPid("/test")[0] == 1
        except OSError:
            return False

    def param(self, name: str):
        """The value of a parameter; `None` if it is not set."""
        code, _, value = self.api.getParam("/test", name)
        return value if code == 1 else None

    def publishers(self, topic: str) -> list[str]:
        """The nodes that publish a topic, as the master knows them."""
        publishers, _, _ = self.api.getSystemState("/test")[2]
        return [node for name, nodes in publishers if name == topic for node in nodes]

    def publishes(self, node: str, topic: str) -> bool:
        return node in self.publishers(topic)

    def connections(self, node: str, topic: str) -> int:
        """How many nodes are connected to a topic of a node."""
        at = self.api.lookupNode("/test", node)[2]
        return sum(row[4] == topic for row in xmlrpc.client.ServerProxy(at).getBusInfo("/test")[2])

    def package(self, name: str) -> None:
        """Tools that Debian packages without the description of their ROS package find this one."""
        folder = self._folder / name
        folder.mkdir()
        fields = {"name": name, "version": "0.0.0", "description": "A tool.", "license": "none"}
        fields = "".join(f"<{key}>{value}</{key}>" for key, value in fields.items())
        person = "<maintainer email='nobody@example.com'>nobody</maintainer>"
        (folder / "package.xml").write_text(f"<package>{fields}{person}</package>")

    def node(self, name: str, *arguments: str) -> "Node":
        return Node(self, name, self.start(name, PYTHON, HERE / "ros1_node.py", name, *arguments))


class Node:
    """`ros1_node.py`."""

    def __init__(self, network: Network, name: str, process: subprocess.Popen):
        self._network, self._name, self._process = network, name, process

    def _lines(self) -> list[dict]:
        # The last line may be unfinished.
        *lines, _ = self._network.output(self._name).split("\n")
        return [json.loads(line) for line in lines if line.startswith("{")]

    def ready(self) -> dict:
        """Waits until it has subscribed."""

        def is_ready() -> bool:
            assert self._process.poll() is None, self._network.output(self._name)
            return any("ready" in line for line in self._lines())

        until(f"{self._name}\n{self._network.output(self._name)}", is_ready)
        return next(line for line in self._lines() if "ready" in line)

    def lines(self, key: str) -> list[dict]:
        """What it has told with this key so far."""
        return [line for line in self._lines() if key in line]

    def got(self, topic: str, publisher: str = PLAYER) -> list[dict]:
        """The messages so far."""
        return [it for it in self.lines("topic") if (it["topic"], it["publisher"]) == (topic, publisher)]

    def digests(self, topic: str, publisher: str = PLAYER) -> list[str]:
        return [message["digest"] for message in self.got(topic, publisher)]

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

    def is_stopped(self) -> bool:
        return Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"

    def is_killed(self) -> bool:
        return self._process.poll() == -signal.SIGKILL
