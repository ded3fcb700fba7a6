//! Which threads are looked at.

use std::fs;

use bagplay::ci::settle::{LookError, Processes, Settler, ThreadSet};

use super::programs::Program;
use crate::support::patience::PATIENCE;

fn threads_of(program: &Program) -> Vec<String> {
    let folder = format!("/proc/{}/task", program.id());
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn a_group_has_the_processes_of_the_group() {
    let program = Program::start("chain 2");
    let of_group = ThreadSet::new(Processes::Group(program.id()), &[]).unwrap();
    let of_tree = ThreadSet::new(Processes::Tree(vec![program.id()]), &[]).unwrap();
    assert_eq!(of_group.len(), of_tree.len());
    assert!(of_group.len() > threads_of(&program).len() + 2);
    assert!(of_group.sees_sleeps().unwrap());
}

/// The file of a cgroup, made by hand: not every machine has a cgroup that may be used.
#[test]
fn a_cgroup_has_the_threads_that_its_file_lists() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cgroup.threads");
    let list = |programs: &[&Program]| {
        let threads: Vec<_> = programs
            .iter()
            .flat_map(|program| threads_of(program))
            .collect();
        fs::write(&file, threads.join("\n") + "\n").unwrap();
        threads.len()
    };
    let (mut first, mut second) = (Program::start("echo"), Program::start("compute 5"));
    let count = list(&[&first]);
    let cgroup = Processes::Cgroup(folder.path().to_path_buf());
    let mut settler = Settler::new(cgroup, &[]).unwrap();
    assert_eq!(settler.threads().len(), count);
    settler.mark().unwrap();
    first.send(1);
    settler.settle(PATIENCE).unwrap();
    assert_eq!(first.answer(), Some(1));

    let count = list(&[&first, &second]);
    settler.mark().unwrap();
    second.send(2);
    settler.settle(PATIENCE).unwrap();
    assert_eq!(second.answer(), Some(2));
    assert_eq!(settler.threads().len(), count);

    // It still runs: it was only taken out of the group.
    list(&[&second]);
    assert_eq!(settler.settle(PATIENCE).unwrap().gone, []);
    assert_eq!(settler.threads().len(), threads_of(&second).len());
}

#[test]
fn what_cannot_be_looked_at_is_said() {
    let ended = {
        let program = Program::start("echo");
        program.id()
    };
    let of = |processes| ThreadSet::new(processes, &[]).unwrap_err();
    assert!(matches!(of(Processes::Tree(vec![ended])), LookError::NoProcess(id) if id == ended));
    assert!(matches!(of(Processes::Group(ended)), LookError::NoGroup(id) if id == ended));
    let own = Processes::Tree(vec![std::process::id()]);
    assert!(matches!(of(own), LookError::Own));
    let missing = Processes::Cgroup("/nothing\x1b here".into());
    let error = of(missing).to_string();
    assert!(
        error.starts_with("/nothing\\u{1b} here/cgroup.threads: "),
        "{error}"
    );
}
