use ragscope::llm::{Completion, End, Entailment, Token};
use ragscope::methods::{
    Agreement, Clusters, discrete_semantic_entropy, entailed_by_words, sampled_uncertainty,
    semantic_entropy, sequence_likelihoods,
};
use serde_json::Value;

use super::{list, near, number, numbers, places, vectors};

fn agreement(rows: &Value) -> Agreement {
    Agreement::of(list(rows).iter().map(numbers).collect())
}

/// A sampled answer of these token log-probabilities.
pub fn sample(text: &str, logprobs: &[f64]) -> Completion {
    let token = |logprob: &f64| Token {
        id: 1,
        text: String::new(),
        logprob: *logprob as f32,
        entropy: 0.0,
        attention: Vec::new(),
        is_thought: false,
    };
    Completion {
        text: text.to_owned(),
        tokens: logprobs.iter().map(token).collect(),
        thoughts: String::new(),
        end: End::Turn,
    }
}

#[test]
fn degrees_and_eigenvalues_are_those_of_the_reference_code() {
    let golden = vectors("degree_dse.json");
    for case in list(&golden["cases"]) {
        let (name, agreement) = (
            case["name"].as_str().expect("a name"),
            agreement(&case["W"]),
        );
        for (degree, golden) in agreement.degrees().into_iter().zip(list(&case["degree"])) {
            near(degree, golden, name);
        }
        near(agreement.degree_entropy(), &case["DSE"], name);
        near(
            agreement.degree_uncertainty(),
            &case["u_deg_lm_polygraph"],
            name,
        );
        near(agreement.eigenvalue_uncertainty(), &case["u_eigv"], name);
    }
    let golden = vectors("auroc_auarc.json");
    for case in list(&golden["uq_nlg_demo"]["questions"]) {
        let (name, agreement) = (
            case["id"].as_str().expect("an id"),
            agreement(&case["jaccard_W"]),
        );
        let answers = agreement.rows().len() as f64;
        near(
            agreement.degree_uncertainty() * answers,
            &case["u_degree_mean"],
            name,
        );
        near(
            agreement.eigenvalue_uncertainty(),
            &case["u_eigv_clip"],
            name,
        );
    }
}

/// The agreement of answers that fall into clusters of these sizes.
fn blocks(sizes: &[usize]) -> Agreement {
    let of: Vec<usize> = sizes
        .iter()
        .enumerate()
        .flat_map(|(cluster, size)| vec![cluster; *size])
        .collect();
    let row = |a: &usize| of.iter().map(|b| f64::from(u8::from(a == b))).collect();
    Agreement::of(of.iter().map(row).collect())
}

#[test]
fn the_degree_entropy_of_equivalences_is_the_discrete_semantic_entropy() {
    for case in list(&vectors("degree_dse.json")["partitions_of_6"]) {
        let sizes = places(&case["cluster_sizes"]);
        near(blocks(&sizes).degree_entropy(), &case["DSE"], "DSE");
        near(
            discrete_semantic_entropy(&blocks(&sizes).clusters().sizes()),
            &case["discrete_SE"],
            "discrete entropy",
        );
    }
    for case in list(&vectors("discrete_semantic_entropy.json")["all_partitions_of_10"]) {
        let sizes = places(&case["cluster_sizes"]);
        near(
            discrete_semantic_entropy(&sizes),
            &case["H_nats"],
            "discrete entropy",
        );
        near(blocks(&sizes).degree_entropy(), &case["H_nats"], "DSE");
    }
}

#[test]
fn answers_that_agree_have_an_entropy_of_plain_zero() {
    let agreed = Clusters::by(3, |_, _| true);
    for entropy in [
        discrete_semantic_entropy(&agreed.sizes()),
        semantic_entropy(&agreed, &[0.2, 0.3, 0.5]),
    ] {
        assert_eq!(format!("{entropy:.2}"), "0.00");
    }
    assert_eq!(format!("{:.2}", discrete_semantic_entropy(&[])), "0.00");
}

#[test]
fn clusters_follow_their_founders() {
    for case in list(&vectors("discrete_semantic_entropy.json")["clustering_cases"]) {
        let judged: Vec<Vec<usize>> = list(&case["nli"]).iter().map(places).collect();
        // 2 is entailment; the strict rule wants it both ways
        let clusters = Clusters::by(judged.len(), |a, b| judged[a][b] == 2 && judged[b][a] == 2);
        let name = case["name"].as_str().expect("a name");
        assert_eq!(
            clusters.of,
            places(&case["ids_strict_first_match_lm_polygraph"]),
            "{name}"
        );
    }
    for case in list(&vectors("discrete_semantic_entropy.json")["searag_paper_check"]) {
        near(
            discrete_semantic_entropy(&places(&case["cluster_sizes"])),
            &case["H_nats"],
            "SEARAG's tables",
        );
    }
}

#[test]
fn likelihoods_weigh_the_semantic_entropy() {
    for case in list(&vectors("discrete_semantic_entropy.json")["likelihood_weighted_cases"]) {
        let of = places(&case["semantic_ids"]);
        let clusters = Clusters::by(of.len(), |a, b| of[a] == of[b]);
        let samples: Vec<Completion> = numbers(&case["mean_token_log_likelihoods"])
            .iter()
            .map(|mean| sample("", &[*mean]))
            .collect();
        let weights = sequence_likelihoods(&samples);
        for (mass, golden) in clusters
            .masses(&weights)
            .into_iter()
            .zip(list(&case["p_cluster"]))
        {
            near(mass, golden, "mass of a cluster");
        }
        near(
            semantic_entropy(&clusters, &weights),
            &case["semantic_entropy_rao"],
            "semantic entropy",
        );
        let row = |a: &usize| of.iter().map(|b| f64::from(u8::from(a == b))).collect();
        let measured = sampled_uncertainty(&Agreement::of(of.iter().map(row).collect()), &samples);
        near(
            f64::from(-measured.mean_logprob),
            &case["naive_entropy_mc"],
            "mean log-probability",
        );
        near(
            f64::from(measured.perplexity),
            &Value::from(number(&case["naive_entropy_mc"]).exp()),
            "perplexity",
        );
        near(
            f64::from(measured.discrete_semantic_entropy),
            &case["cluster_assignment_entropy"],
            "discrete semantic entropy",
        );
    }
}

#[test]
fn nothing_is_certain_of_nothing() {
    let none = Agreement::of(Vec::new());
    assert_eq!(
        (
            none.degree_entropy(),
            none.degree_uncertainty(),
            none.eigenvalue_uncertainty()
        ),
        (0.0, 0.0, 0.0)
    );
    assert_eq!(none.clusters().sizes(), Vec::<usize>::new());
}

#[test]
fn a_reply_without_a_word_weighs_nothing() {
    let samples = [
        sample("Lorby", &[-1.0]),
        sample("", &[]),
        sample("Lorby", &[-1.0]),
    ];
    assert_eq!(sequence_likelihoods(&samples), [0.5, 0.0, 0.5]);
    let measured = sampled_uncertainty(&Agreement::of(vec![vec![1.0; 3]; 3]), &samples);
    assert_eq!(measured.mean_logprob, -1.0);
    assert_eq!(sequence_likelihoods(&[sample("", &[])]), [0.0]);
}

#[test]
fn answers_of_stop_words_are_compared_by_them() {
    let cases = [
        ("No", "Yes", false),
        ("No.", "no", true),
        ("It", "Not", false),
        ("in Lorby", "Lorby", true),
        ("the", "Lorby", false),
    ];
    for (a, b, same) in cases {
        let judged = [entailed_by_words(a, b), entailed_by_words(b, a)];
        assert_eq!(judged.iter().all(Entailment::is_entailed), same, "{a} {b}");
    }
}
