//! Parses an expression by recursive descent.
//!
//! ```text
//! expression = topics or [ "show" path { "," path } ]
//! topics     = WORD | TEXT | "=~" TEXT
//! or         = and { "or" and }
//! and        = not { "and" not }
//! not        = "not" not | "(" or ")" | path operator value
//! ```

use std::str::FromStr;

use super::error::ExpressionError;
use super::syntax::{Condition, Expression, RESERVED, Test, Topics, Wanted};
use super::token::{Token, is_plain_word, tokens};
use crate::decode::{Comparison, Number, ValuePath};
use crate::find::pattern::{InvalidPattern, Pattern};

/// The longest expression, in bytes.
const MAX_BYTES: usize = 8192;
/// How deep conditions may be nested; each level takes stack.
const MAX_DEPTH: usize = 64;

const AN_OPERATOR: &str = "an operator (== != < <= > >= contains =~)";
const A_VALUE: &str =
    "a value (a number, a text in quotes, true, false, or a constant of the message)";
const A_FIELD: &str = "a field, such as header.frame_id or status[].level";

impl FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        parse(text)
    }
}

impl Expression {
    /// A condition on the fields of one topic: an expression without the name of the topic.
    ///
    /// # Errors
    /// It is no condition. The error shows the expression with the name of the topic.
    pub fn in_topic(topic: &str, condition: &str) -> Result<Self, ExpressionError> {
        let topic = Topics::Named(topic.to_owned());
        format!("{topic} {condition}").parse()
    }
}

fn parse(text: &str) -> Result<Expression, ExpressionError> {
    if text.len() > MAX_BYTES {
        let problem = format!("the expression is longer than {MAX_BYTES} bytes");
        return Err(ExpressionError::new(text, MAX_BYTES, &problem));
    }
    let mut parser = Parser {
        text,
        tokens: tokens(text),
        next: 0,
        depth: 0,
    };
    parser.expression()
}

struct Parser<'a> {
    text: &'a str,
    /// The last one is the end, or what is wrong.
    tokens: Vec<(usize, Token<'a>)>,
    next: usize,
    depth: usize,
}

type Parsed<T> = Result<T, ExpressionError>;

impl<'a> Parser<'a> {
    fn expression(&mut self) -> Parsed<Expression> {
        let topics = self.topics()?;
        if *self.peek() == Token::End {
            return Err(self.expected("a condition after the topic, such as level >= 2"));
        }
        let condition = self.any()?;
        let mut shown = Vec::new();
        if self.takes("show") {
            shown.push(self.path()?);
            while *self.peek() == Token::Comma {
                self.next += 1;
                shown.push(self.path()?);
            }
            if *self.peek() != Token::End {
                return Err(self.expected("a comma or the end"));
            }
        } else if *self.peek() != Token::End {
            return Err(self.expected("and, or, show, or the end"));
        }
        Ok(Expression {
            topics,
            condition,
            shown,
        })
    }

    fn topics(&mut self) -> Parsed<Topics> {
        const A_TOPIC: &str = "a topic, then a condition: /rosout level >= 40";
        let at = self.at();
        match self.peek().clone() {
            Token::Word(name) => {
                self.next += 1;
                self.plain(at, name)?;
                Ok(Topics::Named(name.to_owned()))
            }
            Token::Text(name) if !name.is_empty() => {
                self.next += 1;
                Ok(Topics::Named(name))
            }
            Token::Matches => {
                self.next += 1;
                let pattern = self.pattern(Pattern::of_whole)?;
                Ok(Topics::Matching(pattern))
            }
            _ => Err(self.expected(A_TOPIC)),
        }
    }

    fn any(&mut self) -> Parsed<Condition> {
        let mut conditions = vec![self.all()?];
        while self.takes("or") {
            conditions.push(self.all()?);
        }
        Ok(one_or(conditions, Condition::Any))
    }

    fn all(&mut self) -> Parsed<Condition> {
        let mut conditions = vec![self.not()?];
        while self.takes("and") {
            conditions.push(self.not()?);
        }
        Ok(one_or(conditions, Condition::All))
    }

    fn not(&mut self) -> Parsed<Condition> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let problem = format!("conditions are nested more than {MAX_DEPTH} deep");
            return Err(self.wrong(self.at(), &problem));
        }
        let condition = if self.takes("not") {
            Condition::Not(Box::new(self.not()?))
        } else if *self.peek() == Token::Open {
            self.next += 1;
            let inner = self.any()?;
            if *self.peek() != Token::Close {
                return Err(self.expected("and, or, or a closing parenthesis"));
            }
            self.next += 1;
            inner
        } else {
            Condition::Test(self.test()?)
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn test(&mut self) -> Parsed<Test> {
        let path = self.path()?;
        let wanted = match *self.peek() {
            Token::Compares(comparison) => {
                self.next += 1;
                self.compared(comparison)?
            }
            Token::Matches => {
                self.next += 1;
                Wanted::Matches(self.pattern(Pattern::new)?)
            }
            Token::Word("contains") => {
                self.next += 1;
                Wanted::Contains(self.quoted("a text in quotes")?)
            }
            _ => return Err(self.expected(AN_OPERATOR)),
        };
        Ok(Test { path, wanted })
    }

    fn path(&mut self) -> Parsed<ValuePath> {
        let at = self.at();
        let Token::Word(word) = *self.peek() else {
            return Err(self.expected(A_FIELD));
        };
        if RESERVED.contains(&word) {
            return Err(self.expected(A_FIELD));
        }
        self.plain(at, word)?;
        let path = word.parse::<ValuePath>();
        let path = path.map_err(|error| self.wrong(at, &error.to_string()))?;
        self.next += 1;
        Ok(path)
    }

    /// What a value is compared with.
    fn compared(&mut self, comparison: Comparison) -> Parsed<Wanted> {
        let at = self.at();
        let equality = |what: &str| match comparison {
            Comparison::Equal => Ok(true),
            Comparison::NotEqual => Ok(false),
            _ => Err(self.wrong(at, what)),
        };
        let wanted = match self.peek() {
            Token::Text(value) => {
                let is_equal = equality("a text is compared with ==, !=, contains or =~")?;
                let value = value.clone();
                Wanted::Text { value, is_equal }
            }
            Token::Word(word @ ("true" | "false")) => {
                let is_equal = equality("a truth value is compared with == or !=")?;
                let value = *word == "true";
                Wanted::Bool { value, is_equal }
            }
            Token::Word("nan" | "NaN") => {
                let problem = "nothing equals NaN; `not x <= inf` holds where x is NaN";
                return Err(self.wrong(at, problem));
            }
            Token::Word(word) if is_number(word) => match number(word) {
                Ok(number) => Wanted::Number(comparison, number),
                Err(what) => return Err(self.wrong(at, &format!("`{word}` {what}"))),
            },
            Token::Word(word) if is_name(word) && !RESERVED.contains(word) => {
                Wanted::Constant(comparison, (*word).to_owned())
            }
            _ => return Err(self.expected(A_VALUE)),
        };
        self.next += 1;
        Ok(wanted)
    }

    fn pattern(&mut self, read: fn(&str) -> Result<Pattern, InvalidPattern>) -> Parsed<Pattern> {
        let at = self.at();
        let text = self.quoted("a pattern in quotes")?;
        read(&text).map_err(|error| self.wrong(at, &format!("this {error}")))
    }

    fn quoted(&mut self, what: &str) -> Parsed<String> {
        let Token::Text(text) = self.peek() else {
            return Err(self.expected(what));
        };
        let text = text.clone();
        self.next += 1;
        Ok(text)
    }

    /// Refuses a name that could not be shown as it is.
    fn plain(&self, at: usize, name: &str) -> Parsed<()> {
        if is_plain_word(name) {
            return Ok(());
        }
        Err(self.wrong(at, &format!("`{name}` has a character that does not print")))
    }

    /// Takes a word of the language, if it is the next one.
    fn takes(&mut self, word: &str) -> bool {
        let is_next = *self.peek() == Token::Word(word);
        self.next += usize::from(is_next);
        is_next
    }

    fn peek(&self) -> &Token<'a> {
        self.tokens.get(self.next).map_or(&Token::End, |it| &it.1)
    }

    fn at(&self) -> usize {
        let next = self.tokens.get(self.next);
        next.map_or(self.text.len(), |(at, _)| *at)
    }

    fn wrong(&self, at: usize, problem: &str) -> ExpressionError {
        ExpressionError::new(self.text, at, problem)
    }

    fn expected(&self, what: &str) -> ExpressionError {
        let found = match self.peek() {
            Token::Wrong(problem) => return self.wrong(self.at(), problem),
            Token::Word("&&" | "AND") => "`&&` is written and".to_owned(),
            Token::Word("||" | "OR") => "`||` is written or".to_owned(),
            Token::Word(word) => format!("found `{}`", shortened(word)),
            Token::Text(_) => "found a text".to_owned(),
            Token::Compares(comparison) => format!("found {}", comparison.sign()),
            Token::Matches => "found =~".to_owned(),
            Token::Open => "found (".to_owned(),
            Token::Close => "found )".to_owned(),
            Token::Comma => "found a comma".to_owned(),
            Token::End => "found the end".to_owned(),
        };
        self.wrong(self.at(), &format!("expected {what}; {found}"))
    }
}

fn shortened(word: &str) -> String {
    match word.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.to_owned(),
    }
}

fn one_or(mut conditions: Vec<Condition>, all: fn(Vec<Condition>) -> Condition) -> Condition {
    match conditions.pop() {
        Some(last) if conditions.is_empty() => last,
        last => {
            conditions.extend(last);
            all(conditions)
        }
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether the word can only be a number.
fn is_number(word: &str) -> bool {
    let digits = word.trim_start_matches(['+', '-']);
    digits == "inf" || digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
}

/// `12`, `-0.5`, `1e6`, `0xff`, `-inf`.
fn number(word: &str) -> Result<Number, &'static str> {
    const NO_NUMBER: &str = "is no number";
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, word.strip_prefix('+').unwrap_or(word)),
    };
    if digits == "inf" {
        return Ok(Number::Float(f64::from(sign) * f64::INFINITY));
    }
    let of_base = [("0x", 16), ("0X", 16)];
    let (digits, base) = of_base
        .into_iter()
        .find_map(|(prefix, base)| Some((digits.strip_prefix(prefix)?, base)))
        .unwrap_or((digits, 10));
    if !digits.is_empty() && digits.chars().all(|c| c.is_digit(base)) {
        let number = i128::from_str_radix(digits, base).map_err(|_| "is too large")?;
        return Ok(Number::Integer(i128::from(sign) * number));
    }
    // The standard library reads names, too.
    let is_plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    if base != 10 || digits.starts_with(['+', '-']) || !digits.chars().all(is_plain) {
        return Err(NO_NUMBER);
    }
    let number: f64 = digits.parse().map_err(|_| NO_NUMBER)?;
    if number.is_infinite() {
        return Err("is too large");
    }
    Ok(Number::Float(f64::from(sign) * number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Expression {
        parse(text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn expressions_are_shown_in_one_form() {
        for (written, shown) in [
            ("/rosout level>=40", "/rosout level >= 40"),
            (
                "/diagnostics status[].level >= WARN",
                "/diagnostics status[*].level >= WARN",
            ),
            (
                "rosout msg contains 'it\"s' show msg,name",
                r#"rosout msg contains "it\"s" show msg, name"#,
            ),
            ("/imu a.z > 0.5 and b.x < -2", "/imu a.z > 0.5 and b.x < -2"),
            (
                "/t a == 1 or b == 2 and not c == 3",
                "/t a == 1 or (b == 2 and not c == 3)",
            ),
            (
                "/t (a == 1 or b == 2) and (c != 3)",
                "/t (a == 1 or b == 2) and c != 3",
            ),
            (
                "/t not (a == true or b != false)",
                "/t not (a == true or b != false)",
            ),
            ("/t not not a == 0x1F", "/t not not a == 31"),
            (
                "/t a =~ \"(?i)time\\s*out\"",
                r#"/t a =~ "(?i)time\\s*out""#,
            ),
            (
                "=~ '/cam_[0-9]/info' w > 1e3",
                "=~ \"/cam_[0-9]/info\" w > 1000.0",
            ),
            ("\"/odd topic\" x == -inf", "\"/odd topic\" x == -inf"),
            ("/t contains contains \"x\"", "/t contains contains \"x\""),
            ("/t x == 1.0 and y == +1", "/t x == 1.0 and y == 1"),
        ] {
            let expression = parsed(written);
            assert_eq!(expression.to_string(), shown);
            assert_eq!(parsed(shown), expression, "{shown}");
        }
    }

    #[test]
    fn numbers_are_exact_or_floats() {
        for (word, number) in [
            ("0", Ok(Number::Integer(0))),
            ("18446744073709551615", Ok(Number::Integer(u64::MAX.into()))),
            ("-9223372036854775808", Ok(Number::Integer(i64::MIN.into()))),
            ("1e3", Ok(Number::Float(1e3))),
            (".5", Ok(Number::Float(0.5))),
            ("-2.5e-3", Ok(Number::Float(-0.0025))),
            ("0xFF", Ok(Number::Integer(255))),
            ("12abc", Err("is no number")),
            ("0x", Err("is no number")),
            ("1-2", Err("is no number")),
            ("--1", Err("is no number")),
            ("1e999", Err("is too large")),
            (&"9".repeat(40), Err("is too large")),
        ] {
            assert_eq!(super::number(word), number, "{word}");
        }
    }

    /// What the error says, with a caret in the expression.
    fn error(text: &str) -> (String, usize) {
        let error = parse(text).unwrap_err();
        (error.problem().to_owned(), error.at())
    }

    #[test]
    fn an_error_says_what_was_expected_and_where() {
        const VALUE: &str =
            "a value (a number, a text in quotes, true, false, or a constant of the message)";
        const FIELD: &str = "a field, such as header.frame_id or status[].level";
        const OPERATOR: &str = "an operator (== != < <= > >= contains =~)";
        // The caret stands under the place of `^`.
        for (text, caret, problem) in [
            (
                "",
                "^",
                "expected a topic, then a condition: /rosout level >= 40; found the end".to_owned(),
            ),
            (
                "/rosout",
                "       ^",
                "expected a condition after the topic, such as level >= 2; found the end".to_owned(),
            ),
            ("/rosout level", "             ^", format!("expected {OPERATOR}; found the end")),
            ("/rosout level >=", "                ^", format!("expected {VALUE}; found the end")),
            ("/rosout level 40", "              ^", format!("expected {OPERATOR}; found `40`")),
            ("level >= 40", "      ^", format!("expected {FIELD}; found >=")),
            ("/t x = 2", "     ^", "`=` is no operator; write ==".to_owned()),
            ("/t !x == 2", "   ^", "`!` is no operator; write not, or !=".to_owned()),
            (
                "/t x > 1 && y > 1",
                "         ^",
                "expected and, or, show, or the end; `&&` is written and".to_owned(),
            ),
            ("/t x > 1 y", "         ^", "expected and, or, show, or the end; found `y`".to_owned()),
            ("/t x > 1 and", "            ^", format!("expected {FIELD}; found the end")),
            ("/t x > 1 and or y", "             ^", format!("expected {FIELD}; found `or`")),
            ("/t (x > 1", "         ^", "expected and, or, or a closing parenthesis; found the end".to_owned()),
            ("/t x > 1)", "        ^", "expected and, or, show, or the end; found )".to_owned()),
            ("/t x == \"a", "        ^", "this quote is not closed".to_owned()),
            ("/t x contains a", "              ^", "expected a text in quotes; found `a`".to_owned()),
            ("/t x =~ 2", "        ^", "expected a pattern in quotes; found `2`".to_owned()),
            ("/t x =~ '('", "        ^", "this is not a pattern: unclosed group".to_owned()),
            ("/t x < 'a'", "       ^", "a text is compared with ==, !=, contains or =~".to_owned()),
            ("/t x > true", "       ^", "a truth value is compared with == or !=".to_owned()),
            (
                "/t x == nan",
                "        ^",
                "nothing equals NaN; `not x <= inf` holds where x is NaN".to_owned(),
            ),
            ("/t x == 12abc", "        ^", "`12abc` is no number".to_owned()),
            ("/t x == a-b", "        ^", format!("expected {VALUE}; found `a-b`")),
            ("/t x == ,", "        ^", format!("expected {VALUE}; found a comma")),
            (
                "/t a..b == 1",
                "   ^",
                "`a..b` is not the path of a field: a name is missing; write names with dots between them, [0], [-1] or [*] after an array".to_owned(),
            ),
            ("/t x == 1 show", "              ^", format!("expected {FIELD}; found the end")),
            ("/t x == 1 show a b", "                 ^", "expected a comma or the end; found `b`".to_owned()),
            ("/t\u{1b} x == 1", "^", "`/t\\u{1b}` has a character that does not print".to_owned()),
            ("/größe x ==", "           ^", format!("expected {VALUE}; found the end")),
        ] {
            let expected = text
                .char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .nth(caret.chars().count() - 1);
            assert_eq!(error(text), (problem, expected.unwrap()), "{text}");
        }
        let shown = parse("/größe x ==").unwrap_err().to_string();
        let expected = format!("expected {VALUE}; found the end\n  /größe x ==\n             ^");
        assert_eq!(shown, expected);
    }

    #[test]
    fn long_and_deep_expressions_are_refused() {
        let deep = |levels: usize| format!("/t {}x == 1{}", "(".repeat(levels), ")".repeat(levels));
        assert!(parse(&deep(60)).is_ok());
        assert!(error(&deep(100)).0.contains("nested more than 64 deep"));
        assert!(
            error(&format!("/t {} x == 1", "not ".repeat(1000)))
                .0
                .contains("nested")
        );
        let wide = format!("/t x == 1{}", " and x == 1".repeat(1000));
        assert_eq!(
            error(&wide),
            ("the expression is longer than 8192 bytes".to_owned(), 8192)
        );
        let wide = format!("/t x == 1{}", " and x == 1".repeat(700));
        assert!(parse(&wide).is_ok());
    }
}
