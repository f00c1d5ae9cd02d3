//! Calendars (iCalendar, RFC 5545): each event as what, when, where and who.

use jiff::civil::{Date, DateTime};

use super::format::{Extract, Format};
use super::lines::lines;
use crate::corpus::offsets::Traced;
use crate::event::saturating_u32;

pub(super) const FORMAT: Format =
    Format::for_lines("calendar", &["ics", "vcs"], |source| extract(&source));

/// The parts of a calendar that people write.
const ENTRIES: &[&str] = &["VEVENT", "VTODO", "VJOURNAL"];

fn extract(source: &str) -> Extract {
    let mut traced = Traced::default();
    let mut entry: Option<Entry> = None;
    // the parts of an entry that are open
    let mut inner = 0_usize;

    for (start, property) in properties(source) {
        let (name, value) = (property.name.as_str(), property.value.as_str());
        match name {
            "BEGIN" if ENTRIES.contains(&value) => {
                entry = Some(Entry {
                    start,
                    ..Entry::default()
                });
                inner = 0;
            }
            // an alarm has a text of its own
            "BEGIN" => inner += 1,
            "END" if !ENTRIES.contains(&value) => inner = inner.saturating_sub(1),
            "END" if ENTRIES.contains(&value) => {
                inner = 0;
                let Some(entry) = entry.take() else { continue };
                let text = entry.text();
                if !traced.text.is_empty() && !text.is_empty() {
                    traced.stand_for("\n\n", start as u64, 0);
                }
                let length = saturating_u32(start - entry.start);
                traced.stand_for(&text, entry.start as u64, length);
            }
            _ => {
                if let Some(entry) = entry.as_mut().filter(|_| inner == 0) {
                    entry.add(&property);
                }
            }
        }
    }

    if traced.text.is_empty() {
        return Extract::verbatim(source.to_owned());
    }

    Extract::from_traced(traced)
}

/// A line of a calendar: `NAME;PARAMETER=x:value`.
struct Property {
    name: String,
    parameters: String,
    value: String,
}

impl Property {
    fn new(line: &str) -> Option<Self> {
        let (head, value) = line.split_once(':')?;
        let (name, parameters) = head.split_once(';').unwrap_or((head, ""));
        Some(Self {
            name: name.to_ascii_uppercase(),
            parameters: parameters.to_owned(),
            value: unescape(value.trim()),
        })
    }

    /// Returns the value of a parameter, without its quotes.
    fn parameter(&self, name: &str) -> Option<&str> {
        let mut parameters = self.parameters.split(';');
        let value = parameters.find_map(|one| {
            let (found, value) = one.split_once('=')?;
            found.eq_ignore_ascii_case(name).then_some(value)
        });
        value.map(|value| value.trim_matches('"'))
    }
}

/// Returns the properties with the positions of their lines. A line that begins with white space
/// continues the one before.
fn properties(source: &str) -> Vec<(usize, Property)> {
    let mut unfolded: Vec<(usize, String)> = Vec::new();
    for (start, line) in lines(source) {
        match (line.strip_prefix([' ', '\t']), unfolded.last_mut()) {
            (Some(rest), Some((_, before))) => before.push_str(rest),
            (Some(_) | None, _) => unfolded.push((start, line.to_owned())),
        }
    }
    let read = |(start, line): (usize, String)| Some((start, Property::new(&line)?));
    unfolded.into_iter().filter_map(read).collect()
}

/// An event, a task or a note while it is read.
#[derive(Default)]
struct Entry {
    start: usize,
    what: String,
    begin: String,
    end: String,
    /// The time that it takes, as in `, for 1h 30m`.
    lasts: String,
    lines: Vec<String>,
    who: Vec<String>,
    description: String,
}

impl Entry {
    fn add(&mut self, property: &Property) {
        let value = property.value.clone();
        match property.name.as_str() {
            "SUMMARY" => self.what = value,
            "DTSTART" => self.begin = moment(property),
            // an event ends, and a task is due
            "DTEND" | "DUE" => self.end = moment(property),
            "DURATION" => {
                let lasts: Option<jiff::Span> = value.parse().ok();
                self.lasts = lasts.map_or_else(String::new, |lasts| format!(", for {lasts:#}"));
            }
            "LOCATION" => self.lines.push(format!("Where: {value}")),
            "STATUS" => self.lines.push(format!("Status: {}", value.to_lowercase())),
            "RRULE" => self.lines.push(format!("Repeats: {value}")),
            "ORGANIZER" | "ATTENDEE" => {
                // a participant is an address, and CN the name to show
                let address = value.trim_start_matches("mailto:").to_owned();
                let name = property.parameter("CN").map(str::to_owned);
                self.who.push(name.unwrap_or(address));
            }
            "DESCRIPTION" => self.description = value,
            _ => {}
        }
    }

    fn text(&self) -> String {
        let when = match (self.begin.as_str(), self.end.as_str()) {
            ("", "") => String::new(),
            ("", end) => format!("When: until {end}"),
            (begin, "") => format!("When: {begin}{}", self.lasts),
            (begin, end) => format!("When: {begin} to {end}"),
        };

        let who = if self.who.is_empty() {
            String::new()
        } else {
            format!("Who: {}", self.who.join("; "))
        };

        let first = [self.what.as_str(), &when].into_iter();
        let all = first.chain(self.lines.iter().map(String::as_str));
        let all = all.chain([who.as_str(), &self.description]);
        let lines = all.filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Returns a day or a moment, with its time zone, as in `2026-06-12 09:00 UTC`.
fn moment(property: &Property) -> String {
    // RFC 5545: a time that ends with Z is in UTC, one without a zone is local
    let value = property.value.trim_end_matches('Z');
    let zone = if value.len() < property.value.len() {
        Some("UTC")
    } else {
        property.parameter("TZID")
    };

    let time = DateTime::strptime("%Y%m%dT%H%M%S", value);
    let day = Date::strptime("%Y%m%d", value);
    match (time, day) {
        (Ok(time), _) => {
            let zone = zone.map_or_else(String::new, |zone| format!(" {zone}"));
            format!("{}{zone}", time.strftime("%Y-%m-%d %H:%M"))
        }
        (Err(_), Ok(day)) => day.to_string(),
        (Err(_), Err(_)) => property.value.clone(),
    }
}

fn unescape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next() {
                Some('n' | 'N') => text.push('\n'),
                other => text.extend(other),
            },
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_what_when_where_and_who() {
        let source = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1\r\nSUMMARY:Winter\\, drill\r\n\
                      DTSTART:20260612T090000Z\r\nDTEND;TZID=Europe/Oslo:20260612T113000\r\nLOCATION:Boat shed\r\n\x20 two\r\n\
                      ORGANIZER;CN=\"Ann Oakes\":mailto:ann@example.org\r\nATTENDEE:mailto:bob@example.org\r\n\
                      DESCRIPTION:Take a lamp\\nand rope.\r\nEND:VEVENT\r\n\
                      BEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20260701\r\nRRULE:FREQ=WEEKLY\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
        let found = extract(source);
        assert_eq!(
            found.text,
            "Winter, drill\nWhen: 2026-06-12 09:00 UTC to 2026-06-12 11:30 Europe/Oslo\nWhere: Boat shed two\n\
             Who: Ann Oakes; bob@example.org\nTake a lamp\nand rope.\n\nWhen: 2026-07-01\nRepeats: FREQ=WEEKLY"
        );
        let at = found.text.find("Repeats").expect("a word");
        let origin = found.origin.source_range(at..at + 7);
        assert!(source[origin.start as usize..].starts_with("BEGIN:VEVENT\r\nDTSTART;VALUE"));
        assert_eq!(extract("no calendar").text, "no calendar");
    }
}
