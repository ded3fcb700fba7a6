"""Starts `rclpy_node.py` and joins it to the zenoh network of the player: what the player sends goes to the node on DDS, and what the
node publishes goes to the player, byte for byte.

    dds_bridge.py [ARGUMENTS OF rclpy_node.py]
"""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

# The player sets the one of zenoh, which PyPI does not have.
os.environ["RMW_IMPLEMENTATION"] = "rmw_fastrtps_cpp"
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

import rclpy
import zenoh
from rclpy.executors import ExternalShutdownException
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu
from std_msgs.msg import String

from ci_node import IMU_DDS, Publisher, join
from node import CLOCK

NODE = Path(__file__).parent / "rclpy_node.py"
DEPTH = 100
PATIENCE = 60


def end_with(process: subprocess.Popen) -> None:
    """Ends this program when the node has ended, with its exit code."""
    os._exit(process.wait() & 0xFF)


def wait_until(holds) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            sys.exit("the node on DDS was not found")
        time.sleep(0.02)


def main():
    stock = subprocess.Popen([sys.executable, NODE, *sys.argv[1:]])
    threading.Thread(target=end_with, args=(stock,), daemon=True).start()
    rclpy.init()
    bridge = rclpy.create_node("dds_bridge")
    to_node = {"/clock": bridge.create_publisher(Clock, "/clock", DEPTH), "/imu": bridge.create_publisher(Imu, "/imu", DEPTH)}
    from_node = ("/answer", "/timer")
    wait_until(lambda: all(it.get_subscription_count() for it in to_node.values()))
    wait_until(lambda: all(bridge.count_publishers(it) for it in from_node))
    session, domain = join(), os.environ["ROS_DOMAIN_ID"]
    for entity, topic in enumerate(from_node, 10):
        publisher = Publisher(session, domain, topic, entity)
        bridge.create_subscription(String, topic, publisher.put, DEPTH, raw=True)
    types = {"/clock": (CLOCK.dds_type, CLOCK.hash), "/imu": (IMU_DDS, os.environ["IMU_HASH"])}
    kept = []
    for entity, (topic, (dds, digits)) in enumerate(types.items(), 1):

        def forward(sample: zenoh.Sample, publisher=to_node[topic]) -> None:
            publisher.publish(sample.payload.to_bytes())

        name = topic.strip("/")
        kept.append(session.declare_subscriber(f"{domain}/{name}/{dds}/*", forward))
        token = f"@ros2_lv/{domain}/{session.info.zid()}/0/{entity}/MS/%/%/ci_node/%{name}/{dds}/{digits}/::,10:,:,:,,"
        kept.append(session.liveliness().declare_token(token))
    try:
        rclpy.spin(bridge)
    except (KeyboardInterrupt, ExternalShutdownException):
        stock.wait()


if __name__ == "__main__":
    main()
