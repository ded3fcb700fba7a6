//! [`build`]: makes the nodes of a text from the events of its parser, under limits.
//!
//! An alias shares the node of its anchor, so it takes no memory. The limits count that node again for each alias,
//! because a reader visits it again.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, Tag};

use super::error::{YamlError, shown};
use super::limits::{MAX_DEPTH, MAX_NODES, MAX_TEXT};
use super::node::{Entry, LIST_AS_KEY, MAP_AS_KEY, Node, Value};

/// The root of a text; `None` if the text has no value.
pub(super) fn build(text: &str) -> Result<Option<Rc<Node>>, YamlError> {
    let options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| {
            let line = error.marker().line() as u64;
            match error.kind() {
                ErrorKind::RecursionLimitExceeded => YamlError::at(line, TOO_DEEP),
                _ => YamlError::at(line, &error.info()),
            }
        })?;
        builder.take(event, span.start.line() as u64)?;
    }
    Ok(builder.root.filter(|root| !root.is_null()))
}

const TOO_DEEP: &str = "lists and mappings are nested too deep";

/// The size of a part of a text, with what aliases repeat.
#[derive(Clone, Copy, Default)]
struct Size {
    /// Keys included.
    nodes: usize,
    /// Of all scalars.
    bytes: usize,
}

/// A node with an anchor.
struct Anchored {
    node: Rc<Node>,
    size: Size,
    /// How many lists and mappings are inside each other, its own included.
    depth: usize,
}

#[derive(Default)]
struct Builder {
    root: Option<Rc<Node>>,
    has_document: bool,
    /// The lists and mappings that have begun and not ended; the innermost one at the end.
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    size: Size,
}

/// A list or a mapping that has not ended.
struct Open {
    line: u64,
    /// 0 without an anchor.
    anchor: usize,
    content: Content,
    /// The size of the text before it.
    before: Size,
    /// The depth of the deepest node inside it.
    depth: usize,
}

enum Content {
    List(Vec<Rc<Node>>),
    Map(Map),
}

/// The entries of a mapping so far.
#[derive(Default)]
struct Map {
    entries: Vec<Entry>,
    keys: HashSet<String>,
    /// The key whose value comes next.
    key: Option<Key>,
    /// The values of `<<`, each with the line of its key.
    merged: Vec<(u64, Rc<Node>)>,
}

struct Key {
    text: String,
    line: u64,
    is_merge: bool,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, line: u64) -> Result<(), YamlError> {
        match event {
            Event::DocumentStart(..) => {
                if std::mem::replace(&mut self.has_document, true) {
                    return Err(YamlError::at(line, "a second document begins"));
                }
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(text.into_owned(), style, tag.as_deref());
                let before = self.size;
                if let Value::Scalar { text, .. } = &value {
                    self.count(1, text.len(), line)?;
                }
                let node = Rc::new(Node { line, value });
                self.keep_anchor(anchor, &node, before, 0);
                self.place(node, line, 0)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.begin(Content::List(Vec::new()), anchor, line)
            }
            Event::MappingStart(_, anchor, _) => {
                self.begin(Content::Map(Map::default()), anchor, line)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.repeat(anchor, line),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, content: Content, anchor: usize, line: u64) -> Result<(), YamlError> {
        self.check_depth(1, line)?;
        let before = self.size;
        self.open.push(Open {
            line,
            anchor,
            content,
            before,
            depth: 0,
        });
        self.count(1, 0, line)
    }

    fn end(&mut self) -> Result<(), YamlError> {
        // The parser closes only what it has opened.
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let value = match open.content {
            Content::List(items) => Value::List(items),
            Content::Map(map) => Value::Map(map.finish()?),
        };
        let (line, depth) = (open.line, open.depth + 1);
        let node = Rc::new(Node { line, value });
        self.keep_anchor(open.anchor, &node, open.before, depth);
        self.place(node, line, depth)
    }

    fn repeat(&mut self, anchor: usize, line: u64) -> Result<(), YamlError> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err(YamlError::at(line, "an alias is inside its own anchor"));
        };
        let (node, size, depth) = (Rc::clone(&anchored.node), anchored.size, anchored.depth);
        self.check_depth(depth, line)?;
        self.count(size.nodes, size.bytes, line)?;
        self.place(node, line, depth)
    }

    /// Whether a node of this depth may be inside what is open.
    fn check_depth(&self, depth: usize, line: u64) -> Result<(), YamlError> {
        if self.open.len() + depth > MAX_DEPTH {
            return Err(YamlError::at(line, TOO_DEEP));
        }
        Ok(())
    }

    fn count(&mut self, nodes: usize, bytes: usize, line: u64) -> Result<(), YamlError> {
        self.size.nodes += nodes;
        self.size.bytes += bytes;
        let reason = if self.size.nodes > MAX_NODES {
            format!("there are more than {MAX_NODES} values, with what aliases repeat")
        } else if self.size.bytes > MAX_TEXT {
            format!("there are more than {MAX_TEXT} bytes of text, with what aliases repeat")
        } else {
            return Ok(());
        };
        Err(YamlError::at(line, &reason))
    }

    /// Keeps a node for aliases, if it has an anchor. `before` is the size of the text before it.
    fn keep_anchor(&mut self, anchor: usize, node: &Rc<Node>, before: Size, depth: usize) {
        if anchor == 0 {
            return;
        }
        let anchored = Anchored {
            node: Rc::clone(node),
            size: Size {
                nodes: self.size.nodes - before.nodes,
                bytes: self.size.bytes - before.bytes,
            },
            depth,
        };
        self.anchors.insert(anchor, anchored);
    }

    /// Puts a node into the list or mapping that is open. `line` is that of the alias, if it is one.
    fn place(&mut self, node: Rc<Node>, line: u64, depth: usize) -> Result<(), YamlError> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        open.depth = open.depth.max(depth);
        match &mut open.content {
            Content::List(items) => items.push(node),
            Content::Map(map) => map.take(node, line)?,
        }
        Ok(())
    }
}

/// A scalar with its tag applied. One of an unknown tag is a text.
fn scalar(text: String, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let is_text = match tag.map(Tag::core_suffix) {
        None => style != ScalarStyle::Plain,
        Some(Some("null")) => {
            return Value::Scalar {
                text: "~".to_owned(),
                is_text: false,
            };
        }
        Some(core) => core.is_none_or(|suffix| suffix == "str"),
    };
    Value::Scalar { text, is_text }
}

impl Map {
    /// Takes a key, or the value of the key before it.
    fn take(&mut self, node: Rc<Node>, line: u64) -> Result<(), YamlError> {
        let Some(key) = self.key.take() else {
            let (text, is_merge) = match &node.value {
                Value::Scalar { text, is_text } => (text.as_str(), !is_text && text == "<<"),
                Value::List(_) => (LIST_AS_KEY, false),
                Value::Map(_) => (MAP_AS_KEY, false),
            };
            let text = text.to_owned();
            self.key = Some(Key {
                text,
                line,
                is_merge,
            });
            return Ok(());
        };
        if key.is_merge {
            self.merged.push((key.line, node));
            return Ok(());
        }
        // Different lists have the same text.
        let is_complex = [LIST_AS_KEY, MAP_AS_KEY].contains(&key.text.as_str());
        if !self.keys.insert(key.text.clone()) && !is_complex {
            let reason = format!("`{}` is given twice", shown(&key.text));
            return Err(YamlError::at(key.line, &reason));
        }
        self.entries.push(Entry {
            key: key.text,
            line: key.line,
            value: node,
        });
        Ok(())
    }

    /// The entries. Those of merged mappings are added where there is no entry of that key yet.
    fn finish(mut self) -> Result<Vec<Entry>, YamlError> {
        for (line, merged) in std::mem::take(&mut self.merged) {
            let alone = std::slice::from_ref(&merged);
            for source in merged.items().unwrap_or(alone) {
                let Some(entries) = source.entries() else {
                    let reason = "`<<` is not a mapping, nor a list of mappings";
                    return Err(YamlError::at(line, reason));
                };
                let new = entries.iter().filter(|it| self.keys.insert(it.key.clone()));
                self.entries.extend(new.cloned());
            }
        }
        Ok(self.entries)
    }
}
