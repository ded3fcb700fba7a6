//! Sums of types in real recordings. `BAGPLAY_DATA` names their folder; without it this test checks nothing.

use bagplay::bag::Bag;
use bagplay::ros1::md5_of;

use crate::bag::data::{data, recordings};

#[test]
fn the_sums_of_all_recorded_definitions_are_those_that_their_publishers_have_sent() {
    let Some(data) = data() else { return };
    let (mut files, mut topics) = (0, 0);
    for path in recordings(&data) {
        let bag = Bag::open(&[&path]).unwrap_or_else(|error| panic!("{error}"));
        let before = topics;
        for topic in bag.topics() {
            let Some(recorded) = &topic.ros1_md5 else {
                continue;
            };
            let schema = topic.schema.as_ref().unwrap();
            let computed = md5_of(&schema.name, &schema.data);
            assert_eq!(computed.as_ref(), Ok(recorded), "{}", topic.name);
            topics += 1;
        }
        files += usize::from(topics > before);
    }
    assert!(files >= 6 && topics >= 32, "{files} files, {topics} topics");
}
