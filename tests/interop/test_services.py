"""The services of a player, called by a program that shares no code with it: what each does and answers."""

import struct
import threading
import time
from contextlib import contextmanager

import pytest

from node import CLOCK, Node, session
from player import Player
from service import EMPTY, HEADER, IS_PAUSED, PAUSE, SEEK, SET_RATE, PlayerClient
from strings import SECOND, START, string_topic, write_strings

TOPIC = "/odom"


@pytest.fixture
def driven(demo):
    """Starts a paused player of /odom with a clock; further arguments are those of the player."""

    @contextmanager
    def start(*arguments: str):
        topic = demo.topics[TOPIC]
        usual = ["--topics", TOPIC, "--clock", "100", "--wait-for-subscribers"]
        with (
            Player(demo.path, *usual, *arguments) as player,
            Node(player.port, [CLOCK, topic]) as node,
            session(player.port) as opened,
        ):
            messages = Messages(demo, player, node, opened)
            if "--start-paused" in arguments:
                messages.wait_for_discovery()
            yield messages

    return start


class Messages(PlayerClient):
    """A player of /odom, its services, and a node that receives the topic and the clock."""

    def __init__(self, demo, player: Player, node: Node, opened):
        super().__init__(opened)
        self.player, self.node = player, node
        messages = demo.of(TOPIC)
        self.times = [message.log_time for message in messages]
        self._place = {message.data: place for place, message in enumerate(messages)}
        assert len(self._place) == len(messages)

    def places(self, count: int) -> list[int]:
        """Waits for so many messages; their places in the recording."""
        self.node.wait_for(lambda node: node.counts[TOPIC] >= count, timeout=60)
        return [self._place[sample.payload] for sample in self.node.of(TOPIC)]

    def since(self, then: int) -> list[int]:
        """The places of the messages so far that were put since this system time."""
        return [self._place[sample.payload] for sample in self.node.of(TOPIC) if sample.source_time >= then]

    def ends(self) -> dict:
        return self.player.finish(timeout=60)


def test_pause_resume_and_toggle_may_be_repeated(driven):
    with driven("--loop") as player:
        player.places(1)
        for _ in range(3):
            player.pause()
            assert player.is_paused()
        # A message may be under way when the call is answered.
        player.node.wait_for_ticks(30)
        held = time.time_ns()
        player.node.wait_for_ticks(30)
        resumed = time.time_ns()
        for _ in range(3):
            player.resume()
            assert not player.is_paused()
        player.places(player.node.counts[TOPIC] + 2)
        # A message that was put meanwhile has arrived before these.
        assert not [it for it in player.node.of(TOPIC) if held <= it.source_time <= resumed]
        player.toggle_paused()
        assert player.is_paused()
        player.toggle_paused()
        assert not player.is_paused()
        assert player.resume_at() == (0, "")


def test_the_rate_is_changed_and_impossible_ones_are_refused(driven):
    with driven("--start-paused") as player:
        assert player.rate() == 1
        for rate in (2.0, 0.5, 1000.0, 0.001):
            assert player.set_rate(rate)
            assert player.rate() == rate
        for rate in (0.0, -1.0, -1.23, float("nan"), 1e9, float("-inf")):
            assert not player.set_rate(rate)
            assert player.rate() == 0.001
        assert player.set_rate(float("inf"))
        assert player.rate() == float("inf")


def test_play_next_publishes_each_message_once_and_then_none(driven):
    with driven("--start-paused") as player:
        number = len(player.times)
        assert number >= 200
        assert all(player.play_next() for _ in range(number))
        assert not player.play_next()
        assert player.is_paused()
        assert player.places(number) == list(range(number))


def test_play_next_and_burst_are_refused_while_playing(driven):
    with driven("--loop") as player:
        assert not player.play_next()
        assert player.burst(3) == 0
        assert not player.is_paused()


def test_burst_returns_how_many_were_published(driven):
    with driven("--start-paused") as player:
        number = len(player.times)
        assert player.burst(4) == 4
        assert player.burst(number) == number - 4
        assert player.burst(5) == 0
        assert player.seek(player.times[0])
        assert player.burst(0) == number
        assert player.is_paused()
        places = player.places(2 * number)
        assert places == [*range(number), *range(number)]


def test_seek_lands_at_the_time_or_at_the_edge_of_the_recording(driven):
    with driven("--start-paused") as player:
        first, third, last = player.times[0], player.times[2], player.times[-1]
        for at in (first - 1, first):
            assert player.seek(at)
            assert player.play_next() and player.play_next()
        assert player.places(4) == [0, 1, 0, 1]
        # A message at exactly the time is sent, also again.
        for _ in range(2):
            assert player.seek(third)
            assert player.play_next()
        assert player.places(6) == [0, 1, 0, 1, 2, 2]
        assert player.seek(last)
        assert player.play_next()
        assert not player.play_next()
        assert player.seek(last + 1)
        assert not player.play_next()
        assert player.places(7) == [0, 1, 0, 1, 2, 2, len(player.times) - 1]
        # The clock shows the time of the jump.
        assert player.seek(third)
        player.node.wait_for(lambda node: node.shown == third, timeout=60)
        assert player.set_rate(100)
        player.resume()
        player.ends()
        assert player.places(7 + len(player.times) - 2)[7:] == list(range(2, len(player.times)))


def test_play_begins_where_and_ends_when_it_is_told(demo, driven):
    with driven("--start-paused") as player:
        start, times = demo.start, player.times
        # All fields zero: from the start. While it plays, another call is refused.
        assert player.set_rate(0.1)
        assert player.play()
        assert not player.play()
        player.pause()
        player.node.wait_for_ticks(1)
        assert player.set_rate(20)
        for arguments, expected in (
            ({"duration": 1 * SECOND}, lambda t: t <= start + 1 * SECOND),
            ({"until": times[30]}, lambda t: t <= times[30]),
            ({"until": times[30] - 1}, lambda t: t < times[30]),
            # The earlier limit counts.
            ({"until": times[30], "duration": SECOND // 10}, lambda t: t <= start + SECOND // 10),
            ({"offset": 2 * SECOND, "duration": SECOND}, None),
        ):
            begun = time.time_ns()
            if expected is None:
                expected = lambda t: start + 2 * SECOND <= t <= start + 3 * SECOND
            want = [place for place, t in enumerate(times) if expected(t)]
            assert player.play(**arguments)
            while not player.is_paused():
                time.sleep(0.01)
            player.node.wait_for_ticks(1)
            player.node.wait_for(lambda _: len(player.since(begun)) >= len(want), timeout=60)
            assert player.since(begun) == want, arguments
        for arguments in ({"until": start - 1}, {"offset": 2 * SECOND, "until": start + SECOND}):
            assert not player.play(**arguments), arguments
        for arguments in ({"offset": -SECOND}, {"duration": -SECOND}, {"offset": 10**6 * SECOND}):
            assert not player.play(**arguments), arguments


def test_resume_waits_for_its_time_and_refuses_what_a_player_cannot_do(driven):
    with driven("--start-paused") as player:
        assert player.resume_at(mode=1)[0] == 1
        assert player.resume_at(mode=7)[0] == 1
        assert player.resume_at(topic="/odom")[0] == 2
        assert player.is_paused()
        assert player.resume_at(time=time.time_ns() + 600 * SECOND) == (0, "")
        assert player.is_paused()
        player.pause()
        at = time.time_ns() + SECOND // 2
        assert player.resume_at(time=at) == (0, "")
        player.places(1)
        assert time.time_ns() >= at
        player.pause()
        # A pause takes back what was asked before.
        assert player.resume_at(time=time.time_ns() + SECOND // 5) == (0, "")
        player.pause()
        count = player.node.counts[CLOCK.name]
        player.node.wait_for(lambda node: node.counts[CLOCK.name] >= count + 50, timeout=60)
        assert player.is_paused()


@pytest.mark.parametrize("state", ["paused", "playing"])
def test_stop_ends_the_run(driven, state):
    with driven(*(["--start-paused"] if state == "paused" else ["--loop"])) as player:
        assert player.stop_code() == (0, "")
        assert player.player.exit_code(timeout=60) == 0
        assert '"ended":"stopped"' in player.player.stdout().replace(" ", "")


def test_calls_act_at_once_in_a_gap_of_ten_minutes(tmp_path):
    """Nothing is due for ten minutes; a rate, a pause and a jump take effect at once."""
    path = tmp_path / "gap.mcap"
    write_strings(path, [("/gap", 0, "x"), ("/gap", 600 * SECOND, "x")])
    with Player(path, "--clock", "100", "--wait-for-subscribers", "/gap") as player:
        with Node(player.port, [CLOCK, string_topic("/gap")]) as node, session(player.port) as opened:
            services = PlayerClient(opened)
            node.wait_for(lambda node: node.counts["/gap"] == 1, timeout=60)
            services.pause()
            node.wait_for_ticks(20)
            shown = node.shown
            node.wait_for_ticks(10)
            assert node.shown == shown
            assert services.seek(START + 300 * SECOND)
            node.wait_for(lambda node: node.shown == START + 300 * SECOND, timeout=60)
            assert services.set_rate(1000)
            services.resume()
            player.finish(timeout=60)
            node.wait_for(lambda node: node.counts["/gap"] >= 2, timeout=60)
            assert node.counts["/gap"] == 2


def test_a_muted_topic_is_not_published(driven):
    with driven("--start-paused") as player:
        number = len(player.times)
        assert player.set_muted(TOPIC, True) == (True, "")
        assert not player.play_next()
        assert player.burst(0) == 0
        assert player.set_muted(TOPIC, False) == (True, "")
        assert player.seek(player.times[0])
        assert player.burst(0) == number
        assert player.places(number) == list(range(number))
        assert player.set_muted("/imu", True) == (False, "/imu is not played")


def test_marks_are_those_of_the_file_beside_the_recording(demo, tmp_path):
    recording = tmp_path / "drive.mcap"
    recording.write_bytes(demo.path.read_bytes())
    beside = tmp_path / "drive.mcap.marks.yaml"
    at = [demo.start + second * SECOND + 1 for second in range(4)]
    beside.write_text(f"marks:\n  - time_ns: {at[1]}\n    name: begin\n")
    # The times of all services are those of the clock.
    shift = 5000 * SECOND - demo.start
    arguments = ["--start-paused", "--clock", "--clock-start", "5000"]
    with Player(recording, *arguments) as process, session(process.port) as opened:
        player = PlayerClient(opened)
        assert player.marks() == [(at[1] + shift, "begin")]
        assert player.set_mark(at[0] + shift) == (True, "")
        assert player.set_mark(at[3] + shift, "gr\u00fcn") == (True, "")
        assert player.set_mark(at[3] + shift, "end") == (True, "")
        assert player.set_mark(at[1] + shift, removed=True) == (True, "")
        assert player.marks() == [(at[0] + shift, ""), (at[3] + shift, "end")]
        for time, name in ((at[2] + shift, "two\nlines"), (at[2] + shift, "x" * 257)):
            success, message = player.set_mark(time, name)
            assert not success and message
        process.interrupt()
        process.exit_code(timeout=60)
    kept = [line.split(": ")[1] for line in beside.read_text().splitlines() if "time_ns: " in line]
    assert kept == [str(at[0]), str(at[3])]


def test_requests_that_cannot_be_read_are_answered_and_reported_once(driven):
    with driven("--start-paused") as player:
        seek = player.client("seek", SEEK)
        bad = [b"x" * 100_000, b"", HEADER, HEADER + b"\0" * 3, HEADER + b"\0" * 99, b"\0\7\0\0" + b"\0" * 8]
        # Nanoseconds of two seconds.
        bad.append(HEADER + struct.pack("<iI", 1, 2 * SECOND))
        for payload in bad:
            [reply] = list(seek.send(payload))
            assert reply.ok.payload.to_bytes() == HEADER + b"\0", payload
        # Attachments of another length, or none: an answer that rcl would not expect, but no crash.
        for attachment in (b"", b"\0" * 20, b"\0" * 33, b"\xff" * 40):
            [reply] = list(seek.send(HEADER + b"\0" * 8, attachment))
            assert reply.ok.payload.to_bytes() in (HEADER + b"\0", HEADER + b"\1")
        assert player.is_paused()
        words = f"a request to seek from client {seek.gid.hex('.')} cannot be read"
        player.player.wait_for_log(words)
        assert player.player.stderr().count(words) == 1


def test_clients_of_any_release_are_answered(driven):
    """A Humble node names no hash of types; a later release may have another one."""
    with driven("--start-paused") as player:
        assert player.is_paused()
        for digits in ("TypeHashNotSupported", f"RIHS01_{'1' * 64}"):
            key = f"0/rosbag2_player/is_paused/{IS_PAUSED.dds}/{digits}"
            attachment = struct.pack("<qqB", 7, 0, 16) + bytes(16)
            replies = list(player.session.get(key, payload=EMPTY, attachment=attachment, timeout=30.0))
            assert [reply.ok.payload.to_bytes() for reply in replies] == [HEADER + b"\1"]


def test_many_clients_at_once_are_answered_in_order(driven):
    """Eight clients send without waiting: each gets all answers, in its own order."""
    with driven("--loop") as player:
        player.places(1)
        failures = []

        def calls(place: int) -> None:
            try:
                with session(player.player.port) as opened:
                    own = PlayerClient(opened)
                    name, kind, body = (
                        ("set_rate", SET_RATE, struct.pack("<d", 1 + place / 10)),
                        ("pause", PAUSE, b"\0"),
                        ("is_paused", IS_PAUSED, b"\0"),
                        ("seek", SEEK, struct.pack("<iI", player.times[place] // SECOND, 0)),
                    )[place % 4]
                    client = own.client(name, kind)
                    receivers = [client.send(HEADER + body) for _ in range(250)]
                    order = []
                    for receiver in receivers:
                        [reply] = list(receiver)
                        order.append(int.from_bytes(reply.ok.attachment.to_bytes()[:8], "little"))
                    assert order == list(range(1, 251))
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=calls, args=(place,)) for place in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not failures, failures


def test_services_are_on_the_graph_as_long_as_the_player(driven):
    with driven("--start-paused") as player:
        names = "pause resume toggle_paused is_paused set_rate get_rate play play_next burst seek stop"
        wanted = {f"%rosbag2_player%{name}" for name in names.split()}
        servers = lambda node: {c[9] for c in (t.split("/") for t in node.tokens) if c[5] == "SS"}
        player.node.wait_for(lambda node: servers(node) >= wanted, timeout=60)
