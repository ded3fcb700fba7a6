//! What the system under test publishes: its digest, and its recording.
