//! Connections to a database, and its errors.

use std::fmt::Display;
use std::time::Duration;

use postgres::config::{Host, SslMode};
use postgres::error::SqlState;
use postgres::{CancelToken, Client, Config, NoTls};
use rustls::ClientConfig;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::config::{IndexSettings, Secret};
use crate::event::{Problem, WorkError};
use crate::net;

const CONNECTING: Duration = Duration::from_secs(10);
/// The states of a user or a password that the server refuses.
const DENIALS: [SqlState; 2] = [
    SqlState::INVALID_PASSWORD,
    SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
];
/// A connection that is silent for so long while something is sent is given up.
const SILENCE: Duration = Duration::from_secs(60);

/// An address with everything that is needed to connect.
#[derive(Clone)]
pub(super) struct Database {
    config: Config,
    /// Whether the server is on this machine.
    is_loopback: bool,
    /// The schema, which is a plain identifier.
    pub schema: String,
    /// User, host and database, for messages.
    pub place: String,
}

impl Database {
    pub fn new(settings: &IndexSettings) -> Result<Self, WorkError> {
        let advice = "write it as postgres://USER@HOST:5432/DATABASE, and set index.key to env:NAME or file:PATH for the password";
        let mut config: Config = settings.url.parse().map_err(|_| {
            // the text of the error can hold a part of the address
            WorkError::new(
                "index.url is not the address of a PostgreSQL database",
                advice,
            )
        })?;
        if config.get_password().is_some() {
            return Err(WorkError::new(
                "index.url holds a password, and settings are recorded with each run",
                advice,
            ));
        }
        if config.get_hosts().is_empty() {
            return Err(WorkError::new("index.url names no host", advice));
        }

        let is_loopback = config.get_hosts().iter().all(is_loopback);
        if !is_loopback
            && config.get_ssl_mode() == SslMode::Prefer
            && !settings.url.contains("sslmode=")
        {
            config.ssl_mode(SslMode::Require);
        }
        if let Some(key) = Secret::read(&settings.key)? {
            config.password(key.expose());
        }
        config
            .application_name("ragscope")
            .connect_timeout(CONNECTING)
            .tcp_user_timeout(SILENCE);
        Ok(Self {
            place: place(&config),
            is_loopback,
            schema: settings.collection.clone(),
            config,
        })
    }

    pub fn connect(&self) -> Result<Client, WorkError> {
        let connected = if self.is_plain() {
            self.config.connect(NoTls)
        } else {
            self.config.connect(tls()?)
        };
        connected.map_err(|error| {
            let reason = reason(&error);
            let is_denied = match error.code() {
                Some(code) => DENIALS.contains(code),
                // without a password where one is needed, there is no code
                None => reason.contains("password missing"),
            };
            if !is_denied {
                return self.failure(&error);
            }
            WorkError::new(
                format!("{} refuses the user or the password ({reason})", self.place),
                "check the user in index.url, and set index.key to env:NAME or file:PATH",
            )
        })
    }

    /// Returns whether what is sent can be read on the way.
    pub fn is_open(&self) -> bool {
        !self.is_loopback && self.config.get_ssl_mode() == SslMode::Disable
    }

    /// Ends the statement that runs on the connection of a token.
    pub fn cancel(&self, token: &CancelToken) -> Result<(), WorkError> {
        let cancelled = if self.is_plain() {
            token.cancel_query(NoTls)
        } else {
            token.cancel_query(tls()?)
        };
        cancelled.at(self)
    }

    fn is_plain(&self) -> bool {
        self.is_loopback || self.config.get_ssl_mode() == SslMode::Disable
    }

    /// Returns the public error of a statement.
    pub fn failure(&self, error: &postgres::Error) -> WorkError {
        let reason = reason(error);
        if error.code().is_none() || error.is_closed() {
            WorkError::new(
                format!("the index at {} cannot be reached ({reason})", self.place),
                "start it, or correct index.url; `--set index.url=` searches the index of this machine",
            )
        } else {
            WorkError::from(remote_failure(&self.place, reason))
        }
    }

    /// Returns the error of a row that is not what this program writes.
    pub fn damage(&self, reason: impl Display) -> WorkError {
        let place = &self.place;
        WorkError::new(
            format!("what the index at {place} holds cannot be read ({reason})"),
            "set index.collection to a new name and index again; the local index is not affected",
        )
    }
}

/// Returns the error of an index that failed.
pub fn remote_failure(place: &str, reason: impl Display) -> Problem {
    Problem::new(
        format!("the index at {place} failed ({reason})"),
        "the log of the server says more",
    )
}

/// A result whose error is reported with the place of its database.
pub(super) trait AtDatabase<T> {
    fn at(self, database: &Database) -> Result<T, WorkError>;
}

impl<T> AtDatabase<T> for Result<T, postgres::Error> {
    fn at(self, database: &Database) -> Result<T, WorkError> {
        self.map_err(|error| database.failure(&error))
    }
}

/// A row that is not what this program writes.
impl<T> AtDatabase<T> for serde_json::Result<T> {
    fn at(self, database: &Database) -> Result<T, WorkError> {
        self.map_err(|error| database.damage(error))
    }
}

/// Returns what a server says, without the statement.
fn reason(error: &postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return error.message().to_owned();
    }
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn is_loopback(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => net::is_loopback(name),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

fn place(config: &Config) -> String {
    let hosts = config.get_hosts().iter().enumerate().map(|(at, host)| {
        let ports = config.get_ports();
        let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        match host {
            Host::Tcp(name) => format!("{name}:{port}"),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        }
    });
    let hosts: Vec<String> = hosts.collect();
    let database = config.get_dbname().or(config.get_user());
    format!("{}/{}", hosts.join(","), database.unwrap_or_default())
}

fn tls() -> Result<MakeRustlsConnect, WorkError> {
    let own = net::own_roots().map_err(|error| {
        WorkError::new(
            format!("no encrypted connection can be made ({error})"),
            "correct SSL_CERT_FILE, or unset it",
        )
    })?;
    Ok(match own {
        Some(roots) => {
            let builder = ClientConfig::builder().with_root_certificates(roots);
            MakeRustlsConnect::new(builder.with_no_client_auth())
        }
        None => MakeRustlsConnect::with_webpki_roots(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(url: &str) -> IndexSettings {
        let mut settings = crate::config::Config::default().index;
        settings.url = url.to_owned();
        settings
    }

    #[test]
    fn an_encrypted_connection_has_its_provider() {
        assert!(tls().is_ok());
    }

    #[test]
    fn an_address_has_no_password_and_is_encrypted_elsewhere() {
        let place = |url: &str| {
            let database = Database::new(&settings(url)).expect(url);
            (database.place, database.config.get_ssl_mode())
        };
        let cases = [
            (
                "postgres://me@127.0.0.1:5433/notes",
                ("127.0.0.1:5433/notes", SslMode::Prefer),
            ),
            (
                "postgresql://me@db.example/notes",
                ("db.example:5432/notes", SslMode::Require),
            ),
            (
                "postgres://me@db.example/notes?sslmode=disable",
                ("db.example:5432/notes", SslMode::Disable),
            ),
            (
                "postgres://me@a.example,b.example/notes",
                ("a.example:5432,b.example:5432/notes", SslMode::Require),
            ),
        ];
        for (url, (shown, mode)) in cases {
            assert_eq!(place(url), (shown.to_owned(), mode), "{url}");
        }
        for wrong in [
            "postgres://me:s3cret@db.example/notes",
            "host=db.example password=s3cret",
            "http://db.example",
            "postgres://",
            "",
        ] {
            let error = Database::new(&settings(wrong)).err().expect(wrong);
            assert!(!error.to_string().contains("s3cret"), "{error}");
            assert!(error.to_string().starts_with("index.url "), "{error:?}");
        }
    }
}
