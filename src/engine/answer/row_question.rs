//! A question for rows of a table: its conditions, and the words that set none.

use crate::corpus::{count_negations, split_words};
use crate::letters::{holds, is_dense, normalise};

use super::bounds::NumberBound;
use super::extremes::{Extreme, find_extreme};
use super::scope::{asks_for_several, asks_for_table, find_counted, points_back};

/// Words of a question among which one that asks which stands.
const ASKS_WITHIN: usize = 3;

/// Words that are about a price, in lower case.
#[rustfmt::skip]
const COSTLY: &[&str] = &[
    "expensive", "cheap", "cheaper", "cheapest", "cost", "costs", "costing", "teuer", "teurer",
    "teuerste", "teuersten", "günstig", "günstiger", "günstigste", "günstigsten", "billig",
    "billiger", "billigste", "billigsten", "kosten", "kostet", "cher", "chers", "chère", "chères",
    "coûte", "coûtent", "caro", "caros", "cara", "caras", "barato", "baratos", "barata", "baratas",
    "cuesta", "cuestan", "贵", "便宜",
];
/// Words beside a bound, and beside an extreme, in lower case.
#[rustfmt::skip]
pub const OF_BOUNDS: &[&str] = &[
    "left", "remaining", "priced", "units", "pieces", "take", "takes", "need",
    "needs", "last", "lasts", "weigh", "weighs", "übrig", "dauern", "dauert", "brauchen",
    "braucht", "wiegen", "wiegt", "prennent", "durent", "pèsent", "duran", "pesan", "tardan",
];
pub const OF_EXTREMES: &[&str] = &["pay", "pays", "kamen", "zahlt", "number"];
/// Names of columns of prices, and of what is in stock, in lower case.
pub const PRICES: &str = "price cost fee preis kosten gebühr prix coût precio coste 价格";
pub const STOCKS: &str = "stock quantity qty bestand lagerbestand lager existencias inventory 库存";
/// Words for the rows of any list of goods, in lower case.
pub const GOODS: &str = "article item product artikel produkt ware produit artículo producto";
/// Words for where goods are from, and names of a column of those who make or deliver them, in
/// lower case: an editor does not write.
#[rustfmt::skip]
pub const SUPPLYING: &[&str] = &[
    "supply", "supplies", "supplied", "deliver", "delivers", "delivered", "sell", "sells", "sold",
    "make", "makes", "made", "produce", "produces", "produced", "manufactured", "by", "provided",
    "liefert", "geliefert", "stellt", "her", "hergestellt", "verkauft", "fournit", "fournis",
    "fournies", "livrés", "livrées", "fabriqués", "fabriquées", "vend", "vendus", "vendues", "par",
    "suministra", "suministrados", "fabrica", "fabricados", "vende", "vendidos", "por",
];
pub const SUPPLIERS: &str = "supplier vendor seller manufacturer maker producer brand company \
    lieferant hersteller anbieter marke firma fournisseur fabricant marque proveedor fabricante \
    marca 供应商 制造商 品牌";
/// Words in front of what a question asks for, in lower case.
#[rustfmt::skip]
pub const WHICH: &[&str] = &[
    "which", "what", "who", "welche", "welcher", "welches", "welchem", "welchen", "wer", "quel",
    "quelle", "quels", "quelles", "qué", "cuál", "cuáles", "quién",
];
/// Words that set no condition, in lower case.
#[rustfmt::skip]
pub const HARMLESS: &[&str] = &[
    "how", "many", "of", "the", "a", "an", "in", "at", "on", "for", "from", "with", "is", "are",
    "was", "were", "has", "have", "had", "do", "does", "did", "there", "and", "or", "run", "runs",
    "list", "show", "give", "me", "make", "create", "all", "please", "table", "overview", "as",
    "come", "comes", "came", "kommt", "kommen", "stammt", "stammen", "vient", "viennent",
    "provient", "proviennent", "viene", "vienen", "procede", "proceden",
    "their", "its", "ihr", "ihre", "ihrem", "ihren", "leur", "leurs", "su", "sus",
    "wie", "viele", "der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "im", "am",
    "an", "auf", "aus", "von", "mit", "für", "ist", "sind", "hat", "haben", "gibt", "es", "und",
    "oder", "liste", "zeige", "nenne", "erstelle", "mache", "alle", "tabelle", "combien", "le",
    "la", "les", "un", "une", "du", "de", "d", "l", "dans", "sur", "avec", "pour", "est", "sont",
    "ont", "il", "y", "et", "ou", "montre", "fais", "tableau", "tous", "toutes", "cuántos",
    "cuántas", "el", "los", "las", "una", "del", "en", "con", "para", "son", "tiene", "tienen",
    "hay", "o", "lista", "muestra", "haz", "tabla", "todos", "todas",
];
/// Words between two of which one is asked for, in lower case.
const ALTERNATIVES: &[&str] = &["or", "oder", "ou", "o", "或"];
/// A question that a rule may read.
pub struct RowQuestion {
    /// The question in lower case, and without punctuation and articles.
    pub text: String,
    pub normal: String,
    pub is_table: bool,
    pub has_alternatives: bool,
    /// The word for the things of which it asks the number.
    pub counted: Option<String>,
    asks_which: bool,
    pub bound: Option<NumberBound>,
    /// The extreme that it asks for, with the words behind it.
    pub extreme: Option<(Extreme, String)>,
    /// The negations, and the words behind them.
    pub denials: Vec<(String, String)>,
}

impl RowQuestion {
    /// Reads a question; `None` where it asks for no rows, or for those of another question.
    pub fn read(question: &str) -> Option<Self> {
        let mut text = question.to_lowercase();
        let asks_which = split_words(&text)
            .take(ASKS_WITHIN)
            .any(|word| WHICH.contains(&word));
        let bound = NumberBound::take(&mut text)?;
        let extreme = find_extreme(&text)?;
        if points_back(&text) || (extreme.is_some() && !asks_which) {
            return None;
        }

        let words: Vec<&str> = text.split_whitespace().collect();
        let is_denial = |word: &&str| count_negations([*word].into_iter()) > 0;
        let denials = (0..words.len()).filter(|at| is_denial(&words[*at]));
        let denials = denials.map(|at| {
            let next = words.get(at + 1)?;
            Some((words[at].to_owned(), split_words(next).next()?.to_owned()))
        });
        let denials: Option<Vec<_>> = denials.collect();
        let has_alternatives = split_words(&text).any(|word| ALTERNATIVES.contains(&word));
        Some(Self {
            denials: denials?,
            extreme,
            is_table: asks_for_table(question) && !asks_which,
            has_alternatives,
            counted: find_counted(&text),
            normal: normalise(&text),
            asks_which,
            bound,
            text,
        })
    }

    /// Returns whether it asks for rows by its words, and not for one fact.
    pub fn asks_for_rows(&self) -> bool {
        let is_bounded = self.asks_which && self.bound.is_some();
        let text = match self.text.strip_prefix("what ") {
            Some(rest) => format!("which {rest}"),
            None => self.text.clone(),
        };
        is_bounded || self.extreme.is_some() || self.is_count() || asks_for_several(&text)
    }

    pub fn is_count(&self) -> bool {
        self.counted.is_some()
    }

    /// Returns whether the question has all words of a text in their order.
    pub fn names(&self, text: &str) -> bool {
        let text = normalise(text);
        let is_condition = |word: &str| !HARMLESS.contains(&word);
        split_words(&text).any(is_condition) && holds(&self.normal, &text)
    }

    /// Returns its words for a price, beside those of its bound.
    pub fn costly_words(&self) -> impl Iterator<Item = &str> {
        let bound = self.bound.iter().map(|bound| bound.words.as_str());
        let words = split_words(&self.text).chain(bound.flat_map(split_words));
        // nothing parts the words of Chinese
        let is_inside = |part: &str, word: &str| part.starts_with(is_dense) && word.contains(part);
        words.filter(move |word| COSTLY.iter().any(|one| one == word || is_inside(one, word)))
    }

    /// Returns the word for what it asks for, "month" of "In which month".
    pub fn head(&self) -> Option<&str> {
        let mut words = split_words(&self.text).skip_while(|word| !WHICH.contains(word));
        words.nth(1).filter(|word| !HARMLESS.contains(word))
    }
}

/// Returns whether a word in lower case sets no condition beside a bound.
pub fn sets_no_condition(word: &str) -> bool {
    [HARMLESS, WHICH, OF_BOUNDS]
        .iter()
        .any(|words| words.contains(&word))
}
