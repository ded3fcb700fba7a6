import os
from pathlib import Path

import pytest

import dds
from player import HOUSE, free_port
from recording import Recording
from ros1 import Network


@pytest.fixture(scope="session")
def demo() -> Recording:
    return Recording(HOUSE / "testdata/demo.mcap")


@pytest.fixture(scope="session")
def data() -> Path:
    folder = os.environ.get("BAGPLAY_DATA")
    assert folder, "BAGPLAY_DATA is not set: the folder with the real recordings"
    assert Path(folder).is_dir(), f"BAGPLAY_DATA: {folder} is not a folder"
    return Path(folder)


@pytest.fixture
def domain():
    """A DDS domain on the loopback interface."""
    number = dds.free_domain()
    loopback = dds.domain(number)
    yield number
    del loopback


@pytest.fixture
def network(tmp_path):
    """A network of ROS 1, whose master nobody has started."""
    with Network(tmp_path, free_port()) as network:
        yield network
