//! [`Members`]: which processes belong to a program: a rule on a list of processes.

use std::collections::{BTreeMap, BTreeSet};

use super::list::Process;

/// Whether a child of this process, of which nothing else is known, belongs to the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::ci::child) enum Mark {
    Ours,
    NotOurs,
    /// It cannot be told now, and can be a moment later.
    Unclear,
}

/// The processes of a program in a list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::ci::child) struct Found {
    /// In the order of the list; the leader is among them.
    pub(in crate::ci::child) members: Vec<Process>,
    /// There are none but these.
    pub(in crate::ci::child) is_clear: bool,
}

/// The processes of a program that have been seen, and its place among the others.
#[derive(Clone, Debug)]
pub(in crate::ci::child) struct Members {
    /// This process, the parent of processes whose own parent has ended.
    me: i32,
    /// The process that was started; its number is also that of its group.
    leader: i32,
    /// Processes that were seen: number, and when they were started.
    known: BTreeMap<i32, u64>,
}

impl Members {
    pub(in crate::ci::child) const fn new(me: i32, leader: i32) -> Self {
        let known = BTreeMap::new();
        Self { me, leader, known }
    }

    /// The processes of the list that belong to the program. They are the group, what was known before, children of
    /// this process that are marked, and all that descend from these.
    ///
    /// `mark` is asked about children of this process that run, and about no others.
    pub(in crate::ci::child) fn find(
        &mut self,
        list: &[Process],
        mark: impl Fn(&Process) -> Mark,
    ) -> Found {
        let mut is_clear = true;
        let mut children: BTreeMap<i32, Vec<&Process>> = BTreeMap::new();
        for process in list.iter().filter(|process| process.id != self.me) {
            children.entry(process.parent).or_default().push(process);
        }
        let is_root = |process: &&Process| {
            let is_ours = process.id == self.leader
                || process.group == self.leader
                || self.known.get(&process.id) == Some(&process.started);
            if is_ours || process.parent != self.me || process.has_ended {
                return is_ours;
            }
            let mark = mark(process);
            is_clear &= mark != Mark::Unclear;
            mark == Mark::Ours
        };
        let others = list.iter().filter(|process| process.id != self.me);
        let mut pending: Vec<&Process> = others.filter(is_root).collect();
        let mut found = BTreeSet::new();
        while let Some(process) = pending.pop() {
            if found.insert(process.id) {
                pending.extend(children.get(&process.id).into_iter().flatten());
            }
        }
        let members: Vec<Process> = list
            .iter()
            .filter(|process| found.contains(&process.id))
            .cloned()
            .collect();
        self.known = members
            .iter()
            .map(|member| (member.id, member.started))
            .collect();
        Found { members, is_clear }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: i32 = 10;
    const LEADER: i32 = 20;

    fn process(id: i32, parent: i32, group: i32) -> Process {
        Process {
            id,
            parent,
            group,
            started: 1,
            has_ended: false,
            name: String::new(),
        }
    }

    fn found(members: &mut Members, list: &[Process], ours: &[i32]) -> Vec<i32> {
        let mark = |process: &Process| {
            if ours.contains(&process.id) {
                Mark::Ours
            } else {
                Mark::NotOurs
            }
        };
        let found = members.find(list, mark);
        assert!(found.is_clear);
        found.members.iter().map(|process| process.id).collect()
    }

    #[test]
    fn the_group_its_descendants_and_marked_daemons_belong_to_it() {
        let list = [
            process(1, 0, 1),
            process(ME, 1, ME),
            process(11, ME, ME),
            process(LEADER, ME, LEADER),
            process(21, LEADER, LEADER),
            // In a group of its own, still a child of the leader; and its child.
            process(22, LEADER, 22),
            process(23, 22, 22),
            // Of the group; its parent has ended.
            process(24, ME, LEADER),
            // Daemons, and the child of one.
            process(30, ME, 30),
            process(31, 30, 31),
            process(40, ME, 40),
        ];
        let mut members = Members::new(ME, LEADER);
        assert_eq!(
            found(&mut members, &list, &[30]),
            [LEADER, 21, 22, 23, 24, 30, 31]
        );
    }

    #[test]
    fn a_process_that_was_seen_stays_a_member_and_its_number_alone_does_not() {
        let mut members = Members::new(ME, LEADER);
        let mut list = vec![process(LEADER, ME, LEADER), process(22, LEADER, 22)];
        assert_eq!(found(&mut members, &list, &[]), [LEADER, 22]);
        // Its parent has ended, and it has left no trace of it.
        list[1].parent = ME;
        assert_eq!(found(&mut members, &list, &[]), [LEADER, 22]);
        // Also when it has ended itself: this process has to ask for its result.
        list[1].has_ended = true;
        assert_eq!(found(&mut members, &list, &[]), [LEADER, 22]);
        list[1] = Process {
            started: 2,
            ..process(22, ME, 22)
        };
        assert_eq!(found(&mut members, &list, &[]), [LEADER]);
    }

    #[test]
    fn this_process_is_never_a_member() {
        let mut members = Members::new(ME, LEADER);
        // It was started by the group, by mistake or on purpose, and a list may have circles.
        let list = [
            process(ME, LEADER, LEADER),
            process(LEADER, ME, LEADER),
            process(5, 5, 5),
        ];
        assert_eq!(found(&mut members, &list, &[5]), [LEADER]);
    }

    #[test]
    fn a_child_that_cannot_be_told_leaves_it_open_whether_there_are_more() {
        let mut members = Members::new(ME, LEADER);
        let mut list = vec![process(LEADER, ME, LEADER), process(30, ME, 30)];
        let found = members.find(&list, |_| Mark::Unclear);
        assert_eq!((found.members.len(), found.is_clear), (1, false));
        assert!(!members.find(&list, |_| Mark::Ours).members.is_empty());
        // It is known now.
        let found = members.find(&list, |_| Mark::Unclear);
        assert_eq!((found.members.len(), found.is_clear), (2, true));
        list[1].has_ended = true;
        let mut others = Members::new(ME, LEADER);
        assert!(others.find(&list, |_| Mark::Unclear).is_clear);
    }
}
