//! What settling costs: a look at a process of 14 threads, settling while it has nothing to do, and the share of a
//! processor while it computes.
//!
//! `cargo bench --bench settle`. The process is this program, started once more: 13 threads that wait, and one that
//! computes for as many milliseconds as it is sent.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[cfg(target_os = "linux")]
mod report;

#[cfg(target_os = "linux")]
mod linux {
    #![expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]

    use std::error::Error;
    use std::io::{Read, Write};
    use std::num::NonZeroU64;
    use std::process::{Child, ChildStdin, Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use bagplay::ci::settle::{How, Processes, Settler, Settling, ThreadSet};

    use crate::report::{Figure, Report};

    type Failure = Box<dyn Error>;

    const WORKER: &str = "BAGPLAY_BENCH_WORKER";
    const THREADS: usize = 14;
    const LIMIT: Duration = Duration::from_secs(60);
    /// How many cycles are timed together.
    const CYCLES: u32 = 2_000;

    pub(crate) fn main() -> Result<(), Failure> {
        if std::env::var_os(WORKER).is_some() {
            return worker();
        }
        // As the thread of the player does: pauses end on time.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        let mut report = Report::begin("settle");
        let mut worker = Worker::start()?;
        let processes = Processes::Tree(vec![worker.child.id()]);
        looks(&processes, &mut report)?;
        let settler = || Settler::new(processes.clone(), &[]);
        idle(settler()?, &mut worker, &mut report)?;
        computing(settler()?, &mut worker, &mut report)?;
        Ok(report.write()?)
    }

    struct Worker {
        child: Child,
        input: ChildStdin,
    }

    impl Worker {
        fn start() -> Result<Self, Failure> {
            let mut child = Command::new(std::env::current_exe()?)
                .env(WORKER, "1")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let mut ready = [0];
            let mut output = child.stdout.take().ok_or("no output")?;
            output.read_exact(&mut ready)?;
            let input = child.stdin.take().ok_or("no input")?;
            Ok(Self { child, input })
        }

        /// Lets it compute for this many milliseconds.
        fn send(&mut self, millis: u16) -> Result<(), Failure> {
            Ok(self.input.write_all(&millis.to_le_bytes())?)
        }
    }

    impl Drop for Worker {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    fn worker() -> Result<(), Failure> {
        for _ in 1..THREADS {
            thread::spawn(|| {
                loop {
                    thread::park();
                }
            });
        }
        thread::sleep(Duration::from_millis(100));
        let mut output = std::io::stdout();
        output.write_all(b"r")?;
        output.flush()?;
        let mut millis = [0; 2];
        while std::io::stdin().read_exact(&mut millis).is_ok() {
            let time = Duration::from_millis(u16::from_le_bytes(millis).into());
            let began = Instant::now();
            while began.elapsed() < time {
                std::hint::spin_loop();
            }
        }
        Ok(())
    }

    fn looks(processes: &Processes, report: &mut Report) -> Result<(), Failure> {
        let mut set = ThreadSet::new(processes.clone(), &[])?;
        let mut settling = Settling::new();
        settling.mark(&set.look_for_mark(&settling)?);
        println!("{} threads", set.len());
        for (name, how) in [
            ("how much they have run", How::Ran),
            ("the proof", How::Proof),
        ] {
            let mut takes = Vec::new();
            for _ in 0..5_000 {
                let look = set.look(how, &settling)?;
                takes.push(look.ended.saturating_sub(look.began));
            }
            row(&format!("a look at {name}"), &mut takes, report);
        }
        Ok(())
    }

    fn idle(mut settler: Settler, worker: &mut Worker, report: &mut Report) -> Result<(), Failure> {
        let (mut marks, mut nothing, mut messages) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..2_000 {
            let began = Instant::now();
            settler.mark()?;
            marks.push(began.elapsed());
            nothing.push(settler.settle(LIMIT)?.took);
            settler.mark()?;
            worker.send(0)?;
            messages.push(settler.settle(LIMIT)?.took);
        }
        row("a mark", &mut marks, report);
        row("settling when nothing was sent", &mut nothing, report);
        row(
            "settling after a message that takes no time",
            &mut messages,
            report,
        );
        let began = Instant::now();
        for _ in 0..CYCLES {
            // The clock, then the message.
            for _ in 0..2 {
                settler.mark()?;
                worker.send(0)?;
                settler.settle(LIMIT)?;
            }
        }
        let per_second = f64::from(CYCLES) / began.elapsed().as_secs_f64();
        let name = "cycles of clock, settling, message, settling";
        println!("{name:<45} {per_second:>9.0} a second");
        report.add(Figure::higher(name, "a second", per_second, "1/s"));
        Ok(())
    }

    fn computing(
        mut settler: Settler,
        worker: &mut Worker,
        report: &mut Report,
    ) -> Result<(), Failure> {
        for (millis, times) in [(1, 500), (3, 300), (100, 20), (3_000, 1)] {
            let (mut late, mut looks) = (Vec::new(), 0);
            let (began, used) = (Instant::now(), processor_time()?);
            for _ in 0..times {
                settler.mark()?;
                let sent = Instant::now();
                worker.send(millis)?;
                looks += settler.settle(LIMIT)?.looks;
                let late_by = sent
                    .elapsed()
                    .checked_sub(Duration::from_millis(millis.into()));
                late.push(late_by.ok_or("settled before it was done")?);
            }
            let used = processor_time()?.saturating_sub(used).as_secs_f64();
            let share = 100.0 * used / began.elapsed().as_secs_f64();
            let name = format!("settled after one that takes {millis} ms, later");
            row(&name, &mut late, report);
            report.add(Figure::lower(&name, "of a processor", share, "%"));
            println!(
                "{:>45} {} looks each, {share:.1} % of a processor",
                "",
                looks / times
            );
        }
        Ok(())
    }

    /// How long this thread has run.
    fn processor_time() -> Result<Duration, Failure> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
        let nanos = text.split(' ').next().ok_or("no number")?;
        Ok(Duration::from_nanos(nanos.parse()?))
    }

    fn row(name: &str, takes: &mut [Duration], report: &mut Report) {
        takes.sort_unstable();
        let micros = |index: usize| takes[index].as_secs_f64() * 1e6;
        let (half, most) = (takes.len() / 2, takes.len() * 99 / 100);
        println!(
            "{name:<45} p50 {:>7.1} µs   p99 {:>7.1} µs",
            micros(half),
            micros(most)
        );
        report.add(Figure::lower(name, "p50", micros(half), "µs"));
        report.add(Figure::lower(name, "p99", micros(most), "µs"));
    }
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("Linux only");
}
