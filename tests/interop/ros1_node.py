"""A stock node of ROS 1: `rospy`, under the Python of the system.

ros1_node.py NAME [--stop-after N] [--kill-after N] TOPIC=TYPE…

Subscribes to the topics, `*` for any type, and writes each message as a line of JSON, with the bytes that `rospy` makes of it. After
that many messages it stops or kills itself.
"""

import argparse
import hashlib
import json
import os
import signal
import sys
import threading
from io import BytesIO

import roslib.message
import rospy
from genpy.dynamic import generate_dynamic

LOCK = threading.Lock()


def tell(**what) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class Taker:
    count = 0

    def __init__(self, topic: str, arguments):
        self._topic, self._arguments = topic, arguments
        self._is_known = False

    def __call__(self, message) -> None:
        if not self._is_known:
            self._is_known = True
            header = message._connection_header
            # Tools make classes of the definition. An error is in the log of the node, and the message is missing.
            generate_dynamic(header["type"], header["message_definition"])
        if isinstance(message, rospy.AnyMsg):
            data = message._buff
        else:
            buffer = BytesIO()
            message.serialize(buffer)
            data = buffer.getvalue()
        header = message._connection_header
        now = rospy.get_rostime().to_nsec()
        stamp = message.clock.to_nsec() if self._topic == "/clock" else None
        with LOCK:
            tell(
                topic=self._topic,
                digest=hashlib.sha256(data).hexdigest(),
                type=header["type"],
                md5=header["md5sum"],
                latching=header["latching"],
                publisher=header["callerid"],
                now=now,
                clock=stamp,
            )
            Taker.count += 1
            for after, number in ((self._arguments.stop_after, signal.SIGSTOP), (self._arguments.kill_after, signal.SIGKILL)):
                if Taker.count == after:
                    os.kill(os.getpid(), number)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--stop-after", type=int)
    parser.add_argument("--kill-after", type=int)
    parser.add_argument("topics", nargs="+")
    arguments = parser.parse_args()
    rospy.init_node(arguments.name)
    for topic in arguments.topics:
        name, kind = topic.split("=")
        message = rospy.AnyMsg if kind == "*" else roslib.message.get_message_class(kind)
        assert message, kind
        rospy.Subscriber(name, message, Taker(name, arguments), queue_size=None, tcp_nodelay=True)
    with LOCK:
        tell(ready=True, use_sim_time=rospy.get_param("/use_sim_time", None))
    rospy.spin()


main()
