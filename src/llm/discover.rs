//! Finding the GGUF files that are on this machine already, wherever another program put them.
//!
//! Read-only and bounded: nothing is downloaded, moved or changed, and each place is looked through to a fixed depth and a
//! fixed number of entries.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::LlmError;
use super::gguf::Metadata;
use crate::config::{Paths, assets_folder, nearest};
use crate::event::ModelRole;

/// Where a model was found, in the order in which a name is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Part of ragscope.
    Bundled,
    /// The user's models folder.
    User,
    /// A folder of `$RAGSCOPE_MODELS`.
    Environment,
    /// The cache of Hugging Face's tools.
    HuggingFace,
    /// Ollama's store: manifests that name blobs.
    Ollama,
    /// LM Studio's downloads.
    LmStudio,
    /// The cache of llama.cpp's own tools.
    LlamaCpp,
}

impl Place {
    /// The name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bundled => "bundled",
            Self::User => "models folder",
            Self::Environment => "RAGSCOPE_MODELS",
            Self::HuggingFace => "Hugging Face",
            Self::Ollama => "Ollama",
            Self::LmStudio => "LM Studio",
            Self::LlamaCpp => "llama.cpp",
        }
    }
}

/// A GGUF file on this machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundModel {
    /// What `--model` takes: the file name, or Ollama's `model:tag`.
    pub name: String,
    pub file: PathBuf,
    pub place: Place,
    pub bytes: u64,
    /// What it seems to be for, by its metadata; None when the file cannot be used.
    pub role: Option<ModelRole>,
    /// Architecture name of the GGUF, empty when it cannot be read.
    pub architecture: String,
    /// Number of weights, 0 when it cannot be read.
    pub parameters: u64,
    /// Why the file cannot be used, and what to do.
    pub problem: Option<String>,
}

/// Every model on this machine, bundled ones first. Parts of a model (projectors, adapters, later pieces of a split file)
/// are left out; damaged files are listed with their problem.
#[must_use]
pub fn discover(paths: &Paths) -> Vec<FoundModel> {
    discover_in(&Surroundings::of_process(paths))
}

fn discover_in(surroundings: &Surroundings) -> Vec<FoundModel> {
    let mut seen = HashSet::new();
    candidates(surroundings)
        .into_iter()
        .filter(|found| {
            seen.insert(fs::canonicalize(&found.file).unwrap_or_else(|_| found.file.clone()))
        })
        .filter_map(Candidate::describe)
        .collect()
}

/// The file that `name` means: a path, the name of a file in one of the places, with or without `.gguf`, and without the kind of its
/// numbers (`.Q4_K_M`) where one file alone is called so, or Ollama's `model:tag`.
///
/// # Errors
/// [`LlmError::Missing`] for a path that leads nowhere, [`LlmError::Unknown`] with the nearest known name otherwise.
pub fn resolve(name: &str, paths: &Paths) -> Result<PathBuf, LlmError> {
    resolve_in(name, &Surroundings::of_process(paths))
}

fn resolve_in(name: &str, surroundings: &Surroundings) -> Result<PathBuf, LlmError> {
    let path = surroundings.expand(name);
    if path.is_file() {
        return Ok(path);
    }
    // the usual case is a bundled model, and the screen waits for it: look there before walking all places
    let bundled = surroundings.assets.join("models").join(name);
    if is_file_name(name) && bundled.is_file() {
        return Ok(bundled);
    }
    let known = candidates(surroundings);
    if let Some(found) = known.iter().find(|found| found.is_called(name)) {
        return Ok(found.file.clone());
    }
    let mut called = known
        .iter()
        .filter(|found| found.is_called_but_for_its_numbers(name));
    if let (Some(found), None) = (called.next(), called.next()) {
        return Ok(found.file.clone());
    }
    if is_file_name(name) || !path.is_absolute() && !path.parent().is_some_and(Path::exists) {
        let hint = nearest(name, known.iter().map(|found| found.name.as_str()));
        let hint = hint
            .strip_prefix(", ")
            .map_or_else(String::new, |question| format!(" ({question})"));
        return Err(LlmError::Unknown {
            name: name.to_owned(),
            hint,
        });
    }
    if path.is_dir() {
        let reason = "it is a folder".to_owned();
        return Err(LlmError::Unusable {
            path: path.display().to_string(),
            reason,
        });
    }
    Err(LlmError::Missing {
        path: path.display().to_string(),
    })
}

fn is_file_name(name: &str) -> bool {
    !name.contains(['/', '\\'])
}

/// A name in lower case, without `.gguf`.
fn bare(name: &str) -> String {
    name.to_lowercase().trim_end_matches(".gguf").to_owned()
}

/// What of the process and its user decides where models are.
struct Surroundings {
    assets: PathBuf,
    models: PathBuf,
    home: PathBuf,
    variable: fn(&str) -> Option<OsString>,
}

impl Surroundings {
    fn of_process(paths: &Paths) -> Self {
        let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
        Self {
            assets: assets_folder(),
            models: paths.models(),
            home: home.unwrap_or_default(),
            variable: |name| std::env::var_os(name).filter(|value| !value.is_empty()),
        }
    }

    fn folder(&self, name: &str) -> Option<PathBuf> {
        (self.variable)(name).map(PathBuf::from)
    }

    /// `~/x` as the shell would have expanded it.
    fn expand(&self, path: &str) -> PathBuf {
        path.strip_prefix("~/")
            .map_or_else(|| PathBuf::from(path), |rest| self.home.join(rest))
    }

    fn cache(&self) -> PathBuf {
        self.folder("XDG_CACHE_HOME")
            .unwrap_or_else(|| self.home.join(".cache"))
    }

    fn hugging_face(&self) -> PathBuf {
        self.folder("HF_HUB_CACHE")
            .or_else(|| self.folder("HF_HOME").map(|home| home.join("hub")))
            .unwrap_or_else(|| self.cache().join("huggingface/hub"))
    }

    fn ollama(&self) -> Vec<PathBuf> {
        match self.folder("OLLAMA_MODELS") {
            Some(folder) => vec![folder],
            // the second is where the service of the Linux packages keeps them
            None => vec![
                self.home.join(".ollama/models"),
                PathBuf::from("/usr/share/ollama/.ollama/models"),
            ],
        }
    }

    fn lm_studio(&self) -> Vec<PathBuf> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct LmStudioSettings {
            downloads_folder: PathBuf,
        }
        let home = self.home.join(".lmstudio");
        let mut folders = vec![home.join("models"), self.cache().join("lm-studio/models")];
        if let Some(settings) = read_json::<LmStudioSettings>(&home.join("settings.json")) {
            folders.insert(0, settings.downloads_folder);
        }
        folders
    }
}

/// A file that may be a model, before it is opened.
struct Candidate {
    name: String,
    file: PathBuf,
    place: Place,
}

impl Candidate {
    fn of_file(file: PathBuf, place: Place) -> Option<Self> {
        let name = file.file_name()?.to_str()?.to_owned();
        Some(Self { name, file, place })
    }

    fn is_called(&self, name: &str) -> bool {
        bare(&self.name) == bare(name)
            || self.place == Place::Ollama && self.name == format!("{name}:latest")
    }

    /// `ragscope-demo` for `ragscope-demo.Q8_0.gguf`.
    fn is_called_but_for_its_numbers(&self, name: &str) -> bool {
        bare(&self.name)
            .rsplit_once('.')
            .is_some_and(|(stem, _)| stem == name.to_lowercase())
    }

    /// Read the metadata; None for what is only a part of a model.
    fn describe(self) -> Option<FoundModel> {
        let Self { name, file, place } = self;
        let bytes = fs::metadata(&file).map_or(0, |about| about.len());
        let unread = FoundModel {
            name,
            file,
            place,
            bytes,
            role: None,
            architecture: String::new(),
            parameters: 0,
            problem: None,
        };
        match Metadata::read(&unread.file) {
            Err(error) => Some(FoundModel {
                problem: Some(error.to_string()),
                ..unread
            }),
            Ok(metadata) if is_part(&metadata) => None,
            Ok(metadata) => Some(FoundModel {
                role: Some(role(&metadata)),
                architecture: metadata.architecture().unwrap_or_default().to_owned(),
                parameters: metadata.parameters,
                ..unread
            }),
        }
    }
}

/// Projectors of vision models, adapters, and all pieces of a split file but the first.
fn is_part(metadata: &Metadata) -> bool {
    matches!(
        metadata.text("general.type"),
        Some("mmproj" | "projector" | "adapter" | "imatrix")
    ) || metadata.architecture() == Some("clip")
        || metadata.number("split.no").is_some_and(|piece| piece > 0)
}

/// Values of `<architecture>.pooling_type` in llama.cpp: 0 none, 1 mean, 2 first token, 3 last token, 4 a score for a pair.
const POOLING_RANK: u64 = 4;

/// What a model is for, in the metadata of files of ours whose architecture does not say it.
const ROLE_KEY: &str = "ragscope.role";

/// Architectures that turn text into vectors and never write any.
const ENCODERS: &[&str] = &[
    "bert",
    "nomic-bert",
    "nomic-bert-moe",
    "neo-bert",
    "modern-bert",
    "eurobert",
    "jina-bert-v2",
    "jina-bert-v3",
    "gemma-embedding",
    "t5encoder",
];

fn role(metadata: &Metadata) -> ModelRole {
    // the sentence-level model has the architecture of a generator, and writes nothing
    if metadata.text(ROLE_KEY) == Some(ModelRole::Linker.name()) {
        return ModelRole::Linker;
    }
    let architecture = metadata.architecture().unwrap_or_default();
    match metadata.number(&format!("{architecture}.pooling_type")) {
        Some(POOLING_RANK) => ModelRole::Reranker,
        Some(1..POOLING_RANK) => ModelRole::Embedder,
        Some(_) | None if ENCODERS.contains(&architecture) => ModelRole::Embedder,
        Some(_) | None => ModelRole::Generator,
    }
}

fn candidates(surroundings: &Surroundings) -> Vec<Candidate> {
    let mut found = gguf_files(&surroundings.assets.join("models"), Place::Bundled);
    found.extend(gguf_files(&surroundings.models, Place::User));
    let folders = (surroundings.variable)("RAGSCOPE_MODELS").unwrap_or_default();
    for folder in std::env::split_paths(&folders).filter(|folder| !folder.as_os_str().is_empty()) {
        found.extend(gguf_files(&folder, Place::Environment));
    }
    found.extend(gguf_files(&surroundings.hugging_face(), Place::HuggingFace));
    found.extend(
        surroundings
            .ollama()
            .iter()
            .flat_map(|store| ollama_models(store)),
    );
    found.extend(
        surroundings
            .lm_studio()
            .iter()
            .flat_map(|folder| gguf_files(folder, Place::LmStudio)),
    );
    let llama_cpp = surroundings
        .folder("LLAMA_CACHE")
        .unwrap_or_else(|| surroundings.cache().join("llama.cpp"));
    found.extend(gguf_files(&llama_cpp, Place::LlamaCpp));
    found
}

fn gguf_files(folder: &Path, place: Place) -> Vec<Candidate> {
    files_below(folder)
        .into_iter()
        .filter(|file| {
            file.extension()
                .is_some_and(|ending| ending.eq_ignore_ascii_case("gguf"))
        })
        .filter_map(|file| Candidate::of_file(file, place))
        .collect()
}

/// Ollama keeps a manifest a model, `manifests/<registry>/<owner>/<model>/<tag>`, which names the blob with the weights.
fn ollama_models(store: &Path) -> Vec<Candidate> {
    let manifests = store.join("manifests");
    files_below(&manifests)
        .into_iter()
        .filter_map(|manifest| {
            let name = ollama_name(manifest.strip_prefix(&manifests).ok()?)?;
            let blob = ollama_blob(&manifest)?;
            Some(Candidate {
                name,
                file: store.join("blobs").join(blob),
                place: Place::Ollama,
            })
        })
        .collect()
}

/// `registry.ollama.ai/library/llama3.2/3b` is called `llama3.2:3b`; owners other than `library` stay in front.
fn ollama_name(manifest: &Path) -> Option<String> {
    let parts: Vec<&str> = manifest.iter().filter_map(|part| part.to_str()).collect();
    let [_registry, owner, model, tag] = parts[..] else {
        return None;
    };
    Some(if owner == "library" {
        format!("{model}:{tag}")
    } else {
        format!("{owner}/{model}:{tag}")
    })
}

fn ollama_blob(manifest: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Manifest {
        layers: Vec<Layer>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Layer {
        media_type: String,
        digest: String,
    }
    let manifest: Manifest = read_json(manifest)?;
    let weights = manifest
        .layers
        .into_iter()
        .find(|layer| layer.media_type.ends_with("image.model"))?;
    let digest = weights.digest.strip_prefix("sha256:")?;
    digest
        .chars()
        .all(|c| c.is_ascii_hexdigit())
        .then(|| format!("sha256-{digest}"))
}

/// Bounds of a look into somebody else's folder.
const MAX_DEPTH: usize = 8;
const MAX_ENTRIES: usize = 20_000;
const MAX_JSON_BYTES: u64 = 1 << 20;

/// The files below a folder, sorted, symbolic links to files included and links to folders not followed.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut entries = 0;
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > MAX_ENTRIES {
                break;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => {
                    folders.push((entry.path(), depth + 1))
                }
                Ok(kind) if kind.is_dir() => {}
                Ok(_) if entry.path().is_file() => files.push(entry.path()),
                Ok(_) | Err(_) => {}
            }
        }
    }
    files.sort();
    files
}

fn read_json<T: for<'de> Deserialize<'de>>(file: &Path) -> Option<T> {
    let about = fs::metadata(file)
        .ok()
        .filter(|about| about.is_file() && about.len() <= MAX_JSON_BYTES);
    about.and_then(|_| serde_json::from_slice(&fs::read(file).ok()?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything under one folder, no variables.
    fn surroundings(home: &Path) -> Surroundings {
        Surroundings {
            assets: Path::new(env!("CARGO_MANIFEST_DIR")).join("assets"),
            models: home.join("models"),
            home: home.to_owned(),
            variable: |_| None,
        }
    }

    fn put(file: &Path, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(file.parent().expect("a parent")).expect("made");
        fs::write(file, bytes).expect("written");
    }

    /// A GGUF file without tensors: magic, version 3, no tensors, text and number values.
    fn gguf(texts: &[(&str, &str)], numbers: &[(&str, u32)]) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3u32.to_le_bytes());
        bytes.extend(0u64.to_le_bytes());
        bytes.extend(((texts.len() + numbers.len()) as u64).to_le_bytes());
        let string = |bytes: &mut Vec<u8>, text: &str| {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        };
        for (key, text) in texts {
            string(&mut bytes, key);
            bytes.extend(8u32.to_le_bytes());
            string(&mut bytes, text);
        }
        for (key, number) in numbers {
            string(&mut bytes, key);
            bytes.extend(4u32.to_le_bytes());
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn roles_come_from_metadata() {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("m.gguf");
        let cases = [
            ("llama", None, Some(ModelRole::Generator)),
            ("qwen3", Some(3), Some(ModelRole::Embedder)),
            ("bert", None, Some(ModelRole::Embedder)),
            ("bert", Some(4), Some(ModelRole::Reranker)),
            ("nomic-bert", Some(1), Some(ModelRole::Embedder)),
            ("clip", None, None),
        ];
        for (architecture, pooling, expected) in cases {
            let key = format!("{architecture}.pooling_type");
            let numbers: Vec<_> = pooling.iter().map(|value| (key.as_str(), *value)).collect();
            put(
                &file,
                gguf(&[("general.architecture", architecture)], &numbers),
            );
            let metadata = Metadata::read(&file).expect("readable");
            assert_eq!(
                (!is_part(&metadata)).then(|| role(&metadata)),
                expected,
                "{architecture} {pooling:?}"
            );
        }
    }

    #[test]
    fn models_are_found_where_other_programs_keep_them() {
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path();
        let model = |n: u32| gguf(&[("general.architecture", "llama")], &[("n", n)]);
        put(&home.join("models/mine.gguf"), model(1));
        put(&home.join("models/cut.gguf"), &model(1)[..30]);
        put(
            &home.join(".cache/huggingface/hub/models--a--b/snapshots/1/hub.Q4.gguf"),
            model(2),
        );
        put(&home.join(".ollama/models/blobs/sha256-ab12"), model(3));
        let layers = r#"{"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:ab12"}]}"#;
        put(
            &home.join(".ollama/models/manifests/registry.ollama.ai/library/tiny/3b"),
            layers,
        );
        put(
            &home.join(".ollama/models/manifests/registry.ollama.ai/library/odd/1b"),
            "{",
        );
        let elsewhere = home.join("elsewhere");
        put(
            &home.join(".lmstudio/settings.json"),
            serde_json::json!({"downloadsFolder": elsewhere}).to_string(),
        );
        put(&elsewhere.join("them/it/studio.gguf"), model(4));
        put(
            &elsewhere.join("them/it/mmproj.gguf"),
            gguf(&[("general.type", "mmproj")], &[]),
        );

        let found = discover_in(&surroundings(home));
        let seen: Vec<_> = found
            .iter()
            .map(|model| (model.name.as_str(), model.place, model.role))
            .collect();
        let expected = [
            (
                "all-MiniLM-L6-v2.Q8_0.gguf",
                Place::Bundled,
                Some(ModelRole::Embedder),
            ),
            (
                "ragscope-demo.Q8_0.gguf",
                Place::Bundled,
                Some(ModelRole::Generator),
            ),
            (
                "ragscope-reader.Q5_0.gguf",
                Place::Bundled,
                Some(ModelRole::Generator),
            ),
            (
                "ragscope-reranker.Q5_0.gguf",
                Place::Bundled,
                Some(ModelRole::Reranker),
            ),
            (
                "ragscope-sentences.F16.gguf",
                Place::Bundled,
                Some(ModelRole::Linker),
            ),
            ("cut.gguf", Place::User, None),
            ("mine.gguf", Place::User, Some(ModelRole::Generator)),
            (
                "hub.Q4.gguf",
                Place::HuggingFace,
                Some(ModelRole::Generator),
            ),
            ("tiny:3b", Place::Ollama, Some(ModelRole::Generator)),
            ("studio.gguf", Place::LmStudio, Some(ModelRole::Generator)),
        ];
        assert_eq!(seen, expected);
        assert!(
            found[5]
                .problem
                .as_ref()
                .is_some_and(|problem| problem.contains("cut.gguf")),
            "{:?}",
            found[5]
        );
    }

    #[test]
    fn a_name_leads_to_its_file_or_to_the_nearest_name() {
        let home = tempfile::tempdir().expect("a folder");
        let surroundings = surroundings(home.path());
        put(&home.path().join("models/Mine.Q4_K_M.gguf"), "x");
        let bundled = surroundings.assets.join("models/ragscope-demo.Q8_0.gguf");
        let cases = [
            ("ragscope-demo.Q8_0.gguf", Ok(bundled.clone())),
            ("ragscope-demo.q8_0", Ok(bundled.clone())),
            ("ragscope-demo", Ok(bundled.clone())),
            ("ragscope", Err("no model named `ragscope`")),
            (bundled.to_str().expect("UTF-8"), Ok(bundled.clone())),
            (
                "mine.q4_k_m",
                Ok(home.path().join("models/Mine.Q4_K_M.gguf")),
            ),
            (
                "~/models/Mine.Q4_K_M.gguf",
                Ok(home.path().join("models/Mine.Q4_K_M.gguf")),
            ),
            (
                "ragscope-dmo.Q8_0.gguf",
                Err("did you mean `ragscope-demo.Q8_0.gguf`?"),
            ),
            ("/nowhere/x.gguf", Err("no model file at /nowhere/x.gguf")),
            ("~/models", Err("it is a folder")),
        ];
        for (name, expected) in cases {
            match (resolve_in(name, &surroundings), expected) {
                (Ok(file), Ok(expected)) => assert_eq!(file, expected, "{name}"),
                (Err(error), Err(part)) => {
                    assert!(error.to_string().contains(part), "{name}: {error}")
                }
                (found, expected) => panic!("{name}: {found:?}, expected {expected:?}"),
            }
        }
    }
}
