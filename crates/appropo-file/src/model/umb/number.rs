//! Numbers as the format stores them.

/// The type of a probability or of a reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberType {
    Double,
    /// A whole number over another, of so many bytes each.
    Rational(usize),
}

impl NumberType {
    /// How many bytes it takes.
    pub fn width(self) -> usize {
        match self {
            NumberType::Double => 8,
            NumberType::Rational(half) => 2 * half,
        }
    }

    /// A number from its bytes, of which there are as many as it takes.
    pub fn read(self, bytes: &[u8]) -> f64 {
        match self {
            NumberType::Double => f64::from_bits(unsigned(bytes)),
            NumberType::Rational(half) => {
                let (above, below) = bytes.split_at(half);
                let is_negative = above[half - 1] & 0x80 != 0;
                let (above, below) = (scaled(above, is_negative), scaled(below, false));
                let ratio = above.0 / below.0 * 2f64.powi(above.1 - below.1);
                if is_negative { -ratio } else { ratio }
            }
        }
    }
}

/// Up to eight bytes as a whole number, the lowest first.
pub fn unsigned(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The size of a whole number of any length, as a number times a power of 2.
fn scaled(bytes: &[u8], is_negative: bool) -> (f64, i32) {
    let digits: Vec<u8> = match is_negative {
        false => bytes.to_vec(),
        true => {
            let mut carry = true;
            let negated = bytes.iter().map(|byte| {
                let (digit, overflows) = (!byte).overflowing_add(u8::from(carry));
                carry = overflows;
                digit
            });
            negated.collect()
        }
    };
    let end = digits.iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1);
    // Sixteen bytes are more than any double holds.
    let first = end.saturating_sub(16);
    let number =
        digits[first..end].iter().rev().fold(0u128, |number, digit| number << 8 | u128::from(*digit));
    (number as f64, 8 * first as i32)
}
