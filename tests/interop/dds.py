"""ROS 2 nodes on DDS, as PyPI `cyclonedds` makes them, and the bridge that joins them to zenoh (`bridge/`)."""

import json
import os
import random
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import new_class

from cyclonedds import _clayer
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import array, int64, sequence, uint8, uint64
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration
from player import PROCESS, PROCESSES, written

HERE = Path(__file__).parent
TARGET = HERE.parents[1] / "target"
BRIDGE = Path(os.environ.get("BRIDGE_BIN", TARGET / "debug/ros2dds-bridge"))
PYTHON = Path(os.environ.get("ROS_PYTHON", TARGET / "interop-venv-ros/bin/python"))
# Samples in any state.
ANY = 0x7F
PATIENCE = 60

# Loopback alone, without multicast.
LOOPBACK = """<CycloneDDS><Domain>
<General><Interfaces><NetworkInterface address="127.0.0.1"/></Interfaces><AllowMulticast>false</AllowMulticast></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>60</MaxAutoParticipantIndex>
<Peers><Peer address="localhost"/></Peers></Discovery>
</Domain></CycloneDDS>"""


def free_domain() -> int:
    """A DDS domain that no other process of these tests uses, and whose first port on this host is free."""
    while True:
        domain = 104 + PROCESSES * random.randrange(12) + PROCESS
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("127.0.0.1", 7400 + 250 * domain + 10))
            except OSError:
                continue
        return domain


def until(what: str, holds, timeout: float = PATIENCE) -> None:
    deadline = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not in time"
        time.sleep(0.01)


class Bridge:
    """A bridge that is the zenoh router at a port, for one DDS domain."""

    def __init__(self, folder: Path, port: int, domain: int):
        assert BRIDGE.is_file(), f"no bridge at {BRIDGE}: see README.md, or set BRIDGE_BIN"
        config = {
            "mode": "router",
            "listen": {"endpoints": [f"tcp/127.0.0.1:{port}"]},
            "scouting": {"multicast": {"enabled": False}},
            "timestamping": {"enabled": True},
            "plugins_loading": {"enabled": True},
            "plugins": {"ros2dds": {"domain": domain, "ros_automatic_discovery_range": "LOCALHOST"}},
        }
        path = folder / f"bridge-{port}.json5"
        path.write_text(json.dumps(config))
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("ROS_", "ZENOH_"))}
        environment |= {"ROS_DISTRO": "jazzy", "CYCLONEDDS_URI": LOOPBACK}
        self._log = (folder / f"bridge-{port}.log").open("w+b")
        self._process = subprocess.Popen(
            [BRIDGE, path], stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, env=environment
        )

    def __enter__(self):
        def is_started() -> bool:
            assert self._process.poll() is None, self.log()
            return "\nstarted\n" in "\n" + self.log()

        try:
            until("the bridge", is_started)
        except AssertionError:
            self.kill()
            raise
        return self

    def log(self) -> str:
        return written(self._log)

    def stop(self) -> None:
        """It stands still, as in a debugger, until it goes on."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def __exit__(self, *_):
        self.kill()
        self._log.close()


@contextmanager
def stock_node(domain: int, *arguments: str):
    """`rclpy_node.py` with these arguments in a DDS domain."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("ROS_DOMAIN", "RMW_"))}
    environment |= {
        "ROS_DOMAIN_ID": str(domain),
        "RMW_IMPLEMENTATION": "rmw_fastrtps_cpp",
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
    }
    assert PYTHON.is_file(), f"no Python at {PYTHON}: see README.md, or set ROS_PYTHON"
    process = subprocess.Popen([PYTHON, HERE / "rclpy_node.py", *arguments], env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@dataclass
class Gid(IdlStruct, typename="rmw_dds_common::msg::dds_::Gid_"):
    data: array[uint8, 16]


@dataclass
class NodeEntities(IdlStruct, typename="rmw_dds_common::msg::dds_::NodeEntitiesInfo_"):
    node_namespace: str
    node_name: str
    reader_gid_seq: sequence[Gid]
    writer_gid_seq: sequence[Gid]


@dataclass
class ParticipantEntities(IdlStruct, typename="rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_"):
    gid: Gid
    node_entities_info_seq: sequence[NodeEntities]


def profile(reliable: bool = True, latched: bool = False, depth: int | None = None) -> Qos:
    """`depth` of None: all messages are kept."""
    history = Policy.History.KeepAll if depth is None else Policy.History.KeepLast(depth)
    return Qos(
        Policy.Reliability.Reliable(duration(seconds=1)) if reliable else Policy.Reliability.BestEffort,
        Policy.Durability.TransientLocal if latched else Policy.Durability.Volatile,
        history,
        # ROS has no type information on the wire and writes XCDR1.
        Policy.DataRepresentation(use_cdrv0_representation=True),
    )


def idl(type_name: str, **fields) -> type:
    """A type of this ROS name, such as `std_msgs/msg/String`, with these fields."""
    package, kind, name = type_name.split("/")
    typename = f"{package}::{kind}::dds_::{name}_"
    return dataclass(new_class(name, (IdlStruct,), {"typename": typename}, lambda body: body.update(__annotations__=fields)))


class Reader:
    """The messages of a topic as they are on the wire."""

    def __init__(self, reader: DataReader):
        self.reader, self.payloads = reader, []

    def take(self) -> list[bytes]:
        """All payloads so far."""
        while taken := _clayer.ddspy_take(self.reader._ref, ANY, 1000):
            assert isinstance(taken, list), taken
            self.payloads += [bytes(data) for data, info in taken if info.valid_data]
        return self.payloads


class Node:
    """A ROS 2 node in a DDS domain."""

    def __init__(self, domain: int, name: str):
        self._name = name
        self._participant = DomainParticipant(domain)
        info = Topic(self._participant, "ros_discovery_info", ParticipantEntities)
        self._info = DataWriter(self._participant, info, profile(latched=True, depth=1))
        self._readers, self._writers = [], []

    def _announce(self) -> None:
        """Without this the bridge takes no notice of readers and writers."""
        gids = lambda entities: [Gid(list(entity.guid.bytes)) for entity in entities]
        node = NodeEntities("/", self._name, gids(self._readers), gids(self._writers))
        self._info.write(ParticipantEntities(Gid(list(self._participant.guid.bytes)), [node]))

    def reader(self, dds_topic: str, made: type, qos: Qos) -> DataReader:
        reader = DataReader(self._participant, Topic(self._participant, dds_topic, made), qos)
        self._readers.append(reader)
        self._announce()
        return reader

    def writer(self, dds_topic: str, made: type, qos: Qos) -> DataWriter:
        writer = DataWriter(self._participant, Topic(self._participant, dds_topic, made), qos)
        self._writers.append(writer)
        self._announce()
        return writer

    def subscribe(self, topic: str, type_name: str, qos: Qos) -> Reader:
        # Declared with one byte, the least that any message has, so that DDS accepts every payload.
        return Reader(self.reader(f"rt{topic}", idl(type_name, first=uint8), qos))

    def client(self, service: str, type_name: str, request: dict, response: dict) -> "Client":
        header = {"client": uint64, "sequence": int64}
        asked = idl(f"{type_name}_Request", **header, **request)
        answered = idl(f"{type_name}_Response", **header, **response)
        # The reader first: then the bridge usually knows it before it can take a request.
        reader = self.reader(f"rr{service}Reply", answered, profile())
        return Client(self.writer(f"rq{service}Request", asked, profile()), reader, asked)


class Client:
    """A service client as `rmw_cyclonedds` has it."""

    def __init__(self, writer: DataWriter, reader: DataReader, request: type):
        self._writer, self._reader, self._request = writer, reader, request
        self._sequence = 0

    def is_ready(self) -> bool:
        return bool(self._writer.get_matched_subscriptions() and self._reader.get_matched_publications())

    def call(self, **fields):
        return self._call(fields, again_after=float("inf"))

    def call_repeatedly(self, **fields):
        """The same, for a client that has just become ready: the bridge may not know its reader yet, and DDS loses a
        response to such a reader. So the request is sent each second until there is a response."""
        return self._call(fields, again_after=1)

    def _call(self, fields: dict, again_after: float):
        self._sequence += 1
        answers, due = [], 0.0

        def is_answered() -> bool:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + again_after
                self._writer.write(self._request(client=7, sequence=self._sequence, **fields))
            answers.extend(it for it in self._reader.take(10) if it.sequence == self._sequence)
            return bool(answers)

        until("an answer", is_answered)
        assert answers[0].client == 7
        return answers[0]


def domain(number: int) -> Domain:
    """Keep the result: participants of this process are on loopback as long as it exists."""
    return Domain(number, LOOPBACK)
