"""A message type that no recording has, and its messages."""

import struct

from recording import Topic
from service import HEADER

DEFINITION = "std_msgs/Header header\nfloat64 value\n"
REFERENCED = {
    "builtin_interfaces/msg/Time": "int32 sec\nuint32 nanosec\n",
    "std_msgs/msg/Header": "builtin_interfaces/Time stamp\nstring frame_id\n",
}
_TEXTS = [DEFINITION] + [
    f"MSG: {name.replace('/msg/', '/')}\n{text}" for name, text in sorted(REFERENCED.items(), reverse=True)
]
WHOLE = ("=" * 80 + "\n").join(_TEXTS)
READING = Topic("/reading", "test_msgs/msg/Reading", WHOLE, "", "")


def reading(sec: int, nanosec: int) -> bytes:
    """A message with this stamp, no frame and the value 1.5."""
    # The value stands 8 bytes after a multiple of 8.
    return HEADER + struct.pack("<iII4xd", sec, nanosec, 1, 1.5)
