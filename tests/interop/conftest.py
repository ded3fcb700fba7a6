import os
from pathlib import Path

import pytest

from player import HOUSE
from recording import Recording


@pytest.fixture(scope="session")
def demo() -> Recording:
    return Recording(HOUSE / "testdata/demo.mcap")


@pytest.fixture(scope="session")
def data() -> Path:
    folder = os.environ.get("BAGPLAY_DATA")
    assert folder, "BAGPLAY_DATA is not set: the folder with the real recordings"
    assert Path(folder).is_dir(), f"BAGPLAY_DATA: {folder} is not a folder"
    return Path(folder)
