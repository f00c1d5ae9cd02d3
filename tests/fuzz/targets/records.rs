//! A recorded run: any bytes give records or a reason, and every record that is read can be folded
//! and written again.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use ragscope::trace::read_run;

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("written");

    for record in read_run(file.path()).into_iter().flatten() {
        let line = serde_json::to_string(&record).expect("a record is JSON");
        assert_eq!(serde_json::from_str(&line).ok(), Some(record));
    }
});
