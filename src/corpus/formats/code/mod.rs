//! Source code as it is in the file, with its definitions as headings: a chunk begins at a function or a
//! type, with the comments and attributes above it, and has the path of its symbols (`impl Index`,
//! `update`).
//!
//! A language is a table of its comments, quotes and keywords. A parser for each (tree-sitter) would
//! name the same functions and types, but the eleven grammars add more than 10 MB to the program and
//! minutes to its build. A file that does not compile, or of another dialect, has fewer headings and
//! the same text.

mod mask;
mod braces;
mod lines;

use super::{Extract, Format, Reader};
use crate::corpus::document::Heading;
use braces::{Braces, Shape};
use lines::Keywords;
use mask::{Comments, Quote};

/// The rules of a language.
struct Language {
    comments: Comments,
    /// Longer marks first.
    quotes: &'static [Quote],
    /// Returns the end of a literal with rules of its own that begins at a position.
    literal: fn(&str, usize) -> Option<usize>,
    structure: Structure,
}

/// Where the definitions of a language begin and end.
enum Structure {
    Braces(Braces),
    /// A definition is a line with a keyword, and ends where the indentation does.
    Indentation(&'static Keywords),
    Shell,
}

/// Returns the text with a heading for each definition.
fn extract(text: String, language: &Language) -> Extract {
    let masked = mask::mask(&text, language);
    let headings = match &language.structure {
        Structure::Braces(rules) => braces::definitions(&text, &masked, rules),
        Structure::Indentation(keywords) => lines::indented(&text, &masked, keywords),
        Structure::Shell => lines::shell(&text, &masked),
    };
    Extract {
        headings,
        ..Extract::verbatim(text)
    }
}

/// Returns a heading without a title, which ends the section of the definitions of its level.
fn end_of_section(at: usize, level: u8) -> Heading {
    Heading {
        range: at..at,
        level,
        title: String::new(),
    }
}

/// Returns where the comments, attributes and decorators begin that are directly above `start`, not
/// before `bound`; `start` itself when there are none.
fn with_comments_above(text: &str, masked: &str, start: usize, bound: usize) -> usize {
    let mut first = start;
    let mut end = start;
    loop {
        let line = text[bound..end]
            .rfind('\n')
            .map_or(bound, |before| bound + before + 1);
        let is_whole = line == 0 || text.as_bytes()[line - 1] == b'\n';
        let content = text[line..end].trim();
        let is_own_line = end == start && masked[line..end].trim().is_empty();
        let belongs = is_own_line || is_comment(content, masked[line..end].trim());
        if !is_whole || !belongs {
            return first;
        }

        let indentation = text[line..end].len() - text[line..end].trim_start().len();
        first = (line + indentation).min(start);
        if line <= bound {
            return first;
        }
        end = line - 1;
    }
}

/// Returns whether a line is a comment, an attribute or a decorator. `code` is what the mask leaves of it.
fn is_comment(line: &str, code: &str) -> bool {
    const MARKS: &[&str] = &["//", "/*", "*", "#"];
    const DIRECTIVES: &[&str] = &[
        "#include",
        "#define",
        "#undef",
        "#if",
        "#el",
        "#endif",
        "#pragma",
        "#region",
        "#endregion",
        "#!",
    ];
    let has_mark = MARKS.iter().any(|mark| line.starts_with(mark));
    let is_directive = DIRECTIVES.iter().any(|mark| line.starts_with(mark));
    line.starts_with('@') || (code.is_empty() && has_mark && !is_directive)
}

const NO_LITERAL: fn(&str, usize) -> Option<usize> = |_, _| None;

const C_COMMENTS: Comments = Comments {
    line: &["//"],
    block: &[("/*", "*/")],
    nests: false,
    after_space: false,
    directives: false,
};

const HASH_COMMENTS: Comments = Comments {
    line: &["#"],
    block: &[],
    nests: false,
    after_space: false,
    directives: false,
};

const C_QUOTES: &[Quote] = &[Quote::line("\""), Quote::line("'")];

static RUST_RULES: Language = Language {
    comments: Comments {
        nests: true,
        ..C_COMMENTS
    },
    quotes: &[Quote::lines("\"")],
    literal: mask::rust_literal,
    structure: Structure::Braces(Braces {
        types: &[
            "struct",
            "enum",
            "union",
            "trait",
            "impl",
            "mod",
            "macro_rules",
        ],
        functions: &["fn"],
        shape: Shape::Never,
        ends_with_line: false,
    }),
};

static C_RULES: Language = Language {
    comments: Comments {
        directives: true,
        ..C_COMMENTS
    },
    quotes: C_QUOTES,
    literal: mask::cpp_literal,
    structure: Structure::Braces(Braces {
        types: &["struct", "union", "enum", "class", "namespace"],
        functions: &[],
        shape: Shape::Anywhere,
        ends_with_line: false,
    }),
};

static JAVA_RULES: Language = Language {
    comments: C_COMMENTS,
    quotes: &[Quote::lines("\"\"\""), Quote::line("\""), Quote::line("'")],
    literal: NO_LITERAL,
    structure: Structure::Braces(Braces {
        types: &["class", "interface", "enum", "record"],
        functions: &[],
        shape: Shape::InTypes,
        ends_with_line: false,
    }),
};

static KOTLIN_RULES: Language = Language {
    comments: Comments {
        nests: true,
        ..C_COMMENTS
    },
    quotes: &[Quote::lines("\"\"\""), Quote::line("\""), Quote::line("'")],
    literal: NO_LITERAL,
    structure: Structure::Braces(Braces {
        types: &["class", "interface", "object"],
        functions: &["fun"],
        shape: Shape::Never,
        ends_with_line: true,
    }),
};

static C_SHARP_RULES: Language = Language {
    comments: Comments {
        directives: true,
        ..C_COMMENTS
    },
    quotes: C_QUOTES,
    literal: mask::c_sharp_literal,
    structure: Structure::Braces(Braces {
        types: &[
            "class",
            "interface",
            "enum",
            "struct",
            "record",
            "namespace",
        ],
        functions: &[],
        shape: Shape::InTypes,
        ends_with_line: false,
    }),
};

static JAVASCRIPT_RULES: Language = Language {
    comments: C_COMMENTS,
    quotes: &[Quote::line("\""), Quote::line("'"), Quote::lines("`")],
    literal: mask::javascript_literal,
    structure: Structure::Braces(Braces {
        types: &["class", "interface", "enum", "namespace"],
        functions: &["function"],
        shape: Shape::InTypes,
        ends_with_line: true,
    }),
};

static GO_RULES: Language = Language {
    comments: C_COMMENTS,
    quotes: &[Quote::line("\""), Quote::line("'"), Quote::raw("`")],
    literal: NO_LITERAL,
    structure: Structure::Braces(Braces {
        types: &["type"],
        functions: &["func"],
        shape: Shape::Never,
        ends_with_line: true,
    }),
};

static PHP_RULES: Language = Language {
    comments: Comments {
        line: &["//", "#"],
        ..C_COMMENTS
    },
    quotes: &[Quote::lines("\""), Quote::lines("'")],
    literal: mask::php_literal,
    structure: Structure::Braces(Braces {
        types: &["class", "interface", "trait", "enum", "namespace"],
        functions: &["function"],
        shape: Shape::Never,
        ends_with_line: false,
    }),
};

static PYTHON_RULES: Language = Language {
    comments: HASH_COMMENTS,
    quotes: &[
        Quote::lines("\"\"\""),
        Quote::lines("'''"),
        Quote::line("\""),
        Quote::line("'"),
    ],
    literal: NO_LITERAL,
    structure: Structure::Indentation(&Keywords {
        modifiers: &["async"],
        types: &["class"],
        functions: &["def"],
    }),
};

static RUBY_RULES: Language = Language {
    comments: Comments {
        block: &[("\n=begin", "\n=end")],
        ..HASH_COMMENTS
    },
    quotes: C_QUOTES,
    literal: NO_LITERAL,
    structure: Structure::Indentation(&Keywords {
        modifiers: &["private", "protected", "public", "private_class_method"],
        types: &["class", "module"],
        functions: &["def"],
    }),
};

static SHELL_RULES: Language = Language {
    comments: Comments {
        after_space: true,
        ..HASH_COMMENTS
    },
    quotes: &[Quote::lines("\""), Quote::raw("'")],
    literal: mask::shell_literal,
    structure: Structure::Shell,
};

/// Returns whether a format is one of a programming language.
pub(super) fn is_language(format: &Format) -> bool {
    NAMES.contains(&format.name)
}

macro_rules! formats {
    ($($constant:ident $name:literal $rules:ident [$($extension:literal),+];)+) => {
        $(pub(super) const $constant: Format = Format {
            name: $name,
            extensions: &[$($extension),+],
            library: "ragscope",
            place: "line",
            reader: Reader::Text(|text| extract(text, &$rules)),
        };)+

        const NAMES: &[&str] = &[$($name),+];
    };
}

formats! {
    RUST "Rust" RUST_RULES ["rs"];
    PYTHON "Python" PYTHON_RULES ["py", "pyi", "pyw"];
    JAVASCRIPT "JavaScript" JAVASCRIPT_RULES ["js", "jsx", "mjs", "cjs"];
    TYPESCRIPT "TypeScript" JAVASCRIPT_RULES ["ts", "tsx", "mts", "cts"];
    GO "Go" GO_RULES ["go"];
    JAVA "Java" JAVA_RULES ["java"];
    KOTLIN "Kotlin" KOTLIN_RULES ["kt", "kts"];
    C "C" C_RULES ["c", "h"];
    CPP "C++" C_RULES ["cc", "cpp", "cxx", "hpp", "hh", "hxx"];
    C_SHARP "C#" C_SHARP_RULES ["cs"];
    RUBY "Ruby" RUBY_RULES ["rb", "rake"];
    PHP "PHP" PHP_RULES ["php"];
    SHELL "Shell" SHELL_RULES ["sh", "bash", "zsh"];
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the definitions of a text: their levels and titles, and the words that their ranges
    /// begin with.
    #[track_caller]
    fn check(format: &Format, text: &str, expected: &[(u8, &str, &str)]) {
        let Reader::Text(read) = format.reader else {
            panic!("{} is read as text", format.name);
        };
        let found = read(text.to_owned());
        assert_eq!(found.text, text);
        let headings: Vec<_> = found
            .headings
            .iter()
            .filter(|heading| !heading.title.is_empty())
            .map(|heading| {
                let begins = text[heading.range.clone()]
                    .lines()
                    .next()
                    .unwrap_or_default();
                (heading.level, heading.title.as_str(), begins)
            })
            .collect();
        assert_eq!(headings, expected, "{}", format.name);
    }

    #[test]
    fn definitions_of_rust() {
        let text = r##"//! A module {

use a::{b, c};

/// An index.
#[derive(Debug)]
pub struct Index { x: u8 }

struct Unit;
const BRACE: char = '{';

impl<'a, T: Fn(u8) -> u8> Source<'a> for Index<T>
where
    T: Copy,
{
    // Updates it.
    pub(crate) fn update<'b>(&'b mut self) -> Option<()> {
        let s = "} {"; let r = r#"" }"#; /* { /* { */ */
        match s { _ => '\'' };
        fn inner() {}
    }
}

macro_rules! keys { () => {}; }
#[cfg(test)]
mod tests { }
"##;
        check(
            &RUST,
            text,
            &[
                (1, "struct Index", "/// An index."),
                (
                    1,
                    "impl Source<'a> for Index<T>",
                    "impl<'a, T: Fn(u8) -> u8> Source<'a> for Index<T>",
                ),
                (2, "update", "// Updates it."),
                (3, "inner", "fn inner() {"),
                (1, "macro_rules! keys", "macro_rules! keys {"),
                (1, "mod tests", "#[cfg(test)]"),
            ],
        );
    }

    #[test]
    fn definitions_of_c_and_cpp() {
        let text = r#"/* License { */

#include <stdio.h>
#define X(a) { \
    a }

/* Opens it. */
static struct file *
open_file(const char *name, int flags)
{
    if (name[0] == '{') { return NULL; }
    while (flags) { flags--; }
}

static const struct entry table[] = { {1}, {2} };

template <class T, typename U>
class Shape : public Base<T> {
public:
    Shape(int a) : a_(a) { }
    ~Shape() override { }
    bool operator==(const Shape &o) const { return f([](int x) { return x; }); }
};

namespace geo {
int Shape::area(int scale = 1) const noexcept { return R"x({)x"[0]; }
}

TEST(Shape, HasArea) { EXPECT_EQ(1, 1); }
"#;
        check(
            &CPP,
            text,
            &[
                (1, "open_file", "/* Opens it. */"),
                (1, "class Shape", "template <class T, typename U>"),
                (2, "Shape", "Shape(int a) : a_(a) {"),
                (2, "~Shape", "~Shape() override {"),
                (2, "operator==", "bool operator==(const Shape &o) const {"),
                (1, "namespace geo", "namespace geo {"),
                (
                    2,
                    "Shape::area",
                    "int Shape::area(int scale = 1) const noexcept {",
                ),
                (1, "TEST(Shape, HasArea)", "TEST(Shape, HasArea) {"),
            ],
        );
    }

    #[test]
    fn definitions_of_javascript_and_typescript() {
        let text = r#"import x from "y"
const limit = 3

/** Parses it. */
export async function parse(text, options = {}) {
  if (text.match(/["'{]/)) { return `{${text}` }
  items.forEach(item => { use(item) })
}

exports.render = function (node) {
  return { a: 1 }
}

export const join = async (a, b) => {
  return a + b
}

@Component({ selector: 'x' })
export class Parser extends Base {
  #count = 0
  constructor(text) { super() }
  static async next(): Promise<Token> { return null }
  get size() { return 1 }
}

interface Options { a: number }
"#;
        check(
            &TYPESCRIPT,
            text,
            &[
                (1, "parse", "/** Parses it. */"),
                (1, "exports.render", "exports.render = function (node) {"),
                (1, "join", "export const join = async (a, b) => {"),
                (1, "class Parser", "@Component({ selector: 'x' })"),
                (2, "constructor", "constructor(text) {"),
                (2, "next", "static async next(): Promise<Token> {"),
                (2, "size", "get size() {"),
                (1, "interface Options", "interface Options {"),
            ],
        );
    }

    #[test]
    fn definitions_of_other_languages_with_braces() {
        check(
            &GO,
            "package main\n\nimport \"fmt\"\n\n// Server serves.\ntype Server struct {\n\tx interface{}\n}\n\nvar y = 1\nfunc (s *Server) Serve(v interface{}) error {\n\tgo func() { }()\n\treturn nil\n}\n\nfunc main() { }\n",
            &[
                (1, "type Server", "// Server serves."),
                (
                    1,
                    "Server.Serve",
                    "func (s *Server) Serve(v interface{}) error {",
                ),
                (1, "main", "func main() {"),
            ],
        );
        check(
            &JAVA,
            "package a;\n@Service(name = \"x\")\npublic class Index<T> implements Closeable {\n  int[] a = {1, 2};\n  /** Finds. */\n  @Override\n  public List<T> find(String s) throws IOException {\n    for (int i = 0; i < 2; i++) { }\n    run(new Runnable() { public void run() { } });\n  }\n  record Point(int x) { }\n}\n",
            &[
                (1, "class Index", "@Service(name = \"x\")"),
                (2, "find", "/** Finds. */"),
                (2, "record Point", "record Point(int x) {"),
            ],
        );
        check(
            &KOTLIN,
            "class Index(\n  val a: Int\n) : Base() {\n  val x = 1\n  fun find(s: String): Int {\n    return 1\n  }\n}\n",
            &[
                (1, "class Index", "class Index("),
                (2, "find", "fun find(s: String): Int {"),
            ],
        );
        check(
            &C_SHARP,
            "namespace A.B {\n  #region x\n  public class Index {\n    public string Path { get; set; } = @\"c:\\\";\n    [Obsolete(\"x\")]\n    public void Find<T>(T x) where T : class { if (x) { } }\n  }\n}\n",
            &[
                (1, "namespace A.B", "namespace A.B {"),
                (2, "class Index", "public class Index {"),
                (3, "Find", "[Obsolete(\"x\")]"),
            ],
        );
        check(
            &PHP,
            "<p>don't</p>\n<?php\nnamespace A;\n#[Attr]\nfinal class Index {\n  # finds\n  public function find($x) { return \"{\"; }\n}\n?>\nisn't {\n",
            &[(1, "class Index", "#[Attr]"), (2, "find", "# finds")],
        );
    }

    #[test]
    fn definitions_of_languages_by_lines() {
        check(
            &PYTHON,
            "\"\"\"def no():\"\"\"\nimport a\n\n# Parses.\n@cache\nasync def parse(\n    text: str = \"(\",\n) -> int:\n    def inner(): pass\n    return 1\n\nclass Index(Base):\n    \"\"\"Text.\n\ndef not_one():\n    \"\"\"\n    def update(self): pass\n\nmain()\n",
            &[
                (1, "parse", "# Parses."),
                (2, "inner", "def inner():"),
                (1, "class Index", "class Index(Base):"),
                (2, "update", "def update(self):"),
            ],
        );
        check(
            &RUBY,
            "module A\n  # Finds.\n  class Index < Base\n    def self.find(x)\n      \"#{x} def no\"\n    end\n\n    private def empty?\n    end\n  end\nend\n",
            &[
                (1, "module A", "module A"),
                (2, "class Index", "# Finds."),
                (3, "self.find", "def self.find(x)"),
                (3, "empty?", "private def empty?"),
            ],
        );
        check(
            &SHELL,
            "#!/bin/sh\nx=${a#b}\n# Says it.\nsay() {\n  echo \"no() {\" $#\n  cat <<EOF\nnot() {\nEOF\n}\nfunction run_all {\n  :\n}\nsay\n",
            &[
                (1, "say", "# Says it."),
                (1, "run_all", "function run_all {"),
            ],
        );
    }
}
