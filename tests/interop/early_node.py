"""A ROS 2 node of zenoh 1.7, configured as by rmw_zenoh, that starts before any router. A program of its own: run with
the Python that has that release, as `early_node.py PORT KEY TOKEN…`.

It subscribes to KEY, declares each TOKEN (`{zid}` is its session's id) and looks for a router on loopback port PORT.
Prints `ready` when all is declared. Then it prints the number and the total size of the received messages for each
line of input."""

import json
import sys

import zenoh

# rmw_zenoh's session configuration, where it differs from zenoh's own defaults; the port apart.
RMW = {
    "mode": "peer",
    "listen/endpoints": ["tcp/localhost:0"],
    "scouting/multicast/enabled": False,
    "scouting/gossip/enabled": True,
    "scouting/gossip/target": {"router": ["router", "peer"], "peer": ["router"]},
    "scouting/gossip/autoconnect": {"router": [], "peer": ["router", "peer"]},
    "scouting/gossip/autoconnect_strategy": {"peer": {"to_router": "always", "to_peer": "greater-zid"}},
    "timestamping/enabled": {"router": True, "peer": True, "client": True},
    "queries_default_timeout": 600000,
    "transport/link/tx/lease": 60000,
    "transport/link/tx/keep_alive": 2,
    "transport/link/tx/queue/congestion_control/block/wait_before_close": 60000000,
    "transport/unicast/open_timeout": 60000,
    "transport/unicast/accept_timeout": 60000,
    "transport/unicast/accept_pending": 10000,
    "transport/unicast/max_sessions": 10000,
    "transport/shared_memory/enabled": False,
    "adminspace/enabled": True,
}


def main() -> None:
    port, key, *tokens = sys.argv[1:]
    config = zenoh.Config()
    for name, value in RMW.items():
        config.insert_json5(name, json.dumps(value))
    config.insert_json5("connect/endpoints", json.dumps([f"tcp/localhost:{port}"]))
    got: list[int] = []
    with zenoh.open(config) as session:
        zid = str(session.info.zid())
        session.declare_subscriber(key, lambda sample: got.append(len(sample.payload)))
        declared = [session.liveliness().declare_token(token.format(zid=zid)) for token in tokens]
        print("ready", flush=True)
        for _ in sys.stdin:
            print(len(got), sum(got), flush=True)
        del declared


if __name__ == "__main__":
    main()
