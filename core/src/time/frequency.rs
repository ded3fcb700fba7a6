//! Frequencies in Hz, and their periods.

use super::duration::Duration;

/// The period of a frequency in Hz, which is above zero; at most [`Duration::MAX`].
pub fn period_of(hz: f64) -> Duration {
    Duration::from_secs_f64(hz.recip()).unwrap_or(Duration::MAX)
}

/// The frequency of a period in Hz, as text: the shortest decimal number with this [`period_of`].
pub fn hertz(period: Duration) -> String {
    const MOST_DECIMALS: usize = 12;
    let hz = period.as_secs_f64().recip();
    let texts = (0..MOST_DECIMALS).map(|decimals| format!("{hz:.decimals$}"));
    let is_it = |text: &String| text.parse().is_ok_and(|hz| period_of(hz) == period);
    let mut texts = texts.filter(is_it);
    texts.next().unwrap_or_else(|| hz.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frequency_is_shown_as_it_was_given() {
        for text in ["40", "100", "30", "0.3", "29.97", "1000", "0.001"] {
            let period = period_of(text.parse().unwrap());
            assert_eq!(hertz(period), text);
        }
        for period in [
            Duration::from_nanos(1),
            Duration::from_nanos(7),
            Duration::MAX,
        ] {
            assert_eq!(period_of(hertz(period).parse().unwrap()), period);
        }
    }
}
