"""`--wire ros1`: what nodes of `rospy` and `roscpp` and the tools of ROS 1 get, with their master and with that of the player."""

import hashlib
import signal
from collections import defaultdict
from itertools import pairwise

from mcap.reader import make_reader
from mcap.writer import Writer

from player import Player
from ros1 import PATIENCE, PLAYER, RELAY, until

TURTLESIM = "turtlesim_ros1/example_zstd.mcap"
# Those of packages that Debian does not have are taken as any type. `tf/tfMessage` is recorded of `/tf`: its sum is the same.
TYPES = {
    "/rosout": "rosgraph_msgs/Log",
    "/tf": "tf2_msgs/TFMessage",
    "/tf_static": "tf2_msgs/TFMessage",
    "/turtle1/cmd_vel": "geometry_msgs/Twist",
    "/turtle2/cmd_vel": "geometry_msgs/Twist",
    "/turtle1/color_sensor": "*",
    "/turtle2/color_sensor": "*",
    "/turtle1/pose": "*",
    "/turtle2/pose": "*",
}
LARGE = 600


def recorded(path) -> dict[str, list[str]]:
    """The digests of the messages of each topic, in the order of their times."""
    digests = defaultdict(list)
    with path.open("rb") as file:
        for _, channel, message in make_reader(file).iter_messages():
            digests[channel.topic].append(hashlib.sha256(message.data).hexdigest())
    return digests


def write_large(path) -> list[str]:
    """600 texts of 100 kB; returns their digests."""
    digests = []
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start(profile="ros1")
        schema = writer.register_schema("std_msgs/String", "ros1msg", b"string data\n")
        channel = writer.register_channel("/large", "ros1", schema)
        for number in range(LARGE):
            text = f"{number:06}".encode() * 16_667
            data = len(text).to_bytes(4, "little") + text
            digests.append(hashlib.sha256(data).hexdigest())
            writer.add_message(channel, 10**9 + number * 10**7, data, 10**9 + number * 10**7)
        writer.finish()
    return digests


def test_nodes_of_a_ros_master_get_every_message_byte_for_byte(data, network):
    network.master()
    network.api.setParam("/test", "/use_sim_time", False)
    before = recorded(data / TURTLESIM)
    relay = network.start("relay", RELAY, "/turtle1/cmd_vel", "/relayed", "__name:=relay")
    listener = network.node("listener", "/relayed=geometry_msgs/Twist", *(f"{topic}={kind}" for topic, kind in TYPES.items()))
    listener.ready()
    other = relay_something(network, listener)
    hz = network.start("hz", "/usr/bin/rostopic", "hz", "/turtle2/cmd_vel")
    flags = ("--rate", "4", "--clock", "--use-sim-time", "--start-paused", "--wait-for-subscribers")
    with Player(data / TURTLESIM, *flags, master=network.port) as player:
        player.wait_for_log("paused at the start")
        assert network.param("/use_sim_time") is True
        topics = network.run("/usr/bin/rostopic", "list", "-v")
        for topic, kind in TYPES.items():
            assert f" * {topic} [" in topics, topics
        # The listener, and in each case one more.
        until("rostopic hz", lambda: network.connections(PLAYER, "/turtle2/cmd_vel") == 2)
        until("the relay", lambda: network.connections(PLAYER, "/turtle1/cmd_vel") == 2)
        assert "success: True" in network.run("/usr/bin/rosservice", "call", f"{PLAYER}/pause_playback", "data: false")
        summary = player.finish(60)
    assert summary["messages_sent"] == sum(len(digests) for digests in before.values())
    assert not summary["skipped"]
    for topic, digests in before.items():
        until(topic, lambda: len(listener.got(topic)) >= len(digests))
        assert listener.digests(topic) == digests, topic
    sent = before["/turtle1/cmd_vel"]
    assert other not in sent
    relayed = lambda: [digest for digest in listener.digests("/relayed", "/relay") if digest != other]
    until("the relay", lambda: len(relayed()) >= len(sent))
    assert relayed() == sent
    until("the rate", lambda: "average rate:" in network.output("hz"))
    assert relay.poll() is None and hz.poll() is None
    # What it was.
    assert network.param("/use_sim_time") is False
    publishers, _, services = network.api.getSystemState("/test")[2]
    assert not [name for name, nodes in publishers + services if PLAYER in nodes]


def relay_something(network, listener) -> str:
    """The relay advertises its topic when it has received a message. Publishes one again and again until it has reached
    the listener; returns its digest."""
    words = ("pub", "-r", "10", "/turtle1/cmd_vel", "geometry_msgs/Twist", "{linear: {x: 12345.0}}")
    publisher = network.start("publisher", "/usr/bin/rostopic", *words)
    until("the relay", lambda: listener.got("/relayed", "/relay"))
    publisher.send_signal(signal.SIGINT)
    publisher.wait(PATIENCE)
    until("the end of the publisher", lambda: not network.publishers("/turtle1/cmd_vel"))
    return listener.digests("/relayed", "/relay")[0]


def test_late_nodes_of_the_players_own_master_get_latched_messages_and_the_clock_in_order(data, network):
    before = recorded(data / TURTLESIM)
    flags = ("--clock", "100", "--use-sim-time", "--start-paused", "--begin-at", "+10s")
    with Player(data / TURTLESIM, *flags, master=network.port) as player:
        player.wait_for_log("paused at the start")
        listener = network.node("late", *(f"{topic}={TYPES.get(topic, 'rosgraph_msgs/Clock')}" for topic in ("/tf_static", "/rosout", "/clock")))
        assert listener.ready()["use_sim_time"] is True
        until("latched messages", lambda: len(listener.got("/rosout")) >= 3 and listener.got("/tf_static"))
        assert listener.digests("/tf_static") == before["/tf_static"]
        # The last one of each of three publishers.
        assert len(listener.got("/rosout")) == 3
        assert {message["latching"] for message in listener.got("/rosout") + listener.got("/tf_static")} == {"1"}
        assert network.run("/usr/bin/rosparam", "get", "/use_sim_time").strip() == "true"
        assert "Node [/rosbag2_player]" in network.run("/usr/bin/rosnode", "info", PLAYER)
        assert network.run("/usr/bin/rosservice", "type", f"{PLAYER}/resume").strip() == "std_srvs/Trigger"
        network.run("/usr/bin/rosservice", "call", f"{PLAYER}/resume")
        until("a moving clock", lambda: len({message["clock"] for message in listener.got("/clock")}) > 100)
        assert "success: True" in network.run("/usr/bin/rosservice", "call", f"{PLAYER}/stop")
        assert player.exit_code(30) == 0, player.stderr()
    clocks = [message["clock"] for message in listener.got("/clock")]
    assert clocks == sorted(clocks)
    times = [message["now"] for message in listener.got("/clock")]
    assert times == sorted(times)
    assert not network.answers()


def test_nodes_that_are_killed_or_stopped_are_named_and_others_get_everything(tmp_path, network):
    recording = tmp_path / "large.mcap"
    digests = write_large(recording)
    network.master()
    good = network.node("good", "/large=std_msgs/String")
    stopped = network.node("stopped", "--stop-after", "20", "/large=std_msgs/String")
    killed = network.node("killed", "--kill-after", "40", "/large=std_msgs/String")
    for node in (good, stopped, killed):
        node.ready()
    # Every one has to be connected before it begins.
    flags = ("--rate", "max", "--stall-timeout", "5", "--start-paused")
    with Player(recording, *flags, master=network.port) as player:
        player.wait_for_log("hint: rosservice call /rosbag2_player/resume")
        until("connections", lambda: network.connections(PLAYER, "/large") == 3)
        network.run("/usr/bin/rosservice", "call", f"{PLAYER}/resume")
        player.wait_for_log("/stopped read nothing for")
        summary = player.finish(60)
        player.wait_for_log("/stopped did not take the last messages")
    assert stopped.is_stopped() and killed.is_killed()
    until("the last message", lambda: len(good.got("/large")) == LARGE)
    assert good.digests("/large") == digests
    (topic,) = summary["topics"]
    # What waits for the node that is stopped, and what it has, was not lost.
    assert topic["sent"] == LARGE and 0 < topic["lost"] < LARGE - 20
    assert topic["stalled"] == 1


def test_a_node_that_goes_on_gets_messages_again_and_one_that_is_killed_is_named(tmp_path, network):
    recording = tmp_path / "large.mcap"
    digests = write_large(recording)
    network.master()
    good = network.node("good", "/large=std_msgs/String")
    sleeper, killed = (network.node(name, "--stop-after", "20", "/large=std_msgs/String") for name in ("sleeper", "killed"))
    for node in (good, sleeper, killed):
        node.ready()
    flags = ("--rate", "max", "--loop", "--stall-timeout", "5", "--start-paused")
    with Player(recording, *flags, master=network.port) as player:
        player.wait_for_log("paused at the start")
        until("connections", lambda: network.connections(PLAYER, "/large") == 3)
        network.run("/usr/bin/rosservice", "call", f"{PLAYER}/resume")
        for name in ("sleeper", "killed"):
            player.wait_for_log(f"/{name} read nothing for")
        killed.send_signal(signal.SIGKILL)
        player.wait_for_log("/killed closed its connection to /large while ")
        sleeper.send_signal(signal.SIGCONT)
        player.wait_for_log("/sleeper: reading /large again after ")
        # More than waited for it.
        before = len(sleeper.got("/large"))
        until("more messages", lambda: len(sleeper.got("/large")) > before + LARGE)
        network.run("/usr/bin/rosservice", "call", f"{PLAYER}/stop")
        assert player.exit_code(60) == 0, player.stderr()
        (topic,) = player.summary()["topics"]
    assert topic["lost"] > 0 and topic["stalled"] == 2
    got = good.digests("/large")
    assert got == (digests * (len(got) // LARGE + 1))[: len(got)]
    # In order, with one gap: what it has lost.
    place = {digest: number for number, digest in enumerate(digests)}
    places = [place[digest] for digest in sleeper.digests("/large")]
    assert sum((one + 1) % LARGE != next for one, next in pairwise(places)) <= 1


def test_a_master_that_is_started_again_learns_of_the_player(data, network):
    master = network.master()
    with Player(data / TURTLESIM, "--start-paused", "--begin-at", "+10s", master=network.port) as player:
        player.wait_for_log("paused at the start")
        master.kill()
        player.wait_for_log("the master of ROS 1 does not answer")
        network.master()
        player.wait_for_log("the master of ROS 1 answers again")
        until("the topics", lambda: network.publishes(PLAYER, "/tf_static"))
        late = network.node("late", "/tf_static=tf2_msgs/TFMessage")
        late.ready()
        until("latched messages", lambda: late.got("/tf_static"))
        player.interrupt()
        assert player.exit_code(30) is not None
    assert not network.publishes(PLAYER, "/tf_static")
