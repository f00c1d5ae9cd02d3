//! A column of rows and a window onto it, which every pane and overlay consists of. Scrolling,
//! selection and search work on rows and know nothing of their meaning.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::hyperlinks::{Placed, Target};
use super::text;
use super::theme::{Theme, Tone};

/// Something that can be selected: a sentence and its citations, a lookup and its hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Item {
    pub row: usize,
    /// 0 is the thing itself, 1.. its parts.
    pub part: usize,
}

impl Item {
    pub const fn new(row: usize, part: usize) -> Self {
        Self { row, part }
    }
}

/// One row, and the item that it belongs to.
#[derive(Debug, Clone, Default)]
pub struct Row {
    pub line: Line<'static>,
    pub item: Option<Item>,
    /// The line of the document that it shows, from 1.
    pub number: Option<u32>,
    /// The part that names a place in a document.
    pub target: Option<Target>,
}

/// Rows from top to bottom.
#[derive(Debug, Clone, Default)]
pub struct Content {
    pub rows: Vec<Row>,
    /// The rows that stay in sight until the next of these: the headers of tables, in order.
    pub heads: Vec<Range<usize>>,
    /// Number of rows at the end that stay in sight.
    pub foot: usize,
    /// The row at which a following window begins where the rows are complete; otherwise it keeps
    /// to the end.
    pub start: Option<usize>,
    /// The rows that such a window has in sight: it begins further down where they would not be.
    pub wanted: Range<usize>,
    /// True where the rows say themselves which of them is selected.
    pub is_marked: bool,
}

/// The position of the window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scroll {
    /// First row shown; beyond the end means the end.
    pub top: usize,
    pub selected: Option<Item>,
    /// Keep the end in sight while rows are added.
    pub follow: bool,
}

impl Content {
    /// A row that cannot be selected.
    pub fn line(&mut self, line: impl Into<Line<'static>>) {
        self.rows.push(Row {
            line: line.into(),
            ..Row::default()
        });
    }

    /// A row of a line of a document.
    pub fn document_line(&mut self, number: u32, line: impl Into<Line<'static>>) {
        self.rows.push(Row {
            line: line.into(),
            number: Some(number),
            ..Row::default()
        });
    }

    /// A row of an item.
    pub fn item(&mut self, item: Item, line: impl Into<Line<'static>>) {
        self.rows.push(Row {
            line: line.into(),
            item: Some(item),
            ..Row::default()
        });
    }

    /// Makes cells of the last row a link to a place in a document.
    pub fn target(&mut self, cells: Range<usize>, document: &str, fragment: String) {
        let cell = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        if let Some(row) = self.rows.last_mut() {
            row.target = Some(Target {
                cells: cell(cells.start)..cell(cells.end),
                document: document.to_owned(),
                fragment,
            });
        }
    }

    /// An empty row.
    pub fn gap(&mut self) {
        self.line("");
    }

    /// The items in their order, each once.
    pub fn items(&self) -> impl Iterator<Item = Item> {
        let mut last = None;
        self.rows
            .iter()
            .filter_map(move |row| row.item.filter(|item| last.replace(*item) != Some(*item)))
    }

    /// The rows of an item.
    pub fn rows_of(&self, item: Item) -> Option<Range<usize>> {
        let first = self.rows.iter().position(|row| row.item == Some(item))?;
        let rows = self.rows[first..].iter();
        let len = rows.take_while(|row| row.item == Some(item)).count();
        Some(first..first + len)
    }

    /// Number of the rows above an item that belong to none: its heading. 0 where they take half of
    /// the height.
    fn heading(&self, start: usize, height: usize) -> usize {
        let above = self.rows[..start].iter().rev();
        let rows = above.take_while(|row| row.item.is_none()).count();
        if 2 * rows < height { rows } else { 0 }
    }

    /// The first row of a line of a document, or of the line after it where it has none.
    pub fn row_of_line(&self, number: u32) -> Option<usize> {
        let is_at = |row: &Row| row.number.is_some_and(|at| at >= number);
        self.rows.iter().position(is_at)
    }

    /// The line of a document that is shown at a row, or next below it.
    pub fn line_at(&self, row: usize) -> Option<u32> {
        self.rows.get(row..)?.iter().find_map(|row| row.number)
    }

    /// The rows above the window that stay in sight, when it begins at `top`: they and the foot
    /// leave a row.
    pub fn head(&self, top: usize, height: usize) -> Option<Range<usize>> {
        let begun = self.heads.partition_point(|head| head.start < top);
        let head = self.heads[..begun].last()?;
        let most = height.saturating_sub(self.foot(height) + 1);
        Some(head.start..head.end.min(head.start + most))
    }

    /// First row of the window at a height.
    pub fn top(&self, scroll: &Scroll, height: usize) -> usize {
        let last_top = self.rows.len().saturating_sub(height);
        let top = match self.start.filter(|_| scroll.follow) {
            Some(start) => self.top_of_wanted(start, height),
            None if scroll.follow => last_top,
            None => scroll.top,
        };
        top.min(last_top)
    }

    /// First row of a window that begins at `start`; or with the wanted rows, where they are not in
    /// sight below it, or have no room at all and less than half of it there.
    fn top_of_wanted(&self, start: usize, height: usize) -> usize {
        let room = height.saturating_sub(self.foot(height));
        let covered = self.head(start + 1, height).map_or(0, |head| head.len());
        let first = self.wanted.start.saturating_sub(covered);
        let last = self.wanted.end.saturating_sub(room);
        let above = self.wanted.start.saturating_sub(start);
        let is_half_theirs = last > first && above <= room / 2;
        if last <= start || is_half_theirs {
            start
        } else {
            first.max(start)
        }
    }

    /// Number of rows of the foot that stay in sight at a height, its first ones: they leave most
    /// of it.
    fn foot(&self, height: usize) -> usize {
        self.foot.min(height.div_ceil(3))
    }

    /// The rows in sight, from top to bottom.
    pub fn in_sight(&self, scroll: &Scroll, height: usize) -> impl Iterator<Item = usize> {
        let top = self.top(scroll, height);
        let end = self.rows.len();
        let head = self.head(top, height).unwrap_or_default();
        let below = top + head.len();
        let first = end - self.foot;
        // below the rows above the last head it would be read as theirs
        let is_above = self.heads.last().is_some_and(|last| top < last.start);
        let foot = if is_above { 0 } else { self.foot(height) };
        if top + height - foot <= first {
            let between = below..top + height - foot;
            head.chain(between).chain(first..first + foot)
        } else {
            let between = below..(top + height).min(end);
            head.chain(between).chain(end..end)
        }
    }

    /// The rows that hold `needle`: of an item, which may have more rows while it is selected, the
    /// first.
    pub fn matching(&self, needle: &str) -> Vec<usize> {
        let rows = self.rows.iter().enumerate();
        let mut matching: Vec<usize> = rows
            .filter(|(_, row)| !text::matches(&plain(&row.line), needle).is_empty())
            .map(|(at, _)| at)
            .collect();
        matching.dedup_by(|at, before| {
            let item = self.rows[*at].item;
            item.is_some() && item == self.rows[*before].item
        });
        matching
    }
}

impl Scroll {
    /// Moves the window by rows.
    pub fn by(&mut self, rows: isize, content: &Content, height: usize) {
        let last_top = content.rows.len().saturating_sub(height);
        let top = content.top(self, height).saturating_add_signed(rows);
        self.top = top.min(last_top);
        self.follow = false;
    }

    /// Moves the window so that rows are in sight.
    pub fn show(&mut self, rows: Range<usize>, content: &Content, height: usize) {
        let top = content.top(self, height);
        let covered = content.head(top, height).map_or(0, |head| head.len());
        let room = height - content.foot(height);
        let shown = if rows.start < top + covered || rows.len() + covered > room {
            rows.start.saturating_sub(covered)
        } else {
            top.max(rows.end.saturating_sub(room))
        };
        if shown != top {
            self.top = shown;
            self.follow = false;
        }
    }

    /// Moves the window so that the selected item is in sight, with the heading above it where that
    /// fits; with the first one the rows above it, which say what all items are, where they leave
    /// half of the height.
    pub fn show_selected(&mut self, content: &Content, height: usize) {
        let Some(item) = self.selected else { return };
        let Some(rows) = content.rows_of(item) else {
            return;
        };
        let is_first = content.items().next() == Some(item);
        if is_first && 2 * rows.start <= height {
            self.show(0..rows.end.min(height), content, height);
        } else {
            let start = rows.start - content.heading(rows.start, height);
            self.show(start..rows.end.min(start + height), content, height);
        }
    }

    /// Selects the item `steps` further on, or the first or last in sight when none is selected.
    /// Where there is none, or rows up to it would be passed over, the window moves instead: all of
    /// them are seen.
    pub fn select_by(&mut self, steps: isize, content: &Content, height: usize) {
        let items: Vec<Item> = content.items().collect();
        let Some(last) = items.len().checked_sub(1) else {
            return self.by(steps, content, height);
        };

        let at = self.selected.and_then(|selected| {
            let same = items.iter().position(|item| *item == selected);
            same.or_else(|| items.iter().position(|item| *item > selected))
        });

        let next = match (at, self.selected) {
            (Some(at), _) => at.saturating_add_signed(steps).min(last),
            (None, Some(_)) => last,
            (None, None) if steps < 0 => last,
            (None, None) => 0,
        };

        let passes_over = self.selected.is_some_and(|selected| {
            steps.abs() == 1 && self.passes_over(selected, items[next], content, height)
        });
        if self.selected == Some(items[next]) {
            self.by(steps, content, height);
        } else if passes_over {
            let page = height.saturating_sub(1).max(1) as isize;
            self.by(steps * page, content, height);
        } else {
            self.selected = Some(items[next]);
            self.show_selected(content, height);
        }
    }

    /// Returns whether rows between the window and the next item would not be in sight, besides
    /// those of the last one.
    fn passes_over(&self, from: Item, to: Item, content: &Content, height: usize) -> bool {
        let (Some(from), Some(to)) = (content.rows_of(from), content.rows_of(to)) else {
            return false;
        };
        let top = content.top(self, height);
        let end = top + height - content.foot(height);
        // an item that was left shows its details no longer
        if from.start < to.start && from.start < end {
            end.max(from.end) < to.start - content.heading(to.start, height)
        } else if from.start < to.start {
            end < from.start - content.heading(from.start, height)
        } else {
            to.end < top.min(from.start)
        }
    }
}

/// Draws the window: rows, the selected item, matches of the search, and a scroll bar when not all
/// is in sight.
pub struct Window<'a> {
    pub content: &'a Content,
    pub scroll: &'a Scroll,
    pub theme: &'a Theme,
    /// True when this window is focused.
    pub focused: bool,
    /// The text to search for; empty for none.
    pub needle: &'a str,
}

impl Window<'_> {
    /// Draws into `area`; the bar of the scroll position goes to the column right of it.
    pub fn draw(&self, area: Rect, buffer: &mut Buffer) {
        let mut sign_at = None;
        for (line_area, row) in self.rows(area) {
            let selected = row.item.is_some() && row.item == self.scroll.selected;
            if selected {
                let tone = if self.focused {
                    Tone::Selection
                } else {
                    Tone::Text
                };
                let mut style = self.theme.style(tone);
                // only the name of what is selected is bold: its details are read
                if sign_at.is_some() {
                    style = style.remove_modifier(Modifier::BOLD);
                }
                sign_at.get_or_insert(line_area);
                buffer.set_style(line_area, style);
            }

            let line = if self.needle.is_empty() {
                row.line.clone()
            } else {
                self.with_matches(&row.line)
            };
            (&line).render(line_area, buffer);
        }
        if let Some(Rect {
            x, y, width: 1.., ..
        }) = sign_at.filter(|_| !self.content.is_marked)
        {
            let sign = if self.focused { "▸" } else { "·" };
            buffer.set_stringn(x, y, sign, 1, self.theme.style(Tone::Focus));
        }
        let top = self.content.top(self.scroll, usize::from(area.height));
        self.draw_position(area, top, buffer);
    }

    /// Returns the rows in sight, each with its area.
    fn rows(&self, area: Rect) -> impl Iterator<Item = (Rect, &Row)> {
        let height = usize::from(area.height);
        let rows = self.content.in_sight(self.scroll, height);
        area.rows().zip(rows.map(|at| &self.content.rows[at]))
    }

    /// Returns the places that the rows in sight name.
    pub fn places(&self, area: Rect) -> Vec<Placed> {
        let place = |(area, row): (Rect, &Row)| {
            let target = row.target.as_ref()?;
            let cells = Rect {
                x: area.x.saturating_add(target.cells.start),
                width: target.cells.len() as u16,
                ..area
            };
            Some(Placed {
                area: cells.intersection(area),
                document: target.document.clone(),
                fragment: target.fragment.clone(),
            })
        };

        self.rows(area).filter_map(place).collect()
    }

    fn draw_position(&self, area: Rect, top: usize, buffer: &mut Buffer) {
        let rows = self.content.rows.len();
        let height = usize::from(area.height);

        if rows <= height || height == 0 || area.right() >= buffer.area.right() {
            return;
        }

        let thumb = (height * height / rows).max(1);
        let start = (top * (height - thumb)).div_ceil(rows - height);
        let start = start.min(height - thumb);

        let is_focused = self.focused;
        let tone = if is_focused { Tone::Focus } else { Tone::Quiet };
        let style = self.theme.style(tone);

        for y in start..start + thumb {
            buffer.set_stringn(area.right(), area.y + y as u16, "▐", 1, style);
        }
    }

    fn with_matches(&self, line: &Line<'static>) -> Line<'static> {
        let style = self.theme.style(Tone::Match);
        let mut line = line.clone();
        for range in text::matches(&plain(&line), self.needle) {
            line = patch_line(line, range, style);
        }
        line
    }
}

/// Returns the text of a line without its looks.
pub fn plain(line: &Line<'_>) -> String {
    let texts = line.spans.iter().map(|span| span.content.as_ref());
    texts.collect()
}

/// Lays a look over a range of bytes of a line.
pub fn patch_line(line: Line<'static>, range: Range<usize>, style: Style) -> Line<'static> {
    let mut spans = Vec::with_capacity(line.spans.len() + 2);
    let mut start = 0;

    for span in line.spans {
        let len = span.content.len();
        let from = range.start.clamp(start, start + len) - start;
        let to = range.end.clamp(start, start + len) - start;
        for (part, look) in [
            (0..from, span.style),
            (from..to, span.style.patch(style)),
            (to..len, span.style),
        ] {
            if !part.is_empty() {
                spans.push(Span::styled(span.content[part].to_owned(), look));
            }
        }
        start += len;
    }

    Line { spans, ..line }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::theme::Depth;
    use super::*;

    fn content(rows: usize) -> Content {
        let mut content = Content::default();
        for row in 0..rows {
            content.item(Item::new(row, 0), format!("row {row}"));
        }
        content
    }

    #[test]
    fn selecting_keeps_the_item_in_sight() {
        let content = content(20);
        let mut scroll = Scroll::default();
        for _ in 0..8 {
            scroll.select_by(1, &content, 5);
        }
        assert_eq!((scroll.selected, scroll.top), (Some(Item::new(7, 0)), 3));
        scroll.select_by(-100, &content, 5);
        assert_eq!((scroll.selected, scroll.top), (Some(Item::new(0, 0)), 0));
    }

    #[test]
    fn moving_up_to_the_first_item_shows_the_rows_above_it() {
        let mut content = Content::default();
        content.line("the query");
        content.line("the columns");
        for row in 0..9 {
            content.item(Item::new(row, 0), format!("row {row}"));
        }
        for (steps, height, top) in [
            (&[1, 8, -8][..], 4, 0),
            (&[1, 8], 4, 7),
            (&[1, 8, -8], 3, 2),
        ] {
            let mut scroll = Scroll::default();
            for by in steps {
                scroll.select_by(*by, &content, height);
            }
            assert_eq!(scroll.top, top, "{steps:?} at {height}");
        }
    }

    #[test]
    fn the_first_row_alone_of_what_is_selected_is_bold() {
        let mut content = content(3);
        for details in ["its size", "its place"] {
            content.item(Item::new(2, 0), details);
        }
        let scroll = Scroll {
            selected: Some(Item::new(2, 0)),
            ..Scroll::default()
        };
        for (depth, mark) in [
            (Depth::True, Modifier::empty()),
            (Depth::None, Modifier::REVERSED),
        ] {
            let theme = Theme::load("dark", Path::new(""), depth).expect("a theme");
            let area = Rect::new(0, 0, 10, 5);
            let mut buffer = Buffer::empty(area);
            let window = Window {
                content: &content,
                scroll: &scroll,
                theme: &theme,
                focused: true,
                needle: "",
            };
            window.draw(area, &mut buffer);
            let looks = (0..5).map(|y| buffer[(2, y)].style().add_modifier);
            let plain = Modifier::empty();
            let expected = [plain, plain, mark | Modifier::BOLD, mark, mark];
            assert_eq!(looks.collect::<Vec<_>>(), expected, "{depth:?}");
        }
    }

    #[test]
    fn an_item_of_several_rows_is_one_match() {
        let mut content = content(3);
        content.item(Item::new(2, 0), "more of row 2");
        content.line("a row");
        content.line("a row");
        assert_eq!(content.matching("row"), [0, 1, 2, 4, 5]);
    }

    #[test]
    fn following_ends_when_the_user_scrolls() {
        let mut scroll = Scroll {
            follow: true,
            ..Scroll::default()
        };
        assert_eq!(content(20).top(&scroll, 5), 15);
        scroll.by(-2, &content(20), 5);
        assert_eq!(content(30).top(&scroll, 5), 13);
    }

    #[test]
    fn complete_rows_are_shown_from_their_start_with_their_foot() {
        let mut content = content(20);
        content.heads.push(4..5);
        content.foot = 1;
        let rows = |content: &Content, scroll: &Scroll| -> Vec<usize> {
            content.in_sight(scroll, 5).collect()
        };
        let mut scroll = Scroll {
            follow: true,
            ..Scroll::default()
        };
        assert_eq!(rows(&content, &scroll), [4, 16, 17, 18, 19]);
        content.start = Some(4);
        assert_eq!(rows(&content, &scroll), [4, 5, 6, 7, 19]);
        scroll.show(9..10, &content, 5);
        assert_eq!(rows(&content, &scroll), [4, 7, 8, 9, 19]);
        content.foot = 3;
        assert_eq!(rows(&content, &scroll), [4, 7, 8, 17, 18], "its first rows");
        scroll.show(16..17, &content, 5);
        assert_eq!(rows(&content, &scroll), [4, 15, 16, 17, 18]);
        scroll.show(19..20, &content, 5);
        assert_eq!(rows(&content, &scroll), [4, 16, 17, 18, 19], "all of it");
    }

    #[test]
    fn the_wanted_rows_are_in_sight_and_the_foot_is_not_below_other_rows() {
        let mut content = content(20);
        content.heads.push(4..6);
        content.foot = 2;
        content.start = Some(4);
        content.wanted = 10..12;
        let rows = |content: &Content, scroll: &Scroll, height: usize| -> Vec<usize> {
            content.in_sight(scroll, height).collect()
        };
        let mut scroll = Scroll {
            follow: true,
            ..Scroll::default()
        };
        assert_eq!(rows(&content, &scroll, 6), [4, 5, 10, 11, 18, 19]);
        assert_eq!(rows(&content, &scroll, 4), [4, 10, 18, 19], "a row of them");
        content.wanted = 7..9;
        assert_eq!(rows(&content, &scroll, 7), [4, 5, 6, 7, 8, 18, 19], "all");
        content.wanted = 7..16;
        assert_eq!(
            rows(&content, &scroll, 7),
            [4, 5, 7, 8, 9, 18, 19],
            "the first"
        );
        content.wanted = 6..16;
        assert_eq!(
            rows(&content, &scroll, 7),
            [4, 5, 6, 7, 8, 18, 19],
            "as it is"
        );

        scroll.by(-2, &content, 7);
        assert_eq!(rows(&content, &scroll, 7), [2, 3, 4, 5, 6, 7, 8], "above");
    }

    #[test]
    fn a_row_is_not_shown_below_a_head() {
        let mut content = content(20);
        content.heads.push(1..3);
        let mut scroll = Scroll::default();
        assert_eq!(content.head(1, 5), None);
        scroll.show(9..10, &content, 5);
        assert_eq!((scroll.top, content.head(5, 5)), (5, Some(1..3)));
        scroll.show(6..7, &content, 5);
        assert_eq!(scroll.top, 4);
    }

    #[test]
    fn a_look_is_laid_over_part_of_a_line() {
        let line = Line::from(vec![Span::raw("ab"), Span::raw("cd")]);
        let patched = patch_line(line, 1..3, Style::new().bold());
        let parts: Vec<&str> = patched
            .spans
            .iter()
            .map(|span| span.content.as_ref())
            .collect();
        assert_eq!(parts, ["a", "b", "c", "d"]);
    }
}
