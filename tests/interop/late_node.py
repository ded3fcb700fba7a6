"""A subscription of a node that joins late, as rmw_zenoh has it."""

import threading

import zenoh
from zenoh import ext


class LateSubscriber:
    """Transient local and reliable, depth 10; collects payloads."""

    def __init__(self, opened: zenoh.Session, topic):
        self.payloads: list[bytes] = []
        self.attachments: list[bytes] = []
        self._arrived = threading.Condition()

        def record(sample: zenoh.Sample) -> None:
            with self._arrived:
                self.attachments.append(sample.attachment.to_bytes())
                self.payloads.append(sample.payload.to_bytes())
                self._arrived.notify_all()

        self._subscriber = ext.declare_advanced_subscriber(
            opened,
            f"0/{topic.name.strip('/')}/{topic.dds_type}/{topic.hash}",
            record,
            history=ext.HistoryConfig(detect_late_publishers=True, max_samples=10),
            recovery=ext.RecoveryConfig(periodic_queries=None, heartbeat=True),
            subscriber_detection=True,
        )

    def settle(self, count: int, timeout: float = 60) -> None:
        """Waits for `count` messages or the timeout; the caller compares."""
        with self._arrived:
            self._arrived.wait_for(lambda: len(self.payloads) >= count, timeout)
