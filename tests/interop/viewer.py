"""A viewer by PyPI `websockets`: the protocol is written here by hand."""

import json
import struct
import time
from collections import deque
from dataclasses import dataclass

from websockets.sync.client import connect

PLAYING, PAUSED, BUFFERING, ENDED = range(4)


@dataclass(frozen=True)
class State:
    status: int
    time: int
    speed: float
    did_seek: bool
    id: str


@dataclass(frozen=True)
class Data:
    topic: str
    time: int
    data: bytes


class Viewer:
    """Connects when it is made; everything that arrives is kept until it is asked for."""

    def __init__(self, port: int, protocol: str = "foxglove.sdk.v1", timeout: float = 30):
        self._socket = self._connect(port, protocol, timeout)
        self.channels: dict[int, dict] = {}
        self._later: deque = deque()
        self._requests = 0
        # As they were on the wire: states that arrived and requests that were sent.
        self.states: list[tuple[State, bytes]] = []
        self.requests: list[bytes] = []
        self.info = self.json("serverInfo")
        # From here on, it is told everything. The state can still be asked for.
        state = self.wait(lambda got: isinstance(got, State))
        self._later.appendleft(state)

    @staticmethod
    def _connect(port: int, protocol: str, timeout: float):
        until = time.monotonic() + timeout
        while True:
            try:
                uri, protocols = f"ws://127.0.0.1:{port}", [protocol]
                return connect(
                    uri, subprotocols=protocols, max_size=None, proxy=None, legacy=True
                )
            except OSError:
                # The player has not begun to listen.
                assert time.monotonic() < until, "no server"
                time.sleep(0.05)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _receive(self, timeout: float):
        message = self._socket.recv(timeout)
        if isinstance(message, str):
            message = json.loads(message)
            if message["op"] == "advertise":
                self.channels |= {channel["id"]: channel for channel in message["channels"]}
            return message
        match message[0]:
            case 1:
                subscription, stamp = struct.unpack("<IQ", message[1:13])
                # Subscriptions have the ids of their channels.
                return Data(self.channels[subscription]["topic"], stamp, message[13:])
            case 2:
                return struct.unpack("<Q", message[1:])[0]
            case 5:
                _, status, stamp, speed, did_seek, length = struct.unpack("<BBQfBI", message[:19])
                assert len(message) == 19 + length
                state = State(status, stamp, speed, bool(did_seek), message[19:].decode())
                self.states.append((state, message))
                return state
        raise AssertionError(f"opcode {message[0]}")

    def wait(self, is_it, timeout: float = 60):
        """The first thing that satisfies a condition; what comes before it can be asked for later."""
        skipped = deque()
        until = time.monotonic() + timeout
        while True:
            got = self._later.popleft() if self._later else self._receive(until - time.monotonic())
            if is_it(got):
                self._later = skipped + self._later
                return got
            skipped.append(got)

    def json(self, op: str) -> dict:
        return self.wait(lambda got: isinstance(got, dict) and got["op"] == op)

    def state(self, is_it=lambda state: True) -> State:
        """The next state that satisfies a condition; those before it are dropped."""
        while True:
            state = self.wait(lambda got: isinstance(got, State))
            if is_it(state):
                return state

    def any_state(self, is_it) -> State:
        """The first state that satisfies a condition, of all since the beginning: one may come before or after the
        answer to the request that led to it."""
        return next((state for state, _ in self.states if is_it(state)), None) or self.state(is_it)

    def all_until(self, is_it) -> list:
        """Everything up to the first thing that satisfies a condition."""
        got = []
        while not got or not is_it(got[-1]):
            got.append(self._later.popleft() if self._later else self._receive(60))
        return got

    def subscribe(self, *topics: str) -> None:
        """To all of them; returns when the server has taken it."""
        missing = set(topics)
        while missing - {channel["topic"] for channel in self.channels.values()}:
            self._later.append(self._receive(30))
        ids = [id for id, channel in self.channels.items() if channel["topic"] in missing]
        subscriptions = [{"id": id, "channelId": id} for id in ids]
        self._socket.send(json.dumps({"op": "subscribe", "subscriptions": subscriptions}))
        self.send(b"\x03")
        self.json("status")

    def send(self, message) -> None:
        self._socket.send(message)

    def request(self, command: int, speed: float, seek: int | None = None) -> str:
        self._requests += 1
        id = f"{self._socket.local_address[1]}-{self._requests}"
        head = struct.pack("<BBfBQI", 3, command, speed, seek is not None, seek or 0, len(id))
        self.requests.append(head + id.encode())
        self.send(self.requests[-1])
        return id

    def ask(self, command: int, speed: float, seek: int | None = None) -> State:
        """The answer to a request."""
        id = self.request(command, speed, seek)
        return self.state(lambda state: state.id == id)
