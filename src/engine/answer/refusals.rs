//! The words with which an answer is refused.

use crate::engine::run::Run;

use super::wording::text_language;

/// Returns that the documents do not say, or, where not all of them were searched, that those which
/// were do not.
pub fn refusal(run: &Run<'_>) -> &'static str {
    refusal_words(run.question, is_limited(run), false)
}

/// Returns that the documents do not say it clearly; of a part of them as [`refusal`].
pub fn unclear_refusal(run: &Run<'_>) -> &'static str {
    refusal_words(run.question, is_limited(run), true)
}

/// Returns whether a part of the documents is searched.
fn is_limited(run: &Run<'_>) -> bool {
    let retriever = &run.tools.config.retriever;
    !retriever.filter.is_empty() || !retriever.excluded.is_empty()
}

/// Returns a refusal in the language of the question; in English where the phrases are not known.
fn refusal_words(question: &str, is_limited: bool, is_unclear: bool) -> &'static str {
    let [plain, unclear, of_searched] = match text_language(question) {
        "de" => [
            "Ihre Dokumente sagen es nicht.",
            "Ihre Dokumente sagen es nicht eindeutig.",
            "Die durchsuchten Texte sagen es nicht.",
        ],
        "es" => [
            "Sus documentos no lo dicen.",
            "Sus documentos no lo dicen claramente.",
            "Los textos consultados no lo dicen.",
        ],
        "fr" => [
            "Vos documents ne le disent pas.",
            "Vos documents ne le disent pas clairement.",
            "Les textes consultés ne le disent pas.",
        ],
        "it" => [
            "I suoi documenti non lo dicono.",
            "I suoi documenti non lo dicono chiaramente.",
            "I testi consultati non lo dicono.",
        ],
        "ja" => [
            "文書には書かれていません。",
            "文書にははっきりとは書かれていません。",
            "検索した文書には書かれていません。",
        ],
        "nl" => [
            "Uw documenten zeggen het niet.",
            "Uw documenten zeggen het niet duidelijk.",
            "De doorzochte teksten zeggen het niet.",
        ],
        "pt" => [
            "Os seus documentos não o dizem.",
            "Os seus documentos não o dizem claramente.",
            "Os textos consultados não o dizem.",
        ],
        "ru" => [
            "В ваших документах этого нет.",
            "В ваших документах это прямо не сказано.",
            "В просмотренных текстах этого нет.",
        ],
        "zh" => [
            "您的文档中没有说明。",
            "您的文档中没有明确说明。",
            "检索的文档中没有说明。",
        ],
        _ => [
            "Your documents do not say.",
            "Your documents do not say it clearly.",
            "The texts that were searched do not say.",
        ],
    };
    match (is_limited, is_unclear) {
        (true, _) => of_searched,
        (false, true) => unclear,
        (false, false) => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_speaks_of_what_was_searched() {
        for (question, is_limited, expected) in [
            ("Where is it?", false, "Your documents do not say."),
            (
                "Where is it?",
                true,
                "The texts that were searched do not say.",
            ),
            (
                "灯台はどこですか？",
                true,
                "検索した文書には書かれていません。",
            ),
        ] {
            assert_eq!(refusal_words(question, is_limited, false), expected);
        }
    }
}
