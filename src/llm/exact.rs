//! Numbers as their bits, for messages between processes: JSON has no infinity, and what comes out
//! is what went in.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Numbers of 32 bits, alone or in lists.
pub(super) trait Numbers {
    /// The same numbers as their bits.
    type Bits: Serialize + DeserializeOwned;

    fn to_bits(&self) -> Self::Bits;
    fn from_bits(bits: Self::Bits) -> Self;
}

impl Numbers for f32 {
    type Bits = u32;

    fn to_bits(&self) -> u32 {
        Self::to_bits(*self)
    }

    fn from_bits(bits: u32) -> Self {
        Self::from_bits(bits)
    }
}

impl<N: Numbers> Numbers for Vec<N> {
    type Bits = Vec<N::Bits>;

    fn to_bits(&self) -> Vec<N::Bits> {
        self.iter().map(N::to_bits).collect()
    }

    fn from_bits(bits: Vec<N::Bits>) -> Self {
        bits.into_iter().map(N::from_bits).collect()
    }
}

pub(super) fn serialize<N: Numbers, S: Serializer>(
    numbers: &N,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    numbers.to_bits().serialize(serializer)
}

pub(super) fn deserialize<'de, N: Numbers, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<N, D::Error> {
    N::Bits::deserialize(deserializer).map(N::from_bits)
}
