//! Numbers as their bits, for messages between processes: JSON has no infinity, and what comes out
//! is what went in.

pub(super) mod number {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(number: &f32, serializer: S) -> Result<S::Ok, S::Error> {
        number.to_bits().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
        u32::deserialize(deserializer).map(f32::from_bits)
    }
}

pub(super) mod list {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(numbers: &[f32], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(numbers.iter().map(|number| number.to_bits()))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
        let bits = Vec::<u32>::deserialize(deserializer)?;
        Ok(bits.into_iter().map(f32::from_bits).collect())
    }
}

pub(super) mod rows {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(rows: &[Vec<f32>], serializer: S) -> Result<S::Ok, S::Error> {
        let bits = |row: &Vec<f32>| -> Vec<u32> { row.iter().map(|one| one.to_bits()).collect() };
        serializer.collect_seq(rows.iter().map(bits))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Vec<f32>>, D::Error> {
        let rows = Vec::<Vec<u32>>::deserialize(deserializer)?;
        let numbers = |row: Vec<u32>| row.into_iter().map(f32::from_bits).collect();
        Ok(rows.into_iter().map(numbers).collect())
    }
}
