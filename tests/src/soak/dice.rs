//! Random choices that a seed repeats.

/// A small generator (xorshift*): good enough to choose whom to kill.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The same seed gives the same throws.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        // Any state but zero; neighbouring seeds shall not begin alike.
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        u32::try_from(high).unwrap_or_default() % bound.max(1)
    }

    /// One of several; there has to be one.
    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(u32::try_from(all.len()).unwrap_or(u32::MAX)) as usize]
    }

    /// In another order.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            let other = self.below(u32::try_from(last + 1).unwrap_or(u32::MAX)) as usize;
            all.swap(last, other);
        }
    }
}
