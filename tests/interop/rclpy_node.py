"""A stock ROS 2 node: `rclpy` with its executor, its clock and its timers, on DDS.

It answers each message of /imu on /answer with the stamp and the time of its clock, and publishes that time on /timer each 100 ms
of ROS time.

    rclpy_node.py [--compute SECONDS] [--depth N]
"""

import argparse
import random
import time

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import Imu
from std_msgs.msg import String

PERIOD = 0.1


class Stock(Node):
    def __init__(self, longest: float, depth: int):
        super().__init__("stock", parameter_overrides=[Parameter("use_sim_time", value=True)])
        self._longest, self._count = longest, 0
        self._answers = self.create_publisher(String, "/answer", 100)
        self._ticks = self.create_publisher(String, "/timer", 100)
        self.create_subscription(Imu, "/imu", self._answer, depth)
        self.create_timer(PERIOD, self._tick)

    def _now(self) -> int:
        return self.get_clock().now().nanoseconds

    def _answer(self, imu: Imu) -> None:
        end = time.thread_time() + random.uniform(0, self._longest)
        while time.thread_time() < end:
            pass
        stamp = imu.header.stamp
        self._answers.publish(String(data=f"{self._count} {stamp.sec}.{stamp.nanosec:09} at {self._now()}"))
        self._count += 1

    def _tick(self) -> None:
        self._ticks.publish(String(data=f"{self._now()}"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compute", type=float, default=0)
    parser.add_argument("--depth", type=int, default=10, help="of the subscription of /imu")
    arguments = parser.parse_args()
    rclpy.init()
    try:
        rclpy.spin(Stock(arguments.compute, arguments.depth))
    except (KeyboardInterrupt, ExternalShutdownException):
        pass


if __name__ == "__main__":
    main()
