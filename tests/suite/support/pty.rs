//! The real program in a real terminal: types keys, and reads the screen as a user does.

use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

/// Time that anything may take before the test gives up.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The program in a terminal.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    screen: Arc<Screen>,
    /// The time at which the process was started.
    pub started: Instant,
}

struct Screen {
    seen: Mutex<Seen>,
    changed: Condvar,
}

struct Seen {
    parser: vt100::Parser<Titles>,
    /// Everything that was written to the terminal.
    bytes: Vec<u8>,
    /// The program's end of the terminal is closed.
    over: bool,
}

/// Counts the titles that are set, and keeps the addresses of links.
#[derive(Default)]
struct Titles {
    set: usize,
    links: Vec<String>,
}

impl vt100::Callbacks for Titles {
    fn set_window_title(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.set += 1;
    }

    fn unhandled_osc(&mut self, _: &mut vt100::Screen, parts: &[&[u8]]) {
        if let [b"8", _, address] = parts {
            self.links
                .push(String::from_utf8_lossy(address).into_owned());
        }
    }
}

impl Terminal {
    /// Starts the program with a home of its own and variables of the environment, in a terminal of
    /// this size.
    pub fn start(
        program: &str,
        arguments: &[&str],
        home: &Path,
        (rows, cols): (u16, u16),
        variables: &[(&str, &str)],
    ) -> Self {
        let size = PtySize {
            rows,
            cols,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.cwd(home);
        command.env("RAGSCOPE_HOME", home.join("home"));
        command.env("HOME", home);
        command.env("TERM", "xterm-256color");
        command.env_remove("NO_COLOR");
        for (name, value) in variables {
            command.env(name, value);
        }
        let started = Instant::now();
        let child = pair.slave.spawn_command(command).expect("the program");
        let keys = pair.master.take_writer().expect("a writer");
        let reader = pair.master.try_clone_reader().expect("a reader");
        let seen = Mutex::new(Seen {
            parser: vt100::Parser::new_with_callbacks(
                cells(rows),
                cells(cols),
                0,
                Titles::default(),
            ),
            bytes: Vec::new(),
            over: false,
        });
        let screen = Arc::new(Screen {
            seen,
            changed: Condvar::new(),
        });
        let watched = Arc::clone(&screen);
        std::thread::spawn(move || watched.read(reader));
        Self {
            child,
            master: pair.master,
            keys,
            screen,
            started,
        }
    }

    /// Type keys as the terminal sends them.
    pub fn send(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("typed");
        self.keys.flush().expect("typed");
    }

    /// Wait until the screen satisfies `condition`; gives its text.
    pub fn wait(&self, what: &str, condition: impl Fn(&vt100::Screen) -> bool) -> String {
        self.wait_until(what, |seen| condition(seen.parser.screen()))
    }

    /// Wait until a text was written, such as a query of the terminal.
    pub fn wait_for_written(&self, text: &str) -> String {
        self.wait_until(text, |seen| {
            let mut written = seen.bytes.windows(text.len());
            written.any(|bytes| bytes == text.as_bytes())
        })
    }

    fn wait_until(&self, what: &str, condition: impl Fn(&Seen) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = self.screen.seen.lock().expect("no panic");
        loop {
            let screen = seen.parser.screen();
            if condition(&seen) {
                return screen.contents();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && !seen.over,
                "no {what} on the screen after {:?}:\n{}",
                self.started.elapsed(),
                screen.contents()
            );
            seen = self
                .screen
                .changed
                .wait_timeout(seen, left)
                .expect("no panic")
                .0;
        }
    }

    /// Wait until the screen shows a text; gives all of it.
    pub fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contents().contains(text))
    }

    /// Wait until the screen shows a text no more.
    pub fn wait_without(&self, text: &str) -> String {
        self.wait(&format!("end of {text}"), |screen| {
            !screen.contents().contains(text)
        })
    }

    /// Change the size of the terminal.
    pub fn resize(&self, rows: u16, cols: u16) {
        self.screen
            .seen
            .lock()
            .expect("no panic")
            .parser
            .screen_mut()
            .set_size(cells(rows), cells(cols));
        self.master
            .resize(PtySize {
                rows,
                cols,
                pixel_width: 0,
                pixel_height: 0,
            })
            .expect("resized");
    }

    /// Everything that was written to the terminal so far, escape sequences included.
    pub fn written(&self) -> String {
        let seen = self.screen.seen.lock().expect("no panic");
        String::from_utf8_lossy(&seen.bytes).into_owned()
    }

    /// Returns how often the title of the terminal was set.
    pub fn titles(&self) -> usize {
        self.screen
            .seen
            .lock()
            .expect("no panic")
            .parser
            .callbacks()
            .set
    }

    /// Whether a link was written whose address has this part.
    pub fn has_link(&self, part: &str) -> bool {
        let seen = self.screen.seen.lock().expect("no panic");
        let mut links = seen.parser.callbacks().links.iter();
        links.any(|address| address.contains(part))
    }

    /// Number of the process.
    pub fn process(&self) -> u32 {
        self.child.process_id().expect("a process")
    }

    /// Wait for the end; gives the exit status and the terminal as the program left it.
    pub fn ended(mut self) -> (ExitStatus, Left) {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = self.screen.seen.lock().expect("no panic");
        while !seen.over {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "the program does not end:\n{}",
                seen.parser.screen().contents()
            );
            seen = self
                .screen
                .changed
                .wait_timeout(seen, left)
                .expect("no panic")
                .0;
        }
        let screen = seen.parser.screen();
        let left = Left {
            alternate_screen: screen.alternate_screen(),
            cursor_hidden: screen.hide_cursor(),
            mouse_taken: screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None,
            bracketed_paste: screen.bracketed_paste(),
        };
        drop(seen);
        (self.child.wait().expect("an exit status"), left)
    }
}

/// The state of a terminal that a program can leave behind.
#[derive(Debug, PartialEq, Eq)]
pub struct Left {
    pub alternate_screen: bool,
    pub cursor_hidden: bool,
    pub mouse_taken: bool,
    pub bracketed_paste: bool,
}

impl Left {
    /// The state that a shell expects.
    pub const CLEAN: Self = Self {
        alternate_screen: false,
        cursor_hidden: false,
        mouse_taken: false,
        bracketed_paste: false,
    };
}

impl Screen {
    fn read(&self, mut reader: Box<dyn Read + Send>) {
        let mut bytes = [0; 8192];
        loop {
            let count = reader.read(&mut bytes).unwrap_or(0);
            let mut seen = self.seen.lock().expect("no panic");
            seen.over = count == 0;
            seen.parser.process(&bytes[..count]);
            seen.bytes.extend_from_slice(&bytes[..count]);
            self.changed.notify_all();
            if count == 0 {
                return;
            }
        }
    }
}

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).expect("a terminal has cells")
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}
