//! [`differences`]: two arrays of numbers, compared where they lie in their payloads.

use super::scalar::Scalar;
use super::tolerance::Tolerance;
use crate::decode::payload_reader::ByteOrder;
use crate::ros::definition::Primitive;

/// How many bytes are compared at once before their numbers are looked at.
const BLOCK_BYTES: usize = 4096;

/// The numbers of an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers<'a> {
    pub(super) raw: &'a [u8],
    pub(super) primitive: Primitive,
    pub(super) order: ByteOrder,
}

impl<'a> Numbers<'a> {
    fn size(&self) -> usize {
        usize::try_from(self.primitive.size()).unwrap_or(8)
    }

    fn at(&self, index: usize) -> Scalar<'a> {
        let size = self.size();
        let raw = &self.raw[index * size..(index + 1) * size];
        Scalar::number_of(self.primitive, raw, self.order)
    }

    /// Whether equal bytes are equal numbers.
    fn is_alike(&self, other: &Self) -> bool {
        self.primitive == other.primitive && (self.order == other.order || self.size() == 1)
    }
}

/// The numbers that differ.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ArrayDifference<'a> {
    pub(super) count: u64,
    /// The index of the first one.
    pub(super) first: usize,
    pub(super) values: (Scalar<'a>, Scalar<'a>),
    /// The largest finite distance of two numbers that differ.
    pub(super) largest: Option<f64>,
}

/// Compares two arrays of equal length. With `passes_equal_bytes`, numbers of equal bytes are equal.
pub(super) fn differences<'a>(
    left: Numbers<'a>,
    right: Numbers<'a>,
    tolerance: Tolerance,
    passes_equal_bytes: bool,
) -> Option<ArrayDifference<'a>> {
    let (left_size, right_size) = (left.size(), right.size());
    let count = (left.raw.len() / left_size).min(right.raw.len() / right_size);
    let by_block = passes_equal_bytes && left.is_alike(&right);
    let block = if by_block {
        BLOCK_BYTES / left_size
    } else {
        count
    };
    let mut found: Option<ArrayDifference<'a>> = None;
    let mut start = 0;
    while start < count {
        let end = count.min(start + block.max(1));
        let range = start * left_size..end * left_size;
        if !(by_block && left.raw[range.clone()] == right.raw[range]) {
            for index in start..end {
                let (a, b) = (left.at(index), right.at(index));
                if tolerance.allows(&a, &b) {
                    continue;
                }
                let distance = a.distance(&b);
                let all = found.get_or_insert(ArrayDifference {
                    count: 0,
                    first: index,
                    values: (a, b),
                    largest: None,
                });
                all.count += 1;
                all.largest = larger(all.largest, distance);
            }
        }
        start = end;
    }
    found
}

/// The larger of two distances, if there is one.
fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f32], order: ByteOrder) -> Vec<u8> {
        let bytes = |value: &f32| match order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        };
        values.iter().flat_map(bytes).collect()
    }

    #[test]
    fn the_numbers_that_differ_are_counted_in_either_byte_order() {
        let mut values = vec![1.0_f32; 1000];
        values[3] = f32::NAN;
        let mut others = values.clone();
        others[500] = 3.0;
        others[999] = 1.5;
        for (left_order, right_order) in [
            (ByteOrder::Little, ByteOrder::Little),
            (ByteOrder::Little, ByteOrder::Big),
            (ByteOrder::Big, ByteOrder::Big),
        ] {
            let (left, right) = (floats(&values, left_order), floats(&others, right_order));
            let numbers = |raw, order| Numbers {
                raw,
                primitive: Primitive::F32,
                order,
            };
            let compare = |tolerance| {
                let (left, right) = (numbers(&left, left_order), numbers(&right, right_order));
                differences(left, right, tolerance, true)
            };
            let found = compare(Tolerance::EXACT).unwrap();
            assert_eq!((found.count, found.first), (2, 500));
            assert_eq!(found.values, (Scalar::F32(1.0), Scalar::F32(3.0)));
            assert_eq!(found.largest, Some(2.0));
            let absolute = Tolerance {
                absolute: 0.5,
                ..Tolerance::EXACT
            };
            assert_eq!(compare(absolute).map(|found| found.count), Some(1));
            let wide = Tolerance {
                absolute: 2.0,
                ..Tolerance::EXACT
            };
            assert_eq!(compare(wide), None);
        }
    }

    #[test]
    fn nan_differs_from_itself_if_equal_bytes_are_not_passed() {
        let raw = floats(&[1.0, f32::NAN], ByteOrder::Little);
        let numbers = Numbers {
            raw: &raw,
            primitive: Primitive::F32,
            order: ByteOrder::Little,
        };
        let strict = Tolerance {
            nan_equal: false,
            ..Tolerance::EXACT
        };
        let found = differences(numbers, numbers, strict, false).unwrap();
        assert_eq!((found.count, found.first, found.largest), (1, 1, None));
    }
}
