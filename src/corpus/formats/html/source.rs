//! The bytes of a page, as html5gum asks for them.

use std::convert::Infallible;

use html5gum::{Readable, Reader, StringReader};

/// Quoted values of attributes that are read before a pause.
const VALUES_PER_PAUSE: u32 = 32;
/// Begins the search for the end of a quoted value, and no other.
const VALUE_ENDS: &[u8] = b"\"&";

/// A page that is read with pauses.
///
/// The states of html5gum 0.9 that read `name="value"` call each other, so that thousands of
/// attributes of one tag overflow the stack. An error of the reader leaves all of these calls, and
/// the next call of the tokenizer continues with the value: its state is set by then.
pub(super) struct PausingReader<'a> {
    page: StringReader<'a>,
    /// Quoted values that were asked for.
    values: u32,
}

/// A pause: the tokenizer is to be called again.
#[derive(Debug, thiserror::Error)]
#[error("a pause")]
pub(super) struct Pause;

impl<'a> PausingReader<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self {
            page: source.to_reader(),
            values: 0,
        }
    }
}

/// Returns the result of a reader that does not fail.
fn read<T>(result: Result<T, Infallible>) -> Result<T, Pause> {
    result.map_err(|never| match never {})
}

impl Reader for PausingReader<'_> {
    type Error = Pause;

    fn read_byte(&mut self) -> Result<Option<u8>, Pause> {
        read(self.page.read_byte())
    }

    fn try_read_string(&mut self, text: &[u8], case_sensitive: bool) -> Result<bool, Pause> {
        read(self.page.try_read_string(text, case_sensitive))
    }

    fn read_until<'b>(
        &'b mut self,
        needle: &[u8],
        buffer: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, Pause> {
        if needle.starts_with(VALUE_ENDS) {
            self.values = self.values.wrapping_add(1);
            if self.values.is_multiple_of(VALUES_PER_PAUSE) {
                return Err(Pause);
            }
        }
        read(self.page.read_until(needle, buffer))
    }
}
