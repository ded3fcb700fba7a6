//! [`Cut::write`]: opens the target, has everything copied, and gives the target its name.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use super::copy::chunks::{Copied, Copy, Stop};
use super::definitions::Definitions;
use super::error::CutError;
use super::options::{Cut, CutForm};
use super::outcome::{CutOutcome, CutProgress, RefusedTopic, TopicShare, Written};
use super::rosbag2::metadata;
use super::target::Target;
use super::translation::Translation;
use super::write::file::{CutFile, Finished};
use crate::bag::{Bag, Damage, MessageOrder, Topic, TopicId};

impl Cut {
    /// Writes the cut of the bag to a file or directory. `tell` is called at each chunk; if it breaks, nothing is
    /// written. Until the cut is whole it has a temporary name beside the target.
    ///
    /// What cannot be read is left out and reported in [`Written::damage`]. Damage inside of chunks that are copied as
    /// they are is found only if they are [`Checked`](super::CopiedChunks::Checked).
    ///
    /// # Errors
    /// See [`CutError`]. The target is then as it was.
    pub fn write(
        &self,
        bag: &Bag,
        out: &Path,
        tell: &mut dyn FnMut(CutProgress) -> ControlFlow<()>,
    ) -> Result<CutOutcome, CutError> {
        if bag.order() != MessageOrder::Received {
            return Err(CutError::Order);
        }
        let target = Target::new(out, self.form, self.existing, bag.files())?;
        let stored = bag.stored();
        let translation = Translation::of(bag, self.payloads);
        let definitions = Definitions::of(&stored, &self.topics, &translation)?;
        let piece = stored.piece();
        let recorded = bag.files().first().map_or("", |file| &file.profile);
        let profile = translation.profile(recorded);
        let failed = |source| target.failed(source);
        let file = target.file()?;
        let (schemas, channels) = (&definitions.schemas, &definitions.channels);
        let file = CutFile::begin((file, piece), profile, schemas, channels).map_err(failed)?;
        let forms = (&definitions, &translation);
        let mut copy = Copy::new(self, bag, forms, &target, (file, tell));
        match copy.all(bag) {
            Ok(()) => {}
            Err(Stop::Cancelled) => return Ok(CutOutcome::Cancelled),
            Err(Stop::Failed(error)) => return Err(error),
        }
        let Copied {
            file,
            damage,
            shares,
            unchecked_chunks,
        } = copy.finish();
        let finished = file.finish(schemas, channels).map_err(failed)?;
        let content = (shares, &translation, damage);
        let written = self.written(bag, out, (&finished, unchecked_chunks), content)?;
        if self.form == CutForm::Rosbag2 {
            let text = metadata(
                &written,
                target.file_name(),
                (&definitions, &finished.counts),
            );
            target.put_metadata(&text).map_err(failed)?;
        }
        target.commit(bag.files())?;
        Ok(CutOutcome::Written(written))
    }

    fn written(
        &self,
        bag: &Bag,
        out: &Path,
        (finished, unchecked_chunks): (&Finished, u64),
        (shares, translation, damage): (BTreeMap<TopicId, TopicShare>, &Translation, Vec<Damage>),
    ) -> Result<Written, CutError> {
        let messages: u64 = shares.values().map(|share| share.messages).sum();
        let refused = translation.refused.iter();
        let refused = refused.filter(|(id, _)| self.topics.contains(**id));
        let refused = refused.map(|(id, reason)| RefusedTopic {
            id: *id,
            messages: shares.get(id).map_or(0, |share| share.left_out),
            reason: reason.clone(),
        });
        let refused: Vec<RefusedTopic> = refused.collect();
        let Some(range) = finished.range.filter(|_| messages > 0) else {
            return Err(CutError::Empty {
                start: self.range.start(),
                stop: self.range.stop(),
                damage,
                refused,
            });
        };
        let ids = (0..).map(TopicId).zip(bag.topics()).map(|(id, _)| id);
        let share = |id| {
            let share = shares.get(&id).cloned();
            share.unwrap_or_else(|| TopicShare::none(id))
        };
        Ok(Written {
            path: out.to_owned(),
            bytes: finished.bytes,
            messages,
            latched: shares.values().map(|share| share.latched).sum(),
            range,
            topics: ids
                .filter(|id| self.topics.contains(*id) && !translation.refused.contains_key(id))
                .map(share)
                .collect(),
            refused,
            forms: topics_of(bag, translation),
            copied_chunks: finished.copied_chunks,
            unchecked_chunks,
            new_chunks: finished.new_chunks,
            attachments: finished.attachments,
            metadata: finished.metadata,
            damage,
        })
    }
}

fn topics_of(bag: &Bag, translation: &Translation) -> Vec<Topic> {
    let topics = (0..).map(TopicId).zip(bag.topics());
    topics
        .map(|(id, topic)| translation.topic(id, topic))
        .collect()
}
