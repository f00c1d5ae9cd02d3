//! Text that is typed. Its cursor stands between graphemes, and edits begin and end there: an emoji
//! of seven characters is passed and deleted as one.

use std::ops::Range;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use crate::tui::text;

/// A text that is typed, with its cursor.
#[derive(Debug, Clone, Default)]
pub struct TypedText {
    text: String,
    /// Byte offset between two graphemes.
    cursor: usize,
    /// The end of the selection that is not the cursor.
    anchor: Option<usize>,
    /// The text that was last deleted by word, line or selection.
    deleted: String,
}

impl TypedText {
    /// Creates a typed text, the cursor at its end.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            cursor: text.len(),
            ..Self::default()
        }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Selects all of it: the next text that is typed replaces it.
    pub fn select_all(&mut self) {
        self.anchor = Some(0);
        self.cursor = self.text.len();
    }

    /// Inserts a text at the cursor, in the place of what is selected.
    pub fn insert(&mut self, inserted: &str) {
        self.delete(self.cursor);
        self.text.insert_str(self.cursor, inserted);
        self.move_to(self.cursor + inserted.len(), false);
    }

    /// Handles a key as a shell does. Line breaks and tabs come by actions and pasting alone.
    pub fn press(&mut self, key: &KeyEvent) {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        let is_alt = key.modifiers.contains(KeyModifiers::ALT);
        let selects = key.modifiers.contains(KeyModifiers::SHIFT);
        let by_word = is_control || is_alt;

        match key.code {
            KeyCode::Left if by_word => self.move_to(self.word_start(), selects),
            KeyCode::Left => self.move_to(self.grapheme_start(), selects),
            KeyCode::Right if by_word => self.move_to(self.word_end(), selects),
            KeyCode::Right => self.move_to(self.grapheme_end(), selects),
            KeyCode::Home => self.move_to(self.line_start(), selects),
            KeyCode::End => self.move_to(self.line_end(), selects),
            KeyCode::Backspace if by_word => self.cut(self.word_start()),
            KeyCode::Backspace => self.delete(self.erased_start()),
            KeyCode::Delete if by_word => self.cut(self.word_end()),
            KeyCode::Delete => self.delete(self.grapheme_end()),
            // both at once are AltGr on some keyboards
            KeyCode::Char(_) if is_control && is_alt => {}
            KeyCode::Char(letter) if is_control => self.press_control(letter),
            KeyCode::Char(letter) if is_alt => self.press_alt(letter),
            KeyCode::Char(letter) => self.insert(letter.encode_utf8(&mut [0; 4])),
            _ => {}
        }
    }

    fn press_control(&mut self, letter: char) {
        match letter {
            'a' => self.move_to(self.line_start(), false),
            'e' => self.move_to(self.line_end(), false),
            'b' => self.move_to(self.grapheme_start(), false),
            'f' => self.move_to(self.grapheme_end(), false),
            'h' => self.delete(self.erased_start()),
            'd' => self.delete(self.grapheme_end()),
            'w' => self.cut(self.word_start()),
            // the end of a line that is reached already is its line break
            'u' if self.cursor == self.line_start() => self.delete(self.grapheme_start()),
            'u' => self.cut(self.line_start()),
            'k' if self.cursor == self.line_end() => self.delete(self.grapheme_end()),
            'k' => self.cut(self.line_end()),
            'x' => self.cut(self.cursor),
            'y' => self.insert(&self.deleted.clone()),
            _ => {}
        }
    }

    fn press_alt(&mut self, letter: char) {
        match letter {
            'b' => self.move_to(self.word_start(), false),
            'f' => self.move_to(self.word_end(), false),
            'h' => self.cut(self.word_start()),
            'd' => self.cut(self.word_end()),
            _ => {}
        }
    }

    /// Moves the cursor to the line above or below, about as far from its start. Returns whether
    /// there is one.
    pub fn move_to_line(&mut self, is_below: bool) -> bool {
        let start = self.line_start();
        let cells = text::width(&self.text[start..self.cursor]);
        let wanted = if is_below {
            self.line_end() + 1
        } else {
            let above = &self.text[..start.saturating_sub(1)];
            above.rfind('\n').map_or(0, |at| at + 1)
        };
        if wanted > self.text.len() || (!is_below && start == 0) {
            return false;
        }

        let line = self.text[wanted..].split('\n').next().unwrap_or_default();
        self.move_to(wanted + text::end_of_cells(line, cells), false);
        true
    }

    /// Moves the cursor, to the end of the grapheme that this offset is inside of.
    fn move_to(&mut self, at: usize, selects: bool) {
        self.anchor = selects.then_some(self.anchor.unwrap_or(self.cursor));
        let mut boundary = GraphemeCursor::new(at, self.text.len(), true);
        self.cursor = match boundary.is_boundary(&self.text, 0) {
            Ok(false) => at + self.text[at..].graphemes(true).next().map_or(0, str::len),
            Ok(true) | Err(_) => at,
        };
    }

    /// Removes what is selected; without a selection, what is between an offset and the cursor.
    fn remove(&mut self, other: usize) -> String {
        let mut range = self.selection();
        if range.is_empty() {
            range = self.cursor.min(other)..self.cursor.max(other);
        }
        let removed = self.text.drain(range.clone()).collect();
        self.move_to(range.start, false);
        removed
    }

    fn delete(&mut self, other: usize) {
        self.remove(other);
    }

    fn cut(&mut self, other: usize) {
        let removed = self.remove(other);
        if !removed.is_empty() {
            self.deleted = removed;
        }
    }

    fn selection(&self) -> Range<usize> {
        let anchor = self.anchor.unwrap_or(self.cursor);
        self.cursor.min(anchor)..self.cursor.max(anchor)
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        let rest = &self.text[self.cursor..];
        self.cursor + rest.find('\n').unwrap_or(rest.len())
    }

    fn grapheme_start(&self) -> usize {
        let before = self.text[..self.cursor].graphemes(true).next_back();
        self.cursor - before.map_or(0, str::len)
    }

    fn grapheme_end(&self) -> usize {
        let after = self.text[self.cursor..].graphemes(true).next();
        self.cursor + after.map_or(0, str::len)
    }

    /// Returns the start of what a backspace erases. The marks of Thai, Hebrew or Hindi are typed
    /// one after the other and are erased so; an emoji and a letter with a composed form (é) are
    /// erased whole, since nobody typed the characters that they consist of.
    fn erased_start(&self) -> usize {
        let start = self.grapheme_start();
        let grapheme = &self.text[start..self.cursor];
        let is_letter = grapheme.starts_with(char::is_alphabetic);
        let is_composed = grapheme.nfc().nth(1).is_none();
        match grapheme.chars().next_back() {
            Some(last) if is_letter && !is_composed && !is_variation_selector(last) => {
                self.cursor - last.len_utf8()
            }
            Some(_) | None => start,
        }
    }

    fn word_start(&self) -> usize {
        let mut before = self.text[..self.cursor].split_word_bound_indices();
        let word = before.rfind(|(_, piece)| is_word(piece));
        word.map_or(0, |(at, _)| at)
    }

    fn word_end(&self) -> usize {
        let mut after = self.text[self.cursor..].split_word_bound_indices();
        let word = after.find(|(_, piece)| is_word(piece));
        let end = word.map(|(at, piece)| self.cursor + at + piece.len());
        end.unwrap_or(self.text.len())
    }

    /// Draws the lines, wrapped where the area has several rows. The cursor is in sight where it is
    /// shown.
    pub fn draw(&self, area: Rect, buffer: &mut Buffer, style: Style, shows_cursor: bool) {
        // the cursor needs a cell after the text
        let cells = usize::from(area.width.saturating_sub(1));
        let starts = if area.height > 1 {
            let rows = text::wrap(&self.text, cells).into_iter();
            rows.map(|row| row.start).collect()
        } else {
            vec![self.first_in_sight(cells)]
        };
        let row_of_cursor = starts.iter().rposition(|start| *start <= self.cursor);
        let hidden = (row_of_cursor.unwrap_or(0) + 1).saturating_sub(usize::from(area.height));

        for (y, row) in (area.y..area.bottom()).zip(hidden..starts.len()) {
            let end = starts.get(row + 1).copied();
            let row_area = Rect {
                y,
                height: 1,
                ..area
            };
            let bytes = starts[row]..end.unwrap_or(self.text.len());
            self.draw_row(bytes, row_area, buffer, style);
            if shows_cursor && Some(row) == row_of_cursor {
                let before = text::width(&self.text[starts[row]..self.cursor]).min(cells);
                let under = self.text[self.cursor..].graphemes(true).next();
                let wide = under.map_or(1, text::width).clamp(1, cells + 1 - before) as u16;
                let cursor = Rect {
                    x: area.x + before as u16,
                    width: wide,
                    ..row_area
                };
                buffer.set_style(cursor, style.reversed());
            }
        }
    }

    fn draw_row(&self, row: Range<usize>, area: Rect, buffer: &mut Buffer, style: Style) {
        let selected = self.selection();
        let mut x = area.x;
        for (offset, grapheme) in self.text[row.clone()].grapheme_indices(true) {
            let is_selected = selected.contains(&(row.start + offset));
            let style = if is_selected { style.reversed() } else { style };
            let room = usize::from(area.right() - x);
            (x, _) = buffer.set_stringn(x, area.y, grapheme, room, style);
        }
    }

    /// Returns the first byte of a single row in which the cursor is in sight.
    fn first_in_sight(&self, cells: usize) -> usize {
        let before = &self.text[..self.cursor];
        let mut used = 0;
        let mut from_cursor = before.grapheme_indices(true).rev();
        let hidden = from_cursor.find(|(_, grapheme)| {
            used += text::width(grapheme);
            used > cells
        });
        hidden.map_or(0, |(at, grapheme)| at + grapheme.len())
    }
}

fn is_word(piece: &str) -> bool {
    piece.contains(|c: char| !c.is_whitespace() && !c.is_ascii_punctuation())
}

fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use ratatui::style::Modifier;

    use super::*;

    /// The text after some keys, with `|` where the cursor is.
    fn press(typed: &mut TypedText, keys: &[(KeyCode, KeyModifiers)]) -> String {
        for (code, modifiers) in keys {
            typed.press(&KeyEvent::new(*code, *modifiers));
        }
        let (before, after) = typed.text.split_at(typed.cursor);
        format!("{before}|{after}")
    }

    const BACKSPACE: (KeyCode, KeyModifiers) = (KeyCode::Backspace, KeyModifiers::NONE);
    const LEFT: (KeyCode, KeyModifiers) = (KeyCode::Left, KeyModifiers::NONE);
    const RIGHT: (KeyCode, KeyModifiers) = (KeyCode::Right, KeyModifiers::NONE);
    const DELETE: (KeyCode, KeyModifiers) = (KeyCode::Delete, KeyModifiers::NONE);

    #[test]
    fn an_emoji_is_passed_and_deleted_as_one_and_marks_one_by_one() {
        let whole = [
            "👩‍👩‍👧‍👦",
            "🇳🇴",
            "👍🏽",
            "❤️",
            "Ⓜ️",
            "1️⃣",
            "🏴󠁧󠁢󠁳󠁣󠁴󠁿",
            "é",
            "e\u{301}",
            "か\u{3099}",
            "\u{1112}\u{1161}\u{11ab}",
        ];
        for grapheme in whole {
            let typed = || TypedText::new(&format!("a{grapheme}b"));
            assert_eq!(press(&mut typed(), &[LEFT, BACKSPACE]), "a|b", "{grapheme}");
            assert_eq!(
                press(&mut typed(), &[LEFT, LEFT, DELETE]),
                "a|b",
                "{grapheme}"
            );
            let back_and_forth = [LEFT, LEFT, RIGHT, BACKSPACE];
            assert_eq!(press(&mut typed(), &back_and_forth), "a|b", "{grapheme}");
        }

        // consonant, vowel and tone of Thai; letter and points of Hebrew; consonants of Hindi
        for (grapheme, rest) in [("ที่", "ที"), ("שּׁ", "שּ"), ("क्ष", "क्"), ("q\u{301}", "q")]
        {
            let typed = || TypedText::new(&format!("a{grapheme}"));
            assert_eq!(press(&mut typed(), &[BACKSPACE]), format!("a{rest}|"));
            assert_eq!(press(&mut typed(), &[LEFT]), format!("a|{grapheme}"));
            assert_eq!(press(&mut typed(), &[LEFT, DELETE]), "a|");
        }
    }

    #[test]
    fn words_lines_and_selections_are_edited_as_in_a_shell() {
        use KeyCode::{Backspace, Char, End, Home, Left, Right};
        use KeyModifiers as Held;
        type Key = (KeyCode, Held);
        let cases: &[(&str, &[Key], &str)] = &[
            ("two 👩‍👩‍👧‍👦 (x)", &[(Left, Held::CONTROL); 2], "two |👩‍👩‍👧‍👦 (x)"),
            ("two 👩‍👩‍👧‍👦", &[(Char('w'), Held::CONTROL)], "two |"),
            ("don't ", &[(Backspace, Held::ALT)], "|"),
            (
                "a/bc",
                &[(Home, Held::NONE), (Right, Held::ALT), (Right, Held::ALT)],
                "a/bc|",
            ),
            ("ab\ncd", &[(Char('u'), Held::CONTROL)], "ab\n|"),
            ("ab\ncd", &[(Char('u'), Held::CONTROL); 2], "ab|"),
            (
                "ab\ncd",
                &[(Home, Held::NONE), (Char('k'), Held::CONTROL)],
                "ab\n|",
            ),
            (
                "ab cd",
                &[(Char('w'), Held::CONTROL), (Char('y'), Held::CONTROL)],
                "ab cd|",
            ),
            (
                "ab👍🏽",
                &[
                    (Left, Held::SHIFT),
                    (Left, Held::SHIFT),
                    (Char('x'), Held::NONE),
                ],
                "ax|",
            ),
            (
                "ab",
                &[
                    (Left, Held::SHIFT),
                    (End, Held::NONE),
                    (Char('x'), Held::NONE),
                ],
                "abx|",
            ),
            ("ab", &[(Char('@'), Held::CONTROL | Held::ALT)], "ab|"),
        ];
        for (text, keys, expected) in cases {
            assert_eq!(
                press(&mut TypedText::new(text), keys),
                *expected,
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_text_that_joins_what_was_typed_leaves_the_cursor_between_graphemes() {
        let mut typed = TypedText::new("🇳x🇴");
        assert_eq!(press(&mut typed, &[LEFT, BACKSPACE]), "🇳🇴|");
        typed.insert("\u{308}");
        assert_eq!(press(&mut typed, &[LEFT]), "|🇳🇴\u{308}");
    }

    #[test]
    fn lines_are_left_at_about_the_same_column() {
        let mut typed = TypedText::new("日本語\na👍🏽b");
        assert!(typed.move_to_line(false));
        assert_eq!(press(&mut typed, &[]), "日本|語\na👍🏽b");
        assert!(!typed.move_to_line(false));
        assert!(typed.move_to_line(true));
        assert_eq!(press(&mut typed, &[]), "日本語\na👍🏽b|");
        assert!(!typed.move_to_line(true));
    }

    /// The rows of the text in an area of this size, and the columns of the cursor in its row.
    fn draw(typed: &TypedText, width: u16, height: u16) -> (Vec<String>, Vec<u16>) {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        typed.draw(area, &mut buffer, Style::default(), true);
        let is_reversed = |column: &u16| {
            let column = (0..height).map(|row| &buffer[(*column, row)]);
            column
                .into_iter()
                .any(|cell| cell.modifier.contains(Modifier::REVERSED))
        };
        let row = |y| {
            let (mut row, mut x) = (String::new(), 0);
            while x < width {
                let sign = buffer[(x, y)].symbol();
                row.push_str(sign);
                x += text::width(sign).max(1) as u16;
            }
            row.trim_end().to_owned()
        };
        let rows = (0..height).map(row).collect();
        (rows, (0..width).filter(is_reversed).collect())
    }

    #[test]
    fn the_cursor_is_as_wide_as_what_it_is_on_and_in_sight() {
        let mut typed = TypedText::new("a👩‍👩‍👧‍👦b");
        assert_eq!(draw(&typed, 9, 1), (vec!["a👩‍👩‍👧‍👦b".to_owned()], vec![4]));
        press(&mut typed, &[LEFT, LEFT]);
        assert_eq!(draw(&typed, 9, 1), (vec!["a👩‍👩‍👧‍👦b".to_owned()], vec![1, 2]));

        let long = TypedText::new("日本語日本語");
        assert_eq!(draw(&long, 6, 1), (vec!["本語".to_owned()], vec![4]));
        assert_eq!(
            draw(&TypedText::new("one two three"), 6, 2).0,
            ["two", "three"]
        );
    }
}
