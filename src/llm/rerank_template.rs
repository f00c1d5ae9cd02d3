//! The template of a reranker: the text that a question and a document are put into.

/// A part of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RerankPart<'t> {
    Text(&'t str),
    Query,
    Document,
}

/// Splits a template at its placeholders.
pub(super) fn parts(template: &str) -> Vec<RerankPart<'_>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while !rest.is_empty() {
        let next = [
            ("{query}", RerankPart::Query),
            ("{document}", RerankPart::Document),
        ]
        .into_iter()
        .filter_map(|(sign, part)| Some((rest.find(sign)?, sign.len(), part)))
        .min_by_key(|(at, ..)| *at);

        let Some((at, length, part)) = next else {
            parts.push(RerankPart::Text(rest));
            break;
        };

        if at > 0 {
            parts.push(RerankPart::Text(&rest[..at]));
        }
        parts.push(part);
        rest = &rest[at + length..];
    }

    parts
}
