//! The end of a node: what it restores and ends at its master, and what stays there.

use std::net::TcpListener;
use std::time::Duration;

use bagplay::ros1::{Ros1Left, SimTimeLeft};

use super::peer::{Val, call, text, texts, try_call};
use super::relay::{Fate, Relay};
use super::{Joined, free_master, strings};
use crate::support::patience::until;

const SIM_TIME: &str = "/use_sim_time";

/// A master, which is another player.
fn other_master() -> Joined {
    Joined::with(&free_master(), |options| {
        "/m".clone_into(&mut options.node_name);
    })
}

fn with_sim_time(master: &str, name: &str) -> Joined {
    Joined::with(master, |options| {
        name.clone_into(&mut options.node_name);
        options.use_sim_time = true;
    })
}

/// The value of `/use_sim_time`; `None`: it is not set.
fn sim_time(master: &str) -> Option<Val> {
    let (code, value) = try_call(master, "getParam", &[text("/x"), text(SIM_TIME)]).unwrap();
    (code == 1).then_some(value)
}

fn set(master: &str, name: &str, value: Val) {
    call(master, "setParam", &[text("/x"), text(name), value]);
}

fn published(master: &str) -> Val {
    call(master, "getPublishedTopics", &[text("/x"), text("")])
}

#[test]
fn the_parameter_is_restored_first_and_all_registrations_end_in_one_call() {
    let master = other_master();
    let relay = Relay::before(&master.master, |_| Fate::Pass);
    let player = with_sim_time(&relay.uri, "/player");
    let output = player.advertise(&[strings(0, "/a"), strings(1, "/b"), strings(2, "/c")]);
    assert_eq!(sim_time(&master.master), Some(Val::Bool(true)));
    relay.take_changes();
    drop(output);
    assert_eq!(player.leave(), Ros1Left::default());
    assert_eq!(sim_time(&master.master), None);
    assert_eq!(published(&master.master), Val::List(vec![]));
    let params = call(&master.master, "getParamNames", &[text("/x")]);
    assert_eq!(params, Val::List(vec![]));
    let changes = relay.take_changes();
    let restored = |(method, body): &(String, String)| {
        method == "deleteParam" && body.contains(&format!(">{SIM_TIME}<"))
    };
    let restored = changes.iter().position(restored).unwrap();
    let ended = changes
        .iter()
        .filter(|(method, _)| !method.ends_with("Param"));
    let ended: Vec<&str> = ended.map(|(method, _)| method.as_str()).collect();
    assert_eq!(ended, ["system.multicall"]);
    let multicall = changes
        .iter()
        .position(|(method, _)| method == "system.multicall");
    assert!(Some(restored) < multicall, "{changes:?}");
}

#[test]
fn a_master_that_does_not_take_several_calls_in_one_gets_single_ones() {
    let master = other_master();
    let relay = Relay::before(&master.master, |(method, _)| match method.as_str() {
        "system.multicall" => Fate::Unknown,
        _ => Fate::Pass,
    });
    let player = Joined::with(&relay.uri, |_| ());
    let output = player.advertise(&[strings(0, "/a"), strings(1, "/b")]);
    relay.take_changes();
    drop(output);
    assert_eq!(player.leave(), Ros1Left::default());
    assert_eq!(published(&master.master), Val::List(vec![]));
    let changes = relay.take_changes();
    let single = changes
        .iter()
        .filter(|(method, _)| method == "unregisterPublisher");
    assert_eq!(single.count(), 2, "{changes:?}");
}

#[test]
fn what_stays_at_a_master_that_does_not_answer_is_returned() {
    let master = other_master();
    let (relay, switch) = Relay::with_switch(&master.master, Fate::Silence);
    let player = Joined::with(&relay.uri, |options| {
        options.use_sim_time = true;
        options.leaving = Duration::from_millis(300);
    });
    let output = player.advertise(&[strings(0, "/a"), strings(1, "/b")]);
    switch.off();
    drop(output);
    let left = player.leave();
    assert_eq!(left.sim_time, Some(SimTimeLeft::NotTaken));
    assert_eq!(left.registered, ["/a", "/b"]);
    assert_eq!(sim_time(&master.master), Some(Val::Bool(true)));
}

#[test]
fn a_master_that_has_ended_has_nothing_left() {
    let master = other_master();
    let player = with_sim_time(&master.master, "/player");
    let _output = player.advertise(&[strings(0, "/a")]);
    let address = master.master.clone();
    drop(master);
    until("the end of the master", || {
        try_call(&address, "getPid", &[text("/x")]).is_none()
    });
    assert_eq!(player.leave(), Ros1Left::default());
}

#[test]
fn the_last_of_several_players_restores_what_was_before_the_first() {
    for first_leaves_first in [true, false] {
        for before in [None, Some(Val::Bool(false)), Some(Val::Bool(true))] {
            let master = other_master();
            let master = master.master.as_str();
            if let Some(value) = &before {
                set(master, SIM_TIME, value.clone());
            }
            let players = ["/first", "/second/player"].map(|name| {
                let player = with_sim_time(master, name);
                drop(player.advertise(&[strings(0, "/a")]));
                player
            });
            let [mut leaves, mut stays] = players;
            if !first_leaves_first {
                std::mem::swap(&mut leaves, &mut stays);
            }
            drop(leaves);
            assert_eq!(sim_time(master), Some(Val::Bool(true)));
            drop(stays);
            assert_eq!(sim_time(master), before);
        }
    }
}

#[test]
fn a_player_that_was_killed_is_not_waited_for() {
    let master = other_master();
    let master = master.master.as_str();
    // What a player leaves that was killed: nothing answers at its address.
    let shared = "/bagplay_use_sim_time";
    let gone = texts(&["/gone", &free_master()]);
    set(master, &format!("{shared}/players/at_gone"), gone);
    set(
        master,
        &format!("{shared}/before"),
        Val::List(vec![Val::Bool(false)]),
    );
    set(master, SIM_TIME, Val::Bool(true));
    let player = with_sim_time(master, "/player");
    drop(player.advertise(&[strings(0, "/a")]));
    drop(player);
    assert_eq!(sim_time(master), Some(Val::Bool(false)));
    let params = call(master, "getParamNames", &[text("/x")]);
    assert_eq!(params, texts(&[SIM_TIME]));
}

#[test]
fn a_player_of_which_nothing_is_known_keeps_the_parameter_and_is_named() {
    let master = other_master();
    let master = master.master.as_str();
    let player = with_sim_time(master, "/player");
    drop(player.advertise(&[strings(0, "/a")]));
    // One that takes the connection and does not answer counts as there, as if its process was stopped.
    let stopped = TcpListener::bind("127.0.0.1:0").unwrap();
    let stopped = format!("http://{}/", stopped.local_addr().unwrap());
    let entry = "/bagplay_use_sim_time/players/at_other";
    let unknown = "http://no-such-host.invalid:1/";
    set(master, entry, texts(&["/other", unknown]));
    let left = SimTimeLeft::OtherPlayer {
        uri: unknown.to_owned(),
    };
    assert_eq!(player.leave().sim_time, Some(left));
    assert_eq!(sim_time(master), Some(Val::Bool(true)));
    let player = with_sim_time(master, "/player");
    drop(player.advertise(&[strings(0, "/a")]));
    set(master, entry, texts(&["/other", &stopped]));
    assert_eq!(player.leave(), Ros1Left::default());
    assert_eq!(sim_time(master), Some(Val::Bool(true)));
}

#[test]
fn a_master_that_was_started_again_with_another_value_gets_that_value_back() {
    for value in [false, true] {
        let master = other_master();
        let master = master.master.as_str();
        let player = with_sim_time(master, "/player");
        drop(player.advertise(&[strings(0, "/a")]));
        // As the next `roslaunch` does, whose master knows nothing of the player.
        set(master, SIM_TIME, Val::Bool(value));
        let shared = "/bagplay_use_sim_time";
        call(master, "deleteParam", &[text("/x"), text(shared)]);
        until("the entry", || {
            let (code, _) = try_call(master, "getParam", &[text("/x"), text(shared)]).unwrap();
            code == 1 && sim_time(master) == Some(Val::Bool(true))
        });
        drop(player);
        assert_eq!(sim_time(master), Some(Val::Bool(value)));
    }
}
