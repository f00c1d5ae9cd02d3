//! Extracts the text of a web page: what is between the tags, in blocks as a browser breaks them.
//!
//! html5gum splits the page into tokens as the HTML standard says. There is no tree, since a
//! citation has to open at its line: every piece of text keeps the bytes of the page that it stands
//! for. Any input gives some text; nothing is an error.

mod table;
mod open_elements;
mod formula;
mod numbered;
mod page;
mod scanner;
mod source;

use html5gum::Tokenizer;

use super::columns::Tables;
use super::format::{Extract, Format, Reader};
use crate::corpus::outline::Heading;
use crate::event::Metadata;
use page::Page;
use scanner::Scanner;
use source::PausingReader;

/// The document type stands in the first bytes of a page.
const MAX_PROLOGUE: usize = 1 << 10;
/// Maximum size of the declarations in it.
const MAX_DECLARATIONS: usize = 64 << 10;

pub(super) const FORMAT: Format = Format {
    name: "HTML",
    extensions: &["html", "htm", "xhtml", "xht"],
    library: "html5gum",
    place: "line",
    reader: Reader::Text(|source| extract(&source).with_raised_title()),
};

/// Returns the text and the headings of a page.
pub(super) fn extract(source: &str) -> Extract {
    let page = read(source);
    let mut metadata = Metadata::default();
    if let Some(title) = page.headings.iter().find(|heading| heading.level == 0) {
        metadata.set("title", &title.title);
    }
    for (name, content) in &page.said {
        metadata.set(name, content);
    }

    let tables = page.tables.finish(&page.traced.text);
    let extract = Extract {
        metadata,
        headings: page.headings,
        hidden: page.hidden,
        ..Extract::from_traced(page.traced)
    };
    tables.label(extract)
}

/// Adds the tables of a page that is a part of another text, from `start` on.
pub(super) fn add_tables(source: &str, start: usize, tables: &mut Tables) {
    let page = read(source);
    let read = page.tables.finish(&page.traced.text);
    tables.append(read, start, &page.traced.origin);
}

/// The headings of the HTML in a text of another format.
#[derive(Debug, Default)]
pub(super) struct Headings(Page);

impl Headings {
    /// Reads the part of the text from `start` on, and adds its headings to those so far, of which
    /// the last one is above it.
    pub(super) fn add(&mut self, source: &str, start: usize, headings: &mut Vec<Heading>) {
        let Self(page) = self;
        page.headings = headings.last().cloned().into_iter().collect();
        let known = page.headings.len();
        scan(source, page);
        page.end_heading();

        let position = |at: u64| start + usize::try_from(at).unwrap_or(usize::MAX);
        for heading in page.headings.drain(known..) {
            let range = page.traced.origin.source_range(heading.range);
            let range = position(range.start)..position(range.end);
            headings.push(Heading::new(range, heading.level, heading.title));
        }
    }
}

/// The elements of HTML that are open in a text of another format.
#[derive(Debug, Default)]
pub(super) struct Elements(Page);

impl Elements {
    /// Adds a tag, and returns whether what follows it is hidden.
    pub(super) fn hide_after(&mut self, tag: &str) -> bool {
        scan(tag, &mut self.0);
        self.0.hides()
    }
}

fn read(source: &str) -> Page {
    let mut page = Page::default();
    scan(source, &mut page);
    page.end_formula(0);
    page.end_script();
    page.end_heading();
    page
}

fn scan(source: &str, page: &mut Page) {
    let without_declarations = without_declarations(source);
    let source = without_declarations.as_deref().unwrap_or(source);
    let scanner = Scanner::new(source, page);
    let reader = PausingReader::new(source);
    let tokenizer = Tokenizer::<PausingReader<'_>, Scanner<'_>>::new_with_emitter(reader, scanner);
    // there are no tokens, since the scanner takes them: an item is a pause
    tokenizer.for_each(drop);
}

/// Returns a page with spaces in the place of the declarations inside of its document type, which
/// end for a browser with the first `>`; `None` where it has none.
fn without_declarations(source: &str) -> Option<String> {
    let beginning = &source[..source.floor_char_boundary(MAX_PROLOGUE)];
    let start = beginning.find("<!DOCTYPE")?;
    let begin = start + source[start..].find(['[', '>'])?;
    let inside = &source[begin..source.floor_char_boundary(begin + MAX_DECLARATIONS)];
    let mut ends = inside.match_indices(']').map(|(at, _)| begin + at + 1);
    let end = ends.find(|end| source[*end..].trim_start().starts_with('>'))?;
    inside.starts_with('[').then(|| {
        let blank = " ".repeat(end - begin);
        format!("{}{blank}{}", &source[..begin], &source[end..])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_as_a_browser_breaks_them() {
        let cases = [
            ("plain", "plain"),
            (
                "<p>one  two\n three</p><p>four<br>five</p>",
                "one two three\n\nfour\nfive",
            ),
            ("a<b>b</b> <i>c</i>", "ab c"),
            (
                "<ul><li>one</li><li>two <b>three</b></li></ul>after",
                "- one\n- two three\n\nafter",
            ),
            (
                "<ol><li><p>one</p></li><li></li><li><div>two</div></li></ol>",
                "1. one\n\n3. two",
            ),
            (
                "<ol start=4 type=a><li>one<li value=9>two<ul><li>three</ul><ol type=I><li>four</ol><li>five</ol><li>six",
                "d. one\ni. two\n\n- three\n\nI. four\n\nj. five\n\n- six",
            ),
            (
                "opens at <del>19:00 <b>sharp</b></del> <ins>20:15</ins>, <s>4 <b>kr</b></s> <strike></strike>5<s>6<p>b",
                "opens at 20:15, ~~4 kr~~ 5~~6\n\nb",
            ),
            (
                "<h1>One<a class=headerlink href='#one'>¶</a></h1><h2><a href='p.html#x'> &sect; </a>Two</h2><a href=#3># of <b>3</b></a> <a href=#4>&#xa7;&nbsp;4</a> <a href=/>#</a> §",
                "One\n\nTwo\n\n# of 3 §\u{a0}4 # §",
            ),
            (
                "<label>Name <input value='Ann  Lee'></label> <input type=hidden value=a><input type=submit value=b><label><input type=checkbox checked>lit</label><input type=checkbox checked><ul><li><input type=checkbox disabled>oil</ul><select><option>Day<option selected>Night</select>",
                "Name Ann Lee ☒ lit\n\n- ☐ oil\n\nDay\n☒ Night",
            ),
            (
                "x<sub>i</sub>, v<sub>max</sub>, H<sub>2</sub>O",
                "x_i, v_max, H₂O",
            ),
            (
                "<table><tr><th>Name<th>Age<tr><td>Ann<td>7</table>",
                "| Name | Age\n| Name: Ann | Age: 7",
            ),
            (
                "<script>if (a < b) '</p>'</script>x<style>p{}</style>y",
                "xy",
            ),
            ("<SCRIPT>never closed <p>text", ""),
            ("<svg><text>no</text><svg></svg></svg>yes", "yes"),
            ("<!-- no <p> -->yes<!DOCTYPE html><?php no ?>", "yes"),
            ("<pre>a\n  b\n\nc</pre>d", "a\n  b\n\nc\n\nd"),
            (
                "a < b && c > d &amp; &lt;tag&gt; &eacute;&#233;&#xe9;&#150; &bogus; &copy 1 &",
                "a < b && c > d & <tag> ééé– &bogus; © 1 &",
            ),
            ("<p title=\"a > b\" x='>'>text", "text"),
            ("<title>T &amp; U</title><h1>H</h1>", "T & U\n\nH"),
            ("<div><div><div>x</div></div></div>\n\n<div>y", "x\n\ny"),
            ("<textarea><b>raw</b></textarea>", "<b>raw</b>"),
            ("x<", "x<"),
            ("<p", ""),
            ("x<![CDATA[a < b]] &amp;]]>y", "xa < b]] &amp;y"),
            ("<![CDATA[never closed 漢", "never closed 漢"),
            ("<!-- ended by mistake --!>text", "text"),
            ("<script src=x /><iframe/><p>text", "text"),
            ("<title/>a<p/>b<br/>c", "a\n\nb\nc"),
            ("a&é&#59;\r\nb", "a&é; b"),
            (
                "<p>10<sup>6</sup> l, 1931<sup><a href=#3>[3]</a></sup>.",
                "10⁶ l, 1931 ³.",
            ),
            (
                "1950<a class='x footnote-ref' href=#3>3</a>, m<span style='vertical-align: super'>2</span>",
                "1950 ³, m²",
            ),
            (
                "<math><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup><mfrac><mn>1</mn><mi>x</mi></mfrac><annotation>no</annotation></math>",
                "E=mc²1/x",
            ),
            (
                "4<math><mfrac><mn>3</mn><mn>8</mn></mfrac></math> in, <math><msqrt><mi>y</mi><mo>-</mo><mn>1</mn></msqrt><mroot><mn>64</mn><mn>3</mn></mroot></math>, <math><mfrac><mrow><mi>u</mi><mo>+</mo><mi>v</mi></mrow><mrow><mo>(</mo><mi>w</mi><mo>)</mo></mrow></mfrac><mphantom><mn>7</mn></mphantom></math>",
                "4 3/8 in, √(y-1)³√64, (u+v)/(w)",
            ),
            (
                "<math><mtable><mtr><mtd><mn>5</mn></mtd><mtd><mn>6</mn></mtd></mtr><mtr><mtd><mn>7</mn></mtd></mtr></mtable><msub><mi/><mn>2</mn></msub><mtext> if &lt; </mtext><mi>z",
                "5 6; 7₂ if < z",
            ),
            ("<p>a<math><mn>9<p>b", "a9\n\nb"),
            (
                "<ruby>海<rp>(</rp><rt>うみ</rt><rp>)</rp>鳥<rt>どり<rt></ruby>の島",
                "海鳥の島",
            ),
            (
                "<aside role='x doc-footnote' hidden>a</aside><p hidden epub:type=footnote>b",
                "a\n\nb",
            ),
            (
                "a<img alt='the north  quay'><img alt=''><img alt=b hidden>c",
                "a the north quay c",
            ),
            ("x <sup>never closed<p>text", "x never closed\n\ntext"),
            (
                "re&shy;ca\u{ad}li&#8203;brate max_<wbr>life",
                "recalibrate max_life",
            ),
            ("a<div hidden>b<div>c</div></p>d</div>e", "a\n\ne"),
            ("<p style='x:y; Display : NONE !important'>a<p>b", "b"),
            (
                "<span style=font-size:0.9em>a</span><i style=font-size:0px>b</i>c",
                "ac",
            ),
            (
                "<b aria-hidden=true>a</span>b</b>c<br hidden>d<img hidden>e",
                "c\nde",
            ),
            (
                "<ul><li hidden>a<li>b</ul><dialog>c</dialog><dialog open>d",
                "- b\n\nd",
            ),
            (
                "<section><p hidden>a</section>b<details><summary>c</summary>d",
                "b\n\nc\n\nd",
            ),
            ("<table><tr hidden><td>a<td>b<tr><td>c</table>", "| c"),
            (
                "<!DOCTYPE html [<!ENTITY shy '&#173;'> <!ENTITY b '>'>] ><p>a</p>",
                "a",
            ),
            (
                "<b style='position:absolute;left:-9999px'>a</b><b style='height:0;overflow:hidden'>b</b>c<b style='mso-hide:all'>d</b><b style='display:none;display:inline'>e",
                "ce",
            ),
        ];
        for (page, text) in cases {
            assert_eq!(extract(page).text, text, "{page}");
        }
    }

    #[test]
    fn what_a_page_hides_is_counted() {
        let page = "<p hidden>a<b>b</b><p>c<script>d</script><i style=display:none> </i>\
                    <div aria-hidden=true><script>e</script>f</div>";
        assert_eq!(extract(page).hidden, 2);
    }

    #[test]
    fn rows_have_the_names_of_their_columns() {
        let cases = [
            // names by the head, by bold words, and none
            (
                "<table><thead><tr><td>A<td>B</thead><tr><td>1<td></td><tr><td><td>2</table>",
                "| A | B\n| A: 1\n| B: 2",
            ),
            (
                "<table><tr><td><b>A</b><td><p><strong>B c</strong><tr><td>1<td>2</table>",
                "| A | B c\n| A: 1 | B c: 2",
            ),
            (
                "<table><tr><td>A<td>B<tr><td>1<td>2</table>",
                "| A | B\n| 1 | 2",
            ),
            (
                "<table><tr><th>Height<td>2 m<tr><th>Weight<td>7 kg</table>",
                "| Height | 2 m\n| Weight | 7 kg",
            ),
            (
                "<table><tr><th><p>A</p></th><th><p>B</p></th></tr><tr><td><p></p></td><td><div>2</div></td></tr></table>",
                "| A | B\n\n| B: 2",
            ),
            // cells over columns and rows
            (
                "<table><tr><th rowspan=2>Lamp<th colspan='2'>Price<tr><th>EUR<th>USD<tr><td>Owl<td>1<td>2</table>",
                "| Lamp | Price\n| EUR | USD\n| Lamp: Owl | Price EUR: 1 | Price USD: 2",
            ),
            (
                "<table><tr><th>A<th>B<th>C<tr><td rowspan=\"2\">1<td colspan=0>2<td>3<tr><td>4<td>5</table>",
                "| A | B | C\n| A: 1 | B: 2 | C: 3\n| A: 1 | B: 4 | C: 5",
            ),
            (
                "<table><tr><th>A<th>B<tr><td rowspan=2>1<td>2<tr></tr><tr><td>3<td>4</table>",
                "| A | B\n| A: 1 | B: 2\n| A: 3 | B: 4",
            ),
            // a section of the rows, a sum and a table of another width name no columns
            (
                "<table><tr><th>A<th>B<tr><th colspan=2>North<tr><td>1<td>2<tfoot><tr><th>Sum<th>9</table><table><tr><td>x<td>y</table>",
                "| A | B\n| A: North\n| A: 1 | B: 2\n| A: Sum | B: 9\n\n| x | y",
            ),
            // a title above the names
            (
                "<table><thead><tr><th colspan=2>Boats<tr><th>A<th>B</thead><tr><td>1<td>2</table>",
                "| Boats\n| A | B\n| A: 1 | B: 2",
            ),
            // a page laid out as a table, with one inside
            (
                "<table><tr><th>Menu<th>Text<tr><td>Home<td><table><tr><th>A<th>B<tr><td>1<td>2</table></table>",
                "| Menu | Text\n| Home\n\n| A | B\n| A: 1 | B: 2",
            ),
            ("<tr><td>1<td>2</tr></table>after", "| 1 | 2\n\nafter"),
        ];
        for (page, text) in cases {
            assert_eq!(extract(page).text, text, "{page}");
        }
    }

    #[test]
    fn a_row_is_whole_over_its_lines() {
        let source =
            "<table><tr><th>Part<th>Note<tr><td>Lamp<td><p>Broke. Was<br>repaired.<p>Ok.</table>x";
        let found = extract(source);
        let rows: Vec<&str> = found
            .rows
            .iter()
            .map(|row| &found.text[row.clone()])
            .collect();
        assert_eq!(
            rows,
            [
                "| Part | Note",
                "| Part: Lamp | Note: Broke. Was\nrepaired.\n\nOk."
            ]
        );
        let at = found.text.find("repaired").expect("a word");
        let origin = found.origin.source_range(at..at + "repaired".len());
        assert_eq!(
            &source[origin.start as usize..origin.end as usize],
            "repaired"
        );
    }

    #[test]
    fn attributes_are_without_number() {
        // values between the pauses, on them, and with what html5gum reads in states of their own
        for value in ["", "c", "a&amp;b", "&", "\r\n", "\u{0}"] {
            let attributes = format!("b=\"{value}\" ").repeat(100_000);
            let page = format!(
                "<p {attributes}title=\"a > b\" hidden=x>no<p {attributes}>yes</p {attributes}>!"
            );
            assert_eq!(extract(&page).text, "yes\n\n!", "{value:?}");
        }
    }

    #[test]
    fn headings_have_levels_and_titles() {
        let page =
            extract("<title>Page</title><h1>One</h1>text<h2>Two <em>x</em></h2><h3></h3>more");
        let found: Vec<_> = page
            .headings
            .iter()
            .map(|heading| (heading.level, heading.title.as_str()))
            .collect();
        assert_eq!(found, [(0, "Page"), (1, "One"), (2, "Two x")]);
        let roles = extract("<div role=heading aria-level=3>One</div>x<p role=heading>Two<p>y");
        let found: Vec<_> = roles
            .headings
            .iter()
            .map(|h| (h.level, &*h.title))
            .collect();
        assert_eq!(found, [(3, "One"), (2, "Two")]);
        let two = &page.headings[2];
        assert_eq!(&page.text[two.range.clone()], "Two x");

        let summaries = extract(
            "<h1>FAQ</h1><details><summary>Canoes</summary><h4>Fee</h4>a<details><summary>Ski\
             </summary>b</details>c</details>d<h2>End</h2>",
        );
        let at = |words: &str| summaries.text.find(words).expect(words);
        let found: Vec<_> = summaries
            .headings
            .iter()
            .map(|heading| (heading.level, &*heading.title, heading.range.start))
            .collect();
        assert_eq!(
            found,
            [
                (1, "FAQ", at("FAQ")),
                (2, "Canoes", at("Canoes")),
                (4, "Fee", at("Fee")),
                (5, "Ski", at("Ski")),
                (5, "", at("b") + 1),
                (2, "", at("c\n") + 1),
                (2, "End", at("End")),
            ]
        );
    }

    #[test]
    fn the_head_names_title_author_and_date() {
        let cases = [
            (
                "<title>A &amp; B</title><META content='Ann > Bob' name=author><meta property=\"article:published_time\" content=\"2024-01-31T10:00\">",
                "A & B|Ann > Bob|2024-01-31",
            ),
            ("<h1>No title</h1><meta name=date content=x>", "||"),
            ("<meta name=\"author\" content=\"never closed", "||"),
        ];
        for (source, expected) in cases {
            let metadata = extract(source).metadata;
            let found = [metadata.title, metadata.author, metadata.date];
            let found = found.map(Option::unwrap_or_default).join("|");
            assert_eq!(found, expected, "{source}");
        }
    }

    #[test]
    fn words_are_traced_to_the_page() {
        let source = "<html>\n<p>Caf&eacute; <b>noir</b>\n and   tea</p>";
        let page = extract(source);
        for word in ["Caf", "noir", "tea", "and"] {
            let at = page.text.find(word).expect(word);
            let origin = page.origin.source_range(at..at + word.len());
            assert_eq!(&source[origin.start as usize..origin.end as usize], word);
        }
        let at = page.text.find('é').expect("é");
        let origin = page.origin.source_range(at..at + 2);
        assert_eq!(
            &source[origin.start as usize..origin.end as usize],
            "&eacute;"
        );
    }
}
