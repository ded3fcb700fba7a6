//! A program that takes the command line of `play` and does what the words behind `--` say, so that runs of a suite end
//! in every way in which they can.

use std::path::{Path, PathBuf};

use bagplay::ci::suite::CaseList;
use bagplay::ci::suite::scenario::Scenario;

use crate::support::scripts::write_program;

const SCRIPT: &str = r#"#!/bin/sh
for word; do
    case $word in
        --report=*) report=${word#--report=} ;;
        --) shift; break ;;
    esac
    shift
done
echo "words behind: $*"
say() { # exit code, ended, verdict, digest
    printf '{"schema":1,"name":"of play","ended":"%s","exit_code":%s,"digest":"%s","checks":[{"name":"a","kind":"%s","verdict":"%s","reason":""}]}' \
        "$2" "$1" "$4" "${5:-run}" "$3" >"$report.part"
    mv "$report.part" "$report"
    exit "$1"
}
case $2 in
    pass) say 0 complete passed d ;;
    golden) say 0 complete passed d golden ;;
    fail) say 5 complete failed d ;;
    lie) say 0 complete failed d ;;
    dirty) # its report says that it has passed; what is done after that fails
        (say 0 complete passed d)
        echo "the network cannot be removed"; exit "$3" ;;
    broken) printf '{"name' >"$report"; exit 0 ;;
    newer) printf '{"schema":99,"name":"of play"}' >"$report"; exit 0 ;;
    empty) printf '{}' >"$report"; exit 0 ;;
    silent) echo "no report from here"; exit "$3" ;;
    crash) kill -SEGV $$ ;;
    random) say 0 complete passed "$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')" ;;
    once) # fails the first time only
        if mkdir "$3" 2>/dev/null; then say 5 complete failed d; else say 0 complete passed d; fi ;;
    hang) trap 'say 143 interrupted skipped ""' TERM
        echo hanging >"$3"
        while :; do sleep 0.05; done ;;
    deaf) trap '' TERM
        setsid sleep 1000 &
        echo $! >"$3.part"; mv "$3.part" "$3"
        while :; do sleep 0.05; done ;;
    variable) [ -z "${GITHUB_STEP_SUMMARY+set}" ] && say 0 complete passed d; say 5 complete failed d ;;
    *) exit 2 ;;
esac
"#;

/// A folder with the program and the files of a test.
pub(super) struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("stand-in");
        write_program(&program, SCRIPT, 0o755);
        Self { dir }
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn program(&self) -> PathBuf {
        self.path().join("stand-in")
    }

    /// Cases that do these things: name, and the words behind `--`.
    pub(super) fn cases(&self, what: &[(&str, &str)]) -> CaseList {
        self.cases_with(what, "")
    }

    /// The same with more keys.
    pub(super) fn cases_with(&self, what: &[(&str, &str)], keys: &str) -> CaseList {
        let scenario = |(name, words): &(&str, &str)| {
            let words: Vec<String> = ["stand-in"]
                .into_iter()
                .chain(words.split(' '))
                .map(|word| format!("{word:?}"))
                .collect();
            let text = format!("bags = 'a.mcap'\ncommand = [{}]\n{keys}", words.join(", "));
            Scenario::parse(&self.path().join("a.toml"), name, &text, &|_| None).unwrap()
        };
        CaseList::of(what.iter().map(scenario).collect()).unwrap()
    }
}
