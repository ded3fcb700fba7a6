//! A custom time source, such as a GPS receiver. (To set the system's clock use NTP or PTP.)

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use bagplay::clock::{Cancel, Clock, Feed, OnJump, SimTime, TimeSource};
use bagplay::time::{Duration, Time};

const TENTH: Duration = Duration::from_millis(100);

/// Publishes the time ten times a second, while it is used.
#[derive(Default)]
struct Gps(Cancel);

impl TimeSource for Gps {
    fn start(&mut self, feed: &Feed) -> Result<(), bagplay::clock::SourceError> {
        self.0 = Cancel::new();
        let (feed, steady, until) = (feed.clone(), Clock::steady(), self.0.clone());
        let mut fix = Time::from_nanos(1_400_000_000_000_000_000);
        let wait = move || steady.sleep_for(TENTH, OnJump::Continue.unless(&until));
        std::thread::spawn(move || {
            while wait().is_ok() {
                fix += TENTH;
                feed.time(fix);
            }
        });
        Ok(())
    }

    fn stop(&mut self) {
        // This also runs when the last clock is dropped. The thread is not joined: it may be the caller, from a jump
        // handler.
        self.0.cancel();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let gps = SimTime::new(Gps::default());
    let clock = gps.clock();
    gps.enable()?;
    clock.wait_started(OnJump::Continue.within(Duration::from_secs(1)))?;
    println!("it is {}", clock.now());
    Ok(())
}
