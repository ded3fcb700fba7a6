"""When processes under test began and ended, by their own records: a file for each, named by its process id."""

import json
import os
import signal
import sys
import time
from pathlib import Path


class Life:
    """The record of this process. Its end is written when it is asked to end."""

    def __init__(self, folder: str, others: int):
        self._folder, self._others = Path(folder), others
        self._name = str(os.getpid())
        self._write("began")
        signal.signal(signal.SIGTERM, self._end)

    def _write(self, what: str) -> None:
        # Renamed, so that a reader never sees a part of it.
        part = self._folder / f".{self._name}"
        part.write_text(json.dumps({"at": time.monotonic_ns()}))
        part.rename(self._folder / f"{self._name}.{what}")

    def _end(self, *_):
        self._write("ended")
        sys.exit()

    def meet(self) -> None:
        """Waits until as many processes as wanted have begun, this one among them."""
        while len(list(self._folder.glob("*.began"))) < self._others:
            time.sleep(0.01)


def lives(folder: Path) -> list[tuple[int, int]]:
    """Begin and end of each process, in the order of their beginnings."""
    found = []
    for began in folder.glob("*.began"):
        ended = began.with_suffix(".ended")
        assert ended.exists(), f"{began.stem} has not been asked to end"
        found.append(tuple(json.loads(file.read_text())["at"] for file in (began, ended)))
    return sorted(found)
