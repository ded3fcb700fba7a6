"""A program under test that publishes a type which is not in the recording, and that may describe the type by a service as nodes of
rclcpp do. It answers each message of /imu with one on /reading.

    reading_node.py [--describe]
"""

import argparse
import os
import struct
import sys
import threading

import zenoh

from ci_node import IMU_DDS, Publisher
from node import GOSSIP, configuration
from readings import DEFINITION, READING, REFERENCED, reading
from service import HEADER
from test_parameters import SERVICES, make, read, written

SERVICE = SERVICES["get_type_description"]
# Of type_description_interfaces/msg/FieldType.
INT32, UINT32, DOUBLE, STRING, NESTED = 6, 7, 11, 17, 1


def described(name: str, *fields: tuple[str, int, str]):
    made = [make("Field", field, make("FieldType", kind, 0, 0, nested), "") for field, kind, nested in fields]
    return make("IndividualTypeDescription", name, made)


def answer(request):
    """What a node says that uses only this type."""
    header, time = "std_msgs/msg/Header", "builtin_interfaces/msg/Time"
    if request.type_hash != READING.hash:
        nothing = make("TypeDescription", described(""), [])
        return make("TypeResponse", False, "Type not currently in use by this node", nothing, [], [])
    description = make(
        "TypeDescription",
        described(READING.type_name, ("header", NESTED, header), ("value", DOUBLE, "")),
        [
            described(time, ("sec", INT32, ""), ("nanosec", UINT32, "")),
            described(header, ("stamp", NESTED, time), ("frame_id", STRING, "")),
        ],
    )
    texts = {READING.type_name: DEFINITION} | REFERENCED if request.include_type_sources else {}
    sources = [make("TypeSource", name, "msg", text) for name, text in texts.items()]
    return make("TypeResponse", True, "", description, sources, [])


def serve(session, domain):
    def on_query(query):
        received = query.attachment.to_bytes()
        response = written(answer(read("TypeRequest", query.payload.to_bytes())))
        # The number of the request and the id of the client, as rmw_zenoh sends them back.
        query.reply(query.key_expr, HEADER + response, attachment=received)

    name = "/ci_node/get_type_description"
    token = f"@ros2_lv/{domain}/{session.info.zid()}/0/20/SS/%/%/ci_node/{name.replace('/', '%')}/{SERVICE.dds}/{SERVICE.hash}/::,10:,:,:,,"
    key = f"{domain}{name}/{SERVICE.dds}/{SERVICE.hash}"
    return session.declare_queryable(key, on_query, complete=True), session.liveliness().declare_token(token)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--describe", action="store_true")
    arguments = parser.parse_args()
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    config = configuration(
        {
            "mode": "peer",
            "connect/endpoints": [os.environ["BAGPLAY_ENDPOINT"]],
            "listen/endpoints": ["tcp/localhost:0"],
            "scouting/multicast/enabled": False,
        }
        | GOSSIP
    )
    for pair in filter(None, os.environ.get("ZENOH_CONFIG_OVERRIDE", "").split(";")):
        config.insert_json5(*pair.split("=", 1))
    session = zenoh.open(config)
    keep = [serve(session, domain)] if arguments.describe else []
    publisher = Publisher(session, domain, READING.name, 10, READING.dds_type, READING.hash)
    hash = os.environ["IMU_HASH"]

    def on_imu(sample):
        stamp = struct.unpack_from("<iI", sample.payload.to_bytes(), 4)
        publisher.put(reading(*stamp))

    keep.append(session.declare_subscriber(f"{domain}/imu/{IMU_DDS}/*", on_imu))
    token = f"@ros2_lv/{domain}/{session.info.zid()}/0/1/MS/%/%/ci_node/%imu/{IMU_DDS}/{hash}/::,10:,:,:,,"
    keep.append(session.liveliness().declare_token(token))
    threading.Event().wait()


if __name__ == "__main__":
    sys.exit(main())
