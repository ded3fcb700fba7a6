"""`--wire ros1`: `rosbag record` of ROS 1 (`roscpp`) records what is played, and `rosbags` reads it."""

import signal
import xmlrpc.client
from collections import defaultdict

import pytest
from mcap.reader import make_reader
from rosbags.rosbag1 import Reader

from player import Player
from ros1 import PLAYER, until

TURTLESIM = "turtlesim_ros1/example_zstd.mcap"
RECORD = "/usr/lib/rosbag/record"
CLOCK_MD5 = "a9c97c1d230cfc112e270351a944ee47"


def recorded(path) -> tuple[dict, dict[str, list[bytes]]]:
    """Of a recording of ROS 1, per topic: type, sum, definition and whether it is latched; and the messages."""
    headers, messages = {}, defaultdict(list)
    with path.open("rb") as file:
        for schema, channel, message in make_reader(file).iter_messages():
            messages[channel.topic].append(message.data)
            kept = channel.metadata
            header = (schema.name, kept["md5sum"], schema.data.decode(), int(kept["latching"]))
            assert headers.setdefault(channel.topic, header) == header
    return headers, messages


def rerecorded(path) -> tuple[dict, dict[str, list[bytes]]]:
    """The same of what the player has sent, from a file of `rosbag record`."""
    headers, messages = {}, defaultdict(list)
    with Reader(path) as reader:
        for connection, _, data in reader.messages():
            if connection.ext.callerid == PLAYER:
                messages[connection.topic].append(data)
                # As ROS 2 writes it.
                kind = connection.msgtype.replace("/msg/", "/")
                header = (kind, connection.digest, connection.msgdef.data, connection.ext.latching)
                assert headers.setdefault(connection.topic, header) == header
    return headers, messages


def has_none_of_the_player(network, node: str) -> bool:
    """Whether a node has no connection to the player any more: it has read everything."""
    at = network.api.lookupNode("/test", node)[2]
    rows = xmlrpc.client.ServerProxy(at).getBusInfo("/test")[2]
    return not [row for row in rows if row[2] == "i" and row[4] != "/rosout"]


@pytest.mark.parametrize("is_all", [True, False], ids=["all", "named"])
def test_rosbag_record_gets_every_message_and_header(data, network, tmp_path, is_all):
    network.master()
    headers, messages = recorded(data / TURTLESIM)
    bag = tmp_path / "again.bag"
    chosen = ["--all"] if is_all else [*headers, "/clock"]
    record = network.start("record", RECORD, *chosen, "-O", bag, "__name:=record")
    flags = ("--rate", "4", "--clock", "--start-paused")
    with Player(data / TURTLESIM, *flags, master=network.port) as player:
        player.wait_for_log("paused at the start")
        own = [f"{PLAYER}/parameter_updates"] if is_all else []
        for topic in (*headers, "/clock", *own):
            until(topic, lambda: network.connections(PLAYER, topic) == 1)
        network.run("/usr/bin/rosservice", "call", f"{PLAYER}/resume")
        summary = player.finish(60)
    assert summary["messages_sent"] == sum(len(all) for all in messages.values())
    until("the last messages", lambda: has_none_of_the_player(network, "/record"))
    record.send_signal(signal.SIGINT)
    assert record.wait(60) == 0, network.output("record")
    again, messages_again = rerecorded(bag)
    for topic, header in headers.items():
        assert again[topic] == header, topic
        assert messages_again[topic] == messages[topic], topic
    kind, md5, definition, latching = again["/clock"]
    assert (kind, md5, definition.strip(), latching) == ("rosgraph_msgs/Clock", CLOCK_MD5, "time clock", 0)
    times = [int.from_bytes(data[:4], "little") * 10**9 + int.from_bytes(data[4:], "little") for data in messages_again["/clock"]]
    assert len(times) > 100 and times == sorted(times)
    if is_all:
        assert again[f"{PLAYER}/parameter_updates"][0] == "dynamic_reconfigure/Config"
        # Paused, playing, at its end.
        assert [data[14] for data in messages_again[f"{PLAYER}/parameter_updates"]] == [1, 0, 1]
