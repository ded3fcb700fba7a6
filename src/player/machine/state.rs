//! [`Course`]: how far a run has come. Nothing changes it after its end: a run that was stopped stays stopped.

/// Under way, at the exit edge, or over. Only [`Course::stop`] ends the run, and nothing restarts it after that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Course(Stage);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Underway,
    Ended,
    Over,
}

impl Course {
    /// Whether the run is under way, playing or not.
    pub(super) fn is_underway(self) -> bool {
        self.0 == Stage::Underway
    }

    /// Whether playback is at the exit edge, from where a jump can restart it.
    pub(super) fn is_ended(self) -> bool {
        self.0 == Stage::Ended
    }

    /// Whether the run is over, for good.
    pub(super) fn is_over(self) -> bool {
        self.0 == Stage::Over
    }

    /// Playback has reached the exit edge.
    pub(super) fn arrive(&mut self) {
        self.change(Stage::Ended);
    }

    /// A jump, also away from the exit edge.
    pub(super) fn jump(&mut self) {
        self.change(Stage::Underway);
    }

    /// The run is over.
    pub(super) fn stop(&mut self) {
        self.change(Stage::Over);
    }

    fn change(&mut self, to: Stage) {
        if self.0 != Stage::Over {
            self.0 = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leads_out_of_the_end() {
        let mut course = Course::default();
        course.arrive();
        assert!(course.is_ended());
        course.jump();
        assert!(course.is_underway());
        course.stop();
        course.jump();
        course.arrive();
        assert!(course.is_over() && !course.is_underway() && !course.is_ended());
    }
}
