"""The program under test of CI replay: a ROS 2 node of its own, which shares no code with the player.

It answers each message of /imu on /answer, and publishes /timer at each 100 ms of ROS time. As in rclcpp, the clock is received on
a thread of its own, callbacks run one after the other on another, and a queue keeps the newest messages.

    ci_node.py [--sleep SECONDS] [--compute SECONDS] [--depth N] [--no-timer] [--show-clock] [--seed N] [FAULT]
"""

import argparse
import collections
import json
import os
import random
import signal
import struct
import sys
import threading
import time

import zenoh

from node import CLOCK, GOSSIP, clock_value, configuration, gid
from service import HEADER, string
from strings import string_topic

IMU_DDS = "sensor_msgs::msg::dds_::Imu_"
TEXT = string_topic("/text")
STRING_DDS, STRING_HASH = TEXT.dds_type, TEXT.hash
PERIOD = 100_000_000


class Publisher:
    def __init__(self, session, domain, topic, entity):
        key = f"{domain}/{topic.strip('/')}/{STRING_DDS}/{STRING_HASH}"
        mangled = topic.replace("/", "%")
        token = f"@ros2_lv/{domain}/{session.info.zid()}/0/{entity}/MP/%/%/ci_node/{mangled}/{STRING_DDS}/{STRING_HASH}/::,100:,:,:,,"
        self._gid, self._sequence = gid(token), 0
        self._publisher = session.declare_publisher(
            key, congestion_control=zenoh.CongestionControl.BLOCK
        )
        self._token = session.liveliness().declare_token(token)

    def put(self, text: str):
        self._sequence += 1
        attachment = struct.pack("<qqB", self._sequence, time.time_ns(), 16) + self._gid
        self._publisher.put(HEADER + string(text), attachment=attachment)


class Executor:
    """Runs callbacks one after the other; the queue of the subscription keeps the newest `depth`."""

    def __init__(self, depth, callback):
        self._queue = collections.deque(maxlen=depth)
        self._ready = threading.Condition()
        self._callback = callback
        threading.Thread(target=self._run, daemon=True).start()

    def add(self, payload):
        with self._ready:
            self._queue.append(payload)
            self._ready.notify()

    def _run(self):
        while True:
            with self._ready:
                while not self._queue:
                    self._ready.wait()
                payload = self._queue.popleft()
            self._callback(payload)


def compute(seconds: float):
    """Uses the processor for this long, whatever else runs."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sleep", type=float, default=0)
    parser.add_argument("--compute", type=float, default=0)
    parser.add_argument("--depth", type=int, default=10)
    parser.add_argument("--show-clock", action="store_true")
    parser.add_argument("--no-timer", action="store_true")
    parser.add_argument("--skip", type=int, help="do not answer this one")
    parser.add_argument("--twice", action="store_true", help="answer each twice")
    parser.add_argument("--crash-at", type=int)
    parser.add_argument("--differ-at", type=int, help="a random answer to this one")
    parser.add_argument("--ignore-term", action="store_true")
    arguments = parser.parse_args()
    if arguments.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    settings = {
        "mode": "peer",
        "connect/endpoints": [os.environ["BAGPLAY_ENDPOINT"]],
        "listen/endpoints": ["tcp/localhost:0"],
        "scouting/multicast/enabled": False,
    }
    config = configuration(settings | GOSSIP)
    # As rmw_zenoh reads it.
    for pair in filter(None, os.environ.get("ZENOH_CONFIG_OVERRIDE", "").split(";")):
        config.insert_json5(*pair.split("=", 1))
    session = zenoh.open(config)
    zid = session.info.zid()
    answer = Publisher(session, domain, "/answer", 10)
    timer = None if arguments.no_timer else Publisher(session, domain, "/timer", 11)
    shown = [0]
    count = [0]

    def callback(payload: bytes):
        number = count[0]
        count[0] += 1
        if number == arguments.crash_at:
            os.kill(os.getpid(), signal.SIGSEGV)
        if arguments.sleep:
            time.sleep(random.uniform(0, arguments.sleep))
        if arguments.compute:
            compute(random.uniform(0, arguments.compute))
        stamp = struct.unpack_from("<iI", payload, 4)
        text = f"{number} {stamp[0]}.{stamp[1]:09}"
        if arguments.show_clock:
            text += f" at {shown[0]}"
        if number == arguments.differ_at:
            text += f" {random.random()}"
        if number != arguments.skip:
            answer.put(text)
        if arguments.twice:
            answer.put(text)

    executor = Executor(arguments.depth, callback)

    def clock(sample):
        now = clock_value(sample.payload.to_bytes())
        before, shown[0] = shown[0], now
        # A timer of rclcpp fires once for all periods that it has missed.
        if timer and before and before // PERIOD != now // PERIOD:
            timer.put(f"{now // PERIOD}")

    def subscribe(entity, topic, dds, on_sample):
        mangled = topic.replace("/", "%")
        kept = session.declare_subscriber(f"{domain}/{topic.strip('/')}/{dds}/*", on_sample)
        for hash in hashes(dds):
            token = f"@ros2_lv/{domain}/{zid}/0/{entity}/MS/%/%/ci_node/{mangled}/{dds}/{hash}/::,{arguments.depth}:,:,:,,"
            keep.append(session.liveliness().declare_token(token))
        keep.append(kept)

    def hashes(dds):
        return [CLOCK.hash] if dds == CLOCK.dds_type else [os.environ["IMU_HASH"]]

    keep = []
    subscribe(1, "/clock", CLOCK.dds_type, clock)
    subscribe(2, "/imu", IMU_DDS, lambda sample: executor.add(sample.payload.to_bytes()))
    print(json.dumps({"ready": str(zid)}), flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    sys.exit(main())
