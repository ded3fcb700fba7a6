//! The messages that [`Copy`] writes into new chunks: those of chunks that are not copied as they are, and the latched
//! state. Here they are transcoded.

use super::chunks::{Copy, Stop};
use crate::bag::{Bag, DamageKind, LastOpened, Message, OpenedChunk, TopicId};
use crate::cut::outcome::CutProgress;
use crate::cut::translation::transcode;
use crate::mcap_write::Compression;
use crate::transcode::{TranscodeError, Transcoder};
use crate::untrusted::Foreign;

impl<'a> Copy<'a> {
    /// Writes the state of latched topics from before the range, with the start of the range as log time.
    pub(super) fn add_latched(&mut self, bag: &Bag) -> Result<(), Stop> {
        let start = self.cut.range.start();
        let Self { progress, tell, .. } = self;
        let mut goes_on = |look_up| {
            let look_up = Some(look_up);
            tell(CutProgress {
                look_up,
                ..*progress
            })
            .is_continue()
        };
        let found = bag.latched_while(&self.cut.topics, start, &mut goes_on);
        let (messages, damage) = found.ok_or(Stop::Cancelled)?;
        self.damage.extend(damage);
        let compression = bag.files().iter().flat_map(|file| &file.compressions);
        let compression = compression
            .map(|name| Compression::named(name))
            .find(|it| *it != Compression::None);
        let mut open = LastOpened::default();
        // Those at the start are messages of the range.
        for message in messages.iter().filter(|it| it.key.time < start) {
            if self.translation.refused.contains_key(&message.topic) {
                self.share(message.topic).left_out += 1;
                continue;
            }
            let channel = self.stored.channel_of(message, &mut open);
            let channel =
                channel.and_then(|channel| self.definitions.channel(message.key.input, channel));
            let Some(channel) = channel else {
                let kind = DamageKind::Unreadable;
                let detail = "a latched message cannot be read again and is left out";
                self.leave_out(message.key.input, message.key.chunk, (kind, detail));
                continue;
            };
            let compression = compression.unwrap_or_default();
            let transcoder = self.translation.transcoder(message.topic);
            let Some(message) = self.transcoded(message, transcoder) else {
                continue;
            };
            let added = self.file.add_at(start, &message, channel, compression);
            added.map_err(|error| self.failed(error))?;
            self.share(message.topic).latched += 1;
        }
        Ok(())
    }

    /// Writes the listed messages of a chunk into new chunks.
    pub(super) fn copy_messages(&mut self, input: u32, opened: &OpenedChunk) -> Result<(), Stop> {
        let compression = opened.record.as_ref();
        let compression = compression.map_or(Compression::None, |(header, _)| {
            Compression::named(&header.compression)
        });
        for message in opened.messages() {
            let Some(topic) = self.stored.topic_of(input, message.channel) else {
                continue;
            };
            // All listed messages are of selected topics, but some of those are refused.
            let Some(channel) = self.definitions.channel(input, message.channel) else {
                self.share(topic).left_out += 1;
                continue;
            };
            let mut message = message;
            let mut room = std::mem::take(&mut self.room);
            if let Some(transcoder) = self.translation.transcoder(topic) {
                if let Err(error) = transcode(transcoder, message.rest, &mut room) {
                    self.room = room;
                    let place = opened.record.as_ref().map(|(_, place)| place.start);
                    let place = place.unwrap_or_else(|| message.at.into());
                    self.refuse(topic, (input, place), &error);
                    continue;
                }
                message.rest = &room;
            }
            let added = self.file.add(message, channel, compression);
            added.map_err(|error| self.failed(error))?;
            self.room = room;
            self.share(topic).messages += 1;
        }
        Ok(())
    }

    /// The transcoder of the messages of a channel.
    pub(super) fn transcoder(&self, input: u32, channel: u16) -> Option<&'a Transcoder> {
        let topic = self.stored.topic_of(input, channel)?;
        self.translation.transcoder(topic)
    }

    /// A message as it is written; `None` if it cannot be transcoded.
    fn transcoded(
        &mut self,
        message: &Message,
        transcoder: Option<&Transcoder>,
    ) -> Option<Message> {
        let Some(transcoder) = transcoder else {
            return Some(message.clone());
        };
        let mut payload = Vec::new();
        match transcoder.transcode(&message.payload, &mut payload) {
            Ok(()) => Some(Message {
                payload: payload.into(),
                ..message.clone()
            }),
            Err(error) => {
                let place = (message.key.input, message.key.chunk);
                self.refuse(message.topic, place, &error);
                None
            }
        }
    }

    /// Leaves a message out that cannot be transcoded. Of each topic the first one is reported.
    fn refuse(&mut self, topic: TopicId, (input, at): (u32, u64), error: &TranscodeError) {
        let share = self.share(topic);
        share.left_out += 1;
        if share.left_out == 1 {
            share.reason = Some(error.clone());
            let name = Foreign::text(self.translation.name(topic));
            let detail = format!("{name}: the first message that cannot be transcoded: {error}");
            self.leave_out(input, at, (DamageKind::Framing, &detail));
        }
    }
}
