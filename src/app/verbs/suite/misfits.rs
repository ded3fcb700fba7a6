//! [`Misfits`]: command lines that do not fit their recordings, found without a run.

use std::path::PathBuf;

use bagplay::bag::{Bag, MessageOrder, Opening};
use bagplay::cli::{PlayArgs, check_written, plan};
use bagplay::ros::QosOverrides;

use crate::app::run::play::profiles_in;

/// Finds them. Of the recordings the last ones stay open: the cases of a matrix have the same.
#[derive(Debug, Default)]
pub(super) struct Misfits {
    /// `None`: they cannot be opened, which is an error of the run.
    last: Option<(Vec<PathBuf>, MessageOrder, Option<Bag>)>,
}

impl Misfits {
    /// Why a run would be refused once its recordings are open.
    pub(super) fn find(&mut self, args: &PlayArgs) -> Option<String> {
        let bag = self.open(args);
        let files = bag.map_or(&[][..], Bag::files);
        if let Err(error) = check_written(args, files) {
            return Some(error.to_string());
        }
        let profiles = args.topics.qos_profile_overrides_path.as_deref();
        let profiles = match profiles.map_or_else(|| Ok(QosOverrides::default()), profiles_in) {
            Ok(profiles) => profiles,
            Err(failure) => return Some(format!("{:#}", failure.error)),
        };
        let bag = bag?;
        let planned = plan(args, &profiles, bag.range()?, bag.topics());
        planned.err().map(|error| error.to_string())
    }

    fn open(&mut self, args: &PlayArgs) -> Option<&Bag> {
        let order = args.time.message_order.into();
        let is_open =
            |(bags, of, _): &(Vec<PathBuf>, MessageOrder, _)| *bags == args.bags && *of == order;
        if !self.last.as_ref().is_some_and(is_open) {
            let opening = Opening {
                order,
                progress: None,
            };
            let bag = Bag::open_with(&args.bags, &opening).ok();
            self.last = Some((args.bags.clone(), order, bag));
        }
        self.last.as_ref().and_then(|(.., bag)| bag.as_ref())
    }
}
