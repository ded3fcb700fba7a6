"""The program under test of CI replay: a ROS 2 node of its own, which shares no code with the player.

It answers each message of /imu on /answer, and publishes /timer at each 100 ms of ROS time. As in rclcpp, the clock is received on
a thread of its own, callbacks run one after the other on another, and a queue keeps the newest messages.

    ci_node.py [--sleep SECONDS] [--compute SECONDS] [--depth N] [--no-timer] [--show-clock] [FAULT]
"""

import argparse
import collections
import ctypes
import json
import os
import random
import resource
import signal
import struct
import sys
import threading
import time

import zenoh

from lives import Life
from node import CLOCK, GOSSIP, clock_value, configuration, gid
from service import HEADER, string
from strings import string_topic

ODOM_DDS = "nav_msgs::msg::dds_::Odometry_"
IMU_DDS = "sensor_msgs::msg::dds_::Imu_"
TEXT = string_topic("/text")
STRING_DDS, STRING_HASH = TEXT.dds_type, TEXT.hash
PERIOD = 100_000_000


class Publisher:
    def __init__(self, session, domain, topic, entity, dds=STRING_DDS, hash=STRING_HASH):
        key = f"{domain}/{topic.strip('/')}/{dds}/{hash}"
        mangled = topic.replace("/", "%")
        token = f"@ros2_lv/{domain}/{session.info.zid()}/0/{entity}/MP/%/%/ci_node/{mangled}/{dds}/{hash}/::,100:,:,:,,"
        self._gid, self._sequence = gid(token), 0
        self._publisher = session.declare_publisher(
            key, congestion_control=zenoh.CongestionControl.BLOCK
        )
        self._token = session.liveliness().declare_token(token)

    def lose(self):
        """A message that the link does not take."""
        self._sequence += 1

    def put(self, payload: bytes, again: bool = False):
        self._sequence += not again
        attachment = struct.pack("<qqB", self._sequence, time.time_ns(), 16) + self._gid
        self._publisher.put(payload, attachment=attachment)


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


def join() -> zenoh.Session:
    """The session that the environment of the player asks for."""
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
    return zenoh.open(config)


def compute(seconds: float):
    """Uses the processor for this long, whatever else runs."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def shifted(payload: bytes, nanos: int) -> bytes:
    """The message with another `header.stamp`."""
    sec, nanosec = struct.unpack_from("<iI", payload, 4)
    stamp = divmod(sec * 1_000_000_000 + nanosec + nanos, 1_000_000_000)
    return payload[:4] + struct.pack("<iI", *stamp) + payload[12:]


def start_daemon():
    """Leaves a process behind, in a session of its own, whose parent has ended."""
    middle = os.fork()
    if middle == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", "600"])
        os._exit(0)
    os.waitpid(middle, 0)


def flood(most: float):
    line = b"x" * 4095 + b"\n"
    written = 0
    while written < most:
        written += os.write(1, line)


def wake_for_ever(seconds: float):
    never = threading.Event()
    while True:
        never.wait(seconds)


def chatter(publisher):
    number = 0
    while True:
        publisher.put(HEADER + string(f"{number}"))
        number += 1


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
    parser.add_argument("--silent", action="store_true", help="answer nothing")
    parser.add_argument("--echo", type=int, metavar="NS", help="answer with the message, its stamp shifted")
    parser.add_argument("--extra", type=int, default=0, help="so many more messages on /text for each")
    parser.add_argument("--spin-at", type=int, help="never come back from this one")
    parser.add_argument("--deaf", action="store_true", help="subscribe to nothing")
    parser.add_argument("--daemon", action="store_true", help="leave a process behind")
    parser.add_argument("--close-stdout", action="store_true")
    parser.add_argument("--flood-stdout", type=float, nargs="?", const=float("inf"), metavar="BYTES", help="at most")
    parser.add_argument("--file-limit", type=int, metavar="BYTES", help="of files that this process writes")
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--quit-at", type=int, help="exit with code 0 at this one")
    parser.add_argument("--farewell", action="store_true", help="a last answer when it is asked to end")
    parser.add_argument("--show-jumps", action="store_true", help="how often the clock went back, in each answer")
    parser.add_argument("--resettable", action="store_true", help="count from 0 again after a message on the key reset")
    parser.add_argument("--die-alone", action="store_true", help="exit with code 3 when the player leaves")
    parser.add_argument("--quit-at-jump", action="store_true", help="exit with code 4 when the clock goes back")
    parser.add_argument("--odom", action="store_true", help="publish /odom, too")
    parser.add_argument("--lose-at", type=int, help="lose a message before this answer, and send this one twice")
    parser.add_argument("--early", type=int, default=0, help="so many messages on /answer were published before anybody listened")
    parser.add_argument("--odd", action="store_true", help="publish a topic that nobody can subscribe to")
    parser.add_argument("--odom-at", type=int, help="begin to publish /odom at this one")
    parser.add_argument("--late", type=float, help="subscribe to a topic this many seconds after /imu; answer on /late")
    parser.add_argument("--late-topic", default="/odom", help="what is subscribed to late, instead of /odom")
    parser.add_argument("--chatter", action="store_true", help="publish on /text without a pause")
    parser.add_argument("--wall-timer", type=float, help="a thread that wakes each so many seconds")
    parser.add_argument("--slow-at", type=int, help="sleep before this answer as long as --sleep says, not at random")
    parser.add_argument("--show-source", action="store_true", help="the source timestamp of the message in each answer")
    parser.add_argument("--life", metavar="FOLDER", help="begin and end of this process are written there")
    parser.add_argument("--meet", type=int, default=0, help="wait until so many have begun in --life before subscribing")
    parser.add_argument("--untraceable", action="store_true", help="nobody but root may trace it")
    arguments = parser.parse_args()
    if arguments.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    life = Life(arguments.life, arguments.meet) if arguments.life else None
    if arguments.file_limit:
        limit = (arguments.file_limit, arguments.file_limit)
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        # Python ignores it; other programs are ended by it.
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    if arguments.daemon:
        start_daemon()
    if arguments.untraceable:
        PR_SET_DUMPABLE = 4
        assert ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    session = join()
    zid = session.info.zid()
    is_echo = arguments.echo is not None
    answer_type = (IMU_DDS, os.environ["IMU_HASH"]) if is_echo else (STRING_DDS, STRING_HASH)
    answer = Publisher(session, domain, "/answer", 10, *answer_type)
    for _ in range(arguments.early):
        answer.lose()
    odd = f"@ros2_lv/{domain}/{zid}/0/14/MP/%/%/ci_node/%odd%%name/{STRING_DDS}/{STRING_HASH}/::,100:,:,:,,"
    odd_token = session.liveliness().declare_token(odd) if arguments.odd else None
    has_text = arguments.extra or arguments.chatter
    extra = Publisher(session, domain, TEXT.name, 12) if has_text else None
    late = Publisher(session, domain, "/late", 14) if arguments.late else None
    timer = None if arguments.no_timer else Publisher(session, domain, "/timer", 11)
    odom = Publisher(session, domain, "/odom", 13) if arguments.odom else None
    shown = [0]
    count = [0]
    jumps = [0]

    def callback(received: tuple[bytes, bytes]):
        payload, attachment = received
        number = count[0]
        count[0] += 1
        if number == 0 and not arguments.close_stdout:
            print(json.dumps({"first": payload.hex()}), flush=True)
        if number == arguments.odom_at:
            keep.append(Publisher(session, domain, "/odom", 13))
        if number == arguments.quit_at:
            os._exit(0)
        if number == arguments.crash_at:
            os.kill(os.getpid(), signal.SIGSEGV)
            # Another thread may be the one that takes the signal.
            threading.Event().wait()
        while number == arguments.spin_at:
            pass
        if arguments.slow_at is not None:
            time.sleep(arguments.sleep if number == arguments.slow_at else 0)
        elif arguments.sleep:
            time.sleep(random.uniform(0, arguments.sleep))
        if arguments.compute:
            compute(random.uniform(0, arguments.compute))
        stamp = struct.unpack_from("<iI", payload, 4)
        text = f"{number} {stamp[0]}.{stamp[1]:09}"
        if arguments.show_clock:
            text += f" at {shown[0]}"
        if arguments.show_source:
            text += f" source {struct.unpack_from('<q', attachment, 8)[0]}"
        if arguments.show_jumps:
            text += f" jumps {jumps[0]}"
        if number == arguments.differ_at:
            text += f" {random.random()}"
        for index in range(arguments.extra):
            extra.put(HEADER + string(f"{number} {index}"))
        reply = shifted(payload, arguments.echo) if is_echo else HEADER + string(text)
        if is_echo and number == arguments.differ_at:
            # The last field of an Imu.
            reply = reply[:-8] + struct.pack("<d", random.random())
        if number != arguments.skip and not arguments.silent:
            if number == arguments.lose_at:
                answer.lose()
            answer.put(reply)
            if number == arguments.lose_at:
                answer.put(reply, again=True)
        if arguments.twice:
            answer.put(reply)

    executor = Executor(arguments.depth, callback)

    def receive(sample):
        executor.add((sample.payload.to_bytes(), sample.attachment.to_bytes()))

    def clock(sample):
        now = clock_value(sample.payload.to_bytes())
        before, shown[0] = shown[0], now
        if before > now:
            jumps[0] += 1
            if arguments.quit_at_jump:
                os._exit(4)
        # A timer of rclcpp fires once for all periods that it has missed.
        if timer and before and before // PERIOD != now // PERIOD:
            timer.put(HEADER + string(f"{now // PERIOD}"))

    def subscribe(entity, topic, dds, on_sample):
        mangled = topic.replace("/", "%")
        kept = session.declare_subscriber(f"{domain}/{topic.strip('/')}/{dds}/*", on_sample)
        for hash in hashes(dds):
            token = f"@ros2_lv/{domain}/{zid}/0/{entity}/MS/%/%/ci_node/{mangled}/{dds}/{hash}/::,{arguments.depth}:,:,:,,"
            keep.append(session.liveliness().declare_token(token))
        keep.append(kept)

    def hashes(dds):
        return [{CLOCK.dds_type: CLOCK.hash, IMU_DDS: os.environ["IMU_HASH"]}.get(dds, os.environ.get("ODOM_HASH"))]

    if arguments.farewell:

        def say_farewell(*_):
            answer.put(HEADER + string("farewell"))
            session.close()
            os._exit(0)

        signal.signal(signal.SIGTERM, say_farewell)
    keep = [odom, odd_token]
    if arguments.die_alone:

        def changes(sample):
            if sample.kind == zenoh.SampleKind.DELETE:
                os._exit(3)

        publishers = f"@ros2_lv/{domain}/*/*/*/MP/*/*/*/%imu/**"
        keep.append(session.liveliness().declare_subscriber(publishers, changes))
    if arguments.resettable:

        def reset(_):
            count[0] = 0
            print("reset", flush=True)

        keep.append(session.declare_subscriber("reset", reset))
    if life:
        life.meet()
    if not arguments.deaf:
        subscribe(1, "/clock", CLOCK.dds_type, clock)
        subscribe(2, "/imu", IMU_DDS, receive)
    if late:
        time.sleep(arguments.late)
        subscribe(3, arguments.late_topic, ODOM_DDS, lambda _: late.put(HEADER + string("odom")))
    if arguments.chatter:
        threading.Thread(target=chatter, args=(extra,), daemon=True).start()
    if arguments.wall_timer:
        threading.Thread(target=wake_for_ever, args=(arguments.wall_timer,), daemon=True).start()
    print(json.dumps({"ready": str(zid)}), flush=True)
    if arguments.close_stdout:
        os.close(1)
        os.close(2)
    if arguments.flood_stdout:
        threading.Thread(target=flood, args=(arguments.flood_stdout,), daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    sys.exit(main())
