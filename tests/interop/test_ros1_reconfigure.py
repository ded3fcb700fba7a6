"""`--wire ros1`: rate and pause of the player, as the client and the tool of `dynamic_reconfigure` read and set them."""

import ast
import json
import math
import subprocess

from player import BINARY, Player, environment, free_port
from ros1 import HERE, PLAYER, PYTHON, until

TURTLESIM = "turtlesim_ros1/example_zstd.mcap"
DYNPARAM = "/usr/lib/dynamic_reconfigure/dynparam"
RANGE = {"min": -1000.0, "max": math.inf, "default": 1.0}
SWITCH = {"min": False, "max": True, "default": False}


class Client:
    """`reconfigure_node.py`, which sets these values."""

    def __init__(self, network, name: str, *values: str):
        self._network, self._name = network, name
        self._process = network.start(name, PYTHON, HERE / "reconfigure_node.py", PLAYER, *values)

    def told(self, key: str) -> list:
        *lines, _ = self._network.output(self._name).split("\n")
        lines = [json.loads(line) for line in lines if line.startswith("{")]
        return [line[key] for line in lines if key in line]

    def tells(self, key: str):
        """The last one of these, once there is one."""

        def has() -> bool:
            assert self._process.poll() is None, self._network.output(self._name)
            return bool(self.told(key))

        until(f"{self._name}: {key}", has)
        return self.told(key)[-1]

    def gets(self, rate: float, paused: bool) -> None:
        """Waits until these are the last values that it was sent."""

        def has() -> bool:
            configs = self.told("config")
            return bool(configs) and (configs[-1]["rate"], configs[-1]["paused"]) == (rate, paused)

        until(f"rate {rate}, paused {paused}", has)


def dynparam(network, *arguments: str) -> str:
    return network.run(PYTHON, DYNPARAM, *arguments)


def values(network) -> tuple[float, bool]:
    """What the tool reads."""
    # As Python writes it.
    config = ast.literal_eval(dynparam(network, "get", PLAYER).strip())
    assert config["groups"]["name"] == "Default"
    return config["rate"], config["paused"]


def test_the_client_and_the_tool_read_and_set_rate_and_pause(data, network, tmp_path):
    network.master()
    network.package("dynamic_reconfigure")
    flags = ("--start-paused", "--loop", "--rate", "0.5")
    with Player(data / TURTLESIM, *flags, master=network.port) as player:
        player.wait_for_log("paused at the start")
        watcher = Client(network, "watcher")
        rate, paused = watcher.tells("parameters")
        assert (rate["name"], rate["type"], {key: rate[key] for key in RANGE}) == ("rate", "double", RANGE)
        assert (paused["name"], paused["type"], {key: paused[key] for key in SWITCH}) == ("paused", "bool", SWITCH)
        watcher.gets(0.5, True)
        setter = Client(network, "setter", "rate=2.5", "paused=false")
        answer = setter.tells("answer")
        assert (answer["rate"], answer["paused"]) == (2.5, False)
        for client in (watcher, setter):
            client.gets(2.5, False)
        # Other services of the player.
        network.run("/usr/bin/rosservice", "call", f"{PLAYER}/pause")
        watcher.gets(2.5, True)
        assert network.run("/usr/bin/rosservice", "type", f"{PLAYER}/set_parameters").strip() == "dynamic_reconfigure/Reconfigure"

        assert dynparam(network, "list").split() == [PLAYER]
        assert values(network) == (2.5, True)
        dynparam(network, "set", PLAYER, "rate", "-4")
        watcher.gets(-4.0, True)
        dynparam(network, "set", PLAYER, "{'rate': 5000, 'paused': false}")
        watcher.gets(1000.0, False)
        dynparam(network, "set", PLAYER, "{'rate': 0.25, 'paused': true}")
        watcher.gets(0.25, True)
        kept = str(tmp_path / "kept.yaml")
        dynparam(network, "dump", PLAYER, kept)
        dynparam(network, "set", PLAYER, "rate", "inf")
        watcher.gets(math.inf, True)
        dynparam(network, "load", PLAYER, kept)
        watcher.gets(0.25, True)
        unknown = "config: {doubles: [{name: speed, value: 2.0}]}"
        refused = network.call("/usr/bin/rosservice", "call", f"{PLAYER}/set_parameters", unknown)
        assert refused.returncode and "there is no parameter `speed` of type double" in refused.stderr, refused
        assert values(network) == (0.25, True)
        network.run("/usr/bin/rosservice", "call", f"{PLAYER}/stop")
        assert player.exit_code(30) == 0, player.stderr()


def test_a_client_sees_what_a_command_on_another_wire_changes(data, network):
    network.package("dynamic_reconfigure")
    endpoint = f"tcp/127.0.0.1:{free_port()}"
    flags = ("--wire", "rmw_zenoh", "--listen", endpoint, "--start-paused", "--loop")
    with Player(data / TURTLESIM, *flags, master=network.port) as player:
        player.wait_for_log("paused at the start")
        watcher = Client(network, "watcher")
        watcher.gets(1.0, True)
        for words, seen in ((("rate", "3"), (3.0, True)), (("resume",), (3.0, False)), (("rate", "max"), (math.inf, False))):
            command = [BINARY, "ctl", *words, "--connect", endpoint]
            subprocess.run(command, stdin=subprocess.DEVNULL, env=environment(), check=True, timeout=60)
            watcher.gets(*seen)
        dynparam(network, "set", PLAYER, "{'rate': 1.5, 'paused': true}")
        watcher.gets(1.5, True)
        player.interrupt()
        assert player.exit_code(30) is not None
