//! The summary in Markdown, read by a Markdown parser.

use std::fs;
use std::slice::from_ref;

use bagplay::ci::report::{append_markdown, to_markdown};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::{failed, hostile, interrupted, is_clean, passed, undecided};

const MIB: usize = 1 << 20;

/// The cells of each table row as text, and every piece of HTML.
fn parsed(text: &str) -> (Vec<Vec<String>>, Vec<String>) {
    let (mut rows, mut row, mut cell, mut tags) =
        (Vec::new(), Vec::new(), String::new(), Vec::new());
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::TableCell) => cell.clear(),
            Event::End(TagEnd::TableCell) => row.push(std::mem::take(&mut cell)),
            Event::End(TagEnd::TableRow | TagEnd::TableHead) => rows.push(std::mem::take(&mut row)),
            Event::Text(text) | Event::Code(text) => cell.push_str(&text),
            Event::Html(tag) | Event::InlineHtml(tag) => tags.push(tag.trim().to_owned()),
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => panic!("a link in {text}"),
            _ => {}
        }
    }
    (rows, tags)
}

#[test]
fn a_run_that_failed_says_why_first_and_folds_the_rest() {
    let text = to_markdown(&[failed()], MIB);
    let first = text.lines().next().unwrap();
    let expected =
        "## ❌ Failed: <code>warehouse</code>: /points \\-&gt; /obstacles: 3 of 300 questions";
    assert!(first.starts_with(expected), "{first}");
    let (rows, _) = parsed(&text);
    let row = rows.iter().find(|row| row[1] == "golden.mcap").unwrap();
    assert_eq!(
        row[2],
        "/odom differs in 176 of 300 messages, first in message 124"
    );
    let row = rows.iter().find(|row| row[0] == "this run").unwrap();
    assert_eq!(row[1..], ["0.18730517882", "12.400000 s"]);
    let row = rows.iter().find(|row| row[0] == "/odom").unwrap();
    assert_eq!(row[1..], ["pose.pose.position.z", "176", "0.19"]);
    let row = rows.iter().find(|row| row[0] == "messages").unwrap();
    assert_eq!(row[1], "6,301 sent, 597 received");
    let gate = rows
        .iter()
        .find(|row| row[0] == "gate /points -> /odom by stamp")
        .unwrap();
    assert_eq!(
        gate[1],
        "300 of 300 answered, 2 not asked for, p50 8.21 ms, p99 31.7 ms, max 212 ms"
    );
    assert_eq!(text.matches("<details>").count(), 4);
    assert_eq!(text.matches("</details>").count(), 4);
}

#[test]
fn a_suite_has_a_table_of_what_did_not_pass_and_folds_what_passed() {
    let text = to_markdown(&[passed(), interrupted(), undecided(), failed()], MIB);
    let first = text.lines().next().unwrap();
    assert!(
        first.starts_with("## ⏹️ Interrupted: 1 of 4 runs were interrupted, first stopped: "),
        "{first}"
    );
    let (rows, _) = parsed(&text);
    let names: Vec<&str> = rows
        .iter()
        .filter(|row| row.len() == 5)
        .map(|row| row[1].as_str())
        .collect();
    assert_eq!(
        names,
        ["run", "stopped", "damaged", "warehouse", "run", "warehouse"]
    );
    assert!(text.contains("<summary>1 run passed</summary>"));
    let text = to_markdown(&[passed(), passed()], MIB);
    assert!(
        text.starts_with("## ✅ Passed: all 2 runs passed\n"),
        "{text}"
    );
}

#[test]
fn hostile_text_stays_in_its_cell() {
    let run = hostile();
    let text = to_markdown(from_ref(&run), MIB) + &to_markdown(&[run.clone(), run], MIB);
    assert!(is_clean(&text), "{text:?}");
    let (rows, tags) = parsed(&text);
    let checks: Vec<_> = rows
        .iter()
        .filter(|row| row.len() == 3 && row[1].starts_with("</script>"))
        .collect();
    assert_eq!(checks.len(), 3 * (10 + 2));
    for row in checks
        .iter()
        .filter(|row| row[0] != "reference" && row[0] != "this run")
    {
        assert!(
            row[1].ends_with("\\0\\r\\n# e\\u{202e}\\u{ffff}"),
            "{row:?}"
        );
        assert!(
            row[2].starts_with("</script>") && row[2].contains("| `a` [b](http://c)"),
            "{row:?}"
        );
    }
    // No other element than those of the summary itself.
    let known = ["details", "summary", "code", "pre"];
    for tag in tags {
        for name in tag.split('<').skip(1) {
            let name = name
                .trim_start_matches('/')
                .split(['>', ' '])
                .next()
                .unwrap();
            assert!(known.contains(&name), "{tag}");
        }
    }
}

#[test]
fn a_summary_is_as_long_as_allowed_and_says_if_it_is_not_whole() {
    let mut runs = vec![failed(), passed()];
    runs.extend((0..4).map(|_| hostile()));
    let whole = to_markdown(&runs, usize::MAX);
    let step = whole.len() / 60;
    for most in (0..200).chain((200..whole.len() + 2 * step).step_by(step)) {
        let text = to_markdown(&runs, most);
        assert!(text.len() <= most, "{most}");
        let is_whole = text == whole;
        assert!(
            most < 100 || is_whole || text.contains("Shortened"),
            "{most}"
        );
        assert_eq!(
            text.matches("<details>").count(),
            text.matches("</details>").count(),
            "{most}"
        );
    }
    assert!(!whole.contains("Shortened"));
}

#[test]
fn a_summary_is_appended_to_a_file_within_the_limit_of_the_page() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("summary.md");
    append_markdown(&file, &[passed()]).unwrap();
    let first = fs::read_to_string(&file).unwrap();
    assert_eq!(first, to_markdown(&[passed()], MIB));
    append_markdown(&file, &[failed()]).unwrap();
    let both = fs::read_to_string(&file).unwrap();
    assert_eq!(both, first + &to_markdown(&[failed()], MIB));
    let error = append_markdown(dir.path(), &[passed()]).unwrap_err();
    assert!(
        error.to_string().starts_with(dir.path().to_str().unwrap()),
        "{error}"
    );
    fs::write(&file, "x".repeat(MIB - 500)).unwrap();
    append_markdown(&file, &[failed()]).unwrap();
    let full = fs::read_to_string(&file).unwrap();
    assert!(full.len() <= MIB && full.trim_end().ends_with("other reports."));
    fs::write(&file, "x".repeat(MIB + 1)).unwrap();
    append_markdown(&file, &[failed()]).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().len(), MIB as u64 + 1);
}
