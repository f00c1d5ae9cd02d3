//! Hugging Face: the files of a quantisation, and the cache that all its tools share.
//!
//! The cache holds a file once per content, `models--ORG--NAME/blobs/<sha256>`, and per commit a
//! folder `snapshots/<commit>` of links to them; `refs/main` names the commit (huggingface_hub,
//! "Understand caching"). A file that grows is `blobs/<sha256>.incomplete`, and its lock is
//! `.locks/models--ORG--NAME/<sha256>.lock`, as there.

use std::fs;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use super::download::{Destination, Target, download_all, is_sha256, make_folder};
use super::error::{PullError, unwritable};
use super::http::{Client, Subject, json, unreadable};
use super::meter::Meter;
use super::reference::HubModel;
use super::settings::PullSettings;
use crate::event::{Problem, PulledModel, percent_encode};

const REVISION: &str = "main";

/// Quantisations to take when none is named, the best compromise first.
const PREFERRED: &[&str] = &[
    "Q4_K_M",
    "UD-Q4_K_M",
    "UD-Q4_K_XL",
    "MXFP4",
    "Q4_K_L",
    "Q4_K_S",
    "Q5_K_M",
    "UD-Q5_K_XL",
    "Q4_1",
    "Q4_0",
    "IQ4_NL",
    "IQ4_XS",
    "Q5_K_S",
    "Q5_1",
    "Q5_0",
    "Q6_K",
    "Q8_0",
    "Q3_K_M",
    "Q3_K_L",
    "BF16",
    "F16",
    "F32",
];

/// The listing of a repository by the server.
#[derive(Debug, Deserialize)]
struct Listing {
    /// The commit.
    sha: String,
    siblings: Vec<Sibling>,
}

/// A file of a repository.
#[derive(Debug, Clone, Deserialize)]
struct Sibling {
    rfilename: String,
    /// Only large files have it: they are stored by content.
    lfs: Option<Lfs>,
}

#[derive(Debug, Clone, Deserialize)]
struct Lfs {
    sha256: String,
    size: u64,
}

/// A GGUF file of a repository whose names are safe.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Weights {
    path: String,
    sha256: String,
    bytes: u64,
}

/// Downloads a model into the cache.
pub(super) fn pull(
    model: &HubModel,
    settings: &PullSettings,
    client: &Client,
    mut meter: Meter<'_>,
) -> Result<PulledModel, PullError> {
    let listing = listing(model, settings, client, &mut meter)?;
    let files = choose(&weights(&listing.siblings), model)?;

    let cache = Cache::new(&settings.hugging_face, model);
    let endpoint = settings.endpoint.trim_end_matches('/');
    let targets: Vec<Target> = files
        .iter()
        .map(|file| {
            let path = percent_encode(&file.path, b"-_.~/");
            let url = format!(
                "{endpoint}/{}/resolve/{}/{path}",
                model.repository(),
                listing.sha
            );
            cache.target(file, url, format!("{endpoint}/{}", model.repository()))
        })
        .collect();
    let destination = Destination {
        folder: &settings.hugging_face,
        variable: "HF_HUB_CACHE",
    };
    download_all(&targets, &destination, settings, client, &mut meter)?;

    let mut links = Vec::new();
    for (file, target) in files.iter().zip(&targets) {
        links.push(cache.link(&listing.sha, file, target)?);
    }
    cache.write_ref(&listing.sha)?;

    let first = links.first().cloned().unwrap_or_default();
    let name = first.file_name().unwrap_or_default().to_string_lossy();
    let bytes = targets.iter().map(|target| target.bytes).sum();
    meter.finish(name.into_owned(), &first, bytes)
}

fn listing(
    model: &HubModel,
    settings: &PullSettings,
    client: &Client,
    meter: &mut Meter<'_>,
) -> Result<Listing, PullError> {
    let repository = model.repository();
    let endpoint = settings.endpoint.trim_end_matches('/');
    let url = format!("{endpoint}/api/models/{repository}/revision/{REVISION}?blobs=true");
    let what = format!("repository {repository}");
    let about = Subject {
        what: &what,
        page: &format!("{endpoint}/{repository}"),
    };
    let text = client.text(&url, "application/json", about, meter)?;
    let listing: Listing = json(&text, &url, &what)?;
    let is_commit = listing.sha.len() == 40 && listing.sha.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_commit {
        return Err(unreadable(&url, &what, "no commit").into());
    }
    Ok(listing)
}

/// Returns the files with weights. A name that would leave the cache is no file of a model.
fn weights(siblings: &[Sibling]) -> Vec<Weights> {
    siblings
        .iter()
        .filter(|sibling| is_inside(&sibling.rfilename) && is_weights(&sibling.rfilename))
        .filter_map(|sibling| {
            let lfs = sibling.lfs.as_ref()?;
            is_sha256(&lfs.sha256).then(|| Weights {
                path: sibling.rfilename.clone(),
                sha256: lfs.sha256.to_lowercase(),
                bytes: lfs.size,
            })
        })
        .collect()
}

/// Returns whether a name of a listing stays in the folder that it is put into.
fn is_inside(path: &str) -> bool {
    let is_plain = |c: char| !c.is_control() && !matches!(c, '\\' | ':');
    let has_parts = path
        .split('/')
        .all(|part| !part.is_empty() && part != "." && part != "..");
    let is_relative = Path::new(path)
        .components()
        .all(|component| matches!(component, Component::Normal(_)));
    has_parts && is_relative && path.len() < 1024 && path.chars().all(is_plain)
}

/// Returns whether a file is a model, and not a part that another program adds to one.
fn is_weights(path: &str) -> bool {
    let name = file_name(path).to_lowercase();
    let is_extra = ["mmproj", "imatrix", "mtp-", "lora"]
        .iter()
        .any(|extra| name.contains(extra));
    name.ends_with(".gguf") && !is_extra
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the name of a file without `.gguf` and without the number of a piece, and that number
/// with the count of pieces.
fn without_piece(path: &str) -> (&str, Option<(u32, u32)>) {
    let stem = &path[..path.len() - ".gguf".len()];
    let piece = stem.rsplit_once("-of-").and_then(|(front, count)| {
        let (name, number) = front.rsplit_once('-')?;
        Some((name, number.parse().ok()?, count.parse().ok()?))
    });
    piece.map_or((stem, None), |(name, number, count)| {
        (name, Some((number, count)))
    })
}

/// Returns the quantisation that a path names: `Q4_K_M`, `UD-Q4_K_XL`, `F16`. Some repositories
/// have a folder per quantisation.
fn quantisation(path: &str) -> Option<String> {
    let (stem, _) = without_piece(path);
    let mut parts = stem.rsplit('/');
    let name = parts.next().unwrap_or(stem);
    in_name(name).or_else(|| parts.next().and_then(in_name))
}

fn in_name(name: &str) -> Option<String> {
    let parts: Vec<&str> = name.split(['-', '.']).collect();
    let at = parts.iter().rposition(|part| is_quantisation(part))?;
    let is_dynamic = at > 0 && parts[at - 1].eq_ignore_ascii_case("UD");
    let prefix = if is_dynamic { "UD-" } else { "" };
    Some(format!("{prefix}{}", parts[at].to_uppercase()))
}

fn is_quantisation(part: &str) -> bool {
    let part = part.to_uppercase();
    let digits = part
        .strip_prefix("IQ")
        .or_else(|| part.strip_prefix("TQ"))
        .or_else(|| part.strip_prefix('Q'));
    let is_quantised = digits.is_some_and(|rest| {
        let (bits, kind) = rest.split_once('_').unwrap_or((rest, ""));
        bits.len() == 1 && bits.bytes().all(|byte| byte.is_ascii_digit()) && !kind.is_empty()
    });
    is_quantised || ["F16", "BF16", "F32", "MXFP4"].contains(&part.as_str())
}

/// Chooses the files of one model: of the quantisation or file that is named, else of the first
/// preferred one that is there. A split file comes with all its pieces, in order.
fn choose(weights: &[Weights], model: &HubModel) -> Result<Vec<Weights>, Problem> {
    let repository = model.repository();
    let firsts: Vec<&Weights> = weights
        .iter()
        .filter(|file| {
            without_piece(&file.path)
                .1
                .is_none_or(|(number, _)| number == 1)
        })
        .collect();
    if firsts.is_empty() {
        return Err(Problem::new(
            format!("{repository} has no GGUF file"),
            "look for a repository whose name ends in -GGUF",
        ));
    }

    let chosen = match &model.wanted {
        Some(wanted) => find_named(&firsts, wanted),
        None => choose_preferred(&firsts),
    };
    let first = match chosen[..] {
        [file] => file,
        [] => {
            let wanted = model.wanted.as_deref().unwrap_or_default();
            return Err(Problem::new(
                format!("{repository} has no {wanted}"),
                format!("choose one of {}", labels(&firsts)),
            ));
        }
        _ => {
            let quantisation = quantisation(&chosen[0].path).unwrap_or_default();
            let wanted = model.wanted.as_ref().unwrap_or(&quantisation);
            let known: Vec<&str> = chosen.iter().map(|file| file.path.as_str()).collect();
            return Err(Problem::new(
                format!("{repository} has several files of {wanted}"),
                format!("name one of {} after the colon", known.join(", ")),
            ));
        }
    };
    pieces(weights, first).ok_or_else(|| {
        Problem::new(
            format!("{repository} lacks a piece of {}", first.path),
            "choose another quantisation or repository",
        )
    })
}

/// Returns the files that a name means: a path, a file name, or a quantisation.
fn find_named<'a>(firsts: &[&'a Weights], wanted: &str) -> Vec<&'a Weights> {
    let all = firsts.iter().copied();
    let named = all.filter(|file| file.path == wanted || file_name(&file.path) == wanted);
    let found = [
        named.collect(),
        find_labelled(firsts, wanted),
        find_labelled(firsts, &format!("UD-{wanted}")),
    ];
    let mut found = found.into_iter();
    found.find(|files| !files.is_empty()).unwrap_or_default()
}

/// Returns the files of a quantisation.
fn find_labelled<'a>(firsts: &[&'a Weights], label: &str) -> Vec<&'a Weights> {
    let is_meant = |file: &&Weights| {
        quantisation(&file.path).is_some_and(|known| known.eq_ignore_ascii_case(label))
    };
    firsts.iter().copied().filter(is_meant).collect()
}

fn choose_preferred<'a>(firsts: &[&'a Weights]) -> Vec<&'a Weights> {
    if firsts.len() == 1 {
        return firsts.to_vec();
    }

    let preferred = PREFERRED.iter().map(|label| find_labelled(firsts, label));
    // names without a known quantisation: the smallest file runs on most machines
    let smallest = firsts.iter().copied().min_by_key(|file| file.bytes);
    preferred
        .chain([smallest.into_iter().collect()])
        .find(|files| !files.is_empty())
        .unwrap_or_default()
}

fn labels(firsts: &[&Weights]) -> String {
    let mut labels: Vec<String> = firsts
        .iter()
        .map(|file| quantisation(&file.path).unwrap_or_else(|| file.path.clone()))
        .collect();
    labels.sort();
    labels.dedup();
    labels.join(", ")
}

/// Returns all pieces of a file, in order; `None` when one is missing.
fn pieces(weights: &[Weights], first: &Weights) -> Option<Vec<Weights>> {
    let (name, Some((_, count))) = without_piece(&first.path) else {
        return Some(vec![first.clone()]);
    };

    if count == 0 {
        return None;
    }

    (1..=count)
        .map(|number| {
            let is_piece =
                |file: &&Weights| without_piece(&file.path) == (name, Some((number, count)));
            weights.iter().find(is_piece).cloned()
        })
        .collect()
}

/// The folder of a repository in the cache.
struct Cache {
    folder: PathBuf,
    locks: PathBuf,
}

impl Cache {
    fn new(root: &Path, model: &HubModel) -> Self {
        let name = format!("models--{}--{}", model.owner, model.name);
        Self {
            folder: root.join(&name),
            locks: root.join(".locks").join(name),
        }
    }

    fn target(&self, file: &Weights, url: String, page: String) -> Target {
        let blobs = self.folder.join("blobs");
        Target {
            name: file_name(&file.path).to_owned(),
            url,
            page,
            bytes: file.bytes,
            sha256: file.sha256.clone(),
            file: blobs.join(&file.sha256),
            part: blobs.join(format!("{}.incomplete", file.sha256)),
            lock: self.locks.join(format!("{}.lock", file.sha256)),
        }
    }

    /// Makes a file appear under its name in the folder of a commit.
    fn link(&self, commit: &str, file: &Weights, target: &Target) -> Result<PathBuf, Problem> {
        let link = self.folder.join("snapshots").join(commit).join(&file.path);
        if fs::canonicalize(&link)
            .is_ok_and(|to| fs::canonicalize(&target.file).is_ok_and(|file| file == to))
        {
            return Ok(link);
        }

        let folder = link.parent().unwrap_or(&self.folder);
        make_folder(folder)?;
        let up = "../".repeat(2 + file.path.matches('/').count());
        let to = format!("{up}blobs/{}", file.sha256);
        let part = self.part("link");
        // Where links are not permitted the file itself moves there, as huggingface_hub has it.
        let made = match link_file(Path::new(&to), &part) {
            Ok(()) => fs::rename(&part, &link),
            Err(_) => fs::rename(&target.file, &link),
        };
        made.map_err(|error| unwritable(&link, &error))?;
        Ok(link)
    }

    /// The name under which this thread makes what then takes its place at once: another download
    /// of the repository may read or write there at this moment.
    fn part(&self, name: &str) -> PathBuf {
        let writer = (std::process::id(), std::thread::current().id());
        self.folder.join(format!(".{name}-{writer:?}"))
    }

    fn write_ref(&self, commit: &str) -> Result<(), Problem> {
        let refs = self.folder.join("refs");
        make_folder(&refs)?;
        let file = refs.join(REVISION);
        let part = self.part(REVISION);
        fs::write(&part, commit)
            .and_then(|()| fs::rename(&part, &file))
            .map_err(|error| unwritable(&file, &error))
    }
}

#[cfg(unix)]
fn link_file(to: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(to, link)
}

#[cfg(windows)]
fn link_file(to: &Path, link: &Path) -> std::io::Result<()> {
    std::os::windows::fs::symlink_file(to, link)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> Weights {
        Weights {
            path: path.to_owned(),
            sha256: "ab".repeat(32),
            bytes: path.len() as u64,
        }
    }

    #[test]
    fn a_file_is_chosen_by_quantisation_or_name() {
        let many = &[
            "m-BF16.gguf",
            "m-Q4_K_M.gguf",
            "m-UD-Q4_K_XL.gguf",
            "m-Q8_0-00001-of-00002.gguf",
            "m-Q8_0-00002-of-00002.gguf",
        ][..];
        let folders = &[
            "Q8_0/m-00001-of-00002.gguf",
            "Q8_0/m-00002-of-00002.gguf",
            "UD-Q4_K_M/m.gguf",
        ][..];
        let cases = [
            (many, None, "m-Q4_K_M.gguf"),
            (many, Some("bf16"), "m-BF16.gguf"),
            (many, Some("Q4_K_XL"), "m-UD-Q4_K_XL.gguf"),
            (
                many,
                Some("Q8_0"),
                "m-Q8_0-00001-of-00002.gguf m-Q8_0-00002-of-00002.gguf",
            ),
            (many, Some("m-BF16.gguf"), "m-BF16.gguf"),
            (
                many,
                Some("Q2_K"),
                "a/b has no Q2_K: choose one of BF16, Q4_K_M, Q8_0, UD-Q4_K_XL",
            ),
            (folders, None, "UD-Q4_K_M/m.gguf"),
            (
                folders,
                Some("Q8_0"),
                "Q8_0/m-00001-of-00002.gguf Q8_0/m-00002-of-00002.gguf",
            ),
            (
                &["gpt-oss-20b-mxfp4.gguf"],
                Some("mxfp4"),
                "gpt-oss-20b-mxfp4.gguf",
            ),
            (&["only.gguf"], None, "only.gguf"),
            (
                &["x-Q4_K_M.gguf", "y-Q4_K_M.gguf"],
                None,
                "a/b has several files of Q4_K_M: name one of x-Q4_K_M.gguf, y-Q4_K_M.gguf after the colon",
            ),
            (
                &["m-Q4_0-00001-of-00003.gguf", "m-Q4_0-00003-of-00003.gguf"],
                None,
                "a/b lacks a piece of m-Q4_0-00001-of-00003.gguf: choose another quantisation or repository",
            ),
            (
                &[],
                None,
                "a/b has no GGUF file: look for a repository whose name ends in -GGUF",
            ),
        ];
        for (paths, wanted, expected) in cases {
            let weights: Vec<Weights> = paths.iter().map(|path| file(path)).collect();
            let model = HubModel {
                owner: "a".to_owned(),
                name: "b".to_owned(),
                wanted: wanted.map(str::to_owned),
            };
            let chosen = match choose(&weights, &model) {
                Ok(files) => {
                    let paths: Vec<String> = files.into_iter().map(|file| file.path).collect();
                    paths.join(" ")
                }
                Err(error) => error.line(),
            };
            assert_eq!(chosen, expected);
        }
    }

    #[test]
    fn names_that_leave_the_cache_are_left_out() {
        let cases = [
            ("m.gguf", true),
            ("a b/ü-Q4_0.gguf", true),
            ("../m.gguf", false),
            ("a/../../m.gguf", false),
            ("/m.gguf", false),
            ("a//m.gguf", false),
            ("./m.gguf", false),
            ("a\\..\\m.gguf", false),
            ("C:m.gguf", false),
            ("m\n.gguf", false),
            ("mmproj-m.gguf", false),
            ("m.safetensors", false),
        ];
        for (path, expected) in cases {
            let sibling = Sibling {
                rfilename: path.to_owned(),
                lfs: Some(Lfs {
                    sha256: "ab".repeat(32),
                    size: 1,
                }),
            };
            assert_eq!(weights(&[sibling]).len(), usize::from(expected), "{path}");
        }
    }
}
