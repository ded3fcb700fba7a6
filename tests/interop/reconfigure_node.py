"""A stock client of `dynamic_reconfigure`, under the Python of the system.

reconfigure_node.py SERVER [NAME=VALUE…]

Writes the parameters of a server, each configuration that it gets, and the answer to a request for these values, as lines of JSON.
"""

import json
import sys
import threading

import rospy
from dynamic_reconfigure.client import Client

LOCK = threading.Lock()
PATIENCE = 60


def tell(**what) -> None:
    with LOCK:
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()


def main() -> None:
    _, server, *values = sys.argv
    rospy.init_node("reconfigure_client", anonymous=True)
    client = Client(server, timeout=PATIENCE, config_callback=lambda config: tell(config=config))
    assert client.get_configuration(timeout=PATIENCE) is not None
    tell(parameters=client.get_parameter_descriptions(timeout=PATIENCE))
    if values:
        changes = dict(value.split("=") for value in values)
        tell(answer=client.update_configuration(changes))
    rospy.spin()


main()
