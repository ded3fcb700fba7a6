"""`play ctl` drives a player of another implementation: one that answers as `ros2 bag play` of ROS 2 Lyrical does."""

import json
import struct
import subprocess

import pytest
import zenoh

from node import open_router
from player import BINARY, environment, free_port
from service import (
    BURST,
    GET_RATE,
    HEADER,
    IS_PAUSED,
    PAUSE,
    PLAY_NEXT,
    RESUME_AT,
    SEEK,
    SET_RATE,
    STOP_CODE,
    TOGGLE,
    ServiceType,
)

NODE = "/rosbag2_player"


class OtherPlayer:
    """The services of a player, each with the response that a real one gives."""

    def __init__(self, session: zenoh.Session):
        self.is_paused, self.rate, self.calls = False, 1.0, []
        self._session, self._number = session, 0
        self._entities = [session.liveliness().declare_token(f"@ros2_lv/0/{session.info.zid()}/0/0/NN/%/%/rosbag2_player")]
        text = lambda code, words: struct.pack("<iI", code, len(words) + 1) + words + b"\0"
        self._serve("pause", PAUSE, lambda body: self._pause(True))
        self._serve("resume", RESUME_AT, lambda body: self._pause(False) and text(0, b""))
        self._serve("toggle_paused", TOGGLE, lambda body: self._pause(not self.is_paused))
        self._serve("is_paused", IS_PAUSED, lambda body: bytes([self.is_paused]))
        self._serve("get_rate", GET_RATE, lambda body: struct.pack("<d", self.rate))
        self._serve("set_rate", SET_RATE, self._set_rate)
        self._serve("play_next", PLAY_NEXT, lambda body: bytes([self.is_paused]))
        self._serve("burst", BURST, lambda body: body if self.is_paused else bytes(8))
        self._serve("seek", SEEK, lambda body: b"\1")
        self._serve("stop", STOP_CODE, lambda body: text(1, b"Player is already stopped."))

    def _serve(self, name: str, type: ServiceType, answer) -> None:
        def reply(query: zenoh.Query) -> None:
            body = query.payload.to_bytes()
            assert body[:4] == HEADER and len(query.attachment.to_bytes()) == 33
            self.calls.append((name, body[4:]))
            query.reply(query.key_expr, HEADER + answer(body[4:]), attachment=query.attachment)
            query.drop()

        self._number += 1
        key = f"0{NODE}/{name}/{type.dds}/{type.hash}"
        self._entities.append(self._session.declare_queryable(key, reply, complete=True))
        mangled = f"{NODE}/{name}".replace("/", "%")
        token = f"@ros2_lv/0/{self._session.info.zid()}/0/{self._number}/SS/%/%/rosbag2_player/{mangled}/{type.dds}/{type.hash}/::,10:,:,:,,"
        self._entities.append(self._session.liveliness().declare_token(token))

    def leave(self) -> None:
        for entity in reversed(self._entities):
            entity.undeclare()

    def _pause(self, is_paused: bool) -> bytes:
        self.is_paused = is_paused
        return b"\0"

    def _set_rate(self, body: bytes) -> bytes:
        [rate] = struct.unpack("<d", body)
        if rate <= 0:
            return b"\0"
        self.rate = rate
        return b"\1"


@pytest.fixture
def other():
    port = free_port()
    with open_router(port) as session:
        yield OtherPlayer(session), port


def command(port: int, *arguments: str) -> list[str]:
    words = [BINARY, "ctl", *arguments, "--connect", f"tcp/127.0.0.1:{port}", "--format", "json"]
    return [str(word) for word in words]


def ctl(port: int, *arguments: str) -> tuple[int, dict, str]:
    done = subprocess.run(
        command(port, *arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


def test_a_player_of_rosbag2_is_driven(other):
    player, port = other

    def done(*arguments: str) -> dict:
        code, result, error = ctl(port, *arguments)
        assert code == 0 and result["success"], (arguments, error)
        return result

    assert done("status")["paused"] is False
    assert done("pause")["paused"] is True
    assert done("toggle")["paused"] is False
    assert done("resume")["paused"] is False
    assert done("rate", "0.5")["rate"] == 0.5
    assert done("step", "3") | {"command": ""} == done("burst", "3") | {"command": ""}
    assert player.calls[-3][0] == "burst" and player.is_paused
    done("seek", "1700000000.5")
    assert ("seek", struct.pack("<iI", 1_700_000_000, 500_000_000)) in player.calls


def test_what_it_refuses_or_cannot_do_ends_with_1(other):
    player, port = other
    for arguments, reason in (
        (("rate", "-1"), "refuses this rate"),
        (("stop",), "Player is already stopped."),
        (("seek", "+5"), "absolute time"),
        (("step", "-1"), "has no service step"),
        (("loop", "on"), "has no service set_range"),
        (("loop", "1..2"), "has no service set_loop"),
        (("burst", "3"), "not paused"),
        (("wait-until", "1700000000"), "has no service get_status"),
        (("wait-until", "+5"), "has no service get_status"),
    ):
        code, _, error = ctl(port, *arguments)
        assert code == 1 and reason in error, (arguments, code, error)
    assert player.rate == 1.0


def test_it_is_watched_until_it_leaves(other):
    player, port = other
    watch = subprocess.Popen(
        command(port, "status", "--watch"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        state = lambda: {key: value for key, value in json.loads(watch.stdout.readline()).items() if key in ("paused", "rate")}
        assert state() == {"paused": False, "rate": 1.0}
        player.rate = 0.5
        assert state() == {"paused": False, "rate": 0.5}
        player.is_paused = True
        assert state() == {"paused": True, "rate": 0.5}
        player.leave()
        _, error = watch.communicate(timeout=60)
        assert watch.returncode == 0, error
        assert error.count("is asked 20 times a second") == 1
    finally:
        watch.kill()
        watch.wait()
