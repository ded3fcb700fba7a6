//! [`Tokens`]: an expression split into words, texts in quotes, and signs.
//!
//! A text in double quotes has the escapes `\"`, `\'`, `\\`, `\n`, `\r`, `\t` and `\u{1f}`; a backslash before anything
//! else stands for itself, so that patterns can be written as usual. In single quotes everything stands for itself.

use std::fmt::Write as _;

use crate::decode::Comparison;

/// A part of an expression.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token<'a> {
    /// A name, a path, a number, a word of the language.
    Word(&'a str),
    /// What stands in quotes.
    Text(String),
    Compares(Comparison),
    /// `=~`
    Matches,
    Open,
    Close,
    Comma,
    /// What is no part of any expression, and why.
    Wrong(&'static str),
    End,
}

/// The parts of an expression, each with its place in bytes. The last one is the end.
pub(super) fn tokens(text: &str) -> Vec<(usize, Token<'_>)> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let (token, length) = token(&text[at..]);
        let is_last = matches!(token, Token::End | Token::Wrong(_));
        found.push((at, token));
        if is_last {
            return found;
        }
        at += length;
    }
}

/// The first part, and its length in bytes.
fn token(rest: &str) -> (Token<'_>, usize) {
    const SIGNS: [(&str, Token<'_>); 13] = [
        ("==", Token::Compares(Comparison::Equal)),
        ("=~", Token::Matches),
        ("!=", Token::Compares(Comparison::NotEqual)),
        ("<=", Token::Compares(Comparison::AtMost)),
        (">=", Token::Compares(Comparison::AtLeast)),
        ("<", Token::Compares(Comparison::Less)),
        (">", Token::Compares(Comparison::Greater)),
        ("=", Token::Wrong("`=` is no operator; write ==")),
        ("!", Token::Wrong("`!` is no operator; write not, or !=")),
        ("(", Token::Open),
        (")", Token::Close),
        (",", Token::Comma),
        ("", Token::End),
    ];
    match rest.as_bytes().first() {
        Some(b'"') => escaped_text(rest),
        Some(b'\'') => match rest[1..].split_once('\'') {
            Some((text, _)) => (Token::Text(text.to_owned()), text.len() + 2),
            None => (Token::Wrong("this quote is not closed"), 1),
        },
        first => {
            let end = rest.find(is_no_word).unwrap_or(rest.len());
            if end > 0 {
                return (Token::Word(&rest[..end]), end);
            }
            let is_it =
                |sign: &str| rest.starts_with(sign) && (first.is_none() || !sign.is_empty());
            let sign = SIGNS.into_iter().find(|(sign, _)| is_it(sign));
            sign.map_or((Token::End, 0), |(sign, token)| (token, sign.len()))
        }
    }
}

fn is_no_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '=' | '!' | '<' | '>' | '(' | ')' | ',' | '"' | '\'')
}

/// Whether the text is one word that can be shown as it is.
pub(super) fn is_plain_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| is_no_word(c) || must_be_escaped(c))
}

fn must_be_escaped(c: char) -> bool {
    !matches!(c, '\'' | '"' | '\\') && c.escape_debug().count() > 1
}

fn escaped_text(rest: &str) -> (Token<'_>, usize) {
    let mut text = String::new();
    let mut at = 1;
    while let Some(c) = rest[at..].chars().next() {
        let after = &rest[at + c.len_utf8()..];
        match c {
            '"' => return (Token::Text(text), at + 1),
            '\\' => {
                let (c, length) = escape(after).unwrap_or(('\\', 0));
                text.push(c);
                at += length;
            }
            _ => text.push(c),
        }
        at += c.len_utf8();
    }
    (Token::Wrong("this quote is not closed"), 1)
}

/// What the characters after a backslash stand for, and how many bytes they have.
fn escape(after: &str) -> Option<(char, usize)> {
    Some(match after.chars().next()? {
        c @ ('"' | '\'' | '\\') => (c, 1),
        'n' => ('\n', 1),
        'r' => ('\r', 1),
        't' => ('\t', 1),
        'u' => {
            let (digits, _) = after.strip_prefix("u{")?.split_once('}')?;
            let is_number = digits.len() <= 6 && digits.bytes().all(|it| it.is_ascii_hexdigit());
            let number = u32::from_str_radix(digits, 16).ok().filter(|_| is_number)?;
            (char::from_u32(number)?, digits.len() + 3)
        }
        _ => return None,
    })
}

/// A text in double quotes that has only characters that print.
pub(super) fn quoted(text: &str) -> String {
    let mut shown = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => shown.extend(['\\', c]),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            // Writing into a string does not fail.
            c if must_be_escaped(c) => drop(write!(shown, "\\u{{{:x}}}", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown.push('"');
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str) -> Vec<Token<'_>> {
        tokens(text).into_iter().map(|(_, token)| token).collect()
    }

    fn text(text: &str) -> Token<'_> {
        Token::Text(text.to_owned())
    }

    #[test]
    fn words_end_at_spaces_and_signs() {
        let level = Token::Word("status[].level");
        let at_least = Token::Compares(Comparison::AtLeast);
        let expected = [level, at_least, Token::Word("-2.5e-3"), Token::End];
        assert_eq!(all("status[].level>=-2.5e-3"), expected);
        assert_eq!(all(" status[].level  >=\t-2.5e-3\n"), expected);
        assert_eq!(
            tokens("a <b"),
            [
                (0, Token::Word("a")),
                (2, Token::Compares(Comparison::Less)),
                (3, Token::Word("b")),
                (4, Token::End)
            ]
        );
        assert_eq!(all(""), [Token::End]);
    }

    #[test]
    fn a_backslash_before_anything_else_stands_for_itself() {
        for (written, meant) in [
            (r#""a b""#, "a b"),
            (r#""\"\\\'\n\t\r""#, "\"\\'\n\t\r"),
            (r#""\d+\.""#, r"\d+\."),
            (
                r#""\u{1b}\u{zz}\u{}\u{110000}\u""#,
                "\u{1b}\\u{zz}\\u{}\\u{110000}\\u",
            ),
            (r#"'a\n"b'"#, r#"a\n"b"#),
            (r#""größe 測試""#, "größe 測試"),
        ] {
            assert_eq!(all(written), [text(meant), Token::End], "{written}");
        }
        for open in ["\"a", "\"a\\\"", "\"", "'", "'a\""] {
            assert!(matches!(all(open)[..], [Token::Wrong(_)]), "{open}");
        }
    }

    proptest! {
        #[test]
        fn a_quoted_text_prints_and_means_the_same(meant: String) {
            let shown = quoted(&meant);
            prop_assert!(!shown.contains(|c: char| c.is_control()));
            prop_assert_eq!(all(&shown), [text(&meant), Token::End]);
        }

        #[test]
        fn any_text_is_split_or_refused(text: String) {
            let found = tokens(&text);
            prop_assert!(found.is_sorted_by_key(|(at, _)| *at));
            prop_assert!(found.iter().all(|(at, _)| text.is_char_boundary(*at)));
        }
    }
}
