"""PyPI `zenoh-ros2-sdk` as the subscriber: an independent implementation of the same protocol."""

import dataclasses
import time

import numpy
import pytest
from zenoh_ros2_sdk import ROS2Subscriber
from zenoh_ros2_sdk.session import ZenohSession

from player import Player

TOPICS = [
    "/robot_description",
    "/tf_static",
    "/tf",
    "/odom",
    "/imu",
    "/scan",
    "/camera/image/compressed",
    "/diagnostics",
]


@pytest.fixture
def subscribe(monkeypatch):
    """Subscribers of the SDK in a session of their own: it keeps one per process by itself."""
    for name in ("ZENOH_CONFIG_OVERRIDE", "ZENOH_SESSION_CONFIG_URI", "ROS_DOMAIN_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(ZenohSession, "_instance", None)
    made = []

    def make(port: int, topic) -> list:
        got = []
        made.append(
            ROS2Subscriber(
                topic=topic.name,
                msg_type=topic.type_name,
                callback=got.append,
                msg_definition=topic.definition,
                type_hash=topic.hash,
                router_port=port,
            )
        )
        return got

    yield make
    for subscriber in made:
        subscriber.close()
    if ZenohSession._instance is not None:
        ZenohSession._instance.session.close()


def plain(value):
    """Fields as dictionaries, so that classes of two type stores compare."""
    if dataclasses.is_dataclass(value):
        fields = (field.name for field in dataclasses.fields(value))
        return {name: plain(getattr(value, name)) for name in fields if name != "__msgtype__"}
    if isinstance(value, numpy.ndarray):
        return value.tolist()
    if isinstance(value, list):
        return [plain(element) for element in value]
    return value


def test_the_sdk_decodes_the_same_values(demo, subscribe):
    arguments = ["--rate", "3", "--topics", *TOPICS, "--wait-for-subscribers"]
    with Player(demo.path, *arguments) as player:
        wait_for_router(player.port)
        got = {name: subscribe(player.port, demo.topics[name]) for name in TOPICS}
        player.finish(timeout=60)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if all(len(got[name]) == len(demo.of(name)) for name in TOPICS):
                break
            time.sleep(0.1)
    for name in TOPICS:
        want = [plain(demo.topics[name].decode(message.data)) for message in demo.of(name)]
        assert len(got[name]) == len(want), name
        assert [plain(message) for message in got[name]] == want, name


def wait_for_router(port: int) -> None:
    """The SDK tries to connect only once a second, so the router has to be there first."""
    from node import session

    session(port).close()
