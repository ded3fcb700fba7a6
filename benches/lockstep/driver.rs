//! The drivers: each is a process that starts a node, sends it messages, and tells how long that took.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use bagplay::bag::{Bag, Cues, Selection, TopicId};
use bagplay::ci::child::{Child, Program};
use bagplay::ci::drive::{Desk, Drive, Driven, DrivenTopic, Governor, OnMiss, Waiting};
use bagplay::ci::gates::{Ledger, Limits};
use bagplay::ci::isolation::{Earlier, Isolation, RunFolder};
use bagplay::ci::outputs::{AmentIndex, Definitions, OutputOptions, Outputs, RecorderOptions};
use bagplay::ci::settle::{Processes, Settler};
use bagplay::player::{Before, ClockOptions, Options, Pace, Player, Source};
use bagplay::time;
use bagplay::wire::{self, Played, Session, Which, WireOptions};
use rustix::time::{ClockId, clock_gettime};
use zenoh::Wait;
use zenoh::qos::CongestionControl;

use super::node;
use super::turn::{Figures, Turn, Way};

const TIMEOUT: Duration = Duration::from_secs(30);
/// All threads of zenoh in this process, as `play` looks at them.
const OWN_THREADS: [&str; 5] = ["acc-", "app-", "net-", "rx-", "tx-"];

/// A network of its own, and a node in it.
struct Network {
    session: Session,
    folder: RunFolder,
    endpoint: String,
    domain: u32,
    child: Child,
}

impl Network {
    fn start(turn: &Turn, dir: &Path) -> Result<Self> {
        let isolation = Isolation::new();
        let options = isolation.wire_options(WireOptions {
            sends_at_once: true,
            ..WireOptions::default()
        });
        let session = Session::open(&options, |_| ())?;
        let folder = RunFolder::make(&dir.join("run"), Earlier::Remove)?;
        let endpoint = session.router_endpoint().context("no router")?;
        let mut program = Program::new([std::env::current_exe()?], &folder);
        program.environment = isolation.environment(&endpoint, &folder);
        program.environment.extend(turn.environment("node"));
        Ok(Self {
            child: Child::start(&program)?,
            session,
            folder,
            endpoint,
            domain: isolation.domain_id(),
        })
    }
}

/// Drives a node as the turn says.
pub(crate) fn run(turn: &Turn, bag: &Path) -> Result<Figures> {
    let dir = tempfile::tempdir()?;
    let network = Network::start(turn, dir.path())?;
    let figures = match turn.way {
        Way::Bare => ping(turn, &network)?,
        Way::Gated | Way::Settled => play(turn, &network, bag)?,
    };
    network.child.end(Duration::from_secs(1));
    network.session.close();
    Ok(figures)
}

/// Puts, waits for the answer, and puts the next one.
fn ping(turn: &Turn, network: &Network) -> Result<Figures> {
    let connect = format!("[{:?}]", network.endpoint);
    let session = node::session(&[
        ("mode", "\"peer\""),
        ("connect/endpoints", &connect),
        ("listen/endpoints", "[\"tcp/localhost:0\"]"),
        ("transport/link/tx/queue/batching/enabled", "false"),
    ])?;
    let (tell, answers) = channel();
    let _answers = session
        .declare_subscriber(node::key(network.domain, "answer"))
        .callback(move |sample| {
            let _ = tell.send(sample.payload().len());
        })
        .wait()
        .map_err(|error| anyhow!(error))?;
    let publisher = session
        .declare_publisher(node::key(network.domain, "chatter"))
        .congestion_control(CongestionControl::Block)
        .wait()
        .map_err(|error| anyhow!(error))?;
    let payload = turn.payload();
    let put = || {
        publisher
            .put(payload.clone())
            .attachment(&[0_u8; 33][..])
            .wait()
            .map_err(|error| anyhow!(error))
    };
    until(|| {
        Ok(publisher
            .matching_status()
            .wait()
            .map_err(|error| anyhow!(error))?
            .matching())
    })?;
    // The first messages may come before the answer has a way back.
    until(|| {
        put()?;
        Ok(answers.recv_timeout(Duration::from_millis(100)).is_ok())
    })?;
    while answers.recv_timeout(Duration::from_millis(200)).is_ok() {}
    let meter = Meter::start();
    for _ in 0..turn.cycles {
        put()?;
        let size = answers.recv_timeout(TIMEOUT)?;
        ensure!(size == payload.len(), "an answer of {size} bytes");
    }
    Ok(meter.read(turn.cycles, 0))
}

/// Plays a recording as `play` does.
fn play(turn: &Turn, network: &Network, path: &Path) -> Result<Figures> {
    let bag = Bag::open(&[path])?;
    let (is_settled, session) = (turn.way == Way::Settled, &network.session);
    let chatter = Played {
        id: TopicId(0),
        name: "/chatter".to_owned(),
        topic: bag.topics()[0].clone(),
        qos: None,
    };
    let clock = turn.has_clock.then_some(wire::ClockOptions {
        hz: None,
        per_message: true,
    });
    let (out, _) = session.advertise(&[chatter], clock)?;
    let monitor = out.monitor();
    let player = Player::new();
    let recording = bag.range().context("no messages")?;
    let options = Options {
        pace: Pace::Max,
        clock: ClockOptions {
            before: if turn.has_clock {
                Before::All
            } else {
                Before::None
            },
            ..ClockOptions::default()
        },
        ..Options::new(recording)
    };
    let rules = if is_settled {
        Vec::new()
    } else {
        vec!["/chatter -> /answer".parse()?]
    };
    let limits = Limits {
        in_flight: 1,
        within: time::Duration::from_secs(30),
    };
    let drive = Drive {
        ledger: Ledger::new(rules.clone(), limits),
        on_miss: OnMiss::Fail,
        lockstep: is_settled,
        start: options.entry(),
        is_held: false,
    };
    let instants = player.transport();
    let (desk, troubles) = Desk::new(drive, player.gates(), move || instants.now());
    let (place, answers) = (Arc::clone(desk.place()), desk.clone());
    let topics = Which::Named(["/answer".to_owned()].into());
    let definitions = Definitions::new(bag.topics(), AmentIndex::of_environment());
    let file = || RecorderOptions::new(network.folder.file("outputs.mcap"));
    let outputs = OutputOptions {
        record: turn.records.then(file),
        ..OutputOptions::new(topics, definitions)
    };
    let outputs = Outputs::start(
        session,
        outputs,
        move || Some(place.get()),
        move |arrival, stamp| answers.answered(&arrival.topic.name, stamp.time()),
    )?;
    until(|| Ok(monitor.is_ready(TopicId(0))))?;
    let missing = outputs.wait_for(&["/answer".to_owned()], TIMEOUT);
    ensure!(missing.is_empty(), "nobody publishes /answer");
    // Links that are made later would be missing among the threads.
    thread::sleep(Duration::from_millis(300));
    let waiting = if is_settled {
        let settler = Settler::new(Processes::Tree(vec![network.child.id()]), &OWN_THREADS)?;
        let limit = time::Duration::from_secs(30);
        Some(Waiting { settler, limit })
    } else {
        None
    };
    let threads = waiting.as_ref().map_or(0, |it| it.settler.threads().len());
    let governor = Governor::start(&desk, waiting)?;
    let topic = DrivenTopic {
        name: "/chatter".to_owned(),
        stamp: None,
    };
    let shift = options.clock.shift;
    let out = Driven::new(
        out,
        desk.clone(),
        vec![Some(topic)],
        &rules,
        options.entry(),
        shift,
    );
    let cues = Cues::new(bag.clone(), Selection::all(&bag), 64 << 20, player.waker());
    let meter = Meter::start();
    let (_, out) = player.start(options, Source::of(cues), out)?.join()?;
    let figures = meter.read(turn.cycles, threads);
    if let Ok(trouble) = troubles.try_recv() {
        return Err(anyhow!("{trouble}"));
    }
    until(|| Ok(outputs.messages() == turn.cycles))?;
    drop((governor, out));
    let end = outputs.finish();
    if let Some(recorded) = end.recorded {
        ensure!(recorded.messages == turn.cycles, "{recorded:?}");
    }
    Ok(figures)
}

/// Wall time, and the processor time of this process.
struct Meter {
    began: Instant,
    used: Duration,
}

impl Meter {
    fn start() -> Self {
        Self {
            used: processor_time(),
            began: Instant::now(),
        }
    }

    fn read(&self, cycles: u64, threads: usize) -> Figures {
        let took = self.began.elapsed().as_secs_f64();
        let used = processor_time().saturating_sub(self.used).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let per_second = cycles as f64 / took;
        Figures {
            per_second,
            share: used / took,
            threads,
        }
    }
}

/// How long all threads of this process have run.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn until(mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let began = Instant::now();
    while !holds()? {
        ensure!(began.elapsed() < TIMEOUT, "not ready in time");
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
