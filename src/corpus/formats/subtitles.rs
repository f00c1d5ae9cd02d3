//! Subtitles: what is said, joined to sentences, without numbers, times and marks. A pause begins a
//! paragraph, a speaker a line.

use super::format::{Extract, Format};
use super::lines::lines;
use super::unseen::reference_length;
use crate::corpus::offsets::Traced;
use crate::event::saturating_u32;

pub(super) const FORMAT: Format =
    Format::for_lines("subtitles", &["srt", "vtt"], |source| extract(&source));

/// A longer silence begins a paragraph.
const PAUSE_MS: u64 = 3000;
/// Maximum size of a tag.
const MAX_TAG_BYTES: usize = 200;

fn extract(source: &str) -> Extract {
    let mut spoken = Spoken::default();
    let mut is_spoken = false;
    let mut last_end_ms = 0;

    for (start, line) in lines(source) {
        let content = line.trim();
        if let Some((from_ms, to_ms)) = times(content) {
            spoken.has_pause |= from_ms > last_end_ms + PAUSE_MS;
            last_end_ms = to_ms;
            is_spoken = true;
        } else if content.is_empty() {
            is_spoken = false;
        } else if is_spoken {
            spoken.add_line(start + (line.len() - line.trim_start().len()), content);
        }
    }

    // no times: text with the wrong extension
    if spoken.traced.text.is_empty() && !source.contains("-->") {
        return Extract::verbatim(source.to_owned());
    }

    Extract::from_traced(spoken.traced)
}

/// Returns the times of a line `00:01:02,500 --> 00:01:04,000`, in milliseconds.
fn times(line: &str) -> Option<(u64, u64)> {
    let (from, to) = line.split_once("-->")?;
    Some((
        time_ms(from.trim())?,
        time_ms(to.split_whitespace().next()?)?,
    ))
}

fn time_ms(time: &str) -> Option<u64> {
    // SubRip writes a comma, WebVTT a full stop, and WebVTT may leave the hours out
    let (whole, fraction) = time.split_once([',', '.']).unwrap_or((time, "0"));
    let mut seconds = 0_u64;
    for part in whole.split(':') {
        seconds = seconds.checked_mul(60)?.checked_add(part.parse().ok()?)?;
    }
    let fraction: u64 = fraction.parse().ok()?;
    seconds.checked_mul(1000)?.checked_add(fraction)
}

/// The text of the lines so far.
#[derive(Default)]
struct Spoken {
    traced: Traced,
    /// Whether there was a pause since the last line.
    has_pause: bool,
    /// The last line: captions that roll up repeat it.
    last: String,
}

impl Spoken {
    /// Adds a line as it is in the source from `at` on.
    fn add_line(&mut self, at: usize, line: &str) {
        if line == self.last {
            return;
        }
        line.clone_into(&mut self.last);

        let mut pieces = Vec::new();
        let mut rest = 0;
        let mut speaker = None;
        while rest < line.len() {
            let tag = tag_length(&line[rest..]);
            if tag > 0 {
                speaker = speaker.or(voice(rest, &line[rest..rest + tag]));
                rest += tag;
                continue;
            }
            let first = line[rest..].chars().next().map_or(1, char::len_utf8);
            let next_mark = line[rest + first..].find(['<', '{', '&']);
            let text_end = next_mark.map_or(line.len(), |end| rest + first + end);
            pieces.push(rest..text_end);
            rest = text_end;
        }
        let mut words = pieces.iter().map(|piece| line[piece.clone()].trim());
        if words.all(str::is_empty) {
            return;
        }

        // a dash begins the turn of a speaker, and `>>` does in captions of broadcasts
        let begins_turn = speaker.is_some() || line.starts_with("- ") || line.starts_with(">>");
        self.separate(at, begins_turn);
        if let Some(name) = speaker {
            self.traced
                .copy(&line[name.clone()], (at + name.start) as u64);
            self.traced.stand_for(": ", (at + name.end) as u64, 0);
        }
        for piece in pieces {
            self.add_piece(&line[piece.clone()], at + piece.start);
        }
    }

    fn add_piece(&mut self, text: &str, at: usize) {
        let entities = [
            ("&amp;", "&"),
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&nbsp;", " "),
        ];

        let mut named = entities.into_iter();
        let named = named.find(|(entity, _)| text.starts_with(entity));
        let unseen = || Some((reference_length(text)?, ""));
        let known = named.map(|(entity, character)| (entity.len(), character));
        let (length, character) = known.or_else(unseen).unwrap_or_default();
        self.traced
            .stand_for(character, at as u64, saturating_u32(length));
        self.traced.copy(&text[length..], (at + length) as u64);
    }

    fn separate(&mut self, at: usize, begins_turn: bool) {
        let has_pause = std::mem::take(&mut self.has_pause);
        let separator = if self.traced.text.is_empty() {
            ""
        } else if has_pause {
            "\n\n"
        } else if begins_turn {
            "\n"
        } else {
            " "
        };
        self.traced.stand_for(separator, at as u64, 0);
    }
}

/// Returns the length of the tag that a text begins with (`<i>`, `{\an8}`); 0 when there is none.
fn tag_length(text: &str) -> usize {
    let end = match text.as_bytes() {
        [b'<', b'a'..=b'z' | b'A'..=b'Z' | b'/' | b'0'..=b'9', ..] => '>',
        // tags of SubStation Alpha, which SubRip files hold, too
        [b'{', b'\\', ..] => '}',
        _ => return 0,
    };
    let head = &text[..text.floor_char_boundary(MAX_TAG_BYTES)];
    head.find(end).map_or(0, |end| end + 1)
}

/// Returns where the name is in a tag that names the speaker: `<v Ann>`.
fn voice(at: usize, tag: &str) -> Option<std::ops::Range<usize>> {
    let after = tag.strip_prefix("<v")?;
    let name = after
        .strip_prefix(' ')
        .or_else(|| Some(after.split_once(' ')?.1))?;
    let start = at + (tag.len() - name.len());
    let length = name.strip_suffix('>')?.trim_end().len();
    (length > 0).then_some(start..start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spoken_text_is_joined() {
        let cases = [
            (
                "1\r\n00:00:01,000 --> 00:00:02,000\r\nThe <i>lamp</i> burns\r\n\r\n2\r\n00:00:02,500 --> 00:00:04,000\r\n{\\an8}until dawn.\r\n- Really?\r\n\r\n3\r\n00:01:00,000 --> 00:01:01,000\r\nLater.\r\n",
                "The lamp burns until dawn.\n- Really?\n\nLater.",
            ),
            (
                "WEBVTT\n\nNOTE no\n\nSTYLE\n::cue {}\n\nintro\n00:01.000 --> 00:02.000 align:start\n<v Ann>Ca&shy;ts &amp; &lrm;dogs</v>\n\n00:02.000 --> 00:03.000\n<v.loud Bob Lee>2 < 3 <00:02.500><c>yes</c>\n",
                "Ann: Cats & dogs\nBob Lee: 2 < 3 yes",
            ),
            (
                "1\n00:00:01,0 --> 00:00:02,0\none\n\n2\n00:00:02,0 --> 00:00:03,0\none\ntwo\n",
                "one two",
            ),
            ("no times\nat all", "no times\nat all"),
        ];
        for (source, text) in cases {
            let found = extract(source);
            assert_eq!(found.text, text);
            for word in ["lamp", "dawn", "dogs", "yes", "two"] {
                if let Some(at) = found.text.find(word) {
                    let origin = found.origin.source_range(at..at + word.len());
                    assert_eq!(&source[origin.start as usize..origin.end as usize], word);
                }
            }
        }
    }
}
