//! [`FieldPath`]: where a field is in a message, as it is written: `pose.covariance[7]`.

/// The way from a message to one of its fields.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FieldPath {
    /// With `[]` for each element.
    general: String,
    indexes: Vec<u64>,
    /// For each step how long `general` was before it, and whether the step was into an element.
    steps: Vec<(usize, bool)>,
}

impl FieldPath {
    /// The path without the numbers of elements, the same for all elements of an array: `transforms[].header.stamp`.
    pub fn general(&self) -> &str {
        &self.general
    }

    /// The path with the numbers of elements, from 0: `transforms[2].header.stamp`.
    pub fn exact(&self) -> String {
        let mut indexes = self.indexes.iter();
        let mut exact = String::with_capacity(self.general.len() + 4 * self.indexes.len());
        for c in self.general.chars() {
            if c == ']'
                && let Some(index) = indexes.next()
            {
                exact.push_str(&index.to_string());
            }
            exact.push(c);
        }
        exact
    }

    pub(super) fn enter_field(&mut self, name: &str) {
        self.steps.push((self.general.len(), false));
        if !self.general.is_empty() {
            self.general.push('.');
        }
        self.general.push_str(name);
    }

    pub(super) fn enter_element(&mut self, index: u64) {
        self.steps.push((self.general.len(), true));
        self.general.push_str("[]");
        self.indexes.push(index);
    }

    /// Takes back the last step.
    pub(super) fn leave(&mut self) {
        if let Some((length, is_element)) = self.steps.pop() {
            self.general.truncate(length);
            if is_element {
                self.indexes.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_the_numbers_of_its_elements() {
        let mut path = FieldPath::default();
        path.enter_field("a");
        path.enter_element(12);
        path.enter_field("b_1");
        path.enter_element(0);
        assert_eq!(
            (path.general(), &*path.exact()),
            ("a[].b_1[]", "a[12].b_1[0]")
        );
        path.leave();
        assert_eq!((path.general(), &*path.exact()), ("a[].b_1", "a[12].b_1"));
        path.leave();
        path.leave();
        path.enter_field("c");
        assert_eq!(path.exact(), "a.c");
    }
}
