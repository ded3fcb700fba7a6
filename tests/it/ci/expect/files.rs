//! Files that are wrong: the place and what is allowed there; hostile ones.

use bagplay::ci::judge::expect::Expectations;
use proptest::prelude::*;

fn refused(text: &str) -> (usize, usize, String) {
    let Err(error) = Expectations::parse(text, "a/expect.toml") else {
        panic!("it was read: {text}");
    };
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let place = format!("a/expect.toml:{line}:{column}: ");
    let what = text
        .strip_prefix(&place)
        .unwrap_or_else(|| panic!("{text}"));
    (line, column, what.to_owned())
}

/// A text, the place of its error, and a part of what the error says.
type Case<'a> = (&'a str, (usize, usize), &'a str);

fn refuses(before: &str, cases: &[Case<'_>]) {
    for (text, place, what) in cases {
        let text = format!("{before}{text}");
        let (line, column, found) = refused(&text);
        assert!(found.contains(what), "{text}\n{found}");
        assert_eq!((line, column), *place, "{text}\n{found}");
    }
}

const TOPIC: &str = "[[expect]]\ntopic = '/odom'\n";
const FIELD: &str = "[[expect]]\ntopic = '/odom'\n[[expect.field]]\npath = 'x'\n";

#[test]
fn an_error_names_the_place_and_what_is_allowed_there() {
    let cases = [
        ("[[expct]]\ntopic = 'a'", (1, 3), "did you mean `expect`?"),
        (
            "[[expect]]\ncount = 1",
            (1, 1),
            "[[expect]] needs the key `topic`",
        ),
        (
            "[[expect]]\ntopic = '/'\ncount = 1",
            (2, 9),
            "`topic` is empty",
        ),
        (
            "[expect]\ntopic = 'a'",
            (1, 1),
            "write [[expect]] before each",
        ),
        ("expect = [3]", (1, 11), "before each"),
        ("", (1, 1), "nothing is expected; write [[expect]]"),
        ("# nothing\n", (1, 1), "nothing is expected"),
        (
            "[[expect]]\ntopic = 'a'\n[[expect.field]]\nvalue = 1",
            (3, 1),
            "[[expect.field]] needs the key `path`",
        ),
        (
            "[[transform]]\ntarget = 'map'",
            (1, 1),
            "[[transform]] needs the key `source`",
        ),
        (
            "[[transform]]\ntarget = 'map'\nsource = ''",
            (3, 10),
            "`source` is empty",
        ),
        (
            "[[transform]]\ntarget = 'a'\nsource = 'b'\nwithin = '..'",
            (4, 10),
            "no meaning at the end",
        ),
        ("[[gate]]\nrule = 'a'\nmax = 1", (2, 8), "there is no `->`"),
        (
            "[[gate]]\nrule = 'a -> b'",
            (1, 1),
            "[[gate]] needs p50, p99 or max",
        ),
        ("[[expect]\n", (1, 10), ""),
        ("ä = 'ö' x", (1, 9), ""),
        ("a = 1\na = 2", (2, 1), "duplicate key"),
    ];
    refuses("", &cases);
}

#[test]
fn numbers_and_bounds_of_a_topic_are_checked() {
    let cases = [
        (
            "cuont = 3",
            (3, 1),
            "has no key `cuont`; did you mean `count`? Known: topic, name, within, count",
        ),
        (
            "zzz = 3",
            (3, 1),
            "[[expect]] has no key `zzz`; known: topic, name",
        ),
        (
            "count = 'many'",
            (3, 9),
            "`count` is a table with min, max, not \"many\"",
        ),
        (
            "count = -1",
            (3, 9),
            "`count` is a whole number from 0, not -1",
        ),
        (
            "count = 1.5",
            (3, 9),
            "`count` is a table with min, max, not 1.5",
        ),
        (
            "count = { min = 3, max = 2 }",
            (3, 26),
            "`max` is less than `min`",
        ),
        ("count = {}", (3, 9), "`count` needs min, max or both"),
        ("count = { mix = 2 }", (3, 11), "did you mean `min`?"),
        (
            "rate = { min = -1 }",
            (3, 16),
            "`min` is a number from 0, not -1",
        ),
        (
            "rate = { min = nan }",
            (3, 16),
            "`min` is a number from 0, not nan",
        ),
        ("rate = { min = 2, max = 1 }", (3, 25), "is less than `min`"),
        (
            "rate = { min = 2, over = 0 }",
            (3, 26),
            "`over` is more than zero",
        ),
        (
            "max-gap = 'long'",
            (3, 11),
            "`max-gap` is a span of time: seconds (1.5), or a text with a unit",
        ),
    ];
    refuses(TOPIC, &cases);
}

#[test]
fn latency_stamps_and_window_of_a_topic_are_checked() {
    let cases = [
        ("max-gap = -0.5", (3, 11), "not -0.5"),
        ("latency = { max = 1 }", (3, 11), "needs the key `from`"),
        (
            "latency = { from = 'a' }",
            (3, 11),
            "`latency` needs p50, p99 or max",
        ),
        (
            "latency = { from = 'a', p99 = 2, max = 1 }",
            (3, 40),
            "`max` is less than the 2s of p99",
        ),
        (
            "latency = { from = 'a', by = 'stmp', max = 1 }",
            (3, 30),
            "has no value `stmp`; did you mean `stamp`?",
        ),
        (
            "stamps = 'down'",
            (3, 10),
            "has no value `down`; known: ascending, strictly-ascending",
        ),
        ("stamps = { path = 'a..b' }", (3, 19), "a name is missing"),
        (
            "absent = true\ncount = 1",
            (4, 9),
            "has no meaning beside `absent = true`",
        ),
        ("absent = false", (3, 10), "is true or left out"),
        (
            "within = '+1s'\ncount = 1",
            (3, 10),
            "is not a range: write A..B",
        ),
        (
            "within = '+2s..+1s'\ncount = 1",
            (3, 10),
            "ends before it begins",
        ),
        (
            "within = '+1h..soon'\ncount = 1",
            (3, 10),
            "`soon` is not a time",
        ),
        ("", (1, 1), "nothing is expected of the topic; add count"),
    ];
    refuses(TOPIC, &cases);
}

#[test]
fn comparisons_are_checked() {
    let cases = [
        (
            "",
            (3, 1),
            "nothing is expected of the field; add value, or finite = true",
        ),
        (
            "compare = '=<'\nvalue = 1",
            (5, 11),
            "`compare` has no value `=<`; known: ==, !=, <, <=",
        ),
        (
            "compare = '~'\nvalue = 1",
            (5, 11),
            "known: ==, !=, <, <=, >, >=, between, matches",
        ),
        ("compare = '<'", (5, 11), "`compare` needs a `value`"),
        (
            "compare = '<'\nvalue = 'a'",
            (6, 9),
            "`value` is a number for this comparison",
        ),
        (
            "compare = 'between'\nvalue = [2, 1]",
            (6, 9),
            "`value` has its larger number first",
        ),
        (
            "compare = 'between'\nvalue = [2, 1, 3]",
            (6, 9),
            "is a list of two numbers",
        ),
        (
            "compare = 'between'\nvalue = 3",
            (6, 9),
            "is a list of two numbers",
        ),
        (
            "compare = 'between'\nvalue = [0, nan]",
            (6, 9),
            "larger number first",
        ),
        (
            "compare = 'matches'\nvalue = '('",
            (6, 9),
            "`value` is not a pattern: unclosed group",
        ),
    ];
    refuses(FIELD, &cases);
}

#[test]
fn patterns_tolerances_and_nan_are_checked() {
    let cases = [
        (
            "compare = 'matches'\nvalue = '(a{1000}){1000}'",
            (6, 9),
            "is not a pattern",
        ),
        (
            "compare = 'matches'\nvalue = 1",
            (6, 9),
            "is a pattern in quotes",
        ),
        ("value = [1]", (5, 9), "is a number, a text, true or false"),
        (
            "value = nan",
            (5, 9),
            "which can be compared only by == with `nan = true`",
        ),
        (
            "value = 'a'\ntolerance = 1",
            (6, 13),
            "goes with == and != and a number",
        ),
        (
            "value = 1\ncompare = '<'\ntolerance = 1",
            (7, 13),
            "goes with == and !=",
        ),
        (
            "value = 1\ntolerance = -1",
            (6, 13),
            "`tolerance` is a number from 0, not -1",
        ),
        (
            "value = 1\nnan = true\nfinite = true",
            (6, 7),
            "contradicts `finite = true`",
        ),
        ("value = 'a'\nnan = true", (6, 7), "goes with numbers"),
        (
            "value = 1\nelements = 'any'",
            (6, 12),
            "needs [*] in `path`",
        ),
        (
            "value = 1\nin = 'most'",
            (6, 6),
            "known: first, last, any, every",
        ),
    ];
    refuses(FIELD, &cases);
}

#[test]
fn hostile_files_are_refused() {
    for text in [
        format!("x = {}", "[".repeat(100_000)),
        format!("x = {}", "{a=".repeat(100_000)),
        format!("{} = 1", "a.".repeat(100_000)),
        "#".repeat((4 << 20) + 1),
        "[[expect]]\ntopic = '\u{1b}[2J'\n\"\u{1b}[2J\" = 1".to_owned(),
        "\0".to_owned(),
        "[[expect]]\ntopic = 'a'\ncount = 99999999999999999999".to_owned(),
        "[[expect]]\ntopic = 'a'\nmax-gap = 1e300".to_owned(),
        "[[expect]]\ntopic = 'a'\nmax-gap = '1000000 years'".to_owned(),
    ] {
        let (_, _, what) = refused(&text);
        assert!(
            what.chars().count() <= 1_001 && !what.contains(char::is_control),
            "{what:?}"
        );
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\]a-z'=\\n{}0-9.,\\-\u{e4} ]{0,200}") {
        if let Err(error) = Expectations::parse(&text, "t") {
            prop_assert!(error.line() <= text.lines().count() + 1, "{}", error);
        }
    }

    #[test]
    fn a_file_with_changed_characters_is_read_or_refused(at in 0_usize..400, new in any::<char>()) {
        let text = "within = '+1s..90%'\n[[expect]]\ntopic = '/odom'\ncount = { min = 1 }\nrate = { min = 1, over = 2 }\n\
            latency = { from = '/a', by = 'stamp', p99 = '50ms' }\nstamps = 'ascending'\n[[expect.field]]\npath = 'a[*].b'\n\
            compare = 'between'\nvalue = [1, 2.5]\nnan = true\n[[transform]]\ntarget = 'a'\nsource = 'b'\nat = '/c'\n";
        let mut characters: Vec<char> = text.chars().collect();
        let at = at % characters.len();
        characters[at] = new;
        let changed: String = characters.into_iter().collect();
        if let Err(error) = Expectations::parse(&changed, "t") {
            prop_assert!(error.line() >= 1 && error.column() >= 1 && !error.to_string().contains(char::is_control));
        }
    }
}
