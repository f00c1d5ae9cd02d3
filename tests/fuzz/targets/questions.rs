//! A question file: any bytes give questions or a reason, whichever data set they look like, and the passages
//! of the questions are documents.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use ragscope::eval::{Documents, QuestionSet};

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("written");

    let Ok(set) = QuestionSet::read(file.path(), None) else {
        return;
    };
    assert!(!set.questions.is_empty());
    let documents = Documents::new(&set, &set.questions);
    for question in &set.questions {
        assert!(documents.paths(question).len() <= documents.len());
    }
});
