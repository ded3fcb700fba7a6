//! `play cut` as a process: what it prints, how it ends, and what is left in the folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Output};

use mcap::Compression;
use mcap::records::op;
use predicates::prelude::*;
use predicates::str::contains;

use crate::bag::data::{data, recordings};
use crate::bag::hostile::base;
use crate::cli::{demo, json, limited, play, play_process, signal};
use crate::support::mcaps::{Note, Spec, incompressible, place};
use crate::support::patience::until;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The digest and the number of messages of a recording that is played to nobody.
fn digest(bag: &Path) -> (String, u64) {
    let mut run = play();
    run.arg(bag)
        .args(["--wire", "null", "--rate", "max", "--format", "json"]);
    let done: Output = run.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let summary = json(&done.stdout);
    let digest = summary["digest"].as_str().unwrap().to_owned();
    (digest, summary["messages_sent"].as_u64().unwrap())
}

#[test]
fn a_cut_of_everything_also_of_real_recordings_plays_with_the_same_digest() {
    let dir = tempfile::tempdir().unwrap();
    let mut all = vec![demo()];
    if let Some(data) = data() {
        all.extend(recordings(&data));
    }
    let is_small = |bag: &&Path| fs::metadata(bag).unwrap().len() < 64 << 20;
    for (number, bag) in all.iter().map(AsRef::as_ref).filter(is_small).enumerate() {
        let out = dir.path().join(format!("{number}.mcap"));
        let done = play().arg("cut").arg(bag).arg("-o").arg(&out).output();
        let done = done.unwrap();
        if done.status.code() == Some(3) {
            // There is nothing to play in it either.
            play().arg(bag).args(["--wire", "null"]).assert().code(3);
            continue;
        }
        assert!(done.status.success(), "{bag:?}: {done:?}");
        assert_eq!(digest(&out), digest(bag), "{bag:?}");
        play().args(["info", "--check"]).arg(&out).assert().code(0);
        fs::remove_file(out).unwrap();
    }
}

#[test]
fn a_part_is_written_and_described() {
    let dir = tempfile::tempdir().unwrap();
    let cut = |out: &str| {
        let mut cut = play();
        cut.current_dir(dir.path())
            .args(["--format", "text", "cut", "--topics", "/imu", "tf_static"])
            .arg(demo())
            .args(["--start", "+5s", "--end", "+6s", "-o", out]);
        cut.assert()
    };
    cut("part.mcap").code(0).stderr("").stdout(
        contains("wrote     part.mcap")
            .and(contains("on 2 topics"))
            .and(contains(
                "latched   2 of them from before the start: /tf_static 2",
            ))
            .and(contains("check").not())
            .and(contains("chunks    0 copied, 1 new")),
    );
    cut("part.mcap")
        .code(2)
        .stdout("")
        .stderr("error: part.mcap exists already; hint: --force replaces it\n");
    cut("part/").code(0).stdout(contains("wrote     part "));
    assert_eq!(names(dir.path()), ["part", "part.mcap"]);
    assert_eq!(
        names(&dir.path().join("part")),
        ["metadata.yaml", "part_0.mcap"]
    );
    play()
        .arg("info")
        .arg(dir.path().join("part"))
        .assert()
        .code(0)
        .stderr("");

    let mut cut = play();
    cut.current_dir(dir.path()).arg("cut").arg(demo());
    cut.args([
        "-o",
        "part.mcap",
        "--force",
        "--no-latched",
        "--format",
        "json",
    ]);
    cut.args(["--start", "+5s", "--exclude-topics", "/clock"]);
    let report = json(&cut.assert().code(0).stderr("").get_output().stdout);
    assert_eq!(report["out"], "part.mcap");
    assert_eq!(
        (&report["latched"], &report["damage"]),
        (&0.into(), &serde_json::json!([]))
    );
    let topics = report["topics"].as_array().unwrap();
    let counts = topics
        .iter()
        .map(|topic| topic["messages"].as_u64().unwrap());
    assert_eq!(report["messages"], counts.sum::<u64>());
    assert_eq!(topics.len(), 8);
    let (_, messages) = digest(&dir.path().join("part.mcap"));
    assert_eq!(report["messages"], messages);
    assert_eq!(report["unchecked_chunks"], report["copied_chunks"]);

    let mut all = play();
    all.arg("cut")
        .arg(demo())
        .arg("-o")
        .arg(dir.path().join("all"));
    let unread = "check     23 chunks copied without being checked: there may be damage in them; hint: --check\n";
    all.assert().code(0).stdout(contains(unread));
    let checked = all.args(["--force", "--check"]).assert().code(0);
    checked.stdout(contains("23 copied").and(contains("check").not()));
}

#[test]
fn what_cannot_be_cut_ends_with_2_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let cases: [(&[&str], &str); 9] = [
        (&["--topics", "/nope"], "--topics: no topic `/nope`"),
        (
            &["--regex", "nothing"],
            "nothing to cut: no topic is selected",
        ),
        (&["--start", "+60s"], "is after the end of the recording"),
        (&["--start", "+9s", "--end", "+3s"], "is before the start"),
        (
            &["--start", "+15s", "--end", "+16s"],
            "no message of the selected topics between",
        ),
        (&["--start", "soon"], "`soon` is not a time"),
        (&["--remap", "/imu:=/a"], "unexpected argument '--remap'"),
        (&["--services", "/x"], "--services: no service `/x`"),
        (&["--exclude-regex", "("], "--exclude-regex: "),
    ];
    for (args, message) in cases {
        let mut cut = play();
        cut.current_dir(dir.path())
            .arg("cut")
            .arg(demo())
            .args(args);
        cut.args(["-o", "x.mcap"]);
        cut.assert().code(2).stdout("").stderr(contains(message));
        assert_eq!(names(dir.path()), [""; 0], "{args:?}");
    }
    play()
        .arg("cut")
        .arg(demo())
        .assert()
        .code(2)
        .stderr(contains("--out"));
    let text = dir.path().join("notes.mcap");
    fs::write(&text, "these are notes").unwrap();
    let mut cut = play();
    cut.arg("cut")
        .arg(&text)
        .arg("-o")
        .arg(dir.path().join("x.mcap"));
    cut.assert().code(3).stderr(contains("notes.mcap"));
    assert_eq!(names(dir.path()), ["notes.mcap"]);
}

#[test]
fn a_recording_is_not_written_over_nor_into() {
    let dir = tempfile::tempdir().unwrap();
    let bag = dir.path().join("bag");
    fs::create_dir(&bag).unwrap();
    fs::copy(demo(), bag.join("bag_0.mcap")).unwrap();
    symlink(bag.join("bag_0.mcap"), dir.path().join("link.mcap")).unwrap();
    symlink(&bag, dir.path().join("folder")).unwrap();
    let cases = [
        ("bag/bag_0.mcap", "would be a part of the recording bag"),
        (
            "link.mcap",
            "link.mcap would replace the recording bag/bag_0.mcap",
        ),
        ("bag/other.mcap", "would be a part of the recording bag"),
        ("folder/other.mcap", "would be a part of the recording bag"),
        ("bag/", "would be a part of the recording bag"),
        ("folder/", "would be a part of the recording bag"),
    ];
    for (out, message) in cases {
        let mut cut = play();
        cut.current_dir(dir.path())
            .args(["cut", "bag", "--force", "-o", out]);
        cut.assert().code(2).stdout("").stderr(contains(message));
    }
    assert_eq!(names(dir.path()), ["bag", "folder", "link.mcap"]);
    assert_eq!(names(&bag), ["bag_0.mcap"]);
    assert_eq!(
        fs::read(bag.join("bag_0.mcap")).unwrap(),
        fs::read(demo()).unwrap()
    );
}

#[test]
fn damage_is_named_in_text_and_json_and_with_strict_it_ends_with_3() {
    let dir = tempfile::tempdir().unwrap();
    let bag = dir.path().join("killed\u{1b}[2J.mcap");
    let mut bytes = base(Some(Compression::Zstd)).write();
    bytes.truncate(place(&bytes, op::CHUNK, 4).at + 50);
    fs::write(&bag, bytes).unwrap();
    let cut = |args: &[&str]| {
        let mut cut = play();
        cut.current_dir(dir.path()).arg("cut").arg(&bag);
        cut.args(["-o", "x.mcap", "--force"]).args(args);
        cut.assert()
    };
    let said = "the file ends in the middle of a record (its last 50 bytes)";
    cut(&[]).code(0).stdout(
        contains("truncated ")
            .and(contains(said))
            .and(contains('\u{1b}').not()),
    );
    let done = cut(&["--strict", "--format", "json"]).code(3);
    let report = json(&done.get_output().stdout);
    assert_eq!(
        (&report["messages"], &report["damaged"]),
        (&80.into(), &1.into())
    );
    let damage = &report["damage"][0];
    assert_eq!(
        (&damage["kind"], &damage["count"]),
        (&"truncated".into(), &1.into())
    );
    assert!(damage["detail"].as_str().unwrap().contains(said));
    play()
        .current_dir(dir.path())
        .args(["info", "--check", "x.mcap"])
        .assert()
        .code(0);
    fs::remove_file(dir.path().join("x.mcap")).unwrap();

    // Nothing is left of this one, which is the fault of the recording.
    let one = Spec::new(vec![vec![
        Note::new(0, 5, vec![1; 90]),
        Note::new(0, 6, "x"),
    ]]);
    let mut bytes = one.compression(Some(Compression::Zstd)).write();
    let data = place(&bytes, op::CHUNK, 0).at + 9 + 45;
    bytes[data..data + 8].fill(0xff);
    fs::write(&bag, bytes).unwrap();
    let done = cut(&["--start", "0.000000006"]).code(3).stdout("");
    done.stderr(contains("no message of the selected topics").and(contains("zstd: ")));
    assert_eq!(names(dir.path()).len(), 1);
}

/// What `play info --check` can read of a recording, and whether it finds damage.
fn checked(bag: &Path) -> (u64, bool) {
    let mut info = play();
    info.args(["info", "--check", "--format", "json"]).arg(bag);
    let done = info.output().unwrap();
    let messages = json(&done.stdout)["check"]["messages"].as_u64().unwrap();
    (messages, done.status.code() == Some(3))
}

#[test]
fn a_cut_of_everything_has_what_can_be_read_of_a_damaged_recording() {
    let dir = tempfile::tempdir().unwrap();
    let sound = fs::read(demo()).unwrap();
    let summary = place(&sound, op::DATA_END, 0).at;
    let flipped = {
        let mut bytes = sound.clone();
        let chunk = place(&bytes, op::CHUNK, 5);
        bytes[chunk.at + chunk.body / 2] ^= 0x55;
        bytes
    };
    let (bag, out) = (dir.path().join("bag.mcap"), dir.path().join("out.mcap"));
    for (name, bytes) in [
        ("flipped", &flipped[..]),
        ("truncated", &sound[..sound.len() / 2]),
        ("no summary", &sound[..summary]),
        ("flipped, and no summary", &flipped[..summary]),
    ] {
        fs::write(&bag, bytes).unwrap();
        let (readable, is_damaged) = checked(&bag);
        assert!(is_damaged && readable > 3_000, "{name}: {readable}");
        let page = play().args(["info", "--check"]).arg(&bag).assert().code(3);
        page.stdout(contains(
            "to write what can be read: play cut BAG --check -o OUT",
        ));
        let mut cut = play();
        cut.args(["cut", "--check"]).arg(&bag).arg("-o").arg(&out);
        cut.assert().code(0);
        assert_eq!(checked(&out), (readable, false), "{name}");
        assert_eq!(digest(&out), digest(&bag), "{name}");
        fs::remove_file(&out).unwrap();
    }

    // Without a look into the chunks, their damage stays.
    fs::write(&bag, &flipped).unwrap();
    let mut cut = play();
    cut.arg("cut").arg(&bag).arg("-o").arg(&out);
    cut.assert().code(0);
    assert!(checked(&out).1);
}

#[test]
fn strict_checks_what_is_copied() {
    let dir = tempfile::tempdir().unwrap();
    let bag = dir.path().join("flipped.mcap");
    let mut bytes = fs::read(demo()).unwrap();
    let chunk = place(&bytes, 0x06, 5);
    bytes[chunk.at + chunk.body / 2] ^= 0x55;
    fs::write(&bag, bytes).unwrap();
    let cut = |flags: &[&str]| {
        let mut cut = play();
        cut.arg("cut")
            .arg(&bag)
            .arg("-o")
            .arg(dir.path().join("out.mcap"));
        cut.arg("--force").args(flags).assert()
    };
    cut(&[]).code(0);
    cut(&["--check"]).code(0);
    cut(&["--strict"]).code(3);
}

#[test]
fn what_is_never_replaced_is_refused_without_a_hint_at_force() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("photos")).unwrap();
    fs::write(dir.path().join("photos/me.jpeg"), "x").unwrap();
    fs::write(dir.path().join("file"), "x").unwrap();
    let cut = |out: &str, more: &[&str]| {
        let mut cut = play();
        cut.current_dir(dir.path()).arg("cut").arg(demo());
        cut.args(["-o", out]).args(more);
        cut.assert().code(2)
    };
    for more in [&[][..], &["--force"]] {
        for (out, why) in [
            ("photos", "photos is not replaced: it is a directory"),
            (
                "photos/",
                "it has me.jpeg, which no metadata.yaml in it lists",
            ),
        ] {
            let refused = cut(out, more);
            refused.stderr(contains(why).and(contains("--force").not()));
        }
    }
    cut("file", &[]).stderr(contains("--force replaces it"));
}

#[test]
fn a_full_disk_ends_with_1_and_leaves_what_was_there() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.mcap"), "mine").unwrap();
    // In blocks of 512 bytes.
    for out in ["x.mcap", "x/"] {
        let mut cut = limited("-f 100");
        cut.current_dir(dir.path()).arg("cut").arg(demo());
        cut.args(["-o", out, "--force"]);
        let name = out.trim_end_matches('/');
        let message = format!("error: {name} cannot be written: File too large");
        cut.assert().code(1).stdout("").stderr(contains(message));
        assert_eq!(names(dir.path()), ["x.mcap"]);
    }
    assert_eq!(fs::read(dir.path().join("x.mcap")).unwrap(), b"mine");
}

/// Removes a recording: a file or a folder.
fn remove(recording: &Path) {
    let removed = if recording.is_dir() {
        fs::remove_dir_all(recording)
    } else {
        fs::remove_file(recording)
    };
    removed.unwrap();
}

#[test]
fn a_signal_ends_a_cut_and_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    // Its chunks have to be compressed again, which takes a while.
    let chunk = |c: u64| {
        let large = Note::new(0, c, incompressible(c + 1, 1 << 20));
        vec![large, Note::new(1, c, "x")]
    };
    let spec = Spec::new((0..96).map(chunk).collect()).compression(Some(Compression::Zstd));
    fs::write(dir.path().join("bag.mcap"), spec.write()).unwrap();
    let begun = || names(dir.path()).len() > 1;
    for (name, code) in [("-INT", 130), ("-TERM", 143)] {
        for out in ["x.mcap", "x/"] {
            let mut ended = None;
            until("a cut that a signal met under way", || {
                let mut cut = play_process();
                cut.current_dir(dir.path());
                cut.args(["cut", "bag.mcap", "--topics", "/t0", "-o", out]);
                let child: Child = cut.spawn().unwrap();
                until("the cut has begun", begun);
                signal("-STOP", &child);
                let has_name = names(dir.path()).iter().any(|name| name.starts_with('x'));
                signal(name, &child);
                signal("-CONT", &child);
                let done = child.wait_with_output().unwrap();
                if done.status.code() == Some(0) {
                    // It was finished before it saw the signal.
                    remove(&dir.path().join(out));
                    return false;
                }
                assert!(!has_name);
                ended = Some(done);
                true
            });
            let done = ended.unwrap();
            let said = String::from_utf8_lossy(&done.stderr);
            assert_eq!(done.status.code(), Some(code), "{said}");
            assert!(
                said.contains("ended by a signal: nothing is written"),
                "{said}"
            );
            assert_eq!(names(dir.path()), ["bag.mcap"]);
        }
    }
}
