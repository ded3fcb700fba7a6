//! Watches elements of an array, whose indexes are typed.

use jiff::Timestamp;

use super::watch::MOST_PINS;
use crate::tui::model::Model;
use crate::tui::model::layers::{Layer, Prompt, PromptKind};
use crate::tui::watch::pin::{Pin, WatchedField};

impl Model {
    /// Asks for the elements of the selected array.
    pub(in crate::tui::update) fn ask_for_elements(&mut self, array: &Pin) {
        let mut prompt = Prompt::new(PromptKind::Elements, "");
        let name = self.name_of(array);
        let name = name.strip_suffix("[*]").unwrap_or(&name);
        prompt.label = format!("elements of {name}");
        prompt.below = Box::new(std::mem::take(&mut self.layer));
        self.layer = Layer::Prompt(prompt);
    }

    /// Watches elements of the array that is selected below the input line. The error says what is wrong with the text.
    pub(in crate::tui::update) fn watch_elements(
        &mut self,
        text: &str,
        stamp: Timestamp,
    ) -> Result<(), String> {
        let indexes = indexes(text)?;
        let Layer::Topic(card, _) = self.layer.shown() else {
            return Ok(());
        };
        let Some(WatchedField::Value(array)) = card.selected_field() else {
            return Err("the array is not in this message".to_owned());
        };
        let (topic, array) = (card.topic, array.to_string());
        let mut pins = Vec::new();
        for index in indexes {
            let path = array.replace("[*]", &format!("[{index}]"));
            let path = path
                .parse()
                .map_err(|_| format!("`{path}` is not a field"))?;
            let field = WatchedField::Value(path);
            let pin = Pin { topic, field };
            if !self.watch.pins.contains(&pin) && !pins.contains(&pin) {
                pins.push(pin);
            }
        }
        if self.watch.pins.len() + pins.len() > MOST_PINS {
            return Err(format!(
                "at most {MOST_PINS} fields are watched; remove some first"
            ));
        }
        for pin in pins {
            self.log_info(format!("{} is watched", self.name_of(&pin)), stamp);
            self.watch.pins.push(pin);
        }
        self.scroll_to_selection();
        Ok(())
    }
}

/// `0, 2-4, -1`: indexes and ranges of them, between blanks or commas.
fn indexes(text: &str) -> Result<Vec<i64>, String> {
    let words = text.split([' ', ',']).filter(|word| !word.is_empty());
    let mut indexes = Vec::new();
    for word in words {
        let unreadable = |_| format!("`{word}` is not an index; hint: 0, 2-4, -1");
        let dash = word.get(1..).and_then(|rest| rest.find('-'));
        let (from, to) = match dash {
            Some(at) => (&word[..=at], &word[at + 2..]),
            None => (word, word),
        };
        let from: i64 = from.parse().map_err(unreadable)?;
        let to: i64 = to.parse().map_err(unreadable)?;
        // Of a long range, as many as are refused.
        let most = i64::try_from(MOST_PINS).unwrap_or(i64::MAX);
        indexes.extend(from..=to.min(from.saturating_add(most)));
        indexes.truncate(MOST_PINS + 1);
    }
    if indexes.is_empty() {
        return Err("an index is missing; hint: 0, 2-4, -1".to_owned());
    }
    indexes.dedup();
    Ok(indexes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_and_ranges_are_read_and_nothing_else() {
        for (text, expected) in [
            ("0", Ok(vec![0])),
            ("0, 2-4  -1", Ok(vec![0, 2, 3, 4, -1])),
            ("3-3,3", Ok(vec![3])),
            ("5-9223372036854775807", Ok((5..=13).collect())),
            ("-2--1", Ok(vec![-2, -1])),
        ] {
            assert_eq!(indexes(text), expected, "{text}");
        }
        for text in [
            "",
            " , ",
            "a",
            "1-",
            "-",
            "4-2",
            "1.5",
            "é-1",
            "[0]",
            "99999999999999999999",
        ] {
            assert!(indexes(text).is_err(), "{text}");
        }
    }
}
