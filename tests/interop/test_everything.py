"""Every path in $BAGPLAY_DATA, played to nobody: the digest is that of an independent reading.

The table has the expected result for each file and each rosbag2 directory. A path that is only in the folder or only in
the table fails the test.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

import everything
from player import play_to_nobody
from recording import digest


@dataclass(frozen=True)
class Expected:
    # The exit code without and with --strict.
    exit: int
    strict: int
    # The kinds of damage in the summary.
    damage: tuple[str, ...] = ()


SOUND = Expected(exit=0, strict=0)
CUT = Expected(exit=0, strict=3, damage=("truncated",))
NOTHING_IN_IT = Expected(exit=3, strict=3)

TABLE = {
    "ais_protobuf/test.mcap": SOUND,
    "cartographer_ros1/b0_tiny_lz4.mcap": SOUND,
    "cartographer_ros1/b0_tiny_none.mcap": SOUND,
    "cartographer_ros1/b0_tiny_zstd.mcap": SOUND,
    "crazyflie/bag3": SOUND,
    "crazyflie/bag3/bag3_0.mcap": SOUND,
    "crazyflie/bag8": SOUND,
    "crazyflie/bag8/bag8_0.mcap": SOUND,
    "crazyflie/fly90bag": SOUND,
    "crazyflie/fly90bag/fly90bag_0.mcap": SOUND,
    "crazyflie/pitch45bag": SOUND,
    "crazyflie/pitch45bag/pitch45bag_0.mcap": SOUND,
    "crazyflie/roll45bag": SOUND,
    "crazyflie/roll45bag/roll45bag_0.mcap": SOUND,
    "crazyflie/yx4bag": SOUND,
    "crazyflie/yx4bag/yx4bag_0.mcap": SOUND,
    "derived/bag8_clock_lz4.mcap": SOUND,
    "derived/bag8_fastwrite.mcap": SOUND,
    "derived/bag8_unfinished_no_footer.mcap": CUT,
    "derived/ouster_unfinished_70pct.mcap": CUT,
    "derived/split_file_zstd": SOUND,
    "derived/split_file_zstd/split_file_zstd_0.mcap.zstd": SOUND,
    "derived/split_file_zstd/split_file_zstd_1.mcap.zstd": SOUND,
    "derived/split_humble": SOUND,
    "derived/split_humble/split_humble_0.mcap": SOUND,
    "derived/split_humble/split_humble_1.mcap": SOUND,
    "derived/split_humble/split_humble_2.mcap": SOUND,
    "derived/split_jazzy": SOUND,
    "derived/split_jazzy/split_jazzy_0.mcap": SOUND,
    "derived/split_jazzy/split_jazzy_1.mcap": SOUND,
    "derived/split_jazzy/split_jazzy_2.mcap": SOUND,
    "derived/split_jazzy/split_jazzy_3.mcap": SOUND,
    "empty/empty.mcap": NOTHING_IN_IT,
    "humble_types/rosbag2_2025_09_10-13_03_56_0.mcap": SOUND,
    "husky_ros1/test1_lz4.mcap": SOUND,
    "husky_ros2_v8": SOUND,
    "husky_ros2_v8/husky_ros2_v8.mcap": SOUND,
    "json_unsorted/custom-camera-model.mcap": SOUND,
    "json_unsorted/example_logs.mcap": SOUND,
    "ouster_ros1/test.mcap": SOUND,
    "rosbag2/cdr_test": SOUND,
    "rosbag2/cdr_test/cdr_test_0.mcap": SOUND,
    "rosbag2/rewriter_a": SOUND,
    "rosbag2/rewriter_a/rewriter_a_0.mcap": SOUND,
    "rosbag2/service_events": SOUND,
    "rosbag2/service_events/bag_with_topics_and_service_events.mcap": SOUND,
    "rosbag2/talker": SOUND,
    "rosbag2/talker/talker.mcap": SOUND,
    "rosbag2/topics_and_services.mcap": SOUND,
    "rosbag2/wbag": SOUND,
    "rosbag2/wbag/wbag_0.mcap": SOUND,
    "rosbag2/wbag/wbag_1.mcap": SOUND,
    "rosbag2/wbag/wbag_2.mcap": SOUND,
    "rosbag2/wbag/wbag_3.mcap": SOUND,
    "rosbag2/wbag/wbag_4.mcap": SOUND,
    "rosbag2/wrong_rmw_test": SOUND,
    "rosbag2/wrong_rmw_test/wrong_rmw_test_0.mcap": SOUND,
    "truncated/test_sample.mcap": SOUND,
    "truncated/test_sample.mcap.zstd": SOUND,
    "truncated/test_sample_truncated.mcap": CUT,
    "turtlesim_ros1/example_zstd.mcap": SOUND,
    "turtlesim_ros2": SOUND,
    "turtlesim_ros2/turtlesim_ros2.mcap": SOUND,
    "web_json_protobuf/simple-protobuf.mcap": SOUND,
}
# Files beside recordings.
BESIDE = {"README.md", "metadata.yaml"}


def paths(folder: Path) -> set[str]:
    """Every file that should be a recording, and every directory that is one."""
    files = {path for path in folder.rglob("*") if path.is_file() and path.name not in BESIDE}
    directories = {path.parent for path in folder.rglob("metadata.yaml")}
    return {str(path.relative_to(folder)) for path in files | directories}


def test_the_table_has_every_path(data):
    assert paths(data) == set(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_the_digest_is_that_of_an_independent_reading(data, name):
    expected = TABLE[name]
    messages = everything.received(everything.messages(data / name, is_cut=expected == CUT))
    for arguments, code in [((), expected.exit), (("--strict",), expected.strict)]:
        run = play_to_nobody(data / name, *arguments)
        assert run.exit == code, run.stderr
        if expected == NOTHING_IN_IT:
            assert not messages and run.summary is None
            continue
        assert run.summary["ended"] == "end"
        assert [damage["kind"] for damage in run.summary["damage"]] == [*expected.damage]
        assert run.summary["messages_sent"] == len(messages) > 0
        assert run.summary["bytes_sent"] == sum(len(message.data) for message in messages)
        assert run.summary["digest"] == digest(messages)


# Recordings whose messages were sent in another order than they were received, and some where both orders are equal.
SENT = [
    "ais_protobuf/test.mcap",
    "crazyflie/bag3",
    "crazyflie/bag8/bag8_0.mcap",
    "crazyflie/fly90bag",
    "crazyflie/pitch45bag/pitch45bag_0.mcap",
    "crazyflie/roll45bag",
    "crazyflie/yx4bag",
    "derived/bag8_clock_lz4.mcap",
    "derived/bag8_fastwrite.mcap",
    "derived/bag8_unfinished_no_footer.mcap",
    "derived/ouster_unfinished_70pct.mcap",
    "derived/split_file_zstd",
    "derived/split_humble",
    "derived/split_jazzy",
    "json_unsorted/example_logs.mcap",
    "rosbag2/wbag",
    "truncated/test_sample.mcap.zstd",
    "truncated/test_sample_truncated.mcap",
]


@pytest.mark.parametrize("name", SENT)
def test_the_digest_by_publish_time_is_that_of_the_reordered_messages(data, name):
    expected = TABLE[name]
    messages = everything.sent(everything.messages(data / name, is_cut=expected == CUT))
    run = play_to_nobody(data / name, "--message-order", "sent")
    assert run.exit == expected.exit, run.stderr
    assert run.summary["order"] == "sent"
    assert [damage["kind"] for damage in run.summary["damage"]] == [*expected.damage]
    assert run.summary["messages_sent"] == len(messages) > 0
    assert run.summary["digest"] == digest(messages)
