"""The scenarios of rosbag2's own tests of its player, by its services: what is delivered, in which order, how often."""

import time
from contextlib import contextmanager

import pytest

from node import CLOCK, Node
from player import Player
from service import EMPTY, HEADER, STOP_CODE, PlayerClient, verdict
from strings import SECOND, START, read_string, string_topic, write_strings

MS = SECOND // 1000
PATIENCE = 30.0


@pytest.fixture
def playing(tmp_path):
    """Starts a player of messages (topic, nanoseconds after the start, text) and a node that receives their topics."""

    @contextmanager
    def start(messages: list[tuple[str, int, str]], *arguments: str):
        path = tmp_path / "strings.mcap"
        write_strings(path, messages)
        topics = [string_topic(name) for name in dict.fromkeys(name for name, _, _ in messages)]
        usual = ["--clock", "100", "--wait-for-subscribers"]
        with (
            Player(path, *usual, *arguments) as player,
            Node(player.port, [CLOCK, *topics]) as node,
        ):
            playback = Playback(player, node)
            if "--start-paused" in arguments:
                playback.wait_for_discovery()
            yield playback

    return start


class Playback(PlayerClient):
    """A player, its services, and a node that receives what it publishes."""

    def __init__(self, player: Player, node: Node):
        super().__init__(node.session)
        self.player, self.node = player, node

    def texts(self, count: int) -> list[str]:
        """Waits for so many messages; the texts of all that have come, in the order of arrival."""
        try:
            self.node.wait_for(lambda node: len(self._texts()) >= count, PATIENCE)
        except TimeoutError:
            raise AssertionError(f"not {count} messages: {self._texts()}") from None
        return self._texts()

    def _texts(self) -> list[str]:
        samples = [sample for sample in self.node.samples if sample.topic != CLOCK.name]
        return [read_string(sample.payload) for sample in samples]

    def ends_after(self, expected: str) -> None:
        """The run ends by itself and has published these texts, of one letter each, and no more."""
        summary = self.player.finish(PATIENCE)
        assert "".join(self.texts(len(expected))) == expected
        assert summary["messages_sent"] == len(expected)

    def ends_by_a_stop(self) -> dict:
        """Waits for the end that a stop leads to; returns the summary."""
        assert self.player.exit_code(PATIENCE) == 0, self.player.stderr()
        summary = self.player.summary()
        assert summary["ended"] == "stopped"
        return summary


def spaced(texts: str, nanos: int, topic: str = "/chatter") -> list[tuple[str, int, str]]:
    """A message of each letter, so far apart."""
    return [(topic, place * nanos, letter) for place, letter in enumerate(texts)]


def step(player: Playback) -> int:
    return int(player.play_next())


def burst_of_one(player: Playback) -> int:
    return player.burst(1)


one_by_one = pytest.mark.parametrize("advance", [step, burst_of_one])


@one_by_one
@pytest.mark.parametrize("topics", [["/chatter"], ["/chatter", "/talk"]])
def test_messages_of_equal_times_come_one_by_one(playing, topics, advance):
    messages = [(topics[place % len(topics)], 0, letter) for place, letter in enumerate("abcd")]
    with playing(messages, "--start-paused") as player:
        for count in range(1, 5):
            assert advance(player) == 1
            assert "".join(player.texts(count)) == "abcd"[:count]
        assert advance(player) == 0
        assert player.is_paused()
        player.resume()
        player.ends_after("abcd")


def test_a_burst_counts_each_message_of_equal_times(playing):
    with playing(spaced("abcd", 0), "--start-paused") as player:
        assert player.burst(3) == 3
        assert player.burst(3) == 1
        assert player.burst(3) == 0
        assert player.seek(START)
        assert player.burst(4) == 4
        assert player.is_paused()
        player.resume()
        player.ends_after("abcdabcd")


@pytest.mark.parametrize("count", [1, 2, 4, 5])
@one_by_one
def test_the_rest_is_delivered_after_steps_and_resume(playing, advance, count):
    with playing(spaced("abcde", 100 * MS), "--start-paused") as player:
        for _ in range(count):
            assert advance(player) == 1
        assert player.is_paused()
        player.resume()
        player.ends_after("abcde")


@pytest.mark.parametrize("count", [1, 2, 4, 5, 6, 0])
def test_the_rest_is_delivered_after_a_burst_and_resume(playing, count):
    with playing(spaced("abcde", 100 * MS), "--start-paused") as player:
        # 0 means all.
        assert player.burst(count) == min(count or 5, 5)
        assert player.is_paused()
        player.resume()
        player.ends_after("abcde")


def test_the_rest_is_delivered_after_steps_in_a_pause_of_a_run(playing):
    """Unlike a start in pause, a pause of a run finds the next message waiting for its time."""
    messages = [*spaced("a", 0), *((topic, 600 * SECOND + at, x) for topic, at, x in spaced("bcde", MS))]
    with playing(messages) as player:
        assert player.texts(1) == ["a"]
        player.pause()
        assert player.play_next()
        assert player.burst(1) == 1
        player.resume()
        player.ends_after("abcde")


@one_by_one
def test_steps_do_not_wait_for_the_time_between_messages(playing, advance):
    """Longer than a call waits for its response."""
    with playing(spaced("abcd", 100 * SECOND), "--start-paused") as player:
        for count in range(1, 5):
            assert advance(player) == 1
            assert "".join(player.texts(count)) == "abcd"[:count]
        assert advance(player) == 0
        # The clock goes with the steps.
        player.node.wait_for(lambda node: node.shown == START + 300 * SECOND, PATIENCE)
        player.resume()
        player.ends_after("abcd")


def test_a_burst_does_not_wait_for_the_time_between_messages(playing):
    with playing(spaced("abcdefghij", 10 * SECOND), "--start-paused") as player:
        assert player.burst(4) == 4
        assert player.burst(0) == 6
        player.resume()
        player.ends_after("abcdefghij")


@pytest.fixture
def filtered(playing):
    """A paused player of one topic of two whose messages alternate."""
    pairs = zip(spaced("abc", SECOND, "/left_out"), spaced("xyz", SECOND, "/played"))
    with playing([message for pair in pairs for message in pair], "--start-paused", "--topics", "/played") as player:
        yield player


@one_by_one
def test_steps_count_messages_of_chosen_topics_only(filtered, advance):
    for count in range(1, 4):
        assert advance(filtered) == 1
        assert "".join(filtered.texts(count)) == "xyz"[:count]
    assert advance(filtered) == 0
    filtered.resume()
    filtered.ends_after("xyz")


def test_bursts_count_messages_of_chosen_topics_only(filtered):
    assert filtered.burst(2) == 2
    assert filtered.burst(2) == 1
    assert filtered.seek(START)
    assert filtered.burst(3) == 3
    filtered.resume()
    filtered.ends_after("xyzxyz")


@pytest.mark.parametrize("arguments", [[], ["--start-paused"]], ids=["running", "paused"])
def test_a_second_stop_is_refused_or_finds_no_service(playing, arguments):
    with playing(spaced("ab", 600 * SECOND), *arguments) as player:
        stop = player.client("stop", STOP_CODE)
        first, *others = [stop.send(EMPTY) for _ in range(3)]
        assert answer(first) == (0, "")
        refused = (1, "Player is already stopped.")
        assert all(answer(other) in (refused, None) for other in others)
        assert answer(stop.send(EMPTY)) in (refused, None)
        player.ends_by_a_stop()
        assert answer(stop.send(EMPTY)) is None


def answer(replies) -> tuple[int, str] | None:
    """The answer to a request to stop; `None` if nobody is there."""
    payloads = [reply.ok.payload.to_bytes() for reply in replies]
    if not payloads:
        return None
    [payload] = payloads
    assert payload[:4] == HEADER
    return verdict(payload[4:])


LAST = START + 400 * MS


@pytest.mark.parametrize("played", ["", "a", "abcde"])
def test_nothing_follows_a_seek_past_the_end(playing, played):
    with playing(spaced("abcde", 100 * MS), "--start-paused") as player:
        for _ in played:
            assert player.play_next()
        assert player.seek(LAST + 1)
        assert not player.play_next()
        assert player.burst(0) == 0
        assert player.is_paused()
        player.resume()
        player.ends_after(played)


def test_a_seek_leads_back_from_past_the_end(playing):
    with playing(spaced("abcde", 100 * MS), "--start-paused") as player:
        assert player.burst(0) == 5
        assert player.seek(LAST + 1)
        assert player.seek(START + 200 * MS)
        player.resume()
        player.ends_after("abcdecde")


# Ten minutes between c and d, which a run of this test does not wait for.
GAP = [*spaced("abc", MS), ("/chatter", 600 * SECOND, "d"), ("/chatter", 600 * SECOND + MS, "e")]


@pytest.mark.parametrize(
    "at, rest",
    [(600 * SECOND, "de"), (600 * SECOND - MS, "de"), (600 * SECOND + MS, "e"), (601 * SECOND, "")],
    ids=["message", "gap", "last", "past-the-end"],
)
def test_a_seek_forward_while_running_goes_on_from_there(playing, at, rest):
    with playing(GAP) as player:
        assert "".join(player.texts(3)) == "abc"
        assert player.seek(START + at)
        player.ends_after("abc" + rest)


def test_a_seek_back_while_running_plays_again(playing):
    with playing(GAP) as player:
        assert "".join(player.texts(3)) == "abc"
        assert player.seek(START + MS)
        assert "".join(player.texts(5)) == "abcbc"
        # Before the recording is its start.
        assert player.seek(START - SECOND)
        assert "".join(player.texts(8)) == "abcbcabc"
        assert not player.is_paused()
        assert player.seek(START + 600 * SECOND)
        player.ends_after("abcbcabcde")


def test_a_seek_past_the_end_of_a_running_loop_leads_to_its_start(playing):
    with playing(GAP, "--loop") as player:
        assert "".join(player.texts(3)) == "abc"
        assert player.seek(START + 601 * SECOND)
        assert "".join(player.texts(6)) == "abcabc"
        assert player.stop_code() == (0, "")
        assert player.ends_by_a_stop()["messages_sent"] == 6


def test_play_of_a_range_without_messages_publishes_none(playing):
    with playing(spaced("abc", 10 * SECOND), "--start-paused", "--rate", "10") as player:
        for arguments in (
            {"offset": 2 * SECOND, "duration": 3 * SECOND},
            {"offset": 5 * SECOND, "until": START + 10 * SECOND - 1},
        ):
            assert player.play(**arguments), arguments
            while not player.is_paused():
                time.sleep(0.01)
        # What follows was not lost.
        assert player.play_next()
        assert player.texts(1) == ["b"]
        # Before the first message there is nothing to play.
        assert not player.play(until=START - 1)
        assert player.is_paused()
        player.resume()
        player.ends_after("bc")


def test_a_loop_that_started_paused_can_be_stopped(playing):
    with playing(spaced("abc", MS), "-p", "-l") as player:
        assert player.is_paused()
        player.stop()
        assert player.ends_by_a_stop()["messages_sent"] == 0


def test_a_loop_that_started_paused_can_be_stopped_once_it_runs(playing):
    with playing(spaced("abc", MS), "-p", "-l") as player:
        player.resume()
        assert "".join(player.texts(9)[:9]) == "abcabcabc"
        player.stop()
        assert player.ends_by_a_stop()["laps"] >= 2


def test_all_is_delivered_once_after_a_start_in_pause(playing):
    first, second = spaced("abc", 200 * MS, "/first"), spaced("wxyz", 150 * MS, "/second")
    messages = sorted([*first, *second], key=lambda message: message[1])
    with playing(messages, "-p") as player:
        assert player.is_paused()
        player.resume()
        player.ends_after("".join(text for _, _, text in messages))
