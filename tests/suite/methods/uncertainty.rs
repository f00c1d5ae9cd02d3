use ragscope::llm::{Completion, End, Entailment, Token};
use ragscope::methods::{
    Agreement, Clusters, discrete_semantic_entropy, judge_by_words, kle, sampled_uncertainty,
    semantic_entropy, sequence_likelihoods,
};
use serde_json::Value;

use super::seper::Table;
use super::{list, near, number, numbers, places, vectors};

fn agreement(rows: &Value) -> Agreement {
    Agreement::from_rows(list(rows).iter().map(numbers).collect())
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
        alternatives: Vec::new(),
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
    Agreement::from_rows(of.iter().map(row).collect())
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
        let measured = sampled_uncertainty(
            &Agreement::from_rows(of.iter().map(row).collect()),
            &samples,
        );
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
fn kernel_language_entropies_are_those_of_scipy() {
    let golden = vectors("kernel_language_entropy.json");
    let others = [
        (kle::Kernel::Heat { t: 0.4 }, "heat_t04"),
        (
            kle::Kernel::Matern {
                kappa: 1.0,
                nu: 1.0,
            },
            "matern_k1_n1",
        ),
    ];
    let kernels = [(kle::HEAT, "heat_t01"), (kle::MATERN, "matern_k3_n3")];
    for case in list(&golden["cases"]) {
        let name = case["name"].as_str().expect("a name");
        let edges: Vec<Vec<f64>> = list(&case["edges"]).iter().map(numbers).collect();
        for (kernel, figure) in kernels.iter().chain(&others) {
            near(
                kle::kernel_entropy(&edges, *kernel),
                &case[*figure],
                &format!("{name}, {figure}"),
            );
        }
    }
    assert_eq!(kle::kernel_entropy(&[], kle::HEAT), 0.0);
    assert_eq!(kle::kernel_entropy(&[vec![1.0]], kle::MATERN), 0.0);
}

/// The golden numbers are computed with numpy and scipy from the same judgements.
#[test]
fn sampled_measures_read_verdicts_or_probabilities() {
    let texts = ["Lorby", "in Lorby town", "Aldmouth"];
    let judged = |entailment, neutral, contradiction| Entailment {
        entailment,
        neutral,
        contradiction,
    };
    let table = [
        (0, 1, judged(0.9, 0.05, 0.05)),
        (1, 0, judged(0.4, 0.5, 0.1)),
        (0, 2, judged(0.1, 0.2, 0.7)),
        (2, 0, judged(0.2, 0.2, 0.6)),
        (1, 2, judged(0.05, 0.8, 0.15)),
        (2, 1, judged(0.3, 0.3, 0.4)),
    ];
    let mut calls = Table::of_pairs(
        table
            .iter()
            .map(|(a, b, judged)| ((texts[*a].to_owned(), texts[*b].to_owned()), *judged)),
    );
    let agreement = Agreement::judge(&mut calls, "Where?", &texts).expect("judged");
    let samples = texts.map(|text| sample(text, &[-1.0]));
    let measured = sampled_uncertainty(&agreement, &samples);
    let close = |found: f64, golden: f64, what: &str| {
        assert!((found - golden).abs() < 1e-6, "{what}: {found}");
    };

    close(f64::from(measured.degree), 0.45, "degree of probabilities");
    close(
        f64::from(measured.eigenvalue),
        1.858217742167083,
        "eigenvalues of probabilities",
    );
    // W of DENSE and the clusters stay verdicts
    close(
        agreement.degree_uncertainty(),
        5.0 / 9.0,
        "degree of verdicts",
    );
    close(
        agreement.eigenvalue_uncertainty(),
        7.0 / 3.0,
        "eigenvalues of verdicts",
    );
    let heat = measured.kernel_heat.expect("measured");
    close(f64::from(heat), 1.0903656840063478, "heat kernel");
    let matern = measured.kernel_matern.expect("measured");
    close(f64::from(matern), 0.26601365009354205, "Matern kernel");
}

#[test]
fn nothing_is_certain_of_nothing() {
    let none = Agreement::from_rows(Vec::new());
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
    let measured = sampled_uncertainty(&Agreement::from_rows(vec![vec![1.0; 3]; 3]), &samples);
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
        let judged = [judge_by_words(a, b), judge_by_words(b, a)];
        assert_eq!(judged.iter().all(Entailment::is_entailed), same, "{a} {b}");
    }
}
