//! A folder of tantivy that is only read. A finished generation never changes, so that it needs no
//! lock, and an index on a medium that cannot be written still answers.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{
    DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError,
};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, FileSlice, Lock, MmapDirectory, WatchCallback,
    WatchHandle, WritePtr,
};

/// Ending of the files that hold the texts of chunks.
const STORE: &str = "store";

/// A folder whose files are never written, deleted or locked.
///
/// Its files are mapped into memory, except for the texts: they are the largest part, of which a
/// search reads a few blocks here and there, and a mapping holds sixteen pages in memory for each
/// of them.
#[derive(Debug, Clone)]
pub(in crate::index) struct ReadOnly {
    folder: PathBuf,
    mapped: MmapDirectory,
}

impl ReadOnly {
    pub fn open(folder: &Path) -> Result<Self, OpenDirectoryError> {
        Ok(Self {
            folder: folder.to_owned(),
            mapped: MmapDirectory::open(folder)?,
        })
    }
}

fn refusal() -> io::Error {
    io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "it is only read")
}

impl Directory for ReadOnly {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        if path.extension().is_none_or(|ending| ending != STORE) {
            return self.mapped.get_file_handle(path);
        }
        let opened = FileSlice::open(&self.folder.join(path)).map_err(|error| {
            let filepath = path.to_owned();
            match error.kind() {
                io::ErrorKind::NotFound => OpenReadError::FileDoesNotExist(filepath),
                _ => OpenReadError::wrap_io_error(error, filepath),
            }
        })?;
        Ok(Arc::new(opened))
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.mapped.atomic_read(path)
    }

    fn acquire_lock(&self, _lock: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::IoError {
            io_error: Arc::new(refusal()),
            filepath: path.to_owned(),
        })
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::wrap_io_error(refusal(), path.to_owned()))
    }

    fn atomic_write(&self, _path: &Path, _data: &[u8]) -> io::Result<()> {
        Err(refusal())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }
}
