//! Arbitrary text up to the first zero byte as an expression of `play find`, the rest as the payload of a message that
//! is judged by it.

#![no_main]

use std::sync::LazyLock;

use bagplay::bag::{Schema, Topic, TopicId};
use bagplay::find::{Conditions, Expression};
use libfuzzer_sys::fuzz_target;

/// `/a` in CDR with all kinds of fields, `/b` in JSON.
static TOPICS: LazyLock<[Topic; 2]> = LazyLock::new(|| {
    let rule = "=".repeat(80);
    let text = format!(
        "byte A=1\nstring B=\"b\"\nbool C=true\nItem[] i\nfloat32 f\nbool b\nbuiltin_interfaces/Time t\nwstring w\n\
         {rule}\nMSG: p/Item\nbyte A=2\nint8 x\nstring s\nfloat64[<=3] d\n"
    );
    let topic = |name: &str, encoding: &str, text: String| Topic {
        name: name.to_owned(),
        schema: Some(Schema {
            name: "p/msg/T".to_owned(),
            encoding: "ros2msg".to_owned(),
            data: text.into(),
        }),
        encoding: encoding.to_owned(),
        offered_qos: Vec::new(),
        type_hash: None,
        ros1_md5: None,
        is_latched: false,
        message_count: None,
    };
    [topic("/a", "cdr", text), topic("/b", "json", String::new())]
});

fuzz_target!(|data: &[u8]| {
    let end = data.iter().position(|byte| *byte == 0);
    let (text, payload) = data.split_at(end.unwrap_or(data.len()));
    let payload = payload.get(1..).unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    let expression: Expression = match text.parse() {
        Ok(expression) => expression,
        Err(error) => {
            let shown = error.to_string();
            assert_eq!(shown.split('\n').count(), 3, "{shown:?}");
            let steers = |c: char| c != '\n' && c.is_control();
            assert!(!shown.contains(steers), "{shown:?}");
            assert!(text.is_char_boundary(error.at()));
            return;
        }
    };
    let shown = expression.to_string();
    let parsed = shown.parse::<Expression>();
    assert_eq!(parsed.as_ref(), Ok(&expression), "{shown:?}");
    match Conditions::new(&*TOPICS, &[expression]) {
        Ok(conditions) => {
            for topic in [TopicId(0), TopicId(1)] {
                if let Ok(Some(found)) = conditions.check(topic, payload) {
                    assert!(!found.text().contains(char::is_control));
                    assert!(found.values().count() <= 16 * text.len());
                }
            }
        }
        Err(error) => {
            let error = error.to_string();
            assert!(!error.contains(char::is_control), "{error:?}");
        }
    }
});
