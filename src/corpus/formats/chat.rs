//! Chats as programs export them: Telegram (`result.json`), Slack (a file per channel and day),
//! Discord (DiscordChatExporter). A conversation is a part, a day in it a heading, and a message a
//! line with its time and its author.

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;

use super::builder::{Builder, named, one_line};
use super::format::{Extract, Format};
use super::json;
use crate::corpus::decode::decode;
use crate::event::{Place, PlaceUnit, saturating_u32};

pub(super) const FORMAT: Format = Format::for_binary("chat", &[], "message", read);

/// An export says what it is within this many bytes.
const HEAD_BYTES: usize = 16 << 10;
/// The keys that the beginning of an export of each program has. Slack writes nothing of its own,
/// so a list that begins with messages is one.
const TELEGRAM: [&str; 4] = ["\"messages\"", "\"type\"", "\"date\"", "\"from_id\""];
const DISCORD: [&str; 3] = ["\"guild\"", "\"channel\"", "\"messages\""];
const SLACK: [&str; 4] = ["\"type\"", "\"message\"", "\"ts\"", "\"text\""];

/// A message of any program.
#[derive(Debug, Default)]
struct ChatMessage {
    day: String,
    /// The time of the day, as in `10:04`.
    time: String,
    author: String,
    text: String,
    /// The names of attached files.
    files: Vec<String>,
}

/// Returns whether a JSON file is an export of a chat.
pub(super) fn is_chat(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD_BYTES)]);
    let has = |keys: &[&str]| keys.iter().all(|key| head.contains(key));
    let start = head.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with('[') {
        has(&SLACK)
    } else {
        has(&TELEGRAM) || has(&DISCORD)
    }
}

fn read(bytes: &[u8]) -> Result<Extract, String> {
    let source = decode(bytes.to_vec())?.traced.text;
    let mut chats = Chats::default();

    if let Ok(messages) = serde_json::from_str::<Vec<SlackMessage>>(&source) {
        let names = slack_names(&messages);
        let messages = messages.into_iter().filter(SlackMessage::is_said);
        chats.add(None, messages.map(|message| message.read(&names)));
    } else if let Ok(export) = serde_json::from_str::<DiscordExport>(&source) {
        let messages = export.messages.into_iter().map(DiscordMessage::read);
        chats.add(export.channel.name.as_deref(), messages);
    } else if let Ok(export) = serde_json::from_str::<TelegramExport>(&source) {
        let listed = [export.chats, export.left_chats].into_iter().flatten();
        let all = listed.flat_map(|chats| chats.list);
        for chat in all.chain([export.chat]) {
            let messages = chat.messages.into_iter().filter(TelegramMessage::is_said);
            chats.add(chat.name.as_deref(), messages.map(TelegramMessage::read));
        }
    }

    let extract = chats.builder.finish();
    // a file that only looks like an export, or ends early
    Ok(if extract.text.is_empty() {
        json::extract(&source)
    } else {
        extract
    })
}

/// Conversations while they are read.
#[derive(Default)]
struct Chats {
    builder: Builder,
    /// The number of the last message.
    number: usize,
}

impl Chats {
    fn add(&mut self, name: Option<&str>, messages: impl Iterator<Item = ChatMessage>) {
        let name = name.and_then(named);
        let mut day = None;
        self.builder.part();

        for message in messages {
            self.number += 1;
            let place = Place::new(PlaceUnit::Message, saturating_u32(self.number));
            self.builder.place(place);
            if day.as_ref() != Some(&message.day) {
                let title = name.iter().map(String::as_str).chain([&*message.day]);
                self.builder
                    .heading(1, &title.collect::<Vec<_>>().join(", "));
                day = Some(message.day.clone());
            }
            self.builder.line(&message.line());
            if self.builder.is_full() {
                return;
            }
        }
    }
}

impl ChatMessage {
    fn line(&self) -> String {
        let author = one_line(&self.author);
        let mut line = format!("{} {author}: {}", self.time, self.text.trim());
        for file in &self.files {
            line.push_str(&format!(" [file: {}]", one_line(file)));
        }
        line
    }

    /// Takes the day and the time of a date such as `2024-01-31T10:04:00`.
    fn at(date: &str) -> Self {
        let (day, time) = date.split_once('T').unwrap_or((date, ""));
        Self {
            day: day.to_owned(),
            time: time.chars().take("10:04".len()).collect(),
            ..Self::default()
        }
    }
}

#[derive(Deserialize)]
struct TelegramExport {
    #[serde(flatten)]
    chat: TelegramChat,
    chats: Option<TelegramChats>,
    left_chats: Option<TelegramChats>,
}

#[derive(Deserialize)]
struct TelegramChats {
    #[serde(default)]
    list: Vec<TelegramChat>,
}

#[derive(Deserialize)]
struct TelegramChat {
    name: Option<String>,
    #[serde(default)]
    messages: Vec<TelegramMessage>,
}

#[derive(Deserialize)]
struct TelegramMessage {
    r#type: Option<String>,
    #[serde(default)]
    date: String,
    from: Option<String>,
    forwarded_from: Option<String>,
    text: Option<TelegramText>,
    file_name: Option<String>,
}

/// The text of a message: a string, or strings between links and words in bold letters.
#[derive(Deserialize)]
#[serde(untagged)]
enum TelegramText {
    Plain(String),
    Marked { text: String },
    Pieces(Vec<Self>),
}

impl From<TelegramText> for String {
    fn from(text: TelegramText) -> Self {
        match text {
            TelegramText::Plain(text) | TelegramText::Marked { text } => text,
            TelegramText::Pieces(pieces) => pieces.into_iter().map(Self::from).collect(),
        }
    }
}

impl TelegramMessage {
    /// Returns whether a user wrote it; the others say who joined and what was pinned.
    fn is_said(&self) -> bool {
        self.r#type.as_deref() == Some("message")
    }

    fn read(self) -> ChatMessage {
        let text = self.text.map_or_else(String::new, String::from);
        let forwarded = self.forwarded_from.map(|from| format!("(from {from}) "));
        ChatMessage {
            author: self.from.unwrap_or_default(),
            text: forwarded.unwrap_or_default() + &text,
            files: Vec::from_iter(self.file_name),
            ..ChatMessage::at(&self.date)
        }
    }
}

#[derive(Deserialize)]
struct SlackMessage {
    subtype: Option<String>,
    user: Option<String>,
    username: Option<String>,
    user_profile: Option<SlackProfile>,
    text: Option<String>,
    /// Seconds since 1970, with a fraction.
    ts: String,
    #[serde(default)]
    files: Vec<Named>,
}

/// A file or a channel.
#[derive(Deserialize)]
struct Named {
    name: Option<String>,
    #[serde(rename = "fileName")]
    file_name: Option<String>,
}

#[derive(Deserialize)]
struct SlackProfile {
    real_name: Option<String>,
    display_name: Option<String>,
}

/// Returns the names of the files of a message.
fn file_names(files: Vec<Named>) -> Vec<String> {
    let names = files.into_iter().map(|file| file.name.or(file.file_name));
    names.flatten().collect()
}

/// Returns the names of the users of a file by their ids.
fn slack_names(messages: &[SlackMessage]) -> HashMap<String, String> {
    let name = |message: &SlackMessage| {
        let profile = message.user_profile.as_ref()?;
        let names = [&profile.display_name, &profile.real_name];
        let name = names.into_iter().flatten().find(|name| !name.is_empty())?;
        Some((message.user.clone()?, name.clone()))
    };
    messages.iter().filter_map(name).collect()
}

impl SlackMessage {
    /// Returns whether it is more than that somebody joined or left.
    fn is_said(&self) -> bool {
        let subtype = self.subtype.as_deref().unwrap_or_default();
        !subtype.ends_with("_join") && !subtype.ends_with("_leave")
    }

    fn read(self, names: &HashMap<String, String>) -> ChatMessage {
        let seconds = self.ts.split('.').next().and_then(|ts| ts.parse().ok());
        let at = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
        let at = at.map(|at| at.to_zoned(TimeZone::UTC).datetime().to_string());
        let user = self.user.as_ref();
        let user = user.map(|id| names.get(id).unwrap_or(id).clone());
        ChatMessage {
            author: user.or(self.username).unwrap_or_default(),
            text: slack_text(&self.text.unwrap_or_default(), names),
            files: file_names(self.files),
            ..ChatMessage::at(&at.unwrap_or_default())
        }
    }
}

/// Returns a text as Slack shows it: `<@U1>` is a user, `<#C1|talk>` a channel, `<URL|words>` a
/// link.
fn slack_text(text: &str, names: &HashMap<String, String>) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;

    while let Some((before, inside)) = rest.split_once('<') {
        shown.push_str(before);
        let Some((mark, after)) = inside.split_once('>') else {
            shown.push('<');
            rest = inside;
            continue;
        };
        let (target, label) = mark.split_once('|').unwrap_or((mark, ""));
        match (target.chars().next(), label) {
            (Some('@'), _) => {
                let id = &target[1..];
                let name = names.get(id).map_or(id, String::as_str);
                shown.push_str(&format!("@{name}"));
            }
            (Some('#'), label) => shown.push_str(&format!("#{label}")),
            (Some('!'), _) => shown.push_str(&format!("@{}", &target[1..])),
            (_, "") => shown.push_str(target),
            (_, label) => shown.push_str(&format!("{label} ({target})")),
        }
        rest = after;
    }

    shown.push_str(rest);
    // the only characters that Slack escapes
    let shown = shown.replace("&lt;", "<").replace("&gt;", ">");
    shown.replace("&amp;", "&")
}

#[derive(Deserialize)]
struct DiscordExport {
    channel: Named,
    messages: Vec<DiscordMessage>,
}

#[derive(Deserialize)]
struct DiscordMessage {
    timestamp: String,
    #[serde(default)]
    content: String,
    author: DiscordAuthor,
    #[serde(default)]
    attachments: Vec<Named>,
}

#[derive(Deserialize)]
struct DiscordAuthor {
    name: Option<String>,
    nickname: Option<String>,
}

impl DiscordMessage {
    fn read(self) -> ChatMessage {
        let names = [self.author.nickname, self.author.name];
        ChatMessage {
            author: names.into_iter().flatten().next().unwrap_or_default(),
            text: self.content,
            files: file_names(self.attachments),
            ..ChatMessage::at(&self.timestamp)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, text: &str) {
        assert!(is_chat(source.as_bytes()), "{source}");
        let extract = read(source.as_bytes()).expect("a chat");
        assert_eq!(extract.text, text);
    }

    #[test]
    fn a_conversation_has_days_and_authors() {
        check(
            r#"{"name": "Pier", "type": "private_group", "id": 7, "messages": [
              {"id": 1, "type": "service", "date": "2024-01-31T09:00:00", "actor": "Bo", "actor_id": "user2", "action": "create_group", "text": ""},
              {"id": 2, "type": "message", "date": "2024-01-31T10:04:09", "date_unixtime": "1706695449", "from": "Ann", "from_id": "user1", "text": "The lamp is out."},
              {"id": 3, "type": "message", "date": "2024-01-31T10:06:00", "from": null, "from_id": "user2", "forwarded_from": "Iris", "text": ["See ", {"type": "link", "text": "https://pier.example"}, "."], "file": "f", "file_name": "oil.pdf"},
              {"id": 4, "type": "message", "date": "2024-02-01T08:00:00", "from": "Bo", "text": "Lit again.\nAt last."}]}"#,
            "Pier, 2024-01-31\n\n10:04 Ann: The lamp is out.\n10:06 : (from Iris) See https://pier.example. [file: oil.pdf]\n\n\
             Pier, 2024-02-01\n\n08:00 Bo: Lit again.\nAt last.",
        );
        // before 2021, without times in seconds
        check(
            r#"{"name": "Pier", "type": "private_group", "id": 7, "messages": [
              {"id": 2, "type": "message", "date": "2020-01-31T10:04:09", "from": "Ann", "from_id": 1, "text": ["The mast is ", {"type": "bold", "text": "13.2 m"}, " high."]}]}"#,
            "Pier, 2020-01-31\n\n10:04 Ann: The mast is 13.2 m high.",
        );
        check(
            r#"[{"type": "message", "subtype": "channel_join", "ts": "1706695440.1", "user": "U1", "text": "<@U1> has joined"},
              {"type": "message", "ts": "1706695449.000200", "user": "U1", "user_profile": {"real_name": "Ann Oakes", "display_name": ""}, "text": "Oil &lt; 5 l, see <https://a.example|the list> in <#C2|stores>"},
              {"type": "message", "ts": "1706695509.000100", "user": "U2", "text": "Thanks <@U1> <!here> <", "files": [{"id": "F1", "name": "oil.csv"}]}]"#,
            "2024-01-31\n\n10:04 Ann Oakes: Oil < 5 l, see the list (https://a.example) in #stores\n10:05 U2: Thanks @Ann Oakes @here < [file: oil.csv]",
        );
        check(
            r#"{"guild": {"name": "Port"}, "channel": {"name": "pier"}, "messages": [
              {"id": "1", "type": "Default", "timestamp": "2024-01-31T10:04:09.5+00:00", "content": "Lamp?", "author": {"name": "ann", "nickname": "Ann"}, "attachments": [{"fileName": "lamp.png"}, {"name": "oil.csv", "fileName": "1.csv"}]}]}"#,
            "pier, 2024-01-31\n\n10:04 Ann: Lamp? [file: lamp.png] [file: oil.csv]",
        );
        // one that ends early is read as any JSON
        check(
            r#"[{"type": "message", "ts": "1.2", "user": "U1", "text": "Lamp?"}, {"#,
            "type: message\nts: 1.2\nuser: U1\ntext: Lamp?",
        );
    }

    #[test]
    fn other_json_is_no_chat() {
        for source in [
            r#"{"messages": [{"role": "user", "content": "x"}]}"#,
            r#"[{"type": "message", "text": "x"}]"#,
            "[1]",
            "",
        ] {
            assert!(!is_chat(source.as_bytes()), "{source}");
        }
    }
}
