//! Records to a file, as JSON lines while they happen, and back.
