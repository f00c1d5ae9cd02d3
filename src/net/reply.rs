//! Reading what a server answered.

use serde::de::DeserializeOwned;

/// Reads JSON.
///
/// # Errors
/// The reason why the text is something else.
pub fn parse_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| {
        // a proxy or a login page stands between, or the address is that of another program
        let is_page = text.trim_ascii_start().starts_with(b"<");
        if is_page {
            "a web page".to_owned()
        } else {
            error.to_string()
        }
    })
}
