"""A command that resets ci_node.py: it puts a message on the key `reset` of the network that its environment names."""

import os

import zenoh

from node import GOSSIP, configuration

settings = {
    "mode": "client",
    "connect/endpoints": [os.environ["BAGPLAY_ENDPOINT"]],
    "scouting/multicast/enabled": False,
}
with zenoh.open(configuration(settings | GOSSIP)) as session:
    session.put("reset", b"")
