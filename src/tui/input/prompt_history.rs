//! [`PromptHistory`]: what was typed in the input line, for as long as the bar is shown.

use std::collections::HashMap;

/// How many texts of a kind are kept.
const MOST: usize = 100;

/// What is typed again and again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum TypedKind {
    GoTo,
    Filter,
    Find,
    Rate,
}

/// The last texts of each kind, each text once, the newest last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct PromptHistory(HashMap<TypedKind, Vec<String>>);

/// Where an input line is among the texts of its kind.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct HistoryPlace {
    /// How many texts back; 0 is the line itself.
    back: usize,
    /// The line as it was typed.
    typed: String,
}

impl PromptHistory {
    /// Adds a text as the newest one; an empty text is not kept.
    pub(crate) fn add(&mut self, kind: TypedKind, text: &str) {
        if text.is_empty() {
            return;
        }
        let texts = self.0.entry(kind).or_default();
        texts.retain(|known| known != text);
        texts.push(text.to_owned());
        if texts.len() > MOST {
            texts.remove(0);
        }
    }

    /// The text that is one older than that of `place`, or one newer if `by` is positive; `None` if there is none.
    /// `line` is the text that is shown.
    pub(crate) fn walk(
        &self,
        kind: TypedKind,
        place: &mut HistoryPlace,
        by: isize,
        line: &str,
    ) -> Option<String> {
        let texts = self.0.get(&kind)?;
        let back = place.back.checked_add_signed(-by)?;
        let text = match texts.len().checked_sub(back)? {
            at if at < texts.len() => texts.get(at)?.clone(),
            _ => place.typed.clone(),
        };
        if place.back == 0 {
            line.clone_into(&mut place.typed);
        }
        place.back = back;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_once_and_the_oldest_are_dropped() {
        let mut history = PromptHistory::default();
        for n in 0..=MOST {
            history.add(TypedKind::GoTo, &n.to_string());
        }
        history.add(TypedKind::GoTo, "5");
        history.add(TypedKind::GoTo, "");
        history.add(TypedKind::Rate, "2");
        let mut place = HistoryPlace::default();
        let mut back = |by| history.walk(TypedKind::GoTo, &mut place, by, "typed");
        let texts: Vec<String> = std::iter::from_fn(|| back(-1)).collect();
        let newest = [5].into_iter().chain((1..=MOST).rev().filter(|n| *n != 5));
        assert_eq!(texts, newest.map(|n| n.to_string()).collect::<Vec<_>>());
        let again: Vec<String> = std::iter::from_fn(|| back(1)).collect();
        assert_eq!(
            (again.len(), again.last().unwrap().as_str()),
            (MOST, "typed")
        );
    }
}
