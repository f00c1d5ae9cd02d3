//! Files as the program opens and creates them: a file that is read is a regular one and is opened
//! once, what the program keeps is for its user alone, what the user saves is as usual, and a lock
//! ends with the value that holds it. Folders have names that differ.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path};
#[cfg(unix)]
use std::{os::unix::fs::PermissionsExt, sync::OnceLock};

/// Whether a symbolic link in the place of a file is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    Followed,
    Refused,
}

/// Opens a regular file for reading.
///
/// What is checked is what was opened, so that a file that is replaced meanwhile is never read as
/// another one. A pipe or device in its place does not block.
///
/// # Errors
/// A file that cannot be opened, a link that is refused, anything that is not a regular file.
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    open_with(path, OpenOptions::new().read(true), links)
}

/// Opens a regular file for reading and writing, and creates it where it is missing.
///
/// # Errors
/// As [`open`]; a file that cannot be created.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false);
    open_with(path, options, Links::Followed)
}

/// Opens a regular file with these options.
///
/// # Errors
/// As [`open`].
pub fn open_with(path: &Path, options: &mut OpenOptions, links: Links) -> io::Result<File> {
    #[cfg(unix)]
    {
        use nix::fcntl::OFlag;
        use std::os::unix::fs::OpenOptionsExt as _;

        // without O_NONBLOCK, opening a pipe waits for its other end
        let mut flags = OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        if links == Links::Refused {
            flags |= OFlag::O_NOFOLLOW;
        }
        options.custom_flags(flags.bits());
    }

    let file = options.open(path).map_err(|error| {
        if links == Links::Refused && path.is_symlink() {
            io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link")
        } else {
            error
        }
    })?;
    if !file.metadata()?.is_file() {
        let fault = "it is not a regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, fault));
    }
    Ok(file)
}

/// Reads a regular file, or the one that a link leads to.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_limited(path, Links::Followed, u64::MAX)
}

/// Reads a regular file as text, or the one that a link leads to.
///
/// # Errors
/// As [`open`]; bytes that are not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| {
        let fault = "it is not text in UTF-8";
        io::Error::new(io::ErrorKind::InvalidData, fault)
    })
}

/// Reads a regular file of at most `max` bytes.
///
/// # Errors
/// As [`open`]; a file that is larger, also one that grows while it is read.
pub fn read_limited(path: &Path, links: Links, max: u64) -> io::Result<Vec<u8>> {
    let file = open(path, links)?;
    let expected = usize::try_from(file.metadata()?.len().min(max)).unwrap_or(0);
    let mut bytes = Vec::with_capacity(expected);
    // one byte more shows that there is more; the size of a file may grow meanwhile
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        let fault = format!("it holds more than {max} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, fault));
    }
    Ok(bytes)
}

/// The umask that the process was started with.
#[cfg(unix)]
static USUAL: OnceLock<nix::sys::stat::Mode> = OnceLock::new();

/// Makes the files and folders that the process creates from now on readable for its user alone.
#[cfg(unix)]
pub fn keep_private() {
    use nix::sys::stat::{Mode, umask};

    // umask(2) gives the mask before only to those who set one
    let usual = umask(Mode::S_IRWXG | Mode::S_IRWXO);
    let _ = USUAL.set(usual);
}

/// Makes the files and folders that the process creates from now on readable for its user alone.
#[cfg(not(unix))]
pub fn keep_private() {}

/// Makes a folder, and makes it readable for its user alone where that is the user of this process.
///
/// # Errors
/// A folder that cannot be made.
pub fn private_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    #[cfg(unix)]
    if !is_private(folder)? {
        // of another user's folder the mode stays as it is
        let _ = std::fs::set_permissions(folder, PermissionsExt::from_mode(0o700));
    }
    Ok(())
}

/// Returns whether a file or folder is closed to other users.
///
/// # Errors
/// One that is missing.
pub fn is_private(path: &Path) -> io::Result<bool> {
    let about = std::fs::metadata(path)?;
    #[cfg(unix)]
    return Ok(about.permissions().mode() & 0o077 == 0);
    #[cfg(not(unix))]
    {
        // the folders of a user are closed to others there
        let _ = about;
        Ok(true)
    }
}

/// Gives a file that the user asked for the mode that other programs would give it.
///
/// # Errors
/// A file whose mode cannot be changed.
pub fn share(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        if let Some(usual) = USUAL.get() {
            let mode = 0o666 & !usual.bits();
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode))?;
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Writes a file that the user asked for.
///
/// # Errors
/// A file that cannot be written.
pub fn save(path: &Path, text: impl AsRef<[u8]>) -> io::Result<()> {
    let is_new = !path.exists();
    std::fs::write(path, text)?;
    if is_new { share(path) } else { Ok(()) }
}

/// Replaces a file so that a reader sees the old one or the new one, after a power cut, too.
///
/// # Errors
/// A file that cannot be written.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("draft");
    let mut out = File::create(&draft)?;
    out.write_all(bytes)?;
    out.sync_all()?;
    // a rename is all or nothing, and the bytes are on the disk before it
    std::fs::rename(&draft, path)?;
    // a name alone is in the working folder
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    sync_folder(folder.unwrap_or(Path::new(".")))
}

/// Makes the entries of a folder durable.
///
/// # Errors
/// A folder that cannot be opened or written.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    // Windows cannot open a folder as a file; its renames are durable without
    if cfg!(unix) {
        File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}

/// The exclusive lock of a file, held until this is dropped.
///
/// Closing the file would not always release it: a process that is just being started has copies of
/// all descriptors, and the lock with them, until it runs its own program.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Takes the lock of an open file, which stays open beside it.
    ///
    /// # Errors
    /// `WouldBlock` when another process has it, else why the file system cannot lock.
    pub fn try_take(file: &File) -> Result<Self, TryLockError> {
        let file = file.try_clone().map_err(TryLockError::Error)?;
        file.try_lock()?;
        Ok(Self(file))
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Returns a name for each folder: the end of its path, as short as possible while no name is
/// another's or begins with it.
pub fn unique_names(folders: &[&Path]) -> Vec<String> {
    let paths: Vec<Vec<String>> = folders.iter().map(|folder| parts(folder)).collect();
    let mut lengths = vec![1; folders.len()];
    loop {
        let mut clashing = vec![false; folders.len()];
        for one in 0..paths.len() {
            for other in (0..paths.len()).filter(|other| *other != one) {
                let is_start =
                    end(&paths[one], lengths[one]).starts_with(end(&paths[other], lengths[other]));
                clashing[one] |= is_start;
                clashing[other] |= is_start;
            }
        }

        let mut has_grown = false;
        for ((length, path), is_clashing) in lengths.iter_mut().zip(&paths).zip(&clashing) {
            if *is_clashing && *length < path.len() {
                *length += 1;
                has_grown = true;
            }
        }
        if !has_grown {
            break;
        }
    }

    // two drives can hold the same path
    let mut seen = BTreeMap::new();
    let names = paths.iter().zip(lengths).map(|(path, length)| {
        let name = end(path, length).join("/");
        let times = seen.entry(name.clone()).and_modify(|times| *times += 1);
        match *times.or_insert(1) {
            1 => name,
            times => format!("{name} ({times})"),
        }
    });
    names.collect()
}

fn parts(folder: &Path) -> Vec<String> {
    let names = folder.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            None
        }
    });
    names.collect()
}

fn end(path: &[String], length: usize) -> &[String] {
    &path[path.len().saturating_sub(length)..]
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_with_its_value_even_if_a_copy_of_the_file_is_open() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let first = FileLock::try_take(file.as_file()).expect("free");
        let copy = file.as_file().try_clone().expect("what a child has");
        let other = File::open(file.path()).expect("another process would open it");
        assert!(matches!(
            FileLock::try_take(&other),
            Err(TryLockError::WouldBlock)
        ));

        drop(first);
        drop(FileLock::try_take(&other).expect("free again"));
        drop(copy);
    }

    #[test]
    fn only_regular_files_are_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let mut writing = OpenOptions::new();
        writing.write(true);

        open_or_create(&at("new")).expect("created");
        open_with(&at("new"), &mut writing, Links::Followed).expect("a file");
        open_or_create(&at("pipe")).expect_err("a pipe");
        open_with(&at("pipe"), &mut writing, Links::Followed)
            .expect_err("a pipe that nobody reads");
    }

    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "text").expect("written");
        std::os::unix::fs::symlink(at("file"), at("link")).expect("linked");
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");

        let cases = [
            ("file", Links::Refused, 4, Ok("text")),
            ("file", Links::Refused, 3, Err("more than 3 bytes")),
            ("link", Links::Followed, 4, Ok("text")),
            ("link", Links::Refused, 4, Err("symbolic link")),
            ("pipe", Links::Followed, 4, Err("not a regular file")),
            (".", Links::Followed, 4, Err("not a regular file")),
            ("gone", Links::Followed, 4, Err("No such file")),
        ];
        for (name, links, max, expected) in cases {
            let found = read_limited(&at(name), links, max);
            match (found, expected) {
                (Ok(bytes), Ok(text)) => assert_eq!(bytes, text.as_bytes(), "{name}"),
                (Err(error), Err(part)) => {
                    assert!(error.to_string().contains(part), "{name}: {error}");
                }
                (found, expected) => panic!("{name}: {found:?}, not {expected:?}"),
            }
        }
    }
}
