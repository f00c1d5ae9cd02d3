//! Kernel language entropy: the uncertainty of sampled answers from how similar their meanings are,
//! pair by pair, in place of clusters that are the same or not.
//!
//! Nikitin, Kossen, Gal and Marttinen, "Kernel Language Entropy", NeurIPS 2024: the answers are the
//! nodes of a graph, weighted by the judgements of an entailment judge; a kernel over the graph,
//! scaled to a diagonal of 1 / n, has a von Neumann entropy. DENSE-RAG's tables 1 and 8 compare
//! DENSE with its heat and Matern kernels at these parameters.

use super::symmetric::Eigen;

/// A kernel over a graph with the Laplacian L.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kernel {
    /// exp(-t L).
    Heat { t: f64 },
    /// (2 nu / kappa² I + L)^-nu.
    Matern { kappa: f64, nu: f64 },
}

/// The heat kernel of DENSE-RAG's tables.
pub const HEAT: Kernel = Kernel::Heat { t: 0.1 };
/// The Matern kernel of DENSE-RAG's tables.
pub const MATERN: Kernel = Kernel::Matern {
    kappa: 3.0,
    nu: 3.0,
};
/// Eigenvalues of a kernel up to this are rounding errors.
const MIN_EIGENVALUE: f64 = 1e-12;

/// Returns the von Neumann entropy of a kernel over n answers, nats: 0 when all are connected as
/// closely as can be, ln n when none are. `weights` has the n x n weights of the edges, symmetric
/// and at least 0; its diagonal is not read.
pub fn kernel_entropy(weights: &[Vec<f64>], kernel: Kernel) -> f64 {
    let values = Eigen::new(laplacian(weights));
    let kernel = values.map(|value| match kernel {
        Kernel::Heat { t } => (-t * value).exp(),
        Kernel::Matern { kappa, nu } => (2.0 * nu / (kappa * kappa) + value.max(0.0)).powf(-nu),
    });

    let count = weights.len();
    let scaled = (0..count)
        .map(|i| {
            // the paper scales the kernel K to K_ij / (n sqrt(K_ii K_jj)), a density matrix of
            // trace 1
            let scale = |j: usize| (kernel[i][i] * kernel[j][j]).sqrt() * count as f64;
            (0..count).map(|j| kernel[i][j] / scale(j)).collect()
        })
        .collect();
    let surprises = Eigen::new(scaled)
        .values
        .into_iter()
        .filter(|value| *value > MIN_EIGENVALUE)
        .map(|value| -value * value.ln());
    surprises.sum::<f64>().max(0.0)
}

/// Returns D - W, where D has the sums of the edges of each node.
fn laplacian(weights: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let count = weights.len();
    (0..count)
        .map(|i| {
            let degree: f64 = (0..count).filter(|j| *j != i).map(|j| weights[i][j]).sum();
            let entry = |j: usize| if i == j { degree } else { -weights[i][j] };
            (0..count).map(entry).collect()
        })
        .collect()
}
