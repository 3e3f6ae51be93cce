/** Is one recording: what its request or answer holds, and the tokens its provider reported. */
export interface Sample {
  features: readonly number[];
  tokens: number;
}

/** Holds the expected value of a coefficient before any recording was checked, and its uncertainty. */
export interface Prior {
  mean: number;
  deviation: number;
}

/** Is the relative error at which a line through all recordings should meet a provider's figure. */
const RELATIVE_ERROR = 0.03;
const ABSOLUTE_ERROR = 0.5;

/** Fits coefficients of a linear model by least squares of relative errors, drawn towards priors (ridge regression): with few recordings a coefficient that they say nothing about stays at its prior. */
export function fitCoefficients(samples: readonly Sample[], priors: readonly Prior[]): number[] {
  const means = priors.map(({ mean }) => mean);
  const matrix = priors.map(({ deviation }, row) =>
    priors.map((_, column) => (row === column ? 1 / deviation ** 2 : 0)),
  );
  const right = priors.map(() => 0);
  for (const { features, tokens } of samples) {
    const weight = 1 / ((RELATIVE_ERROR * tokens) ** 2 + ABSOLUTE_ERROR ** 2);
    const rest = tokens - dot(features, means);
    features.forEach((one, row) => {
      right[row] = (right[row] ?? 0) + weight * one * rest;
      features.forEach((other, column) => {
        const line = matrix[row];
        if (line) line[column] = (line[column] ?? 0) + weight * one * other;
      });
    });
  }
  const offsets = solve(matrix, right);
  return means.map((mean, at) => mean + (offsets[at] ?? 0));
}

function dot(left: readonly number[], right: readonly number[]): number {
  return left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0);
}

/** Solves by Gauss-Jordan; the matrix is positive definite, as every prior has a deviation. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  let rows = matrix.map((row, at) => [...row, right[at] ?? 0]);
  for (let pivot = 0; pivot < rows.length; pivot += 1) {
    const by = rows[pivot]?.[pivot] ?? 1;
    const line = (rows[pivot] ?? []).map((value) => value / by);
    rows = rows.map((row, at) => {
      if (at === pivot) return line;
      const factor = row[pivot] ?? 0;
      return row.map((value, column) => value - factor * (line[column] ?? 0));
    });
  }
  return rows.map((row) => row.at(-1) ?? 0);
}
