//! [`Loader`]: brings chunks into memory for a cursor: decompresses them, itself or ahead on other threads, and reads
//! shares that are in the temporary file.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::decompressors::Decompressors;
use super::open_chunk::{KeptPart, OpenChunk, ShareSize, View};
use super::selection::{Bounds, Direction, Selection};
use super::spill::{Spill, SpillError, Spilled};
use crate::bag::damage::{Damage, Fault};
use crate::bag::decompress::budget::{CountedBytes, Meter};
use crate::bag::decompress::chunk::Decoder;
use crate::bag::index::contents::Contents;

/// An open chunk and the damage found in it, or the damage because of which it cannot be opened. `None` if the walk is
/// no longer needed.
pub(crate) type Loaded = Option<Result<(OpenChunk, Vec<Damage>), Damage>>;

/// Loads chunks and shares of them.
pub(crate) struct Loader {
    pub(crate) contents: Arc<Contents>,
    pub(crate) selection: Selection,
    pub(crate) meter: Arc<Meter>,
    pub(crate) decompressors: Option<Decompressors>,
    direction: Direction,
    decoder: Decoder,
    spill: Spill,
}

impl Loader {
    pub(crate) fn new(contents: Arc<Contents>, selection: Selection, direction: Direction) -> Self {
        Self {
            contents,
            selection,
            meter: Meter::unbounded(),
            decompressors: None,
            direction,
            decoder: Decoder::default(),
            spill: Spill::default(),
        }
    }

    /// Decompresses a chunk and keeps what `keep` says of its messages within `bounds`.
    pub(crate) fn load(&mut self, id: u32, bounds: Bounds, keep: KeptPart) -> Loaded {
        let read = self.decompress(id)?;
        let chunk = self.contents.chunk(id);
        let loaded = read.map(|owned| {
            let (open, faults) = OpenChunk::new(self.view(), id, owned, bounds, keep);
            let faults = faults.into_iter();
            let damage = faults.map(|fault| self.contents.damage(chunk, fault));
            (open, damage.collect())
        });
        Some(loaded.map_err(|fault| self.contents.damage(chunk, fault)))
    }

    /// Loads the next share of an open chunk, whose messages lie within `bounds`: from the temporary file, to which the
    /// messages are written first if they are not there yet.
    pub(crate) fn load_share(
        &mut self,
        chunk: OpenChunk,
        bounds: Bounds,
        share: ShareSize,
    ) -> Loaded {
        let id = chunk.id;
        let spilled = chunk.into_spilled();
        let spilled = spilled.or_else(|| self.spill(id, bounds));
        if let Some(spilled) = spilled {
            match OpenChunk::spilled(self.view(), id, spilled, share) {
                Ok(chunk) => return Some(Ok((chunk, Vec::new()))),
                Err(error) => {
                    let error = self.spill.fail(error);
                    self.warn_once(&error);
                }
            }
        }
        self.load(id, bounds, KeptPart::Share(share))
    }

    /// Decompresses a chunk and writes its messages within `bounds` to the temporary file, if possible.
    fn spill(&mut self, id: u32, bounds: Bounds) -> Option<Spilled> {
        if !self.spill.is_usable() {
            return None;
        }
        let owned = self.decompress(id)?.ok()?;
        let mut spill = std::mem::take(&mut self.spill);
        let spilled = OpenChunk::spill(self.view(), id, &owned, bounds, &mut spill);
        self.spill = spill;
        spilled.unwrap_or_else(|error| {
            self.warn_once(&error);
            None
        })
    }

    /// Decompresses a chunk; `None` if the walk is no longer needed.
    fn decompress(&mut self, id: u32) -> Option<Result<CountedBytes, Fault>> {
        if self.meter.is_closed() {
            return None;
        }
        let chunk = self.contents.chunk(id);
        let source = &self.contents.input(chunk.input).source;
        let ready = self.decompressors.as_mut().and_then(|it| it.take(id));
        Some(ready.unwrap_or_else(|| self.decoder.read(source, &chunk.place, &self.meter)))
    }

    fn view(&self) -> View<'_> {
        View {
            contents: &self.contents,
            selection: &self.selection,
            direction: self.direction,
            meter: &self.meter,
        }
    }

    /// Warns once for each bag: each seek makes another cursor.
    fn warn_once(&self, error: &SpillError) {
        if !self
            .contents
            .is_spill_error_reported
            .swap(true, Ordering::Relaxed)
        {
            tracing::warn!("{error}");
        }
    }
}
