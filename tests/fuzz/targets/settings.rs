//! A settings file: any bytes give settings or a reason, and settings that are read can be written as the
//! settings of a run and read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ragscope::config::{Config, Layers, Paths};

fuzz_target!(|bytes: &[u8]| {
    let home = tempfile::tempdir().expect("a folder");
    let paths = Paths::under(home.path().to_owned());
    std::fs::create_dir_all(&paths.config).expect("made");
    std::fs::write(paths.config_file(), bytes).expect("written");

    if let Ok(config) = Layers::load(&paths).and_then(|layers| layers.config()) {
        let recorded = serde_json::to_value(&config).expect("settings are JSON");
        let _ = Config::from_recording(&recorded);
    }
});
