//! Records what all other nodes publish, until its standard input is closed; then it prints what it has received.
//!
//! `cargo run --example record_outputs -- out.mcap`. The address of the router, if it is not on this machine, is the
//! second argument. Messages have the time of `/clock`, or that of the machine as long as nobody publishes one.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use bagplay::ci::outputs::{AmentIndex, Definitions, OutputOptions, Outputs, RecorderOptions};
use bagplay::clock::SimTime;
use bagplay::wire::{Follow, Session, Which, WireOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("the name of the file is missing")?;
    let options = WireOptions {
        node_name: "recorder".into(),
        connect: arguments.collect(),
        ..WireOptions::default()
    };
    let session = Session::open(&options, |event| eprintln!("{event}"))?;
    let sim = SimTime::new(session.clock_source(Follow::Clock));
    let clock = sim.clock();
    sim.enable()?;
    let options = OutputOptions {
        topics: Which::OfOthers,
        record_with_inputs: None,
        record: Some(RecorderOptions::new(file)),
        definitions: Definitions::new([], AmentIndex::of_environment()),
        are_publishers_new: true,
    };
    let outputs = Outputs::start(&session, options, move || Some(clock.now()), |_, _| ())?;
    println!("ready");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    let end = outputs.finish();
    for topic in end.topics {
        let (name, messages, lost) = (topic.topic, topic.messages, topic.lost);
        println!("{name}: {messages} messages, {lost} lost");
    }
    println!("digest {}", end.digest);
    let recorded = end.recorded.unwrap_or_default();
    for note in recorded.notes {
        println!("{note}");
    }
    recorded.error.map_or(Ok(()), |error| Err(error.into()))
}
