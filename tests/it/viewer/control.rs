//! Control of playback by viewers, and what they are told of it.

use bagplay::player::{
    Command, Control, Gate, Intent, Options, Pace, Player, Source, State as PlayerState,
};
use bagplay::time::{AtEnd, Speed, Time, TimeRange};
use bagplay::viewer::{Offer, ViewerServer};

use super::client::{BUFFERING, Client, ENDED, Got, PAUSED, PLAYING, State, request};
use super::{SECOND, Served, port_of, recording};
use crate::support::patience::until;

#[test]
fn the_server_says_what_it_plays_and_that_it_can_be_controlled() {
    let served = Served::paused(recording());
    let client = Client::connect(served.port());
    let capabilities = client.info["capabilities"].as_array().unwrap();
    assert!(capabilities.iter().any(|it| it == "time"));
    assert!(capabilities.iter().any(|it| it == "playbackControl"));
    let start = serde_json::json!({"sec": 1, "nsec": 0});
    let end = serde_json::json!({"sec": 4, "nsec": 990_000_000});
    assert_eq!(client.info["dataStartTime"], start);
    assert_eq!(client.info["dataEndTime"], end);
    assert!(served.server.app_url().contains("foxglove-websocket"));
}

#[test]
fn a_request_is_answered_to_all_and_moves_the_player() {
    // The bytes of the protocol.
    let bytes = request(0, 2.5, Some(3 * SECOND), "abc-1");
    let expected = [
        &[3, 0, 0, 0, 0x20, 0x40, 1][..],
        &[0, 0x5e, 0xd0, 0xb2, 0, 0, 0, 0, 5, 0, 0, 0],
        b"abc-1",
    ]
    .concat();
    assert_eq!(bytes, expected);

    let served = Served::paused(recording());
    let mut clients = [(); 2].map(|()| Client::connect(served.port()));
    for client in &mut clients {
        client.state("the state on connection", |state| {
            state.status == PAUSED && state.time == SECOND && state.id.is_empty()
        });
    }
    clients[0].send_bytes(&bytes);
    for client in &mut clients {
        let answer = client.state("the answer", |state| state.id == "abc-1");
        assert_eq!(answer.status, BUFFERING);
        assert_eq!(answer.time, 3 * SECOND);
        assert_eq!(answer.speed.to_bits(), 2.5_f32.to_bits());
        client.state("the end", |state| state.status == ENDED);
    }
    let status = served.transport.status().unwrap();
    assert_eq!(status.pace, Pace::At(Speed::from_f64(2.5).unwrap()));
    assert_eq!(status.seeks, 1);
}

#[test]
fn a_jump_is_told_once_with_the_id_of_its_request() {
    let served = Served::paused(recording());
    let mut client = Client::connect(served.port());
    let id = client.request(false, 1.0, Some(2 * SECOND));
    let jump = client.state("the jump", |state| state.did_seek);
    assert_eq!((jump.id, jump.time), (id, 2 * SECOND));
    let mut jumps = 1;
    let mut seen = 0;
    // The last state is the confirmation of the request.
    while seen < 1 {
        let state = client.state("the landing", |_| true);
        jumps += u32::from(state.did_seek);
        seen += u32::from(state.status == PAUSED && state.id.is_empty());
    }
    assert_eq!(jumps, 1);
    assert_eq!(
        served.transport.status().unwrap().state,
        PlayerState::Paused
    );
}

#[test]
fn before_the_player_has_started_requests_are_answered_without_effect() {
    let bag = recording();
    let player = Player::new();
    let offer = Offer {
        bag: &bag,
        topics: &[],
        recording: bag.range().unwrap(),
        control: Control::Full,
    };
    let address = "0".parse().unwrap();
    let transport = player.transport();
    let (server, out) = ViewerServer::start(&address, &offer, &transport).unwrap();
    let mut client = Client::unwelcomed(port_of(&server));
    let answer = client.ask(true, 2.0, None);
    assert_eq!((answer.status, answer.time), (BUFFERING, SECOND));
    assert_eq!(client.json("status")["level"], 1);
    let options = Options {
        intent: Intent::Pause,
        ..Options::new(offer.recording)
    };
    let running = player.start(options, Source::empty(), out).unwrap();
    client.state("the state at the start", |state| state.status == PAUSED);
    transport.send(Command::Stop).unwrap();
    running.join().unwrap();
}

#[test]
fn what_others_do_is_told_without_an_id() {
    let served = Served::paused(recording());
    let mut client = Client::connect(served.port());
    let seek = Command::Seek(Time::from_millis(2500));
    served.transport.ask(seek).unwrap();
    let jump = client.state("the jump", |state| state.did_seek);
    assert_eq!((jump.time, jump.id.as_str()), (2_500_000_000, ""));
    client.state("the landing", |state| state.status == PAUSED);
    // So slowly that the end is not reached.
    let pace = |factor| Command::SetPace(Pace::At(Speed::from_f64(factor).unwrap()));
    served.transport.ask(pace(0.001)).unwrap();
    served.transport.ask(Command::Play).unwrap();
    client.state("that it plays", |state| state.status == PLAYING);
    served.transport.ask(pace(0.002)).unwrap();
    client.state("the rate", |state| {
        state.speed.to_bits() == 0.002_f32.to_bits() && state.id.is_empty()
    });
    served.transport.ask(Command::Pause).unwrap();
    let paused = client.state("the pause", |state| state.status == PAUSED);
    // The next message may be late, so that playback is held at its time already.
    served.transport.ask(Command::Step(2)).unwrap();
    let stepped = client.state("the step", |state| state.time != paused.time);
    assert!(!stepped.did_seek && stepped.time > paused.time);
    let last = stepped.time;
    // The time may have been there before the pause: it does not wait for messages that are late.
    client.wait("the time of the step", |got| {
        matches!(got, Got::Time(time) if *time >= last).then_some(())
    });
}

#[test]
fn what_holds_playback_is_told_as_buffering() {
    let served = Served::paused(recording());
    let mut client = Client::connect(served.port());
    served.transport.gates().close(Gate::Path);
    until("the player sees the gate", || {
        !served.transport.status().unwrap().gates.is_open()
    });
    let answer = client.ask(true, 1.0, None);
    assert_eq!(answer.status, BUFFERING);
    client.state("that it waits", |state| {
        state.status == BUFFERING && state.id.is_empty()
    });
    served.transport.gates().open(Gate::Path);
    client.state("that it plays", |state| state.status == PLAYING);
}

/// The status of the player is that before the jump when the jump is told.
#[test]
fn after_a_request_no_state_has_the_rate_from_before() {
    let served = Served::paused(recording());
    let mut client = Client::connect(served.port());
    for (rate, to) in [(-1.0_f32, 3 * SECOND), (2.0, 2 * SECOND), (-0.5, SECOND)] {
        let id = client.request(false, rate, Some(to));
        let mut jumps = 0;
        loop {
            let state = client.state("a state", |_| true);
            if state.id == id || jumps > 0 {
                assert_eq!(state.speed.to_bits(), rate.to_bits(), "{state:?}");
            }
            jumps += u32::from(state.did_seek && state.id == id);
            if jumps > 0 && state.status == PAUSED {
                break;
            }
        }
    }
}

#[test]
fn without_a_schedule_the_time_goes_on_and_the_state_is_playing() {
    let served = Served::with(recording(), |options| Options {
        pace: Pace::Max,
        ..options
    });
    let mut client = Client::connect(served.port());
    let range = TimeRange::between(Time::from_millis(1000), Time::from_millis(4900));
    served.transport.ask(Command::SetLoop(range)).unwrap();
    served.transport.ask(Command::Play).unwrap();
    client.state("that it plays", |state| state.status == PLAYING);
    // Nothing is subscribed to.
    for _ in 0..10 {
        client.wait("a time", |got| {
            matches!(got, Got::Time(time) if *time > SECOND).then_some(())
        });
    }
    let told = client.states();
    let is_held = told.iter().any(|state| state.status == BUFFERING);
    assert!(!is_held, "{told:?}");
}

#[test]
fn a_loop_jumps_at_each_lap_but_does_not_flood_viewers() {
    // Without a limit, its laps are told every 20 µs.
    let served = Served::with(recording(), |options| Options {
        pace: Pace::At(Speed::from_f64(1000.0).unwrap()),
        ..options
    });
    let mut client = Client::connect(served.port());
    let range = TimeRange::between(Time::from_millis(2000), Time::from_millis(2020));
    served.transport.ask(Command::SetLoop(range)).unwrap();
    served.transport.ask(Command::Play).unwrap();
    until("many laps", || {
        served.transport.status().unwrap().laps > 5000
    });
    // It reads only now, and has not been disconnected.
    for _ in 0..3 {
        client.state("a lap", |state| state.did_seek);
    }
    let other = Command::SetRange(range, Some(AtEnd::Hold));
    served.transport.ask(other).unwrap();
    client.state("the end", |state| state.status == ENDED);
}

#[test]
fn speeds_and_times_that_the_player_does_not_have_are_answered_with_those_it_has() {
    let served = Served::paused(recording());
    let mut client = Client::connect(served.port());
    for (requested, speed) in [
        (f32::NAN, 1.0_f32),
        (0.0, 0.001),
        (1e9, 1000.0),
        (-1.0, -1.0),
        (f32::NAN, -1.0),
    ] {
        let answer = client.ask(false, requested, None);
        assert_eq!(answer.speed.to_bits(), speed.to_bits(), "{requested}");
        until("the pace of the player", || {
            let pace = served.transport.status().unwrap().pace;
            pace == Pace::At(Speed::from_f64(speed.into()).unwrap())
        });
    }
    for (requested, time) in [(0, SECOND), (u64::MAX, 4_990_000_000)] {
        let answer = client.ask(false, 1.0, Some(requested));
        assert_eq!(answer.time, time);
        client.state("the jump", |state| state.did_seek && state.time == time);
    }
}

#[test]
fn twenty_seeks_while_playing_end_at_the_last() {
    let served = Served::paused(recording());
    let mut client = Client::connect(served.port());
    client.ask(true, 0.001, None);
    for n in 0..20 {
        client.request(true, 0.001, Some(SECOND + n * 100_000_000));
    }
    let last = SECOND + 1_900_000_000;
    // Jumps that follow each other closely are told as one.
    client.state("the last jump", |state| {
        state.did_seek && state.time >= last
    });
    let playing = client.state("that it plays on", |state| state.status == PLAYING);
    assert!(playing.time >= last && playing.time < last + SECOND);
}

#[test]
fn what_is_no_request_is_refused_and_the_connection_stays() {
    let served = Served::paused(recording());
    let mut client = Client::connect(served.port());
    let unknown = request(7, 1.0, None, "x");
    let mut cut = request(0, 1.0, None, "abc");
    cut.truncate(20);
    for garbage in [&unknown[..], &cut, &[3], &[255, 0, 0]] {
        client.send_bytes(garbage);
        assert_eq!(client.json("status")["level"], 2, "{garbage:?}");
    }
    for garbage in ["", "{", "{\"op\":\"x\"}", "[]", "\u{0}"] {
        client.send_text(garbage);
        assert_eq!(client.json("status")["level"], 2, "{garbage:?}");
    }
    client.send_bytes(&request(0, 1.0, None, ""));
    client.state("that it plays", |state| state.status == PLAYING);
}

#[test]
fn a_player_that_cannot_be_driven_says_so_and_how_it_is() {
    let served = Served::with(recording(), |options| Options {
        control: Control::StopOnly,
        ..options
    });
    let mut client = Client::connect(served.port());
    let answer = client.ask(true, 2.0, Some(3 * SECOND));
    let expected = State {
        status: PAUSED,
        time: SECOND,
        speed: 1.0,
        did_seek: false,
        id: answer.id.clone(),
    };
    assert_eq!(answer, expected);
    let status = client.json("status");
    assert_eq!(status["level"], 1);
    assert!(status["message"].as_str().unwrap().contains("the machine"));
    assert_eq!(served.transport.status().unwrap().seeks, 0);
}

#[test]
fn the_time_goes_on_where_there_are_no_messages() {
    let served = Served::paused(recording());
    let mut client = Client::connect(served.port());
    client.ask(true, 1.0, None);
    // Nothing is subscribed to. Ten times are a sixth of a second.
    let mut times: Vec<u64> = Vec::new();
    while times.len() < 10 {
        times.push(client.wait("a time", |got| match got {
            Got::Time(time) => Some(*time),
            _ => None,
        }));
    }
    assert!(times.is_sorted(), "{times:?}");
    assert!(times[9] > SECOND && times[9] < 5 * SECOND, "{times:?}");
}

#[test]
fn the_end_of_the_server_closes_connections() {
    let served = Served::paused(recording());
    let mut client = Client::connect(served.port());
    assert_eq!(served.server.connected(), 1);
    drop(served.server);
    client.wait("the end", |got| (*got == Got::Closed).then_some(()));
    served.transport.send(Command::Stop).unwrap();
    served.running.join().unwrap();
}
