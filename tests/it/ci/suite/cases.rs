//! The cases of a suite: scenarios in folders, their names, and their digest.

use std::fs;
use std::path::Path;

use bagplay::ci::suite::scenario::{FLAG_KEYS, Key, OWN_KEYS, Scenario};
use bagplay::ci::suite::{CaseList, SuiteError};

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}

fn find(folder: &Path) -> Result<CaseList, SuiteError> {
    CaseList::find(&[folder], &|_| None)
}

fn names(list: &CaseList) -> Vec<&str> {
    list.cases().iter().map(|case| case.name.as_str()).collect()
}

#[test]
fn a_folder_has_its_scenarios_and_those_below_it() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            ("b.toml", "bags = 'x.mcap'\nexpect = 'judge/e.toml'"),
            (
                "a/c.toml",
                "bags = 'x.mcap'\nrate = '${r}'\nmatrix = { r = [2, 1] }",
            ),
            ("a/named.toml", "bags = 'x.mcap'\nname = 'z'"),
            ("judge/e.toml", "[[count]]\ntopic = '/a'"),
            ("notes.txt", "not a scenario"),
            (".hidden/d.toml", "bags = 'x.mcap'"),
        ],
    );
    let list = find(dir.path()).unwrap();
    assert_eq!(names(&list), ["a/c[r=1]", "a/c[r=2]", "b", "z"]);
    let digest = list.digest();
    assert_eq!(find(dir.path()).unwrap().digest(), digest);
    // A change of any scenario, of the filter and of names changes the digest.
    let some = list.filtered("x", |case| case.name != "z").unwrap();
    assert_ne!(some.digest(), digest);
    write(
        dir.path(),
        &[("b.toml", "bags = 'y.mcap'\nexpect = 'judge/e.toml'")],
    );
    assert_ne!(find(dir.path()).unwrap().digest(), digest);
}

#[test]
fn what_is_no_suite_is_refused_with_all_reasons() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(find(dir.path()), Err(SuiteError::Empty { .. })));
    assert!(matches!(
        find(&dir.path().join("none")),
        Err(SuiteError::Scenarios(_))
    ));
    write(
        dir.path(),
        &[
            ("a.toml", "bag = 'x'"),
            ("b.toml", "bags = 1.5e"),
            ("e.toml", "[[count]]"),
        ],
    );
    let error = find(dir.path()).unwrap_err().to_string();
    for part in [
        "a.toml:1:1: there is no key `bag`; is `bags` meant?",
        "b.toml:1:",
        "e.toml:1:3: there is no key `count`",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            ("a.toml", "bags = 'x'"),
            ("b.toml", "bags = 'x'\nname = 'a'"),
        ],
    );
    let error = find(dir.path()).unwrap_err().to_string();
    assert!(
        error.contains("two cases have the name `a`") && error.contains("b.toml"),
        "{error}"
    );
    fs::remove_file(dir.path().join("b.toml")).unwrap();
    let none = find(dir.path())
        .unwrap()
        .filtered("q.*", |_| false)
        .unwrap_err();
    assert_eq!(none.to_string(), "no case matches `q.*`");
    std::os::unix::fs::symlink(dir.path(), dir.path().join("loop")).unwrap();
    assert!(matches!(find(dir.path()), Err(SuiteError::TooDeep { .. })));
}

#[test]
fn a_reference_that_is_not_there_is_refused_unless_it_is_made() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[("a.toml", "bags = 'x'\ngolden = 'g.mcap'\nexpect = 'e.toml'")],
    );
    let list = find(dir.path()).unwrap();
    let error = list.check_files(false).unwrap_err().to_string();
    assert!(
        error.contains("a needs") && error.contains("g.mcap") && error.contains("e.toml"),
        "{error}"
    );
    write(dir.path(), &[("e.toml", "")]);
    assert!(list.check_files(false).is_err());
    list.check_files(true).unwrap();
    write(dir.path(), &[("g.mcap", "")]);
    list.check_files(false).unwrap();
}

#[test]
fn the_rules_beside_a_reference_are_no_scenario() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            ("a.toml", "bags = 'x'\ngolden = 'a.golden.mcap'"),
            ("a.golden.toml", "[[rule]]\nrelative = 1e-9"),
        ],
    );
    assert_eq!(find(dir.path()).unwrap().cases().len(), 1);
    write(dir.path(), &[("b.toml", "[[rule]]")]);
    assert!(matches!(find(dir.path()), Err(SuiteError::Scenarios(_))));
}

#[test]
fn a_suite_of_ten_thousand_cases_is_found() {
    let dir = tempfile::tempdir().unwrap();
    for at in 0..100 {
        let values: Vec<String> = (0..100).map(|value| value.to_string()).collect();
        let text = format!(
            "bags = 'x'\nstart = '${{s}}'\nmatrix = {{ s = [{}] }}",
            values.join(",")
        );
        fs::write(dir.path().join(format!("s{at}.toml")), text).unwrap();
    }
    assert_eq!(find(dir.path()).unwrap().cases().len(), 10_000);
}

/// The keys of a scenario as the document has them.
fn keys() -> String {
    let row = |key: &Key| {
        format!(
            "| `{}` | {} | {} |\n",
            key.name,
            key.shape.words(),
            key.help
        )
    };
    let table = |keys: &[Key]| -> String {
        let rows: String = keys.iter().map(row).collect();
        format!("| key | takes | |\n|---|---|---|\n{rows}")
    };
    format!(
        "{}\nFlags of `play`:\n\n{}",
        table(OWN_KEYS),
        table(FLAG_KEYS)
    )
}

#[test]
fn the_document_lists_every_key() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/ci.md")).unwrap();
    let (_, rest) = page.split_once("<!-- scenario keys -->\n").unwrap();
    let (listed, _) = rest.split_once("<!-- /scenario keys -->").unwrap();
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scenario-keys.md");
    fs::write(&made, keys()).unwrap();
    assert!(
        listed == keys(),
        "docs/ci.md: between the `scenario keys` comments goes what is in {}",
        made.to_string_lossy()
    );
}

#[test]
fn the_scenarios_of_the_document_are_scenarios() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/ci.md")).unwrap();
    let mut count = 0;
    for block in page.split("```toml\n").skip(1) {
        let text = block.split("```").next().unwrap();
        if text.starts_with("# A scenario") {
            Scenario::parse(Path::new("docs/ci.toml"), "ci", text, &|_| {
                Some("/data".into())
            })
            .unwrap();
            count += 1;
        }
    }
    assert!(count >= 2, "{count}");
}
