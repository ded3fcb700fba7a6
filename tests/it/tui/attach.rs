//! The transport bar of a player in another process: which keys do something else there, or nothing, and what the help
//! says of them.

use bagplay::tui::{BINDINGS, Binding, Effect, Facts, InAttach, Model};

use super::demo_model::*;

fn attached() -> Model {
    let facts = Facts {
        is_elsewhere: true,
        ..facts()
    };
    let mut model = Model::new(facts, appearance(), rows(), marks(), size(120, 40));
    set_state(&mut model, bagplay::player::State::Paused, 12_184);
    model
}

fn bindings() -> impl Iterator<Item = &'static Binding> {
    BINDINGS.iter().flat_map(|(_, rows)| rows.iter())
}

/// All lines of the help, without its frame.
fn help(model: &mut Model) -> String {
    press(model, "?");
    let shown = picture(model, size(100, 200));
    press(model, "?");
    shown
}

#[test]
fn an_action_that_is_refused_says_why_and_does_nothing() {
    let refused = bindings().filter_map(|row| match row.in_attach {
        InAttach::Refused(reason) => Some((row, reason)),
        InAttach::Same | InAttach::Means(_) => None,
    });
    let refused: Vec<_> = refused.collect();
    assert!(refused.len() > 10, "{refused:?}");
    for (row, reason) in refused {
        let mut model = attached();
        model.perform(row.action, stamp(0));
        assert_eq!(model.take_effects(), [], "{}", row.name);
        assert!(
            picture(&model, size(120, 40)).contains(reason),
            "{}",
            row.name
        );
        // The same in a topic.
        let mut model = attached();
        press(&mut model, "enter");
        model.perform(row.action, stamp(0));
        assert_eq!(model.take_effects(), [], "{}", row.name);
        assert!(
            picture(&model, size(120, 40)).contains(reason),
            "{}",
            row.name
        );
    }
}

#[test]
fn the_help_has_what_keys_do_and_no_key_that_is_refused() {
    let attached = help(&mut attached());
    let own = help(&mut playing());
    for row in bindings() {
        assert!(own.contains(row.help), "{}", row.name);
        let says = match row.in_attach {
            InAttach::Same => row.help,
            InAttach::Means(text) => text,
            InAttach::Refused(_) => {
                assert!(!attached.contains(row.help), "{}", row.name);
                continue;
            }
        };
        let is_there = attached
            .lines()
            .any(|line| line.trim_end_matches([' ', '│']).ends_with(says));
        assert!(is_there, "{}", row.name);
    }
}

#[test]
fn the_help_has_no_symbol_that_does_not_occur() {
    let (own, attached) = (help(&mut playing()), help(&mut attached()));
    for (meaning, occurs) in [
        ("hole: no messages for longer than usual", false),
        ("damage: messages that cannot be read", false),
        ("a long time without messages, left out", false),
        ("message found", false),
        ("warning, error that a node reported", false),
        ("the topic has a hole, damage at the playhead", false),
        ("a subscriber of the topic is waited for", false),
        ("A and B of the loop", true),
        ("read ahead; not played", true),
        (" mark", true),
        ("12 messages were late, 3 could not be sent", true),
    ] {
        let has = |help: &str| {
            let mut lines = help.lines().map(|line| line.trim_end_matches([' ', '│']));
            lines.any(|line| line.ends_with(meaning))
        };
        assert!(has(&own), "{meaning}\n{own}");
        assert_eq!(has(&attached), occurs, "{meaning}\n{attached}");
    }
}

#[test]
fn messages_are_not_searched_for_and_the_command_line_is_copied() {
    let mut model = attached();
    press(&mut model, "enter /");
    let shown = picture(&model, size(120, 40));
    assert!(
        shown.contains("messages are searched for only in the player's own transport bar"),
        "{shown}"
    );
    press(&mut model, "esc /");
    assert!(picture(&model, size(120, 40)).contains(" filter: "));
    press(&mut model, "esc y");
    assert_eq!(model.take_effects(), [Effect::CopyCommand]);
}
