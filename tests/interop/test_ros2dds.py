"""`--wire ros2dds`: what ROS 2 nodes on DDS get through a bridge. The nodes are those of PyPI `cyclonedds`, and a stock `rclpy`."""

import statistics
from contextlib import contextmanager
from itertools import pairwise

import zenoh
from cyclonedds.idl.types import float64, int32, uint8, uint32, uint64

import dds
from clock import is_at_100_hz
from node import clock_value
from player import Player, free_port
from recording import Recording
from service import HEADER, string, text
from strings import TYPE, write_strings

CLOCK = "rosgraph_msgs/msg/Clock"
EMPTY = {"nothing": uint8}


def on_dds(port: int, recording, *arguments: str) -> Player:
    return Player(recording, "--wire", "ros2dds", *arguments, router=port)


@contextmanager
def zenoh_peer(port: int):
    config = zenoh.Config()
    config.insert_json5("mode", '"peer"')
    config.insert_json5("connect/endpoints", f'["tcp/127.0.0.1:{port}"]')
    config.insert_json5("scouting/multicast/enabled", "false")
    with zenoh.open(config) as session:
        yield session


def unpadded(payload: bytes, recorded: bytes) -> bytes:
    """DDS pads to a multiple of four, with any bytes."""
    assert len(payload) - len(recorded) < 4
    return payload[: len(recorded)]


def subscribe_all(node: dds.Node, recording: Recording) -> dict[str, dds.Reader]:
    # The bridge opens no route for readers that keep all latched messages (1.10.2: "max_samples must not be zero").
    profiles = {True: dds.profile(latched=True, depth=100), False: dds.profile()}
    return {it.name: node.subscribe(it.name, it.type_name, profiles[it.latched]) for it in recording.topics.values()}


def test_every_message_of_the_demo_arrives_byte_for_byte(demo, domain, tmp_path):
    port = free_port()
    with dds.Bridge(tmp_path, port, domain):
        node = dds.Node(domain, "listener")
        readers = subscribe_all(node, demo)
        topics = len(readers)
        with on_dds(port, demo.path, "--wait-for-subscribers", "--rate", "4") as player:
            summary = player.finish(120)
        assert sum(topic["sent"] for topic in summary["topics"]) == len(demo.messages)
        assert topics == 9
        for name, reader in readers.items():
            recorded = [message.data for message in demo.messages if message.topic == name]
            dds.until(name, lambda: len(reader.take()) >= len(recorded))
            assert len(reader.payloads) == len(recorded), name
            assert [unpadded(*pair) for pair in zip(reader.payloads, recorded)] == recorded, name


def test_late_joiners_get_all_latched_messages(demo, domain, tmp_path):
    port = free_port()
    types = {"/tf_static": "tf2_msgs/msg/TFMessage", "/robot_description": "std_msgs/msg/String"}
    latched = {topic: [message.data for message in demo.messages if message.topic == topic] for topic in types}
    assert len(latched["/tf_static"]) == 2
    with dds.Bridge(tmp_path, port, domain), on_dds(port, demo.path, "--begin-at", "+2s", "--start-paused") as player:
        player.wait_for_log("paused at the start")
        for name in ("early", "late"):
            node = dds.Node(domain, name)
            for topic, want in latched.items():
                reader = node.subscribe(topic, types[topic], dds.profile(latched=True, depth=100))
                dds.until(f"{name} {topic}", lambda: len(reader.take()) >= len(want))
                assert [unpadded(*pair) for pair in zip(reader.payloads, want, strict=True)] == want


def test_the_clock_arrives_in_order(demo, domain, tmp_path):
    port = free_port()
    with dds.Bridge(tmp_path, port, domain):
        node = dds.Node(domain, "listener")
        readers = [node.subscribe("/clock", CLOCK, dds.profile(reliable)) for reliable in (True, False)]
        arguments = ("--clock", "100", "--topics", "/imu", "--end", "+3s", "--wait-for-subscribers")
        imu = node.subscribe("/imu", "sensor_msgs/msg/Imu", dds.profile())
        with on_dds(port, demo.path, *arguments) as player:
            player.finish(60)
        dds.until("imu", lambda: len(imu.take()) >= 600)
        for reader in readers:
            dds.until("the clock", lambda: len(reader.take()) > 50)
            clocks = [clock_value(payload[:12]) for payload in reader.take()]
            assert is_at_100_hz(clocks), clocks


def test_services_of_the_player_are_answered(demo, domain, tmp_path):
    port = free_port()
    with dds.Bridge(tmp_path, port, domain), on_dds(port, demo.path, "--start-paused", "--loop") as player:
        node = dds.Node(domain, "caller")

        def client(name: str, kind: str, request: dict, response: dict) -> dds.Client:
            return node.client(f"/rosbag2_player/{name}", f"rosbag2_interfaces/srv/{kind}", request, response)

        is_paused = client("is_paused", "IsPaused", EMPTY, {"paused": bool})
        pause = client("pause", "Pause", EMPTY, EMPTY)
        resume = client("resume", "Resume", EMPTY, EMPTY)
        seek = client("seek", "Seek", {"sec": int32, "nanosec": uint32}, {"success": bool})
        for one in (is_paused, pause, resume, seek):
            dds.until("a service", one.is_ready)
        assert is_paused.call(nothing=0).paused
        resume.call(nothing=0)
        assert not is_paused.call(nothing=0).paused
        pause.call(nothing=0)
        assert is_paused.call(nothing=0).paused
        assert seek.call(sec=1760000010, nanosec=0).success
        set_rate = client("set_rate", "SetRate", {"rate": float64}, {"success": bool})
        play_next = client("play_next", "PlayNext", EMPTY, {"success": bool})
        burst = client("burst", "Burst", {"num_messages": uint64}, {"actually_burst": uint64})
        for one in (set_rate, play_next, burst):
            dds.until("a service", one.is_ready)
        assert set_rate.call(rate=2.0).success
        assert not set_rate.call(rate=0.0).success
        assert play_next.call(nothing=0).success
        assert burst.call(num_messages=3).actually_burst == 3
        stop = client("stop", "Stop", EMPTY, {"return_code": int32, "error_string": str})
        dds.until("a service", stop.is_ready)
        assert stop.call(nothing=0).return_code == 0
        assert player.exit_code(30) == 0


def test_a_stock_node_follows_the_clock(demo, domain, tmp_path):
    """`rclpy` on Fast DDS, which answers each message with the time of its clock."""
    port = free_port()
    with dds.Bridge(tmp_path, port, domain), dds.stock_node(domain, "--depth", "1000"), zenoh_peer(port) as session:
        answers = []

        def answered(sample) -> None:
            # NUMBER STAMP at TIME
            number, stamp, _, clock = text(sample.payload.to_bytes(), 4)[0].split()
            answers.append((int(number), int(stamp.replace(".", "")), int(clock)))

        subscriber = session.declare_subscriber("answer", answered)
        # The writer of the bridge keeps one message, so what comes while the node is stopped has to fit into the node's
        # socket. At this rate it is little.
        arguments = ("--clock", "20", "--topics", "/imu", "--rate", "0.25", "--end", "+2s", "--wait-for-subscribers")
        with on_dds(port, demo.path, *arguments) as player:
            player.finish(60)
        sent = [message for message in demo.of("/imu") if message.log_time <= demo.start + 2 * 10**9]
        dds.until("the last answer", lambda: answers and answers[-1][0] == len(sent) - 1)
        subscriber.undeclare()
    numbers, stamps, clocks = zip(*answers)
    # The node has got every message; on the way back, its first answers can be lost while DDS finds the bridge.
    assert list(numbers) == list(range(numbers[0], len(sent)))
    assert list(clocks) == sorted(clocks)
    # Until the first tick the node shows 0.
    assert all(demo.start <= clock <= demo.start + 2 * 10**9 for clock in clocks if clock)
    # While the node or the bridge is stopped, messages wait, and the clock goes on. That concerns few of the answers.
    assert statistics.median(abs(clock - stamp) for stamp, clock in zip(stamps, clocks)) < 300_000_000


def test_a_bridge_that_is_killed_is_waited_for(demo, domain, tmp_path):
    port = free_port()
    with dds.Bridge(tmp_path, port, domain) as bridge:
        node = dds.Node(domain, "listener")
        imu = node.subscribe("/imu", "sensor_msgs/msg/Imu", dds.profile())
        arguments = ("--topics", "/imu", "--end", "+8s", "--wait-for-subscribers")
        with on_dds(port, demo.path, *arguments) as player:
            dds.until("the first messages", lambda: len(imu.take()) >= 100)
            bridge.kill()
            player.wait_for_log("playback is held until it is restored")
            before = len(imu.take())
            with dds.Bridge(tmp_path, port, domain):
                # Some of them may still be of the bridge that was killed.
                dds.until("more messages", lambda: len(imu.take()) > before + 100)
                player.finish(60)
                recorded = [message.data for message in demo.of("/imu") if message.log_time < demo.start + 8 * 10**9]
                dds.until("the last message", lambda: unpadded(imu.take()[-1], recorded[-1]) == recorded[-1])
    # Playback was held: before and after one gap every message has arrived, up to the last.
    place = {data: number for number, data in enumerate(recorded)}
    assert len(place) == len(recorded)
    places = [place[unpadded(payload, recorded[-1])] for payload in imu.payloads]
    assert places == sorted(set(places)) and places[-1] == len(recorded) - 1
    assert sum(after - one > 1 for one, after in pairwise(places)) <= 1


def test_a_bridge_that_stands_still_is_named_and_goes_on_where_it_stood(domain, tmp_path):
    """More is sent than the link takes by itself."""
    port, recording = free_port(), tmp_path / "large.mcap"
    messages = [("/large", n * 10**6, f"{n:06}" + "x" * 200_000) for n in range(300)]
    write_strings(recording, messages)
    expected = [HEADER + string(value) for _, _, value in messages]
    with dds.Bridge(tmp_path, port, domain) as bridge:
        node = dds.Node(domain, "listener")
        large = node.subscribe("/large", TYPE, dds.profile(depth=1000))
        arguments = ("--rate", "max", "--loop", "--stall-timeout", "1", "--wait-for-subscribers")
        with on_dds(port, recording, *arguments) as player:
            dds.until("the first messages", lambda: len(large.take()) >= 10)
            bridge.stop()
            player.wait_for_log("read nothing for")
            bridge.go_on()
            player.wait_for_log("reading again after")
            before = len(large.take())
            dds.until("messages again", lambda: len(large.take()) > before + 300)
            player.interrupt()
            player.exit_code(60)
            summary = player.summary()
    [topic] = summary["topics"]
    assert topic["stalled"] > 0 and topic["lost"] > 0, summary
    known = set(expected)
    assert all(unpadded(payload, expected[0]) in known for payload in large.payloads)
