//! Eigenvalues and eigenvectors of symmetric matrices, by Jacobi rotations.

/// Maximum sweeps; a handful suffices for a few dozen rows.
const MAX_SWEEPS: usize = 64;
/// Sum of squares off the diagonal at which the search ends.
const OFF_DIAGONAL_TOLERANCE: f64 = 1e-18;

/// A symmetric matrix of n rows as V diag(values) V^T.
#[derive(Debug, Clone, PartialEq)]
pub struct Eigen {
    /// The n eigenvalues, in no order.
    pub values: Vec<f64>,
    /// V, row by row: column k is the eigenvector of value k.
    pub vectors: Vec<Vec<f64>>,
}

impl Eigen {
    /// Decomposes a symmetric matrix, row by row.
    pub fn new(mut a: Vec<Vec<f64>>) -> Self {
        let count = a.len();
        let mut vectors = identity(count);

        for _ in 0..MAX_SWEEPS {
            let off_diagonal: f64 = (0..count)
                .flat_map(|i| (0..i).map(move |j| (i, j)))
                .map(|(i, j)| a[i][j] * a[i][j])
                .sum();
            if off_diagonal < OFF_DIAGONAL_TOLERANCE {
                break;
            }
            for p in 0..count {
                for q in p + 1..count {
                    rotate(&mut a, &mut vectors, p, q);
                }
            }
        }

        Self {
            values: (0..count).map(|i| a[i][i]).collect(),
            vectors,
        }
    }

    /// Returns the matrix with this function of each eigenvalue in its place.
    pub fn map(&self, of: impl Fn(f64) -> f64) -> Vec<Vec<f64>> {
        let values: Vec<f64> = self.values.iter().map(|value| of(*value)).collect();
        let product = |a: &[f64], b: &[f64]| {
            let terms = values.iter().zip(a.iter().zip(b));
            terms.map(|(value, (a, b))| value * a * b).sum()
        };
        let row = |a: &Vec<f64>| self.vectors.iter().map(|b| product(a, b)).collect();
        self.vectors.iter().map(row).collect()
    }
}

fn identity(count: usize) -> Vec<Vec<f64>> {
    let row = |i| (0..count).map(|j| f64::from(u8::from(i == j))).collect();
    (0..count).map(row).collect()
}

/// Rotates the matrix in the plane of `p` and `q`, p < q, so that `a[p][q]` becomes 0, and the
/// vectors with it.
fn rotate(a: &mut [Vec<f64>], vectors: &mut [Vec<f64>], p: usize, q: usize) {
    if a[p][q] == 0.0 {
        return;
    }
    // the smaller of the two roots of t² + 2 theta t - 1 = 0: the rotation by at most 45 degrees,
    // with which the sweeps converge
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let sign = if theta >= 0.0 { 1.0 } else { -1.0 };
    let tangent = sign / (theta.abs() + theta.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    let turned = |x: f64, y: f64| [cosine * x - sine * y, sine * x + cosine * y];

    // the columns p and q, then the rows: A' = J^T A J
    for row in a.iter_mut().chain(vectors) {
        [row[p], row[q]] = turned(row[p], row[q]);
    }
    let (above, below) = a.split_at_mut(q);
    for (x, y) in above[p].iter_mut().zip(&mut below[0]) {
        [*x, *y] = turned(*x, *y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_the_product_of_its_parts() {
        let matrix = vec![
            vec![2.0, -1.0, 0.5],
            vec![-1.0, 3.0, 0.0],
            vec![0.5, 0.0, -1.0],
        ];
        let eigen = Eigen::new(matrix.clone());
        let trace: f64 = eigen.values.iter().sum();
        assert!((trace - 4.0).abs() < 1e-12, "{trace}");

        let rebuilt = eigen.map(|value| value);
        let units = eigen.map(|_| 1.0);
        for i in 0..3 {
            for j in 0..3 {
                assert!((rebuilt[i][j] - matrix[i][j]).abs() < 1e-12, "{rebuilt:?}");
                let unit = f64::from(u8::from(i == j));
                assert!((units[i][j] - unit).abs() < 1e-12, "{units:?}");
            }
        }
        assert_eq!(Eigen::new(Vec::new()).map(f64::exp), Vec::<Vec<f64>>::new());
    }
}
