//! Records in the published forms of question sets, with invented content.

use std::io::Write as _;
use std::path::Path;

use ragscope::eval::{DATASETS, Documents, Evidence, Passage, QuestionSet};

/// Returns questions as `id [kind] question answers (evidence) {titles}`, then the remarks.
fn shown(set: &QuestionSet) -> Vec<String> {
    let questions = set.questions.iter().map(|question| {
        let quotes: Vec<&str> = question
            .evidence
            .iter()
            .map(|Evidence { quote, .. }| quote.as_str())
            .collect();
        let titles: Vec<String> = question
            .passages
            .iter()
            .map(|number| {
                let Passage { title, text } = &set.passages[*number];
                let words: Vec<&str> = text.split_whitespace().take(3).collect();
                format!("{title}: {}", words.join(" "))
            })
            .collect();
        format!(
            "{} [{}] {} {} ({}) {{{}}}",
            question.id,
            question.kind,
            question.question,
            question.answers.join("|"),
            quotes.join(" / "),
            titles.join("; ")
        )
    });
    let remarks = set.remarks.iter().map(|remark| format!("! {remark}"));
    questions.chain(remarks).collect()
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        std::fs::write(file, text).expect("written");
    }
}

/// Reads the first of these files (or the folder, if it is named "."), once with the name of its
/// dataset and once without; both must give the same.
#[track_caller]
fn check(dataset: &str, files: &[(&str, &str)], expected: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), files);
    let file = folder.path().join(files[0].0);

    let named = DATASETS.iter().find(|set| set.name == dataset);
    assert!(named.is_some(), "no dataset {dataset}");
    for named in [named, None] {
        let set = QuestionSet::read(&file, named).expect(dataset);
        assert_eq!(shown(&set), expected, "{dataset}, {named:?}");
    }
}

#[test]
fn squad_published_and_in_rows() {
    check(
        "squad",
        &[(
            "dev.json",
            r#"{"version": "v2.0", "data": [{"title": "Light", "paragraphs": [{"context": "It is tall. Ést lit in 1838. It stands.", "qas": [
                {"id": "s1", "question": "When?", "answers": [{"text": "1838", "answer_start": 23}, {"text": "in 1838", "answer_start": 20}]},
                {"id": "s2", "question": "Who?", "is_impossible": true, "answers": []}]}]}]}"#,
        )],
        &[
            "s1 [] When? 1838|in 1838 (Ést lit in 1838.) {Light: It is tall.}",
            "s2 [] Who?  () {Light: It is tall.}",
        ],
    );
    check(
        "squad",
        &[(
            "rows.jsonl",
            r#"{"id": "r1", "title": "Light", "context": "It is tall. Lit in 1838.", "question": "When?", "answers": {"text": ["1838"], "answer_start": [19]}}
{"id": "r2", "title": "Light", "context": "It is tall. Lit in 1838.", "question": "Who?", "answers": {"text": [], "answer_start": []}}"#,
        )],
        &[
            "r1 [] When? 1838 (Lit in 1838.) {Light: It is tall.}",
            "r2 [] Who?  () {Light: It is tall.}",
        ],
    );
}

#[test]
fn questions_over_several_documents() {
    let expected = [
        "h1 [bridge] Where? Lorby (Tam taught her. / Tam is from Lorby.) \
         {Mira: Mira sang. Tam; Tam: Tam is from}",
    ];
    check(
        "hotpotqa",
        &[(
            "hotpot_dev_distractor_v1.json",
            r#"[{"_id": "h1", "type": "bridge", "level": "hard", "question": "Where?", "answer": "Lorby",
                "supporting_facts": [["Mira", 1], ["Tam", 0], ["Gone", 4]],
                "context": [["Mira", ["Mira sang.", " Tam taught her."]], ["Tam", ["Tam is from Lorby."]]]}]"#,
        )],
        &expected,
    );
    check(
        "hotpotqa",
        &[(
            "rows.jsonl",
            r#"{"id": "h1", "type": "bridge", "level": "hard", "question": "Where?", "answer": "Lorby", "supporting_facts": {"title": ["Mira", "Tam"], "sent_id": [1, 0]}, "context": {"title": ["Mira", "Tam"], "sentences": [["Mira sang.", " Tam taught her."], ["Tam is from Lorby."]]}}"#,
        )],
        &expected,
    );
    check(
        "2wiki",
        &[
            (
                "dev.json",
                r#"[{"_id": "w1", "type": "compositional", "question": "Which country?", "answer": "Norland", "answer_id": "Q7", "entity_ids": "Q1_Q7",
                    "supporting_facts": [["Film", 0]], "evidences": [["Film", "country", "Norland"]],
                    "context": [["Film", ["The film is from Norland.", "It is long."]]]}]"#,
            ),
            (
                "id_aliases.json",
                r#"{"Q_id": "Q6", "aliases": ["no"], "demonyms": []}
{"Q_id": "Q7", "aliases": ["The North"], "demonyms": ["Norlander"]}"#,
            ),
        ],
        &[
            "w1 [compositional] Which country? Norland|The North|Norlander (The film is from Norland.) {Film: The film is}",
        ],
    );
    check(
        "musique",
        &[(
            "musique_full_v1.0_dev.jsonl",
            r#"{"id": "2hop__1_2", "paragraphs": [{"idx": 0, "title": "A", "paragraph_text": "A is in B.", "is_supporting": true}, {"idx": 1, "title": "C", "paragraph_text": "C is far.", "is_supporting": false}], "question": "Where is A?", "question_decomposition": [{"id": 1, "question": "A >> in", "answer": "B"}], "answer": "B", "answer_aliases": ["Bee"], "answerable": true}
{"id": "2hop__3_4", "paragraphs": [{"idx": 0, "title": "C", "paragraph_text": "C is far.", "is_supporting": false}], "question": "Who is D?", "question_decomposition": [], "answer": "E", "answer_aliases": [], "answerable": false}"#,
        )],
        &[
            "2hop__1_2 [2hop] Where is A? B|Bee (A is in B.) {A: A is in; C: C is far.}",
            "2hop__3_4 [2hop] Who is D?  () {C: C is far.}",
        ],
    );
}

#[test]
fn questions_with_a_verdict() {
    check(
        "strategyqa",
        &[
            (
                "strategyqa_train.json",
                r#"[{"qid": "y1", "term": "Heron", "description": "a ship", "question": "Could a heron carry a train?", "answer": false, "facts": ["A heron is small."],
                    "decomposition": ["How large?"], "evidence": [[[["Heron-1", "Train-2"]], ["operation"]], [["no_evidence"], ["Heron-1"]]]}]"#,
            ),
            (
                "strategyqa_train_paragraphs.json",
                r#"{"Heron-1": {"title": "Heron", "section": "", "headers": [], "para_index": 1, "content": "A heron weighs two kilograms."}}"#,
            ),
        ],
        &[
            "y1 [] Could a heron carry a train? no (A heron weighs two kilograms.) {Heron: A heron weighs}",
        ],
    );
    check(
        "boolq",
        &[(
            "dev.jsonl",
            r#"{"question": "is salt a mineral", "title": "Salt", "answer": true, "passage": "Salt is a mineral."}"#,
        )],
        &["q1 [] Is salt a mineral? yes () {Salt: Salt is a}"],
    );
    let question = "Is the following statement correct or not? Say true if it's correct; otherwise say false. Statement: Salt heals.";
    check(
        "pubhealth",
        &[(
            "test.tsv",
            "claim_id\tclaim\tdate_published\texplanation\tfact_checkers\tmain_text\tsources\tlabel\tsubjects\n\
             7\tSalt heals.\t\tIt does not.\t\tDoctors say \"no\".\t\tfalse\tHealth\n\
             8\tSalt is old.\t\t\t\tNobody knows.\t\tunproven\tHealth\n",
        )],
        &[&format!(
            "7 [] {question} false () {{: Doctors say \"no\".}}"
        )],
    );
    check(
        "pubhealth",
        &[(
            "health.jsonl",
            r#"{"id": "c1", "claim": "Salt heals.", "answers": ["false"], "ctxs": [{"title": "Salt", "text": "Salt is salty."}]}"#,
        )],
        &[&format!(
            "c1 [] {question} false () {{Salt: Salt is salty.}}"
        )],
    );
}

#[test]
fn open_questions() {
    check(
        "kilt",
        &[(
            "nq-dev-kilt.jsonl",
            r#"{"id": "k1", "input": "who sang", "output": [{"answer": "Mira", "provenance": [{"wikipedia_id": "1", "title": "Song", "start_paragraph_id": 2}]}, {"answer": "Mira Oakes"}, {"provenance": []}], "meta": {}}"#,
        )],
        &["k1 [] who sang Mira|Mira Oakes () {}"],
    );
    check(
        "ambignq",
        &[(
            "dev_light.json",
            r#"[{"id": "a1", "question": "When did it open?", "annotations": [{"type": "multipleQAs", "qaPairs": [{"question": "When did the gate open?", "answer": ["1901"]}, {"question": "When did the hall open?", "answer": ["1905", "in 1905"]}]}, {"type": "singleAnswer", "answer": ["1901"]}]}]"#,
        )],
        &["a1 [] When did it open? 1901|1905|in 1905 () {}"],
    );
    check(
        "evouna",
        &[(
            "NQ.json",
            r#"[{"question": "who sang", "golden_answer": "Mira/Mira Oakes", "answer_fid": "Mira", "judge_fid": true, "improper": false},
                {"question": "who sings now", "golden_answer": "Tam", "answer_fid": "Tam", "judge_fid": null, "improper": true}]"#,
        )],
        &["q1 [] who sang Mira|Mira Oakes () {}"],
    );
    check(
        "popqa",
        &[(
            "popQA.tsv",
            "id\tsubj\tprop\tobj\tquestion\tpossible_answers\n\
             42\tTam\toccupation\tpolitician\tWhat is Tam's occupation?\t\"[\"\"politician\"\", \"\"political leader\"\"]\"\n",
        )],
        &["42 [occupation] What is Tam's occupation? politician|political leader () {}"],
    );
    check(
        "nq-open",
        &[(
            "nq-open-oracle.jsonl",
            r#"{"question": "who taught", "answers": ["Tam"], "ctxs": [{"title": "Ships", "text": "Ships sail.", "isgold": false}, {"title": "Tam", "text": "Tam taught.", "isgold": true}]}"#,
        )],
        &["q1 [] who taught Tam (Tam taught.) {Ships: Ships sail.; Tam: Tam taught.}"],
    );
    check(
        "nq-open",
        &[(
            "test.jsonl",
            r#"{"id": "test_0", "question": "who taught", "golden_answers": ["Tam"]}"#,
        )],
        &["test_0 [] who taught Tam () {}"],
    );
}

#[test]
fn questions_with_pages() {
    check(
        "iirc",
        &[
            (
                "dev.json",
                r#"[{"pid": "p", "title": "Tam Reeve", "text": "Tam was born in Lorby.", "links": [{"target": "Lorby", "indices": [16, 21]}], "questions": [
                    {"qid": "i1", "question": "In which country was Tam born?", "answer": {"type": "span", "answer_spans": [{"text": "Norland", "passage": "lorby"}]}, "context": [{"text": "Tam was born in Lorby.", "passage": "main"}, {"text": "Lorby is in Norland.", "passage": "Lorby"}]},
                    {"qid": "i2", "question": "How long?", "answer": {"type": "value", "answer_value": "3", "answer_unit": "years"}, "context": []},
                    {"qid": "i3", "question": "Is it north?", "answer": {"type": "binary", "answer_value": "yes"}, "context": []},
                    {"qid": "i4", "question": "Why?", "answer": {"type": "none"}, "context": []}]}]"#,
            ),
            (
                "context_articles.json",
                r#"{"lorby": "<p>Lorby is in <a href=\"Norland\">Norland</a>.</p>"}"#,
            ),
        ],
        &[
            "i1 [span] In which country was Tam born? Norland (Tam was born in Lorby. / Lorby is in Norland.) {Tam Reeve: Tam was born; Lorby: Lorby is in}",
            "i2 [value] How long? 3 years|3 () {Tam Reeve: Tam was born; Lorby: Lorby is in}",
            "i3 [binary] Is it north? yes () {Tam Reeve: Tam was born; Lorby: Lorby is in}",
            "i4 [none] Why?  () {Tam Reeve: Tam was born; Lorby: Lorby is in}",
        ],
    );
    check(
        "triviaqa",
        &[
            (
                "qa/wikipedia-dev.json",
                r#"{"Data": [{"Question": "Who sang?", "QuestionId": "tc_1", "QuestionSource": "x", "Answer": {"Value": "Mira", "Aliases": ["Mira Oakes", "Mira"], "Type": "WikipediaEntity"},
                    "EntityPages": [{"DocSource": "TagMe", "Filename": "Mira_Oakes.txt", "Title": "Mira Oakes"}, {"Filename": "../../secret.txt", "Title": "No"}], "SearchResults": []}], "Domain": "Wikipedia"}"#,
            ),
            ("evidence/wikipedia/Mira_Oakes.txt", "Mira Oakes sang."),
            ("secret.txt", "not part of the set"),
        ],
        &["tc_1 [] Who sang? Mira|Mira Oakes () {Mira Oakes: Mira Oakes sang.}"],
    );
    check(
        "triviaqa",
        &[(
            "rows.jsonl",
            r#"{"question": "Who sang?", "question_id": "tc_1", "entity_pages": {"title": ["Mira"], "wiki_context": ["Mira sang."]}, "search_results": {"title": [], "search_context": []}, "answer": {"value": "Mira", "aliases": ["Mira"]}}"#,
        )],
        &["tc_1 [] Who sang? Mira () {Mira: Mira sang.}"],
    );
    let expected = [
        "12 [numeric] how tall 40 metres (It is 40 metres tall.) {: It is 40; : Nothing here.}",
        "13 [entity] who built it  () {: Nothing here.}",
    ];
    check(
        "msmarco",
        &[(
            "rows.jsonl",
            r#"{"query": "how tall", "query_id": 12, "query_type": "NUMERIC", "answers": ["40 metres"], "wellFormedAnswers": [], "passages": {"is_selected": [1, 0], "passage_text": ["It is 40 metres tall.", "Nothing here."], "url": ["a", "b"]}}
{"query": "who built it", "query_id": 13, "query_type": "ENTITY", "answers": ["No Answer Present."], "wellFormedAnswers": [], "passages": {"is_selected": [0], "passage_text": ["Nothing here."], "url": ["b"]}}"#,
        )],
        &expected,
    );
    check(
        "msmarco",
        &[(
            "dev_v2.1.json",
            r#"{"query": {"0": "how tall", "1": "who built it"}, "query_id": {"0": 12, "1": 13}, "query_type": {"0": "NUMERIC", "1": "ENTITY"},
                "answers": {"0": ["40 metres"], "1": ["No Answer Present."]}, "wellFormedAnswers": {"0": "[]", "1": "[]"},
                "passages": {"0": [{"is_selected": 1, "passage_text": "It is 40 metres tall.", "url": "a"}, {"is_selected": 0, "passage_text": "Nothing here.", "url": "b"}],
                             "1": [{"is_selected": 0, "passage_text": "Nothing here.", "url": "b"}]}}"#,
        )],
        &expected,
    );
}

#[test]
fn sets_that_judge_what_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    write(
        folder.path(),
        &[
            (
                "corpus.jsonl",
                r#"{"_id": "d1", "title": "Salt", "text": "Salt is a mineral.", "metadata": {}}
{"_id": "d2", "title": "Iron", "text": "Iron is a metal.", "metadata": {}}"#,
            ),
            (
                "queries.jsonl",
                r#"{"_id": "b1", "text": "what is salt", "metadata": {}}
{"_id": "b2", "text": "of another part", "metadata": {}}"#,
            ),
            (
                "qrels/test.tsv",
                "query-id\tcorpus-id\tscore\nb1\td1\t1\nb1\td2\t0\n",
            ),
        ],
    );
    let set = QuestionSet::read(folder.path(), None).expect("BEIR");
    assert_eq!(shown(&set), ["b1 [] what is salt  (Salt is a mineral.) {}"]);
    assert!(set.questions[0].is_retrieval_only);
    let titles: Vec<&str> = set.passages.iter().map(|passage| &*passage.title).collect();
    assert_eq!((titles, set.shared), (vec!["Salt", "Iron"], 2));

    let documents = Documents::new(&set, &set.questions);
    assert_eq!(documents.len(), 2, "the corpus belongs to every question");

    check(
        "dragonball",
        &[
            (
                "dragonball_queries.jsonl",
                r#"{"domain": "Finance", "language": "en", "query": {"query_id": 5, "query_type": "Factual Question", "content": "When was it founded?"}, "ground_truth": {"doc_ids": [40], "content": "It was founded in 1999.", "references": ["Founded in 1999 in Lorby."], "keypoints": ["1999"]}}"#,
            ),
            (
                "dragonball_docs.jsonl",
                r#"{"domain": "Finance", "language": "en", "doc_id": 40, "company_name": "Oak Ltd", "content": "Oak Ltd. Founded in 1999 in Lorby."}"#,
            ),
        ],
        &[
            "5 [Factual Question] When was it founded? It was founded in 1999. (Founded in 1999 in Lorby.) {}",
        ],
    );
}

#[test]
fn our_own_lines_with_a_passage() {
    check(
        "lines",
        &[(
            "part.jsonl",
            r#"{"id": "1", "title": "Normans", "passage": "They came. They settled in France.", "question": "Where?", "answers": ["France"]}
{"id": "2", "title": "Normans", "passage": "They came. They settled in France.", "question": "Why?", "answers": []}"#,
        )],
        &[
            "1 [] Where? France (They settled in France.) {Normans: They came. They}",
            "2 [] Why?  () {Normans: They came. They}",
        ],
    );
}

#[test]
fn packed_files_and_what_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed
        .write_all(br#"{"question": "who", "golden_answers": ["Tam"]}"#)
        .expect("packed");
    let packed = packed.finish().expect("packed");

    let file = folder.path().join("q.jsonl.gz");
    std::fs::write(&file, &packed).expect("written");
    let set = QuestionSet::read(&file, None).expect("packed");
    assert_eq!(shown(&set), ["q1 [] who Tam () {}"]);

    std::fs::write(&file, &packed[..packed.len() - 6]).expect("written");
    let error = QuestionSet::read(&file, None).expect_err("cut");
    assert!(error.to_string().contains("cannot be unpacked"), "{error}");

    let error = QuestionSet::read(folder.path(), None).expect_err("no set");
    assert!(error.to_string().contains("folder without"), "{error}");
}

#[test]
fn thousands_of_questions_with_one_id() {
    let line = "{\"id\": \"same\", \"question\": \"Who?\", \"answers\": [\"a\"]}\n";
    let set = QuestionSet::parse(&line.repeat(20_000));
    assert_eq!(set.questions.len(), 20_000);
    assert_eq!(set.questions[19_999].id, "same#20000");
}

#[test]
fn documents_of_passages() {
    let set = QuestionSet::parse(
        r#"{"question": "A?", "answers": ["a"], "title": "The Normans, 900!", "passage": "They came."}
{"question": "B?", "answers": ["b"], "title": "The Normans, 900!", "passage": "They went."}
{"question": "C?", "answers": ["c"], "passage": "No title."}
{"question": "D?", "answers": ["d"], "passage": "No title."}"#,
    );
    let documents = Documents::new(&set, &set.questions);
    let paths = |number: usize| documents.paths(&set.questions[number]);
    assert_eq!(paths(0), ["000/000000-the-normans-900.txt"]);
    assert_eq!(paths(1), paths(0), "one title is one document");
    assert_eq!(
        (paths(2), paths(3)),
        (vec!["000/000001.txt"], vec!["000/000001.txt"])
    );

    let home = tempfile::tempdir().expect("a folder");
    let folder = documents.write(home.path(), "set").expect("written");
    let text = std::fs::read_to_string(folder.join(paths(0)[0])).expect("a document");
    assert_eq!(text, "The Normans, 900!\n\nThey came.\n\nThey went.\n");
    assert_eq!(documents.write(home.path(), "set").expect("kept"), folder);

    let first = Documents::new(&set, &set.questions[..1]);
    let other = first.write(home.path(), "set").expect("written");
    assert_ne!(other, folder, "other documents are another folder");
}
