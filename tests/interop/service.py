"""A client of ROS 2 services as rmw_zenoh has it: requests and responses are bytes."""

import struct
import threading
import time
from dataclasses import dataclass

import zenoh

from node import gid

HEADER = bytes([0, 1, 0, 0])
EMPTY = HEADER + b"\0"
PATIENCE = 60


@dataclass(frozen=True)
class ServiceType:
    """A service type by its ROS name and the digits of its hash."""

    name: str
    digits: str

    @property
    def dds(self) -> str:
        package, kind, name = self.name.split("/")
        return f"{package}::{kind}::dds_::{name}_"

    @property
    def hash(self) -> str:
        return f"RIHS01_{self.digits}"


def rosbag2(name: str, digits: str) -> ServiceType:
    return ServiceType(f"rosbag2_interfaces/srv/{name}", digits)


PAUSE = rosbag2("Pause", "b101e6aaf344c37f1405f5a1f484fee1c7d2acc61c6f04aeb636e9ab3f51a497")
RESUME = rosbag2("Resume", "fb4a116a8bdfc09c4c9f48df3b295d1f546053b4bb145bcbd4c92e7eef9896b8")
RESUME_AT = rosbag2("Resume", "fb0ccd61ead193e540182fd827f77ea672e88e00cef92b361046e6113ccc6fdc")
TOGGLE = rosbag2("TogglePaused", "c4382ba5856616caf3fb7b3ecffd0eb244015814861263ccc8241b2f6c9463ae")
IS_PAUSED = rosbag2("IsPaused", "c4d007c4a9ca1a76729d96b81c20db85b88b454eee371c0d8afe3aa31b899a40")
GET_RATE = rosbag2("GetRate", "c4f24894657b45b0cca8c720ce039924cfa1a5b8baa7d1ffd94881812d8700eb")
SET_RATE = rosbag2("SetRate", "571e1d5335cc99a8e4132c46e4ea9bf873e85c39f23d375146cb7d249d939629")
PLAY = rosbag2("Play", "e87b287e52219f5f32127c876a0688c537b8a5762612f33b8e740c3b89d19d2b")
PLAY_NEXT = rosbag2("PlayNext", "2b397d59555ce383e6af4b4e43142934ad4b208bd7da01409d472f1fa481d45b")
BURST = rosbag2("Burst", "3cba361b055bbec262593fcb727aeb9fb6d096f70b50e6cd9b548b63296f2380")
SEEK = rosbag2("Seek", "6e9b6b38c44f111e36e43903da565fb2775ab0f0e69c02169a5fb0f130b23eb4")
STOP = rosbag2("Stop", "668ca94eac65895275ec6d59de0206e522deebe199d9978ffc5ddbaa84a3401e")
STOP_CODE = rosbag2("Stop", "850e221df0c7d2a552842c2712987c33efd9e469699861782ed62fb319ccb536")


def bagplay(name: str, digits: str) -> ServiceType:
    return ServiceType(f"bagplay_interfaces/srv/{name}", digits)


GET_STATUS = bagplay("GetStatus", "172052be3ae34cce1c230764297bb5339f1606f2c02fd841c9fcada8a599ceee")
SET_MUTED = bagplay("SetMuted", "bcf6922f232b1d7b92c4b4c421146436cc2afbf4e9747e620888437d8463da37")
GET_MARKS = bagplay("GetMarks", "355a8612617c1ba700d0c190cad6a5a92eafa051033a79e8d90a1f742b9bfc09")
SET_MARK = bagplay("SetMark", "72ee5d69a96d32910bb53bb5e8a8222239f93d08b4221752df5dcdb19dc411a1")


def stamp(nanos: int) -> bytes:
    sec, nanosec = divmod(nanos, 1_000_000_000)
    return struct.pack("<iI", sec, nanosec)


class ServiceClient:
    """A client of one service. It waits for the server's token, as `ros2 service call` does."""

    def __init__(self, session: zenoh.Session, name: str, type: ServiceType, domain: int = 0):
        self.name, self._session, self._type = name, session, type
        self._key = f"{domain}/{name.strip('/')}/{type.dds}/{type.hash}"
        mangled = name.replace("/", "%")
        token = f"@ros2_lv/{domain}/{session.info.zid()}/0/{id(self)}/SC/%/%/interop/{mangled}/{type.dds}/{type.hash}/::,10:,:,:,,"
        self.gid = gid(token)
        self._token = session.liveliness().declare_token(token)
        self._sequence = 0
        seen = threading.Event()
        servers = f"@ros2_lv/{domain}/*/*/*/SS/*/*/*/{mangled}/{type.dds}/**"
        with session.liveliness().declare_subscriber(servers, lambda _: seen.set(), history=True):
            assert seen.wait(30), f"nobody serves {name}"

    def send(self, request: bytes, attachment: bytes | None = None):
        """Sends a request; the replies can be received."""
        self._sequence += 1
        if attachment is None:
            attachment = struct.pack("<qqB", self._sequence, time.time_ns(), 16) + self.gid
        return self._session.get(
            self._key,
            target=zenoh.QueryTarget.ALL_COMPLETE,
            consolidation=zenoh.ConsolidationMode.NONE,
            payload=request,
            attachment=attachment,
            timeout=60.0,
        )

    def call(self, body: bytes = b"\0") -> bytes:
        """Calls the service; returns the body of the response."""
        number = self._sequence + 1
        [reply] = list(self.send(HEADER + body))
        payload, attachment = reply.ok.payload.to_bytes(), reply.ok.attachment.to_bytes()
        assert payload[:4] == HEADER
        # rcl discards a response without the number and the id of the request.
        assert len(attachment) == 33 and attachment[16] == 16
        assert int.from_bytes(attachment[:8], "little") == number
        assert attachment[17:] == self.gid
        return payload[4:]


class PlayerClient:
    """The services of a player, with values in place of bytes."""

    def __init__(self, session: zenoh.Session, node: str = "/rosbag2_player"):
        self.session, self._name = session, node
        self._clients: dict[ServiceType, ServiceClient] = {}

    def client(self, name: str, type: ServiceType) -> ServiceClient:
        if type not in self._clients:
            self._clients[type] = ServiceClient(self.session, f"{self._name}/{name}", type)
        return self._clients[type]

    def _empty(self, name: str, type: ServiceType) -> None:
        assert self.client(name, type).call() == b"\0"

    def _bool(self, name: str, type: ServiceType, request: bytes = b"\0") -> bool:
        response = self.client(name, type).call(request)
        assert response in (b"\0", b"\1")
        return response == b"\1"

    def pause(self) -> None:
        self._empty("pause", PAUSE)

    def resume(self) -> None:
        self._empty("resume", RESUME)

    def resume_at(self, time: int = 0, mode: int = 0, topic: str = "") -> tuple[int, str]:
        request = stamp(time) + struct.pack("<i", mode) + string(topic)
        return verdict(self.client("resume", RESUME_AT).call(request))

    def toggle_paused(self) -> None:
        self._empty("toggle_paused", TOGGLE)

    def is_paused(self) -> bool:
        return self._bool("is_paused", IS_PAUSED)

    def rate(self) -> float:
        [rate] = struct.unpack("<d", self.client("get_rate", GET_RATE).call())
        return rate

    def set_rate(self, rate: float) -> bool:
        return self._bool("set_rate", SET_RATE, struct.pack("<d", rate))

    def play(self, offset: int = 0, duration: int = 0, until: int = 0) -> bool:
        return self._bool("play", PLAY, stamp(offset) + stamp(duration) + stamp(until))

    def play_next(self) -> bool:
        return self._bool("play_next", PLAY_NEXT)

    def burst(self, number: int) -> int:
        [count] = struct.unpack("<Q", self.client("burst", BURST).call(struct.pack("<Q", number)))
        return count

    def seek(self, time: int) -> bool:
        return self._bool("seek", SEEK, stamp(time))

    def closed_gates(self) -> list[str]:
        """What playback waits for."""
        body = self.client("get_status", GET_STATUS).call()
        # Five times, a flag with three bytes of padding, and two times.
        _, at = text(body, 7 * len(stamp(0)) + 4)
        at += -at % 4
        [count] = struct.unpack_from("<I", body, at)
        at, gates = at + 4, []
        for _ in range(count):
            gate, at = text(body, at)
            gates.append(gate)
        return gates

    def wait_for_discovery(self) -> None:
        """Until the player knows the subscriptions that it waits for. Steps do not wait for subscribers, and a request
        can reach the player before a subscription does: by another way, as the nodes are peers.
        """
        deadline = time.monotonic() + PATIENCE
        while "subscribers" in self.closed_gates():
            assert time.monotonic() < deadline, "the player does not see the subscriptions"
            time.sleep(0.005)

    def stop(self) -> None:
        self._empty("stop", STOP)

    def stop_code(self) -> tuple[int, str]:
        return verdict(self.client("stop", STOP_CODE).call())

    def set_muted(self, topic: str, muted: bool) -> tuple[bool, str]:
        return done(self.client("set_muted", SET_MUTED).call(string(topic) + bytes([muted])))

    def set_mark(self, time: int, name: str = "", removed: bool = False) -> tuple[bool, str]:
        request = stamp(time) + string(name) + bytes([removed])
        return done(self.client("set_mark", SET_MARK).call(request))

    def marks(self) -> list[tuple[int, str]]:
        body = self.client("get_marks", GET_MARKS).call()
        [count], at, marks = struct.unpack_from("<I", body), 4, []
        for _ in range(count):
            at += -at % 4
            sec, nanosec = struct.unpack_from("<iI", body, at)
            name, at = text(body, at + 8)
            marks.append((sec * 1_000_000_000 + nanosec, name))
        assert text(body, at) == ("", len(body))
        return marks


def string(value: str) -> bytes:
    data = value.encode() + b"\0"
    return struct.pack("<I", len(data)) + data


def text(body: bytes, at: int) -> tuple[str, int]:
    """A string after padding at this place, and the place after it."""
    at += -at % 4
    [length] = struct.unpack_from("<I", body, at)
    end = at + 4 + length
    assert body[end - 1] == 0
    return body[at + 4 : end - 1].decode(), end


def done(body: bytes) -> tuple[bool, str]:
    message, end = text(body, 1)
    assert body[0] in (0, 1) and len(body) == end
    return body[0] == 1, message


def verdict(body: bytes) -> tuple[int, str]:
    code, length = struct.unpack("<iI", body[:8])
    assert len(body) == 8 + length and body[-1] == 0
    return code, body[8:-1].decode()
