//! The end of a process that crashes: its terminal is restored, and it says what it worked on.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use llama_cpp_sys_2 as sys;
use nix::libc;

use crate::llm::log::{self, Level};

/// The end of a crash: what is written, where the terminal was left raw, and how it was before.
struct Crash {
    /// The sentence for users, replaced as models are loaded. What was replaced is never freed: the
    /// handler may be reading it.
    message: AtomicPtr<String>,
    /// The terminal as the process found it; null without one.
    terminal: AtomicPtr<libc::termios>,
    is_handled: AtomicBool,
}

static CRASH: Crash = Crash {
    message: AtomicPtr::new(std::ptr::null_mut()),
    terminal: AtomicPtr::new(std::ptr::null_mut()),
    is_handled: AtomicBool::new(false),
};

/// Ends mouse reports, the keyboard protocol, bracketed paste and the alternate screen, and shows
/// the cursor: what the screen turns on.
const RESTORED: &[u8] =
    b"\x1b[?1006l\x1b[?1015l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[<1u\x1b[?2004l\x1b[?1049l\x1b[?25h";

/// Makes a crash of llama.cpp restore the terminal and name the models in use, in place of ggml's
/// backtrace by a debugger. To be called before the terminal becomes raw.
pub fn contain_crashes() {
    let mut terminal = std::mem::MaybeUninit::<libc::termios>::zeroed();
    // SAFETY: the structure is plain data, and is read only where the call has filled it.
    if unsafe { libc::tcgetattr(libc::STDIN_FILENO, terminal.as_mut_ptr()) } == 0 {
        // SAFETY: it was filled.
        let terminal = Box::new(unsafe { terminal.assume_init() });
        CRASH
            .terminal
            .store(Box::into_raw(terminal), Ordering::Release);
    }
    crash_message("a library failed");

    // SAFETY: the callback is a plain function without data.
    unsafe { sys::ggml_set_abort_callback(Some(ggml_aborts)) };
    let handler = libc::sigaction {
        sa_sigaction: handle_crash as extern "C" fn(i32) as usize,
        // SAFETY: an empty set is all zeros; the other fields are numbers.
        ..unsafe { std::mem::zeroed() }
    };
    for signal in [
        libc::SIGABRT,
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGILL,
        libc::SIGFPE,
    ] {
        let handler = libc::sigaction {
            sa_flags: libc::SA_RESETHAND | libc::SA_ONSTACK,
            ..handler
        };
        // SAFETY: the handler only does what a handler of signals may do.
        unsafe { libc::sigaction(signal, &raw const handler, std::ptr::null_mut()) };
    }
    // a file that may not grow is an error of the call that writes
    // SAFETY: the disposition is a constant.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Sets the sentence of a crash from now on.
pub(in crate::llm) fn crash_message(sentence: &str) {
    let message = Box::new(format!("\nragscope stopped: {sentence}\n"));
    CRASH
        .message
        .store(Box::into_raw(message), Ordering::Release);
}

/// The work of a thread, for the sentence of a crash, and a note that the crash leaves. Until it is
/// dropped, on the thread that made it.
pub struct CrashName {
    before: *const CrashWork,
    work: Box<CrashWork>,
}

struct CrashWork {
    sentence: String,
    note_file: CString,
    note: Vec<u8>,
}

thread_local! {
    /// The named work of this thread; null for none.
    static WORK: Cell<*const CrashWork> = const { Cell::new(std::ptr::null()) };
}

impl CrashName {
    /// Names the work of this thread: a crash says the sentence, and adds the note to a file.
    pub fn new(sentence: &str, note_file: &Path, note: Vec<u8>) -> Self {
        use std::os::unix::ffi::OsStrExt as _;

        let work = Box::new(CrashWork {
            sentence: format!("\nragscope stopped: {sentence}\n"),
            // a path with a zero cannot be opened, and has no note
            note_file: CString::new(note_file.as_os_str().as_bytes()).unwrap_or_default(),
            note,
        });
        let before = WORK.replace(&raw const *work);
        Self { before, work }
    }
}

impl Drop for CrashName {
    fn drop(&mut self) {
        debug_assert_eq!(WORK.get(), &raw const *self.work);
        WORK.set(self.before);
    }
}

/// Receives the message of a failed assertion of ggml, just before it aborts.
unsafe extern "C" fn ggml_aborts(message: *const c_char) {
    if !message.is_null() {
        // SAFETY: ggml passes a string that ends with a zero.
        let message = unsafe { CStr::from_ptr(message) };
        let message = format!("{}\n", message.to_string_lossy());
        log::write(Level::Error, &message);
    }
}

/// Restores the terminal, writes the sentence, and lets the signal end the process.
extern "C" fn handle_crash(signal: i32) {
    // a crash inside of the handler must not begin again
    if CRASH.is_handled.swap(true, Ordering::SeqCst) {
        return;
    }
    let write = |file: i32, bytes: &[u8]| {
        // SAFETY: the bytes are valid for the length; a failure cannot be helped here.
        let _ = unsafe { libc::write(file, bytes.as_ptr().cast(), bytes.len()) };
    };

    let terminal = CRASH.terminal.load(Ordering::Acquire);
    if !terminal.is_null() {
        let mut now = std::mem::MaybeUninit::<libc::termios>::zeroed();
        // SAFETY: both structures are valid, and `now` is read only where it was filled.
        unsafe {
            let is_filled = libc::tcgetattr(libc::STDIN_FILENO, now.as_mut_ptr()) == 0;
            if is_filled && now.assume_init().c_lflag != (*terminal).c_lflag {
                write(libc::STDOUT_FILENO, RESTORED);
                libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, terminal);
            }
        }
    }

    // SAFETY: the work is that of this thread, and is there while its name is.
    if let Some(work) = unsafe { WORK.get().as_ref() } {
        write(libc::STDERR_FILENO, work.sentence.as_bytes());
        // without O_NONBLOCK, opening a pipe in its place would wait for a reader
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_NONBLOCK;
        // SAFETY: the path ends with a zero.
        let file = unsafe { libc::open(work.note_file.as_ptr(), flags, 0o600) };
        write(file, &work.note);
    // SAFETY: a message is never freed.
    } else if let Some(message) = unsafe { CRASH.message.load(Ordering::Acquire).as_ref() } {
        write(libc::STDERR_FILENO, message.as_bytes());
    }
    // SAFETY: the handler was reset when it was called, so this ends the process.
    unsafe { libc::raise(signal) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names the file of the note to the process that is to crash.
    const NOTE_FILE: &str = "RAGSCOPE_TEST_CRASH_NOTE";

    #[test]
    fn a_crash_names_the_work_of_its_thread() {
        if let Some(note_file) = std::env::var_os(NOTE_FILE) {
            let _outer = CrashName::new("outer", Path::new(&note_file), b"a.md\0".to_vec());
            drop(CrashName::new("inner", Path::new(""), Vec::new()));
            contain_crashes();
            crash_message("something else");
            let other = std::thread::spawn(|| drop(CrashName::new("other", Path::new(""), vec![])));
            other.join().expect("another thread");
            std::process::abort();
        }

        let folder = tempfile::tempdir().expect("a folder");
        let note_file = folder.path().join("crashes");
        for notes in ["a.md\0", "a.md\0a.md\0"] {
            let crashed =
                std::process::Command::new(std::env::current_exe().expect("this program"))
                    .args([
                        "--exact",
                        "llm::ffi::crash::tests::a_crash_names_the_work_of_its_thread",
                    ])
                    .arg("--nocapture")
                    .env(NOTE_FILE, &note_file)
                    .output()
                    .expect("started");
            let said = String::from_utf8_lossy(&crashed.stderr).into_owned();
            assert!(said.contains("ragscope stopped: outer\n"), "{said}");
            let found = std::fs::read_to_string(&note_file).expect("a note");
            assert_eq!(found, notes);
        }
    }
}
