"""`--wire` more than once: nodes of ROS 2 on zenoh, of ROS 2 on DDS behind a bridge, and of ROS 1 follow one player."""

import hashlib

from cyclonedds.idl.types import uint8
from mcap.writer import Writer

import dds
from clock import is_at_100_hz
from node import CLOCK, Node, clock_value
from player import Player, free_port
from ros1 import PLAYER, Network, until
from service import HEADER, PlayerClient, string
from strings import string_topic

CHATTER = string_topic("/chatter")
COUNT = 400
EMPTY = {"nothing": uint8}
WIRES = ("--wire", "rmw_zenoh", "--wire", "ros2dds", "--wire", "ros1")


def write_ros1(path) -> list[str]:
    """A recording of ROS 1, 100 texts a second; returns the texts."""
    texts = [f"message {number}" for number in range(COUNT)]
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start(profile="ros1")
        schema = writer.register_schema("std_msgs/String", "ros1msg", b"string data\n")
        channel = writer.register_channel(CHATTER.name, "ros1", schema)
        for number, text in enumerate(texts):
            at = 10**9 + number * 10**7
            writer.add_message(channel, at, ros1_string(text), at)
        writer.finish()
    return texts


def ros1_string(text: str) -> bytes:
    return len(text).to_bytes(4, "little") + text.encode()


def ros1_digests(texts: list[str]) -> list[str]:
    return [hashlib.sha256(ros1_string(text)).hexdigest() for text in texts]


def of_dds(payload: bytes) -> bytes:
    """Without the padding of DDS."""
    length = 8 + int.from_bytes(payload[4:8], "little")
    return payload[:length]


def dds_clock(reader: dds.Reader) -> list[int]:
    return [clock_value(payload[:12]) for payload in reader.take()]


class Listeners:
    """One node on each wire, which subscribes to the texts and the clock."""

    def __init__(self, port: int, domain: int, network: Network):
        self.zenoh = Node(port, [CLOCK, CHATTER])
        self._dds = dds.Node(domain, "listener")
        self.on_dds = self._dds.subscribe(CHATTER.name, CHATTER.type_name, dds.profile())
        self.clock_on_dds = self._dds.subscribe("/clock", CLOCK.type_name, dds.profile())
        self.ros1 = network.node("listener", f"{CHATTER.name}=std_msgs/String", "/clock=rosgraph_msgs/Clock")
        self.ros1.ready()

    def got(self, texts: list[str]) -> None:
        """Each has got these texts, in this order and byte for byte."""
        cdr = [HEADER + string(text) for text in texts]
        until("the node on zenoh", lambda: len(self.zenoh.of(CHATTER.name)) >= len(texts))
        assert [sample.payload for sample in self.zenoh.of(CHATTER.name)] == cdr
        until("the node on DDS", lambda: len(self.on_dds.take()) >= len(texts))
        assert [of_dds(payload) for payload in self.on_dds.payloads] == cdr
        until("the node of ROS 1", lambda: len(self.ros1.got(CHATTER.name)) >= len(texts))
        assert self.ros1.digests(CHATTER.name) == ros1_digests(texts)

    def clocks(self) -> list[list[int]]:
        """The values of the clock that each has got."""
        zenoh = [clock_value(sample.payload) for sample in self.zenoh.of("/clock")]
        ros1 = [message["clock"] for message in self.ros1.got("/clock")]
        return [zenoh, dds_clock(self.clock_on_dds), ros1]


def test_nodes_of_each_kind_get_every_message_and_one_clock(domain, network, tmp_path):
    texts, port = write_ros1(tmp_path / "chatter.mcap"), free_port()
    network.master()
    flags = ("--clock", "100", "--wait-for-subscribers", f"{CHATTER.name}=3")
    with dds.Bridge(tmp_path, port, domain):
        listeners = Listeners(port, domain, network)
        with Player(tmp_path / "chatter.mcap", *WIRES, *flags, router=port, master=network.port) as player:
            summary = player.finish(60)
        listeners.got(texts)
        for clock in listeners.clocks():
            assert is_at_100_hz(clock), clock
        listeners.zenoh.close()
    assert summary["messages_sent"] == COUNT
    assert [(wire["wire"], wire["messages_sent"], wire["lost"]) for wire in summary["wires"]] == [
        ("rmw_zenoh", COUNT, 0),
        ("ros2dds", COUNT, 0),
        ("ros1", COUNT, 0),
    ]


def test_any_wire_pauses_the_run_and_all_nodes_stand_still(domain, network, tmp_path):
    texts, port = write_ros1(tmp_path / "chatter.mcap"), free_port()
    network.master()
    # So slow that most of the recording is left when the calls have come.
    flags = ("--clock", "100", "--start-paused", "--rate", "0.1")
    with dds.Bridge(tmp_path, port, domain):
        listeners = Listeners(port, domain, network)
        with Player(tmp_path / "chatter.mcap", *WIRES, *flags, router=port, master=network.port) as player:
            player.wait_for_log("paused at the start")
            until("the node of ROS 1", lambda: network.connections(PLAYER, CHATTER.name) == 1)
            node = dds.Node(domain, "caller")
            resume = node.client(f"{PLAYER}/resume", "rosbag2_interfaces/srv/Resume", EMPTY, EMPTY)
            dds.until("the service", resume.is_ready)
            resume.call_repeatedly(nothing=0)
            until("a message", lambda: listeners.ros1.got(CHATTER.name))
            network.run("/usr/bin/rosservice", "call", f"{PLAYER}/pause")
            # What was put after the answer of the call is the time of the pause.
            listeners.zenoh.wait_for_ticks(1)
            stand_still = lambda: {tuple(clock[-1:]) for clock in listeners.clocks()} == {(listeners.zenoh.shown,)}
            until("all clocks stand still at one time", stand_still)
            listeners.zenoh.wait_for_ticks(20)
            assert stand_still()
            assert PlayerClient(listeners.zenoh.session).set_rate(10)
            network.run("/usr/bin/rosservice", "call", f"{PLAYER}/resume")
            player.finish(60)
        until("the last message", lambda: listeners.ros1.digests(CHATTER.name)[-1:] == ros1_digests(texts[-1:]))
        listeners.zenoh.close()


def test_a_bridge_that_dies_holds_the_run_and_nothing_is_lost_elsewhere(domain, network, tmp_path):
    texts, port = write_ros1(tmp_path / "chatter.mcap"), free_port()
    network.master()
    wires = ("--wire", "ros1", "--wire", "ros2dds")
    flags = ("--wait-for-subscribers", f"{CHATTER.name}=2")
    node = dds.Node(domain, "listener")
    on_dds = node.subscribe(CHATTER.name, CHATTER.type_name, dds.profile())
    ros1 = network.node("listener", f"{CHATTER.name}=std_msgs/String")
    ros1.ready()
    with Player(tmp_path / "chatter.mcap", *wires, *flags, router=port, master=network.port) as player:
        with dds.Bridge(tmp_path, port, domain):
            dds.until("the first messages", lambda: len(on_dds.take()) > 50)
        player.wait_for_log("connection to the zenoh router lost")
        held = len(on_dds.take())
        assert held < COUNT
        with dds.Bridge(tmp_path, port, domain):
            summary = player.finish(60)
            last = HEADER + string(texts[-1])
            dds.until("the last message", lambda: of_dds(on_dds.take()[-1]) == last)
    until("the node of ROS 1", lambda: len(ros1.got(CHATTER.name)) >= COUNT)
    assert ros1.digests(CHATTER.name) == ros1_digests(texts)
    assert summary["wires"][0]["messages_sent"] == COUNT
