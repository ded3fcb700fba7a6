//! Files that are wrong: the place and what is allowed there; hostile ones.

use bagplay::ci::judge::expect::Expectations;
use proptest::prelude::*;

fn refused(text: &str) -> (usize, usize, String) {
    let error = match Expectations::parse(text, "a/expect.toml") {
        Ok(_) => panic!("it was read: {text}"),
        Err(error) => error,
    };
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let place = format!("a/expect.toml:{line}:{column}: ");
    let what = text
        .strip_prefix(&place)
        .unwrap_or_else(|| panic!("{text}"));
    (line, column, what.to_owned())
}

#[test]
fn an_error_names_the_place_and_what_is_allowed_there() {
    let topic = "[[expect]]\ntopic = '/odom'\n";
    let field = "[[expect]]\ntopic = '/odom'\n[[expect.field]]\npath = 'x'\n";
    for (text, (line, column), what) in [
        (
            format!("{topic}cuont = 3"),
            (3, 1),
            "has no key `cuont`; did you mean `count`? Known: topic, name, within, count",
        ),
        (
            format!("{topic}zzz = 3"),
            (3, 1),
            "[[expect]] has no key `zzz`; known: topic, name",
        ),
        (
            "[[expct]]\ntopic = 'a'".into(),
            (1, 3),
            "did you mean `expect`?",
        ),
        (
            format!("{topic}count = 'many'"),
            (3, 9),
            "`count` is a table with min, max, not \"many\"",
        ),
        (
            format!("{topic}count = -1"),
            (3, 9),
            "`count` is a whole number from 0, not -1",
        ),
        (
            format!("{topic}count = 1.5"),
            (3, 9),
            "`count` is a table with min, max, not 1.5",
        ),
        (
            format!("{topic}count = {{ min = 3, max = 2 }}"),
            (3, 26),
            "`max` is less than `min`",
        ),
        (
            format!("{topic}count = {{}}"),
            (3, 9),
            "`count` needs min, max or both",
        ),
        (
            format!("{topic}count = {{ mix = 2 }}"),
            (3, 11),
            "did you mean `min`?",
        ),
        (
            format!("{topic}rate = {{ min = -1 }}"),
            (3, 16),
            "`min` is a number from 0, not -1",
        ),
        (
            format!("{topic}rate = {{ min = nan }}"),
            (3, 16),
            "`min` is a number from 0, not nan",
        ),
        (
            format!("{topic}rate = {{ min = 2, max = 1 }}"),
            (3, 25),
            "is less than `min`",
        ),
        (
            format!("{topic}rate = {{ min = 2, over = 0 }}"),
            (3, 26),
            "`over` is more than zero",
        ),
        (
            format!("{topic}max-gap = 'long'"),
            (3, 11),
            "`max-gap` is a span of time: seconds (1.5), or a text with a unit",
        ),
        (format!("{topic}max-gap = -0.5"), (3, 11), "not -0.5"),
        (
            format!("{topic}latency = {{ max = 1 }}"),
            (3, 11),
            "needs the key `from`",
        ),
        (
            format!("{topic}latency = {{ from = 'a' }}"),
            (3, 11),
            "`latency` needs p50, p99 or max",
        ),
        (
            format!("{topic}latency = {{ from = 'a', p99 = 2, max = 1 }}"),
            (3, 40),
            "`max` is less than the 2s of p99",
        ),
        (
            format!("{topic}latency = {{ from = 'a', by = 'stmp', max = 1 }}"),
            (3, 30),
            "has no value `stmp`; did you mean `stamp`?",
        ),
        (
            format!("{topic}stamps = 'down'"),
            (3, 10),
            "has no value `down`; known: ascending, strictly-ascending",
        ),
        (
            format!("{topic}stamps = {{ path = 'a..b' }}"),
            (3, 19),
            "a name is missing",
        ),
        (
            format!("{topic}absent = true\ncount = 1"),
            (4, 9),
            "has no meaning beside `absent = true`",
        ),
        (
            format!("{topic}absent = false"),
            (3, 10),
            "is true or left out",
        ),
        (
            format!("{topic}within = '+1s'\ncount = 1"),
            (3, 10),
            "is not a range: write A..B",
        ),
        (
            format!("{topic}within = '+2s..+1s'\ncount = 1"),
            (3, 10),
            "ends before it begins",
        ),
        (
            format!("{topic}within = '+1h..soon'\ncount = 1"),
            (3, 10),
            "`soon` is not a time",
        ),
        (
            topic.into(),
            (1, 1),
            "nothing is expected of the topic; add count",
        ),
        (
            "[[expect]]\ncount = 1".into(),
            (1, 1),
            "[[expect]] needs the key `topic`",
        ),
        (
            "[[expect]]\ntopic = '/'\ncount = 1".into(),
            (2, 9),
            "`topic` is empty",
        ),
        (
            "[expect]\ntopic = 'a'".into(),
            (1, 1),
            "write [[expect]] before each",
        ),
        ("expect = [3]".into(), (1, 11), "before each"),
        (
            String::new(),
            (1, 1),
            "nothing is expected; write [[expect]]",
        ),
        ("# nothing\n".into(), (1, 1), "nothing is expected"),
        (
            field.into(),
            (3, 1),
            "nothing is expected of the field; add value, or finite = true",
        ),
        (
            format!("{field}compare = '=<'\nvalue = 1"),
            (5, 11),
            "`compare` has no value `=<`; known: ==, !=, <, <=",
        ),
        (
            format!("{field}compare = '~'\nvalue = 1"),
            (5, 11),
            "known: ==, !=, <, <=, >, >=, between, matches",
        ),
        (
            format!("{field}compare = '<'"),
            (5, 11),
            "`compare` needs a `value`",
        ),
        (
            format!("{field}compare = '<'\nvalue = 'a'"),
            (6, 9),
            "`value` is a number for this comparison",
        ),
        (
            format!("{field}compare = 'between'\nvalue = [2, 1]"),
            (6, 9),
            "`value` has its larger number first",
        ),
        (
            format!("{field}compare = 'between'\nvalue = [2, 1, 3]"),
            (6, 9),
            "is a list of two numbers",
        ),
        (
            format!("{field}compare = 'between'\nvalue = 3"),
            (6, 9),
            "is a list of two numbers",
        ),
        (
            format!("{field}compare = 'between'\nvalue = [0, nan]"),
            (6, 9),
            "larger number first",
        ),
        (
            format!("{field}compare = 'matches'\nvalue = '('"),
            (6, 9),
            "`value` is not a pattern: unclosed group",
        ),
        (
            format!("{field}compare = 'matches'\nvalue = '(a{{1000}}){{1000}}'"),
            (6, 9),
            "is not a pattern",
        ),
        (
            format!("{field}compare = 'matches'\nvalue = 1"),
            (6, 9),
            "is a pattern in quotes",
        ),
        (
            format!("{field}value = [1]"),
            (5, 9),
            "is a number, a text, true or false",
        ),
        (
            format!("{field}value = nan"),
            (5, 9),
            "nothing compares with that but == with `nan = true`",
        ),
        (
            format!("{field}value = 'a'\ntolerance = 1"),
            (6, 13),
            "goes with == and != and a number",
        ),
        (
            format!("{field}value = 1\ncompare = '<'\ntolerance = 1"),
            (7, 13),
            "goes with == and !=",
        ),
        (
            format!("{field}value = 1\ntolerance = -1"),
            (6, 13),
            "`tolerance` is a number from 0, not -1",
        ),
        (
            format!("{field}value = 1\nnan = true\nfinite = true"),
            (6, 7),
            "contradicts `finite = true`",
        ),
        (
            format!("{field}value = 'a'\nnan = true"),
            (6, 7),
            "goes with numbers",
        ),
        (
            format!("{field}value = 1\nelements = 'any'"),
            (6, 12),
            "needs [*] in `path`",
        ),
        (
            format!("{field}value = 1\nin = 'most'"),
            (6, 6),
            "known: first, last, any, every",
        ),
        (
            "[[expect]]\ntopic = 'a'\n[[expect.field]]\nvalue = 1".into(),
            (3, 1),
            "[[expect.field]] needs the key `path`",
        ),
        (
            "[[transform]]\ntarget = 'map'".into(),
            (1, 1),
            "[[transform]] needs the key `source`",
        ),
        (
            "[[transform]]\ntarget = 'map'\nsource = ''".into(),
            (3, 10),
            "`source` is empty",
        ),
        (
            "[[transform]]\ntarget = 'a'\nsource = 'b'\nwithin = '..'".into(),
            (4, 10),
            "no meaning at the end",
        ),
        (
            "[[gate]]\nrule = 'a'\nmax = 1".into(),
            (2, 8),
            "there is no `->`",
        ),
        (
            "[[gate]]\nrule = 'a -> b'".into(),
            (1, 1),
            "[[gate]] needs p50, p99 or max",
        ),
        ("[[expect]\n".into(), (1, 10), ""),
        ("ä = 'ö' x".into(), (1, 9), ""),
        ("a = 1\na = 2".into(), (2, 1), "duplicate key"),
    ] {
        let (found_line, found_column, found) = refused(&text);
        assert!(found.contains(what), "{text}\n{found}");
        assert_eq!(
            (found_line, found_column),
            (line, column),
            "{text}\n{found}"
        );
    }
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
