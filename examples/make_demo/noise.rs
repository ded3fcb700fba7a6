//! A seeded source of noise: the same numbers on every machine, so that the file is the same file.
//!
//! `SplitMix64` (Steele, Lea, Flood 2014). The normal numbers are sums of uniform ones because the
//! logarithm and the cosine of the usual recipe may differ in the last bit between C libraries.

/// The state of one stream of noise.
pub(crate) struct Noise(u64);

impl Noise {
    /// A stream of its own for each sensor, so that a change of one leaves the others as they are.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform in [0, 1), in steps of 2⁻³².
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let upper = u32::try_from(mixed >> 32).expect("half of 64 bits");
        f64::from(upper) / 4_294_967_296.0
    }

    /// About normal, mean 0, standard deviation `sigma`, never beyond six of them.
    pub(crate) fn normal(&mut self, sigma: f64) -> f64 {
        let sum: f64 = (0..12).map(|_| self.uniform()).sum();
        (sum - 6.0) * sigma
    }

    /// A delay in seconds: mostly near `floor`, seldom up to `tail` more.
    pub(crate) fn delay(&mut self, floor: f64, tail: f64) -> f64 {
        let u = self.uniform();
        floor + tail * u * u * u * u
    }
}

/// `value` on a grid of `step`, as a sensor with finite resolution reports it. This also hides the last
/// bit of `sin` and `atan2`, which is the C library's choice.
pub(crate) fn quantised(value: f64, step: f64) -> f64 {
    // Adding zero turns a negative zero into a positive one.
    (value / step).round() * step + 0.0
}

/// `value` in whole millionths: metres become micrometres.
pub(crate) fn micro(value: f64) -> f64 {
    (value * 1e6).round() / 1e6 + 0.0
}
