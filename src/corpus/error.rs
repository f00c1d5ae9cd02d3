//! The reasons why a file cannot be read.

use std::io::{Error, ErrorKind};

/// Returns the reason that an I/O error gives the user.
pub(super) fn unreadable(error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "it is gone: deleted meanwhile, or a link to nothing".to_owned(),
        ErrorKind::PermissionDenied => "it cannot be read: no permission".to_owned(),
        ErrorKind::InvalidInput | ErrorKind::FileTooLarge => error.to_string(),
        _ => format!("it cannot be read: {error}"),
    }
}

/// Returns the reason for users why reading a member of a document failed.
pub(super) fn describe_damage(error: &Error) -> String {
    if error.kind() == ErrorKind::FileTooLarge {
        error.to_string()
    } else {
        format!("it is damaged ({error})")
    }
}
