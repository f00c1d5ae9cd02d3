//! SAKI-RAG's links against golden numbers, and the windows of long documents.

use ragscope::event::Link;
use ragscope::methods::saki::{LinkMaker, link_neighbours, windows};
use serde_json::Value;

use super::{numbers, vectors};

fn matrix(value: &Value) -> Vec<Vec<f32>> {
    let rows = value.as_array().expect("rows");
    rows.iter()
        .map(|row| {
            numbers(row)
                .into_iter()
                .map(|number| number as f32)
                .collect()
        })
        .collect()
}

fn links(rows: &[Vec<f32>], most: usize) -> Vec<Vec<Link>> {
    let mut maker = LinkMaker::new(most);
    maker.window(0, rows);
    maker.finish()
}

/// The related units of the paper are the columns of a row from the strongest to the weakest; our
/// weights are shares of what is left without the unit itself, times the number of units that get
/// any, the larger of both directions.
fn check(golden: &Value, rows: &str, metadata: &str) {
    let found = links(&matrix(&golden[rows]), 8);
    let units = golden[metadata].as_array().expect("units");
    let mut lifts = vec![vec![0.0_f32; units.len()]; units.len()];
    for (unit, relatives) in units.iter().enumerate() {
        let relatives: Vec<(usize, f32)> = relatives
            .as_array()
            .expect("relatives")
            .iter()
            .map(|pair| {
                (
                    pair[0].as_u64().expect("a unit") as usize,
                    pair[1].as_f64().expect("a weight") as f32,
                )
            })
            .collect();
        let all: f32 = relatives.iter().map(|(_, weight)| weight).sum();
        let visible = relatives.iter().filter(|(_, weight)| *weight > 0.0).count();
        for (other, weight) in relatives {
            lifts[unit][other] = weight / all * visible as f32;
        }
    }

    for (unit, links) in found.iter().enumerate() {
        let stronger = |other: usize| lifts[unit][other].max(lifts[other][unit]);
        let related = (0..units.len()).filter(|other| stronger(*other) > 0.0);
        assert_eq!(links.len(), related.count(), "unit {unit}");
        assert!(
            links.is_sorted_by(|a, b| a.weight >= b.weight),
            "unit {unit}: {links:?}"
        );
        for link in links {
            let expected = stronger(link.to as usize);
            assert!(
                (link.weight - expected).abs() < 1e-5,
                "unit {unit}: {link:?}, not {expected}"
            );
        }
    }
}

#[test]
fn related_units_are_those_of_the_attention_matrix() {
    let golden = &vectors("attention_linker.json")["sentence_level"];
    check(golden, "A_full", "metadata_full_excluding_self");
    check(golden, "A_causal", "metadata_causal_excluding_self");
}

#[test]
fn both_directions_take_the_stronger_share_and_link_a_unit_to_later_ones() {
    let rows =
        matrix(&vectors("attention_linker.json")["token_to_sentence"]["row_mean_of_block_sum"]);
    let links_of = links(&rows, 8);
    let weight = |unit: usize, to: u32| {
        links_of[unit]
            .iter()
            .find(|link| link.to == to)
            .map_or(0.0, |link| (link.weight * 1e4).round() / 1e4)
    };
    // unit 1 looks at unit 0 alone; unit 2 shares .2352 and .6441, which are .535 and 1.465 of
    // their mean
    assert_eq!((weight(0, 1), weight(1, 0)), (1.0, 1.0));
    assert_eq!((weight(2, 1), weight(1, 2)), (1.465, 1.465));
    assert_eq!(weight(0, 2), 0.535);
    assert_eq!(links(&rows, 1)[2].len(), 1);
}

/// A causal model that looks at all that it sees alike links nothing with anything in particular:
/// by shares the second unit would be linked with the first as strongly as can be.
#[test]
fn even_attention_favours_no_place_in_the_document() {
    let even = |unit: usize| {
        (0..6)
            .map(|other| if other <= unit { 0.1 } else { 0.0 })
            .collect()
    };
    let rows: Vec<Vec<f32>> = (0..6).map(even).collect();
    for link in links(&rows, 8).iter().flatten() {
        assert!((link.weight - 1.0).abs() < 1e-6, "{link:?}");
    }
}

#[test]
fn neighbours_are_the_nearest_units_on_both_sides() {
    let linked = link_neighbours(5, 3);
    let of = |unit: usize| -> Vec<u32> { linked[unit].iter().map(|link| link.to).collect() };
    assert_eq!(of(0), [1, 2, 3]);
    assert_eq!(of(2), [1, 3, 0]);
    assert_eq!(of(4), [3, 2, 1]);
    assert_eq!(linked[2][2].weight, 0.5);
    assert_eq!(link_neighbours(1, 3), [Vec::new()]);
}

#[test]
fn windows_cover_every_unit_and_overlap_by_half() {
    let cases: [(&[u32], u32, &[(usize, usize)]); 7] = [
        (&[], 10, &[]),
        (&[3], 10, &[(0, 1)]),
        (&[3, 3, 3], 10, &[(0, 3)]),
        (&[1; 8], 4, &[(0, 4), (2, 6), (4, 8)]),
        (&[1; 7], 4, &[(0, 4), (2, 6), (4, 7)]),
        (&[20, 20, 20], 10, &[(0, 2), (1, 3)]),
        (&[1, 30, 1, 1, 1], 10, &[(0, 2), (1, 3), (2, 5)]),
    ];
    for (tokens, most, expected) in cases {
        let found: Vec<(usize, usize)> = windows(tokens, most)
            .into_iter()
            .map(|w| (w.start, w.end))
            .collect();
        assert_eq!(found, expected, "{tokens:?}");
    }
    for count in [2, 3, 500, 5001] {
        let lengths: Vec<u32> = (0..count).map(|unit| 1 + unit * 7 % 90).collect();
        let all = windows(&lengths, 256);
        assert!(all.first().is_some_and(|first| first.start == 0));
        assert!(all.last().is_some_and(|last| last.end == lengths.len()));
        assert!(
            all.windows(2)
                .all(|pair| pair[0].start < pair[1].start && pair[1].start < pair[0].end)
        );
        assert!(
            all.iter()
                .all(|window| window.len() == 2
                    || lengths[window.clone()].iter().sum::<u32>() <= 256)
        );
    }
}

/// Attention that falls off with distance, of a unit to those before it in its window.
fn rows(window: &std::ops::Range<usize>) -> Vec<Vec<f32>> {
    let near = |unit: usize, other: usize| {
        if other <= unit {
            1.0 / (1 + unit - other) as f32
        } else {
            0.0
        }
    };
    window
        .clone()
        .map(|unit| window.clone().map(|other| near(unit, other)).collect())
        .collect()
}

#[test]
fn a_long_document_is_linked_in_bounded_memory_and_like_a_short_one() {
    let count = 25_000;
    let mut maker = LinkMaker::new(3);
    let mut most_held = 0;
    for window in windows(&vec![1; count], 64) {
        maker.window(window.start, &rows(&window));
        most_held = most_held.max(maker.row_count());
    }
    let links = maker.finish();
    assert_eq!(links.len(), count);
    assert!(most_held <= 4 * 64, "{most_held} rows are held at once");
    let whole = {
        let mut maker = LinkMaker::new(3);
        maker.window(0, &rows(&(0..48)));
        maker.finish()
    };
    let order = |links: &[Link]| links.iter().map(|link| link.to).collect::<Vec<u32>>();
    assert_eq!(order(&links[20]), order(&whole[20]));
    for (unit, of_unit) in links.iter().enumerate().skip(100).take(24_000) {
        let mut near: Vec<i64> = of_unit
            .iter()
            .map(|link| i64::from(link.to) - unit as i64)
            .collect();
        near.sort_unstable();
        assert!(
            near.iter().all(|distance| distance.abs() <= 3),
            "unit {unit}: {near:?}"
        );
    }
}
