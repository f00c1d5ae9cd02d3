//! Words as users write them: in any form of their letters, in the language of the question, with
//! the signs that make another word.

use ragscope::config::{RetrieverKind, RetrieverSettings};
use ragscope::index::{Collection, Search as _};
use ragscope::llm::NoEmbedder;

use super::common::{Corpus, config, update_with};

/// A folder that is indexed by words alone.
fn indexed(files: &[(&str, &str)]) -> (Corpus, Collection) {
    let corpus = Corpus::with(files);
    let mut index = corpus.open();
    let mut config = config();
    config.retriever.kind = RetrieverKind::Bm25;
    update_with(&mut index, &config, &mut NoEmbedder::new("none"));
    (corpus, index)
}

/// Returns the documents that are found, best first, with their scores.
fn find(index: &Collection, question: &str, filter: &str) -> Vec<(String, f32)> {
    let settings = RetrieverSettings {
        kind: RetrieverKind::Bm25,
        filter: filter.parse().expect("a filter"),
        ..config().retriever
    };
    let found = index.search(question, &[], "", &settings).expect("hits");
    let hits = found.hits.into_iter();
    hits.map(|hit| (hit.chunk.document, hit.bm25.map_or(0.0, |bm25| bm25.score)))
        .collect()
}

fn check_first(index: &Collection, cases: &[(&str, &str)]) {
    for (question, expected) in cases {
        let found = find(index, question, "");
        let first = found.first().map(|(document, _)| document.as_str());
        assert_eq!(first, Some(*expected), "{question}: {found:?}");
    }
}

#[test]
fn letters_are_found_in_either_form() {
    let (_corpus, index) = indexed(&[
        (
            "de.md",
            "Die Bru\u{308}cke u\u{308}ber die O\u{308}lba\u{308}che wurde im Fru\u{308}hjahr gepru\u{308}ft, und die Pfeiler tragen höchstens achtzig Tonnen.",
        ),
        (
            "soft.html",
            "<p>The light\u{ad}house keeper lives beside the har&shy;bour and the break<wbr>water, and he never leaves it.</p>",
        ),
        (
            "wide.txt",
            "The invoice ２０１９ of the firm ＡＣＭＥ is in the oﬃce of the accountant, on the second shelf.",
        ),
        (
            "ko.txt",
            "\u{1103}\u{1173}\u{11bc}\u{1103}\u{1162}는 북쪽 곶에 있으며 매일 밤 불을 밝힌다.",
        ),
        (
            "fa.txt",
            "کتاب\u{200c}های راهنمای فانوس دریایی در اتاق شمالی نگه\u{200c}داری می\u{200c}شوند و نگهبان هر شب دفترچه را می\u{200c}نویسد.",
        ),
        (
            "ar.txt",
            "افتتح المَرفَأ الجديد سنة ٢٠٢٤ بعد ثلاث سنوات من العمل، ويبلغ طول الرصيف مئة متر.",
        ),
        (
            "he.txt",
            "הַמִּגְדַּלּוֹר הַצָּפוֹנִי נִבְנָה לִפְנֵי מֵאָה שָׁנָה, וְהַשּׁוֹמֵר גָּר בַּבַּיִת הַקָּטָן.",
        ),
        (
            "tr.txt",
            "İZMİR'den gelen gemiler sabah altıda yanaşır ve balıkçılar ağlarını kuzey rıhtımında kurutur.",
        ),
        (
            "th.txt",
            "ห้อง\u{200b}สมุดแห่งนี้มีหนังสือเก่า ๔๕ เล่มและนักเรียนมาอ่านหนังสือที่นี่ทุกวัน",
        ),
    ]);
    check_first(
        &index,
        &[
            ("Brücke", "de.md"),
            ("BRUCKE", "de.md"),
            ("Bruecke", "de.md"),
            ("lighthouse", "soft.html"),
            ("harbour", "soft.html"),
            ("light\u{200b}house", "soft.html"),
            ("acme 2019", "wide.txt"),
            ("office", "wide.txt"),
            ("등대", "ko.txt"),
            ("کتابهای", "fa.txt"),
            ("کتاب", "fa.txt"),
            ("دريايي", "fa.txt"),
            ("المرفأ", "ar.txt"),
            ("المرفا", "ar.txt"),
            ("2024", "ar.txt"),
            ("המגדלור", "he.txt"),
            ("izmir", "tr.txt"),
            ("rihtiminda", "tr.txt"),
            ("ห้องสมุด", "th.txt"),
            ("45", "th.txt"),
        ],
    );
}

#[test]
fn names_are_found_in_either_form() {
    let (_corpus, index) = indexed(&[
        (
            "Pru\u{308}fung/Bru\u{308}cke.md",
            "The piers are tested in spring.",
        ),
        ("ＡＢＣ.md", "The piers are painted in spring."),
        ("راهنمای.md", "The piers are closed in spring."),
    ]);
    for (filter, expected) in [
        ("Prüfung/*", "Pru\u{308}fung/Bru\u{308}cke.md"),
        ("**/Brücke.md", "Pru\u{308}fung/Bru\u{308}cke.md"),
        ("Pru\u{308}fung", "Pru\u{308}fung/Bru\u{308}cke.md"),
        ("ABC.md", "ＡＢＣ.md"),
        ("راهنماي.md", "راهنمای.md"),
    ] {
        let found = find(&index, "piers", filter);
        let found: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(found, [expected], "{filter}");
    }
    assert!(find(&index, "piers", "Prufung/*").is_empty());
}

#[test]
fn a_stop_word_of_the_question_is_not_a_rare_word_elsewhere() {
    let german = "Der Kapitän sagte: \"the end of the sea\", und niemand widersprach ihm an diesem langen Abend im Hafen.";
    let (_corpus, index) = indexed(&[
        ("de.md", german),
        (
            "en.md",
            "The alarm threshold of the gauge is five metres, and the keeper writes it into the book of the harbour.",
        ),
        (
            "more.md",
            "The sensors of the harbour run on mains power, and the sensors of the pier on batteries.",
        ),
        (
            "quote.md",
            "Die Tafel am Kai trägt die Aufschrift \"sensors\", die jeder kennt, der hier einmal gewartet hat.",
        ),
    ]);
    let asked = find(&index, "What is the threshold of the gauge?", "");
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0].0, "en.md");
    for question in ["the", "of the"] {
        let found = find(&index, question, "");
        assert!(
            found.iter().all(|(_, score)| *score < 2.0),
            "{question}: {found:?}"
        );
    }
    // a word that is rare in one language and usual in another counts as one word
    let found = find(&index, "sensors", "");
    assert_eq!(found[0].0, "more.md", "{found:?}");
    assert!(
        find(&index, "die", "")
            .iter()
            .all(|(path, _)| path == "quote.md")
    );
}

#[test]
fn a_section_is_analysed_in_its_own_language() {
    let english = "The workshop is open on all days of the week, and the keys hang beside the door of the office. "
        .repeat(60);
    let text = format!(
        "# Workshop\n\n{english}\n\n## Hinweise\n\nDie Werkbänke sind nach der Benutzung mit einem Tuch zu reinigen, und die Maschinen werden von dem Hausmeister abgeschaltet.\n"
    );
    let (_corpus, index) = indexed(&[
        ("manual.md", &text),
        (
            "bench.md",
            "The bench of the workshop stands at the window.",
        ),
    ]);
    check_first(&index, &[("Benutzungen", "manual.md")]);
    // a stop word of the section alone finds nothing but as one
    let found = find(&index, "Wird die Bank von dem Nachbarn abgeholt?", "");
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn stop_words_are_searched_where_they_are_all_there_is() {
    let (_corpus, index) = indexed(&[
        (
            "desk.md",
            "IT is reached at extension 410. New badges are made by IT.",
        ),
        (
            "garage.md",
            "The garage has extension 433, but it is closed, and it has no deputy.",
        ),
        ("play.md", "To be, or not to be, that is the question."),
        ("us.md", "The US office is closed in summer."),
        ("we.md", "They sent us the keys, and us alone, so us it is."),
        ("vitamin.md", "There is vitamin A in carrots."),
        ("carrots.md", "A carrot has a root. A carrot has a leaf."),
    ]);
    check_first(
        &index,
        &[
            ("IT", "desk.md"),
            ("What is the extension of IT?", "desk.md"),
            ("to be or not to be", "play.md"),
            ("US", "us.md"),
            ("U.S.", "us.md"),
            ("the US office", "us.md"),
            ("What has vitamin A?", "vitamin.md"),
        ],
    );
}

#[test]
fn signs_versions_and_compounds_are_different_words() {
    let (_corpus, index) = indexed(&[
        (
            "c.md",
            "Code in C is checked by the old script, and C files need a guard.",
        ),
        (
            "cpp.md",
            "Code in C++ is checked by the new script, and C++ files need a pragma.",
        ),
        (
            "cs.md",
            "Code in C# is checked by the editor, and C# files need a namespace.",
        ),
        (
            "dotnet.md",
            "The .NET runtime is installed by the script, and .NET tools are pinned.",
        ),
        (
            "net.md",
            "The net is dried on Fridays; a torn net hangs on the wall beside the net needle.",
        ),
        (
            "force.md",
            "With --force the branch is replaced, and -f is short for it.",
        ),
        ("forced.md", "The forced march took force and more force."),
        ("f.md", "The F key is below the G key, and F is for find."),
        ("part.md", "The pump HX-201 has a seal."),
        (
            "parts.md",
            "The pump HX-305 has 201 screws, and HX pumps have 201 nuts.",
        ),
        ("new.md", "Version v1.2.3 reads mail."),
        (
            "old.md",
            "Version 1.23 and 2.1.3 read nothing, 3 of 2 and 1.",
        ),
        ("node.md", "It runs on node.js alone."),
        ("mail.md", "Write to ann.berg@example.com about it."),
        (
            "mails.md",
            "Write to berg.ann@example.com or to com.example about ann, ann and berg.",
        ),
        ("names.md", "The battle of Hastings was lost by Harold."),
        ("haste.md", "In haste, hasted by haste, he was hasting."),
    ]);
    check_first(
        &index,
        &[
            ("C", "c.md"),
            ("C++", "cpp.md"),
            ("Ｃ＋＋", "cpp.md"),
            ("C#", "cs.md"),
            (".NET", "dotnet.md"),
            (".net tools", "dotnet.md"),
            ("net", "net.md"),
            ("--force", "force.md"),
            ("-f", "force.md"),
            ("F", "f.md"),
            ("HX-201", "part.md"),
            ("hx201", "part.md"),
            ("1.2.3", "new.md"),
            ("v1.2.3", "new.md"),
            ("nodejs", "node.md"),
            ("node", "node.md"),
            ("ann.berg@example.com", "mail.md"),
            ("Hastings", "names.md"),
        ],
    );
}

#[test]
fn chunks_are_limited_by_phrases() {
    let (_corpus, index) = indexed(&[
        (
            "sail.md",
            "The load of the bridge was tested by the crew of the sailing ship.",
        ),
        (
            "bridge.md",
            "The bridge has a load, of which the crew of the ship knows nothing.",
        ),
        ("ships.md", "Ships load HX-201 pumps; to be or not to be."),
        (
            "de.md",
            "Die Last der Brücken wurde von der Besatzung des Schiffs am Abend geprüft.",
        ),
        (
            "zh.md",
            "这位物理老师在北京的一所学校教书，他的学生都很喜欢他的课。",
        ),
    ]);
    let cases: [(&str, &str, &[&str]); 11] = [
        ("load", "", &["bridge.md", "sail.md", "ships.md"]),
        ("load", "has:\"load of the bridge\"", &["sail.md"]),
        ("load", "has:\"loads of the bridges\"", &["sail.md"]),
        ("load", "has:\"load of a bridge\"", &[]),
        ("load", "not:ship", &[]),
        ("load", "not:\"sailing ship\"", &["bridge.md", "ships.md"]),
        ("load", "has:\"to be or not to be\"", &["ships.md"]),
        ("load", "has:\"HX-201 pump\"", &["ships.md"]),
        ("load", "has:? not:?", &["bridge.md", "sail.md", "ships.md"]),
        ("Last", "has:\"last der brucke\"", &["de.md"]),
        ("老师", "has:物理老师", &["zh.md"]),
    ];
    for (question, filter, expected) in cases {
        let mut found = find(&index, question, filter);
        found.sort_by(|one, other| one.0.cmp(&other.0));
        let found: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(found, expected, "{filter}");
    }
}

#[test]
fn a_chunk_is_found_by_the_name_of_its_file_and_its_headings() {
    let manual = |name: &str, months: &str| {
        let motor = "Fill the tank, then start the motor and wait for the lamp. ".repeat(60);
        format!("# {name}\n\n{motor}\n\n## Guarantee\n\nIt ends after {months} months.\n")
    };
    let [osprey, merlin] = [manual("Osprey XL", "38"), manual("Merlin 12", "14")];
    let titled = |name: &str, months: &str| {
        let manual = manual("Manual", months);
        format!("---\ntitle: {name}\n---\n\n{manual}")
    };
    let [heron, plover] = [titled("Heron 7", "52"), titled("Plover 9", "61")];
    let (_corpus, index) = indexed(&[
        ("m1.md", &osprey),
        ("m2.md", &merlin),
        ("m3.md", &heron),
        ("m4.md", &plover),
        (
            "Wherry/rules.md",
            "They hang in the shed, and three of them are old.",
        ),
        (
            "boats.md",
            "A wherry rests here beside the mill, as it did.",
        ),
        ("Tam Reeve/card.txt", "Phone: 555 0121, in the shed."),
        ("Ann Voss/card.txt", "Phone: 555 0122, in the hall."),
        ("chapter-03.md", "The dam of the mill was raised."),
        ("chapter-07.md", "The dam of the mill was raised."),
        (
            "People/Ilse Brandt.md",
            "Phone: 555 0134, on the second floor.",
        ),
        (
            "People/Oona Lisk.md",
            "Phone: 555 0178, on the first floor.",
        ),
        (
            "minutes-2024-03.md",
            "The gravel pit was closed by seven votes to two.",
        ),
        (
            "minutes-2023-11.md",
            "The gravel pit was discussed, and nothing decided.",
        ),
    ]);

    check_first(
        &index,
        &[
            ("the phone of Oona Lisk", "People/Oona Lisk.md"),
            ("wherry", "Wherry/rules.md"),
            ("Ilse Brandt, phone", "People/Ilse Brandt.md"),
            ("the phone of Tam Reeve", "Tam Reeve/card.txt"),
            ("Ann Voss, phone", "Ann Voss/card.txt"),
            ("gravel pit on 14 March 2024", "minutes-2024-03.md"),
            ("gravel pit in November 2023", "minutes-2023-11.md"),
            ("the dam in chapter 3", "chapter-03.md"),
            ("the dam in chapter 7", "chapter-07.md"),
            ("gravel pit in minutes-2023-11.md", "minutes-2023-11.md"),
            ("gravel pit, minutes of 2024-03", "minutes-2024-03.md"),
        ],
    );
    let settings = RetrieverSettings {
        kind: RetrieverKind::Bm25,
        ..config().retriever
    };
    for (name, months) in [
        ("Osprey XL", "38 months"),
        ("Merlin 12", "14 months"),
        ("Heron 7", "52 months"),
        ("Plover 9", "61 months"),
    ] {
        let question = format!("the guarantee of the {name}");
        let found = index.search(&question, &[], "", &settings).expect("hits");
        let first = &found.hits[0].chunk;
        assert!(first.text.contains(months), "{name}: {first:?}");
    }
}
