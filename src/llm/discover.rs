//! Finds the GGUF files that are on this machine already, wherever another program put them.
//!
//! Read-only and bounded: nothing is downloaded, moved or changed, and each folder is searched to a
//! fixed depth and a fixed number of entries.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::{LlmError, Result};
use super::gguf::Metadata;
use super::{memory, model_file};
use crate::config::{KvCacheType, Paths, assets_folder, nearest};
use crate::event::{Advice, LocalModel, MemoryNeed, ModelRole, Problem};

/// The place where a model was found, in the order in which names are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelSource {
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

impl ModelSource {
    /// Returns the name that is shown to the user.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bundled => LocalModel::BUNDLED,
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
    /// The argument of `--model`: the file name, or Ollama's `model:tag`.
    pub name: String,
    pub file: PathBuf,
    pub source: ModelSource,
    pub bytes: u64,
    /// The role that its metadata suggests; `None` if the file cannot be used.
    pub role: Option<ModelRole>,
    /// Architecture name of the GGUF; empty if it cannot be read.
    pub architecture: String,
    /// Number of weights; 0 if it cannot be read.
    pub parameters: u64,
    /// The memory that it takes; `None` if it cannot be read.
    pub need: Option<MemoryNeed>,
    /// The reason why the file cannot be used, and advice.
    pub problem: Option<Problem>,
}

/// Returns every model on this machine, bundled ones first.
///
/// A split model is listed by its first piece. What is not usable is listed with its problem:
/// damaged and unfinished files, models without one of their pieces, projectors and adapters.
pub fn discover(paths: &Paths) -> Vec<FoundModel> {
    discover_in(&SearchPaths::from_environment(paths))
}

fn discover_in(search: &SearchPaths) -> Vec<FoundModel> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for candidate in candidates(search) {
        let file = &candidate.file;
        if seen.insert(fs::canonicalize(file).unwrap_or_else(|_| file.clone())) {
            found.extend(candidate.describe());
        }
    }
    found
}

/// Resolves the name of a model to its file.
///
/// A name is a path, a file name in one of the folders, with or without `.gguf`, a file name
/// without its quantisation (`.Q4_K_M`) if only one file has it, or Ollama's `model:tag`.
///
/// # Errors
/// A path that does not exist; [`LlmError::Unusable`] for a folder; an unknown name, with the
/// nearest known one.
pub fn resolve(name: &str, paths: &Paths) -> Result<PathBuf> {
    resolve_in(name, &SearchPaths::from_environment(paths))
}

fn resolve_in(name: &str, search: &SearchPaths) -> Result<PathBuf> {
    let path = search.expand(name);
    // a bare name is never a file of the working directory, where a downloaded folder could plant
    // one
    if !is_file_name(name) && path.is_file() {
        return Ok(path);
    }

    // The usual case is a bundled model, and the screen waits for it: look there before searching
    // everywhere.
    let bundled = search.assets.join("models").join(name);
    if is_file_name(name) && bundled.is_file() {
        return Ok(bundled);
    }

    let known = candidates(search);
    if let Some(found) = known.iter().find(|found| found.is_named(name)) {
        return Ok(found.file.clone());
    }
    let mut matching = known
        .iter()
        .filter(|found| found.is_named_without_quantisation(name));
    if let (Some(found), None) = (matching.next(), matching.next()) {
        return Ok(found.file.clone());
    }

    let has_known_folder = path.is_absolute() || path.parent().is_some_and(Path::exists);
    if is_file_name(name) || !has_known_folder {
        let hint = nearest(name, known.iter().map(|found| found.name.as_str()));
        let hint = hint
            .strip_prefix(", ")
            .map_or_else(String::new, |question| format!(" ({question})"));
        return Err(LlmError::new(
            format!("no model named `{name}` was found{hint}"),
            "give the path of a GGUF file, or run `ragscope models` to see what is found",
        ));
    }
    if path.is_dir() {
        return Err(LlmError::unusable(&path, "it is a folder"));
    }
    Err(LlmError::missing(&path))
}

fn is_file_name(name: &str) -> bool {
    !name.contains(['/', '\\'])
}

/// Returns a name in lower case, without `.gguf`.
fn bare(name: &str) -> String {
    name.to_lowercase().trim_end_matches(".gguf").to_owned()
}

/// The folders and variables of the user that decide where models are.
struct SearchPaths {
    assets: PathBuf,
    models: PathBuf,
    others: CacheFolders,
}

impl SearchPaths {
    fn from_environment(paths: &Paths) -> Self {
        Self {
            assets: assets_folder(),
            models: paths.models(),
            others: CacheFolders::from_environment(),
        }
    }

    /// Expands `~/x` as a shell does.
    fn expand(&self, path: &str) -> PathBuf {
        path.strip_prefix("~/")
            .map_or_else(|| PathBuf::from(path), |rest| self.others.home.join(rest))
    }
}

/// Folders in which other programs keep models.
#[derive(Debug, Clone)]
pub struct CacheFolders {
    home: PathBuf,
    variable: fn(&str) -> Option<OsString>,
}

impl CacheFolders {
    /// Reads the variables of this process.
    pub fn from_environment() -> Self {
        let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
        Self {
            home: home.unwrap_or_default(),
            variable: |name| std::env::var_os(name).filter(|value| !value.is_empty()),
        }
    }

    /// Returns the folder that an environment variable names.
    fn folder(&self, name: &str) -> Option<PathBuf> {
        (self.variable)(name).map(PathBuf::from)
    }

    fn cache(&self) -> PathBuf {
        self.folder("XDG_CACHE_HOME")
            .unwrap_or_else(|| self.home.join(".cache"))
    }

    fn hugging_face_home(&self) -> PathBuf {
        self.folder("HF_HOME")
            .unwrap_or_else(|| self.cache().join("huggingface"))
    }

    /// The cache of Hugging Face's tools and of llama.cpp.
    pub fn hugging_face(&self) -> PathBuf {
        self.folder("HF_HUB_CACHE")
            .or_else(|| self.folder("HUGGINGFACE_HUB_CACHE"))
            .unwrap_or_else(|| self.hugging_face_home().join("hub"))
    }

    /// The file in which Hugging Face's tools keep the access token of the user.
    pub fn hugging_face_token(&self) -> PathBuf {
        self.folder("HF_TOKEN_PATH")
            .unwrap_or_else(|| self.hugging_face_home().join("token"))
    }

    /// The cache of llama.cpp's own tools, before they shared that of Hugging Face.
    fn llama_cpp(&self) -> PathBuf {
        self.folder("LLAMA_CACHE")
            .unwrap_or_else(|| self.cache().join("llama.cpp"))
    }

    /// Ollama's stores, that of the user first.
    pub fn ollama(&self) -> Vec<PathBuf> {
        match self.folder("OLLAMA_MODELS") {
            Some(folder) => vec![folder],
            // The second is that of the service in the Linux packages.
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

impl FoundModel {
    /// Creates a file that may be a model, before it is opened.
    fn new(name: String, file: PathBuf, source: ModelSource) -> Self {
        Self {
            name,
            file,
            source,
            bytes: 0,
            role: None,
            architecture: String::new(),
            parameters: 0,
            need: None,
            problem: None,
        }
    }

    fn is_named(&self, name: &str) -> bool {
        bare(&self.name) == bare(name)
            || self.source == ModelSource::Ollama && self.name == format!("{name}:latest")
    }

    /// Returns whether the name is the file's without the quantisation: `ragscope-demo` for
    /// `ragscope-demo.Q8_0.gguf`.
    fn is_named_without_quantisation(&self, name: &str) -> bool {
        bare(&self.name)
            .rsplit_once('.')
            .is_some_and(|(stem, _)| stem == name.to_lowercase())
    }

    /// Reads the metadata. `None` for a piece of a split model that an earlier piece stands for.
    fn describe(mut self) -> Option<Self> {
        if model_file::is_later_piece(&self.file) {
            return None;
        }
        self.bytes = bytes(&self.file);
        let described = self.read_metadata();
        self.problem = described.err().map(|error| error.to_problem());
        Some(self)
    }

    /// Reads what the metadata says of the model, as far as the file can be used.
    fn read_metadata(&mut self) -> Result<()> {
        if is_unfinished(&self.file) {
            return Err(LlmError::unusable(
                &self.file,
                "its download is not finished",
            ));
        }
        let metadata = Metadata::read(&self.file)?;
        self.architecture = metadata.architecture().unwrap_or_default().to_owned();
        model_file::check_whole(&self.file, &metadata)?;

        let role = model_file::role(&metadata);
        // the metadata of a split file counts its first piece alone
        let pieces = model_file::pieces(&self.file, &metadata).unwrap_or_default();
        if !pieces.is_empty() {
            self.bytes = pieces.iter().map(|piece| bytes(piece)).sum();
        }
        self.need = Some(MemoryNeed {
            file_bytes: self.bytes,
            ..memory::need(&metadata, role, 0, KvCacheType::F16)
        });
        self.role = Some(role);
        self.parameters = metadata.parameters;
        Ok(())
    }
}

fn bytes(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |about| about.len())
}

/// Returns whether a file is named as downloads that are under way are.
fn is_unfinished(file: &Path) -> bool {
    #[rustfmt::skip]
    const ENDINGS: &[&str] = &[
        "part", "partial", "incomplete", "download", "downloading", "downloadinprogress",
        "crdownload", "tmp",
    ];

    let name = file.file_name().unwrap_or_default();
    let name = name.to_string_lossy().to_lowercase();
    let ending = name.rsplit_once(".gguf.").map(|(_, ending)| ending);
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

/// Lists the candidates of all sources, in the order in which names are resolved.
fn candidates(search: &SearchPaths) -> Vec<FoundModel> {
    let others = &search.others;
    let mut found = gguf_files(&search.assets.join("models"), ModelSource::Bundled);
    found.extend(gguf_files(&search.models, ModelSource::User));

    let folders = (others.variable)("RAGSCOPE_MODELS").unwrap_or_default();
    for folder in std::env::split_paths(&folders).filter(|folder| !folder.as_os_str().is_empty()) {
        found.extend(gguf_files(&folder, ModelSource::Environment));
    }

    let hugging_face = others.hugging_face();
    found.extend(gguf_files(&hugging_face, ModelSource::HuggingFace));
    for store in others.ollama() {
        found.extend(ollama_models(&store));
    }
    for folder in others.lm_studio() {
        found.extend(gguf_files(&folder, ModelSource::LmStudio));
    }
    found.extend(gguf_files(&others.llama_cpp(), ModelSource::LlamaCpp));
    found
}

fn gguf_files(folder: &Path, source: ModelSource) -> Vec<FoundModel> {
    let is_gguf = |file: &PathBuf| {
        file.extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("gguf"))
    };
    files_below(folder)
        .into_iter()
        .filter(|file| is_gguf(file) || is_unfinished(file))
        .filter_map(|file| {
            let name = file.file_name()?.to_str()?.to_owned();
            Some(FoundModel::new(name, file, source))
        })
        .collect()
}

/// Lists the models of an Ollama store. A model has a manifest,
/// `manifests/<registry>/<owner>/<model>/<tag>`, which names the blob with the weights.
fn ollama_models(store: &Path) -> Vec<FoundModel> {
    let manifests = store.join("manifests");

    files_below(&manifests)
        .into_iter()
        .filter_map(|manifest| {
            let name = ollama_name(manifest.strip_prefix(&manifests).ok()?)?;
            let blob = ollama_blob(&manifest)?;
            let file = store.join("blobs").join(blob);
            Some(FoundModel::new(name, file, ModelSource::Ollama))
        })
        .collect()
}

/// Returns the name of a manifest: `llama3.2:3b` for `registry.ollama.ai/library/llama3.2/3b`. An
/// owner other than `library` stays in front.
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

/// Returns the file name of the blob with the weights.
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
    let is_hexadecimal = digest.chars().all(|c| c.is_ascii_hexdigit());
    is_hexadecimal.then(|| format!("sha256-{digest}"))
}

// Bounds of a search in folders of other programs.
const MAX_DEPTH: usize = 8;
const MAX_ENTRIES: usize = 20_000;
const MAX_JSON_BYTES: u64 = 1 << 20;

/// Lists the files below a folder, sorted. Symbolic links to files are included, links to folders
/// are not followed.
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

            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if depth < MAX_DEPTH {
                    folders.push((path, depth + 1));
                }
            } else if path.is_file() {
                files.push(path);
            }
        }
    }

    files.sort();
    files
}

fn read_json<T: for<'de> Deserialize<'de>>(file: &Path) -> Option<T> {
    let metadata = fs::metadata(file).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_JSON_BYTES {
        return None;
    }
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::model_file::tests::gguf;

    /// Everything under one folder, without environment variables.
    fn search_paths(home: &Path) -> SearchPaths {
        SearchPaths {
            assets: Path::new(env!("CARGO_MANIFEST_DIR")).join("assets"),
            models: home.join("models"),
            others: CacheFolders {
                home: home.to_owned(),
                variable: |_| None,
            },
        }
    }

    fn put(file: &Path, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(file.parent().expect("a parent")).expect("made");
        fs::write(file, bytes).expect("written");
    }

    #[test]
    fn models_of_other_programs_are_found() {
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
        put(&elsewhere.join("them/it/next.gguf.part"), model(5));

        let found = discover_in(&search_paths(home));
        let seen: Vec<_> = found
            .iter()
            .map(|model| (model.name.as_str(), model.source, model.role))
            .collect();
        let expected = [
            (
                "all-MiniLM-L6-v2.Q8_0.gguf",
                ModelSource::Bundled,
                Some(ModelRole::Embedder),
            ),
            (
                "ragscope-demo.Q8_0.gguf",
                ModelSource::Bundled,
                Some(ModelRole::Generator),
            ),
            (
                "ragscope-reader.Q5_0.gguf",
                ModelSource::Bundled,
                Some(ModelRole::Generator),
            ),
            (
                "ragscope-reranker.Q5_0.gguf",
                ModelSource::Bundled,
                Some(ModelRole::Reranker),
            ),
            (
                "ragscope-sentences.F16.gguf",
                ModelSource::Bundled,
                Some(ModelRole::Linker),
            ),
            ("cut.gguf", ModelSource::User, None),
            ("mine.gguf", ModelSource::User, Some(ModelRole::Generator)),
            (
                "hub.Q4.gguf",
                ModelSource::HuggingFace,
                Some(ModelRole::Generator),
            ),
            ("tiny:3b", ModelSource::Ollama, Some(ModelRole::Generator)),
            ("mmproj.gguf", ModelSource::LmStudio, None),
            ("next.gguf.part", ModelSource::LmStudio, None),
            (
                "studio.gguf",
                ModelSource::LmStudio,
                Some(ModelRole::Generator),
            ),
        ];
        assert_eq!(seen, expected);
        let problem = |name: &str| {
            let model = found.iter().find(|model| model.name == name);
            model
                .and_then(|model| model.problem.clone())
                .expect(name)
                .error
        };
        assert!(problem("cut.gguf").contains("cut.gguf"));
        assert!(problem("mmproj.gguf").contains("a projector"));
        assert!(problem("next.gguf.part").contains("not finished"));
    }

    #[test]
    fn a_split_model_is_listed_by_its_first_piece_and_not_offered_without_one() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("models");
        let piece = |number: u32| folder.join(format!("m-{number:05}-of-00003.gguf"));
        let bytes = |number: u32| {
            let about = [("split.count", 3), ("split.no", number - 1)];
            gguf(&[("general.architecture", "llama")], &about)
        };
        let listed = || {
            let found = discover_in(&search_paths(home.path())).into_iter();
            let own = found.filter(|model| model.source == ModelSource::User);
            let own: Vec<FoundModel> = own.collect();
            assert_eq!(own.len(), 1, "{own:?}");
            own.into_iter().next().expect("one")
        };

        for number in 1..=3 {
            put(&piece(number), bytes(number));
        }
        let whole = listed();
        assert_eq!(
            (whole.problem, whole.role),
            (None, Some(ModelRole::Generator))
        );
        assert_eq!(whole.bytes, 3 * bytes(1).len() as u64);

        let check = |reason: &str| {
            let model = listed();
            let error = model.problem.expect("a problem").error;
            assert!(error.contains(reason), "{error}");
            assert_eq!((model.role, model.need), (None, None));
        };
        put(&piece(3), &bytes(3)[..40]);
        check("piece 3 of 3, m-00003-of-00003.gguf");
        put(&piece(3), bytes(3));
        fs::remove_file(piece(2)).expect("removed");
        check("piece 2 of 3 is missing: m-00002-of-00003.gguf");
        fs::remove_file(piece(1)).expect("removed");
        check("piece 1 of 3 is missing: m-00001-of-00003.gguf");
        fs::rename(piece(3), folder.join("renamed.gguf")).expect("renamed");
        check("it is piece 3 of 3, whose name must end with -00003-of-00003.gguf");
    }

    #[test]
    fn a_name_resolves_to_its_file_or_suggests_the_nearest() {
        let home = tempfile::tempdir().expect("a folder");
        let search = search_paths(home.path());
        put(&home.path().join("models/Mine.Q4_K_M.gguf"), "x");
        let bundled = search.assets.join("models/ragscope-demo.Q8_0.gguf");
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
            match (resolve_in(name, &search), expected) {
                (Ok(file), Ok(expected)) => assert_eq!(file, expected, "{name}"),
                (Err(error), Err(part)) => {
                    assert!(error.to_string().contains(part), "{name}: {error}");
                }
                (found, expected) => panic!("{name}: {found:?}, expected {expected:?}"),
            }
        }
    }
}
