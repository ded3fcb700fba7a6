"""`--foxglove`, by a viewer that shares no code with the server, beside nodes and services of ROS."""

import asyncio
import math
import struct
import time
from contextlib import contextmanager

import pytest
from robo_ws_bridge import PlaybackState, PlaybackStatus, WebSocketBridgeClient, WebSocketBridgeServer

import checks
from node import CLOCK, Node, session
from player import Player, free_port
from service import PlayerClient
from viewer import BUFFERING, ENDED, PAUSED, PLAYING, Data, Viewer

PLAY, PAUSE = 0, 1


@contextmanager
def served(recording, *arguments: str):
    """A paused player with a server for viewers, and the port of that."""
    port = free_port()
    with Player(recording.path, "--foxglove", str(port), "--start-paused", *arguments) as player:
        yield player, port


@pytest.fixture
def driven(demo):
    """A paused player, the port for viewers, and its services."""
    with served(demo) as (player, port), session(player.port) as opened:
        yield PlayerClient(opened), port


def reaches(condition, timeout: float = 30) -> None:
    until = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize("protocol", ["foxglove.sdk.v1", "foxglove.sdk.v1.1"])
def test_the_server_says_what_it_has(demo, protocol):
    with served(demo) as (_, port), Viewer(port, protocol) as viewer:
        assert {"time", "playbackControl"} <= set(viewer.info["capabilities"])
        seconds = [viewer.info[key] for key in ("dataStartTime", "dataEndTime")]
        assert [it["sec"] * 10**9 + it["nsec"] for it in seconds] == [demo.start, demo.end]
        viewer.subscribe(*demo.topics)
        for channel in viewer.channels.values():
            topic = demo.topics[channel["topic"]]
            assert channel["encoding"] == "cdr"
            assert channel.get("schemaName", topic.type_name) == topic.type_name


def test_every_message_of_the_demo_arrives_once_with_its_time(demo):
    with served(demo, "--rate", "2") as (player, port), Viewer(port) as viewer:
        viewer.subscribe(*demo.topics)
        viewer.ask(PLAY, 2)
        got = viewer.all_until(lambda got: isinstance(got, Data) and got.time == demo.end)
        data = [it for it in got if isinstance(it, Data)]
        expected = [Data(it.topic, it.log_time, it.data) for it in demo.messages]
        key = lambda it: (it.time, it.topic, it.data)
        assert sorted(data, key=key) == sorted(expected, key=key)
        order = [it.time for it in data]
        assert order == sorted(order)
        times = [it for it in got if isinstance(it, int)]
        assert times == sorted(times) and demo.start <= times[0] and times[-1] <= demo.end
        # The hole of the demo: the time goes on there.
        stamps = [it.log_time for it in demo.messages]
        length, start = max((b - a, a) for a, b in zip(stamps, stamps[1:]))
        assert len([it for it in times if start < it < start + length]) > 20
        summary = player.finish(timeout=60)
        assert summary["messages_sent"] == len(demo.messages)
        assert summary["viewers"] == {"connected": 1}


def test_requests_move_the_player_as_its_services_see_it(driven, demo):
    client, port = driven
    with Viewer(port) as viewer:
        assert viewer.state().status == PAUSED
        viewer.ask(PLAY, 0.5)
        reaches(lambda: not client.is_paused())
        assert client.rate() == pytest.approx(0.5)
        viewer.ask(PAUSE, 0.25, demo.start + 10**10)
        reaches(client.is_paused)
        assert client.rate() == pytest.approx(0.25)
        jump = viewer.any_state(lambda state: state.did_seek)
        assert jump.time == demo.start + 10**10


def test_services_move_what_viewers_show(driven, demo):
    client, port = driven
    with Viewer(port) as viewer:
        viewer.state()
        assert client.seek(demo.start + 5 * 10**9)
        jump = viewer.state(lambda state: state.did_seek)
        assert (jump.time, jump.id) == (demo.start + 5 * 10**9, "")
        assert viewer.state().status == PAUSED
        client.resume()
        viewer.state(lambda state: state.status == PLAYING and not state.id)
        assert client.set_rate(4)
        viewer.state(lambda state: state.speed == 4)
        client.pause()
        viewer.state(lambda state: state.status == PAUSED)


@pytest.mark.parametrize("speed, told", [(math.nan, 1), (-1, -1), (0, 0.001), (1e9, 1000)])
def test_unusual_speeds_are_answered_with_those_of_the_player(driven, speed, told):
    _, port = driven
    with Viewer(port) as viewer:
        assert viewer.ask(PAUSE, speed).speed == pytest.approx(told)


def test_a_seek_outside_of_the_recording_leads_to_its_edge(driven, demo):
    _, port = driven
    with Viewer(port) as viewer:
        answer = viewer.ask(PAUSE, 1, 2**64 - 1)
        assert (answer.status, answer.time) == (BUFFERING, demo.end)
        assert viewer.ask(PAUSE, 1, 0).time == demo.start


def test_two_viewers_see_the_same_also_one_that_connects_during_a_pause(driven, demo):
    _, port = driven
    middle = demo.start + 10 * 10**9
    with Viewer(port) as first:
        first.ask(PAUSE, 1, middle)
        first.state(lambda state: state.status == PAUSED)
        with Viewer(port) as second:
            state = second.state()
            assert (state.status, state.time) == (PAUSED, middle)
            second.wait(lambda got: got == middle)
            second.subscribe("/odom", "/robot_description")
            for topic in ("/odom", "/robot_description"):
                last = [it for it in demo.of(topic) if it.log_time <= middle][-1]
                got = second.wait(lambda got, topic=topic: isinstance(got, Data) and got.topic == topic)
                assert (got.time, got.data) == (last.log_time, last.data)
            answer = second.ask(PLAY, 1000)
            assert first.state(lambda state: state.id == answer.id) == answer
            for viewer in (first, second):
                viewer.state(lambda state: state.status == ENDED)


def test_states_and_requests_are_as_another_codec_writes_and_reads_them(driven, demo):
    """robo-ws-bridge is written without the SDK that the server is made of."""
    _, port = driven
    middle = demo.start + 10**10
    asked = [(PAUSE, 0.5, None), (PAUSE, 2.0, middle), (PLAY, 1000.0, None)]
    with Viewer(port) as viewer:
        for request in asked:
            viewer.ask(*request)
        viewer.state(lambda state: state.status == ENDED)
        states, requests = viewer.states, viewer.requests
    assert {state.status for state, _ in states} >= {PLAYING, PAUSED, ENDED}
    for state, frame in states:
        same = PlaybackState(
            PlaybackStatus(state.status), state.time, state.speed, state.did_seek, state.id
        )
        assert WebSocketBridgeServer._encode_playback_state(same) == frame
    assert len(requests) == len(asked)
    for request, (command, speed, seek) in zip(requests, asked):
        read = WebSocketBridgeServer._decode_playback_control_request(request)
        assert (read.playback_command, read.playback_speed, read.seek_time) == (command, speed, seek)


def test_another_client_gets_every_message(demo):
    got, times = [], []

    async def watch(port: int) -> None:
        client = WebSocketBridgeClient(f"ws://127.0.0.1:{port}")
        advertised, taken, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def channel(*_) -> None:
            if len(client.channels) == len(demo.topics):
                advertised.set()

        async def status(*_) -> None:
            taken.set()

        async def message(channel, stamp: int, data: bytes) -> None:
            got.append((stamp, channel["topic"], bytes(data)))

        async def tick(stamp: int) -> None:
            times.append(stamp)
            if stamp == demo.end:
                ended.set()

        client.on_advertised_channel(channel)
        client.on_status(status)
        client.on_message(message)
        client.on_time_update(tick)
        await client.connect()
        await asyncio.wait_for(advertised.wait(), 30)
        for topic in demo.topics:
            await client.subscribe(topic)
        # The answer to a frame that is none: the subscriptions before it have been taken.
        await client._websocket.send(b"\x03")
        await asyncio.wait_for(taken.wait(), 30)
        await asyncio.to_thread(play, port)
        await asyncio.wait_for(ended.wait(), 120)
        await client.disconnect()

    def play(port: int) -> None:
        with Viewer(port) as viewer:
            # A client that is stopped for a second has fewer messages before it than the server keeps.
            viewer.ask(PLAY, 2)

    with served(demo) as (_, port):
        # The client waits longer after each attempt, so it makes the first one when the server listens.
        Viewer(port).close()
        asyncio.run(watch(port))
    expected = [(it.log_time, it.topic, it.data) for it in demo.messages]
    assert sorted(got) == sorted(expected)
    assert times == sorted(times)


def test_garbage_is_refused_and_the_connection_stays(driven):
    _, port = driven
    with Viewer(port) as viewer:
        unknown = struct.pack("<BBfBQI", 3, 9, 1, 0, 0, 0)
        for garbage in (b"\x03", b"\xff\x00", unknown, unknown[:7], "{", "[]", '{"op":"no"}'):
            viewer.send(garbage)
            assert viewer.json("status")["level"] == 2, garbage
        viewer.ask(PLAY, 1)


def test_the_old_protocol_alone_is_refused(demo):
    with served(demo) as (_, port):
        Viewer(port).close()
        with pytest.raises(Exception, match="HTTP 400|subprotocol"):
            Viewer(port, "foxglove.websocket.v1")


def test_a_viewer_that_never_reads_does_not_affect_nodes(demo):
    expected = demo.without(CLOCK.name)
    port = free_port()
    arguments = ["--clock", "100", "--rate", "4", "--wait-for-subscribers", "--foxglove", str(port)]
    topics = [topic for name, topic in demo.topics.items() if name != CLOCK.name]
    with Player(demo.path, *arguments) as player:
        stuck = Viewer(port)
        # From here on nothing is read: `websockets` itself reads 16 messages ahead.
        stuck.subscribe(*[topic.name for topic in topics])
        with Node(player.port, topics) as node:
            summary = player.finish(timeout=120)
            node.settle(expected, until=None)
            checks.same_messages(node, expected)
            checks.arrival_order(node, expected)
    assert summary["viewers"] == {"connected": 1}
    assert summary["lost"] == summary["possibly_lost"] == 0
    stuck.close()
