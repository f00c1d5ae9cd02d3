//! The metadata of a model file: any bytes give metadata or a reason, never a panic, and never more
//! memory than the file is long.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use ragscope::llm::gguf::Metadata;

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("written");

    if let Ok(metadata) = Metadata::read(file.path()) {
        let _ = metadata.trained_context_tokens();
        for (key, _) in metadata.iter() {
            let _ = (metadata.text(key), metadata.number(key), metadata.texts(key));
        }
    }
});
