//! The type `halfvec` of pgvector: two bytes of length, two of zeros, and numbers of half
//! precision, all big-endian.

use std::error::Error;

use half::f16;
use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

/// A vector as a parameter.
#[derive(Debug)]
pub(super) struct Half<'a>(pub &'a [f32]);

impl ToSql for Half<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let width = u16::try_from(self.0.len())?;
        out.extend_from_slice(&width.to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        for number in self.0 {
            out.extend_from_slice(&f16::from_f32(*number).to_be_bytes());
        }
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        kind.name() == "halfvec"
    }

    to_sql_checked!();
}

/// A vector of a row.
#[derive(Debug, PartialEq)]
pub(super) struct Widened(pub Vec<f32>);

impl<'a> FromSql<'a> for Widened {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let numbers = raw.get(4..).ok_or("a vector without a head")?;
        let numbers = numbers.as_chunks::<2>().0.iter();
        Ok(Self(
            numbers
                .map(|bytes| f16::from_be_bytes(*bytes).to_f32())
                .collect(),
        ))
    }

    fn accepts(kind: &Type) -> bool {
        kind.name() == "halfvec"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_written_and_read() {
        let numbers = [0.5, -1.0, 0.0, 0.25];
        let mut bytes = BytesMut::new();
        let kind = Type::TEXT;
        Half(&numbers).to_sql(&kind, &mut bytes).expect("written");
        assert_eq!(bytes[..6], [0, 4, 0, 0, 0x38, 0]);
        assert_eq!(
            Widened::from_sql(&kind, &bytes).expect("read"),
            Widened(numbers.to_vec())
        );
        assert!(Widened::from_sql(&kind, &bytes[..3]).is_err());
    }
}
