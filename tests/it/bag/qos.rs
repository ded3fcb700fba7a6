//! Recorded QoS profiles and type hashes, as written by the versions of rosbag2 and by other recorders.

use bagplay::ros::{Durability, History, Liveliness, Qos, QosDuration, Reliability};

use crate::support::mcaps::{Files, Note, Spec, TopicSpec};

#[test]
fn integers_and_words_give_the_same_profile() {
    let expected = Qos {
        reliability: Reliability::BestEffort,
        durability: Durability::TransientLocal,
        history: History::KeepLast(7),
        deadline: QosDuration { sec: 1, nsec: 5 },
        lifespan: QosDuration { sec: 10, nsec: 0 },
        liveliness: Liveliness::ManualByTopic,
        lease: QosDuration::INFINITE,
    };
    let rest = "  deadline:\n    sec: 1\n    nsec: 5\n  lifespan:\n    sec: 10\n    nsec: 0\n  \
                liveliness_lease_duration:\n    sec: 9223372036\n    nsec: 854775807\n  \
                avoid_ros_namespace_conventions: false\n";
    let humble = "- history: 1\n  depth: 7\n  reliability: 2\n  durability: 1\n  liveliness: 3\n";
    let jazzy = "- history: keep_last\n  depth: 7\n  reliability: best_effort\n  \
                 durability: transient_local\n  liveliness: manual_by_topic\n";
    for head in [humble, jazzy] {
        assert_eq!(Qos::parse_offers(&format!("{head}{rest}")), [expected]);
    }
    let two = format!("{humble}{rest}{jazzy}{rest}");
    assert_eq!(Qos::parse_offers(&two), [expected, expected]);
}

#[test]
fn unknown_policies_become_the_default() {
    for yaml in [
        "- history: 3\n  depth: 0\n  reliability: 1\n  durability: 2\n  liveliness: 1\n",
        "- history: unknown\n  depth: 5\n  reliability: reliable\n  durability: volatile\n",
        "- history: keep_last\n  depth: 0\n",
        "- history: keep_last\n  depth: -1\n",
        "- history: 0\n  reliability: 0\n  durability: system_default\n  liveliness: 99\n",
        "- reliability: best_available\n  durability: 4\n  flavour: sweet\n",
        "- {}\n",
        "- history: ~\n  depth: ~\n",
        "- deadline: {sec: 2147483647, nsec: 4294967295}\n",
        "- deadline: {sec: 9223372036, nsec: 854775807}\n  lifespan: {sec: 0, nsec: 0}\n",
        "- deadline: {sec: 18446744073709551615, nsec: 0}\n",
    ] {
        assert_eq!(Qos::parse_offers(yaml), [Qos::default()], "{yaml}");
    }
    let all = Qos::parse_offers("- history: keep_all\n  depth: 0\n");
    assert_eq!(all[0].history, History::KeepAll);
}

#[test]
fn text_that_is_no_list_of_profiles_gives_no_profile() {
    let long = "- depth: 1\n".repeat(1 << 17);
    let deep = "[".repeat(100_000);
    for yaml in [
        "", " \n", "[]", "~", "{}", "word", "- [", "\u{0}", "&a [*a]", &long, &deep,
    ] {
        assert_eq!(Qos::parse_offers(yaml), [], "{yaml:.20}");
    }
}

#[test]
fn profiles_of_a_topic_in_several_files_are_merged_and_none_is_lost() {
    let file = |profiles: &[&str]| {
        let lines = profiles.iter().map(|one| format!("- reliability: {one}\n"));
        let topic = TopicSpec::named("/a").with("offered_qos_profiles", &lines.collect::<String>());
        let spec = Spec::new(vec![vec![Note::new(0, 1, "x")]]);
        let topics = vec![topic];
        Spec { topics, ..spec }.write()
    };
    let (sure, lossy) = ("reliable", "best_effort");
    for (files, all) in [
        (vec![vec![sure], vec![sure]], vec![sure]),
        (vec![vec![lossy], vec![sure]], vec![lossy, sure]),
        (vec![vec![sure], vec![lossy, sure]], vec![sure, lossy]),
        (vec![vec![sure, sure], vec![sure]], vec![sure, sure]),
        (vec![vec![sure], vec![sure, sure], vec![]], vec![sure, sure]),
        (
            vec![vec![], vec![lossy], vec![sure, sure], vec![lossy]],
            vec![lossy, sure, sure],
        ),
    ] {
        let bag = Files::of(files.iter().map(|profiles| file(profiles))).bag();
        let offered = bag.topics()[0].offered_qos.iter();
        let words: Vec<_> = offered
            .map(|qos| match qos.reliability {
                Reliability::Reliable => sure,
                Reliability::BestEffort => lossy,
            })
            .collect();
        assert_eq!(words, all, "{files:?}");
    }
}

#[test]
fn the_first_valid_type_hash_is_used() {
    let (ones, twos) = (
        format!("RIHS01_{}", "1".repeat(64)),
        format!("RIHS01_{}", "2f".repeat(32)),
    );
    let bad = [
        String::new(),
        "garbage".to_owned(),
        "1".repeat(64),
        "RIHS01_".to_owned(),
        format!("RIHS01_{}", "0".repeat(64)),
        format!("RIHS01_{}", "1".repeat(63)),
        format!("RIHS01_{}", "1".repeat(65)),
        format!("RIHS01_{}", "g".repeat(64)),
        format!("RIHS01_{}", "F".repeat(64)),
        format!("RIHS02_{}", "1".repeat(64)),
    ];
    let hashed = |hash: &str| TopicSpec::named("/a").with("topic_type_hash", hash);
    // Channels of one topic, over two files.
    let file = |topics: Vec<TopicSpec>| {
        let notes = (0..topics.len()).map(|i| Note::new(i, 1, "x")).collect();
        let spec = Spec::new(vec![notes]);
        Spec { topics, ..spec }.write()
    };
    let bare = vec![TopicSpec::named("/a").with("callerid", "/x")];
    for bad in &bad {
        let files = Files::of([
            file(vec![hashed(bad)]),
            file(bare.clone()),
            file(vec![hashed(bad), hashed(&twos), hashed(&ones)]),
        ]);
        let bag = files.bag();
        assert_eq!(bag.topics().len(), 1);
        assert_eq!(bag.topics()[0].type_hash.as_ref(), Some(&twos), "{bad}");
        let bag = Files::of([file(vec![hashed(bad)])]).bag();
        assert_eq!(bag.topics()[0].type_hash, None, "{bad}");
    }
}
