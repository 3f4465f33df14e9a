// Figures from one table of counts, box by class, as hyperboxes.summary has them, and their intervals.

const Z = 1.959963984540054; // 95 %

const share = (part, whole) => (whole > 0 ? part / whole : NaN);

/**
 * Derive all figures from counts (rows by deciding box, last none, and class) and the answers of the boxes.
 * matrix[truth][answer] has one more column, for rows without an answer.
 */
export function figuresOf(counts, answers, nClasses) {
  const at = (place, label) => counts[place * nClasses + label];
  const matrix = Array.from({ length: nClasses }, () => new Array(nClasses + 1).fill(0));
  const classRows = new Array(nClasses).fill(0);
  const boxes = answers.map((answer, place) => {
    let rows = 0;
    for (let label = 0; label < nClasses; label += 1) {
      rows += at(place, label);
      classRows[label] += at(place, label);
      matrix[label][answer < 0 ? nClasses : answer] += at(place, label);
    }
    return { rows, hits: answer < 0 ? NaN : at(place, answer), answer };
  });
  const total = classRows.reduce((sum, rows) => sum + rows, 0);
  for (const box of boxes) {
    box.precision = share(box.hits, box.rows);
    box.recall = box.answer < 0 ? NaN : share(box.hits, classRows[box.answer]);
    box.precisionInterval = wilson(box.hits, box.rows);
    box.recallInterval = box.answer < 0 ? null : wilson(box.hits, classRows[box.answer]);
  }
  const classes = classRows.map((rows, label) => {
    const hits = matrix[label][label];
    const answered = matrix.reduce((sum, line) => sum + line[label], 0);
    const either = rows + answered - hits;
    return {
      rows, hits, answered,
      precision: share(hits, answered), precisionInterval: wilson(hits, answered),
      recall: share(hits, rows), recallInterval: wilson(hits, rows),
      f1: share(2 * hits, rows + answered), f1Interval: f1Interval(hits, either),
    };
  });
  const right = classes.reduce((sum, one) => sum + one.hits, 0);
  const scores = classes.map((one) => one.f1).filter((score) => !Number.isNaN(score));
  const macroF1 = share(scores.reduce((sum, score) => sum + score, 0), scores.length);
  return {
    total, right, boxes, classes, matrix, macroF1,
    accuracy: share(right, total), accuracyInterval: wilson(right, total),
    macroF1Interval: macroInterval(matrix, classes, macroF1),
  };
}

/** Wilson's interval of a share: holds at both ends and for few rows. */
export function wilson(part, whole) {
  if (!(whole > 0) || Number.isNaN(part)) return null;
  const p = part / whole;
  const z2 = (Z * Z) / whole;
  const middle = (p + z2 / 2) / (1 + z2);
  const half = (Z / (1 + z2)) * Math.sqrt((p * (1 - p)) / whole + z2 / (4 * whole));
  return [Math.max(0, Math.min(p, middle - half)), Math.min(1, Math.max(p, middle + half))];
}

/**
 * Interval of one class's F1. F1 = 2 J / (1 + J), where J is the share of hits among the rows that are of
 * the class, or answered with it: a share, so Wilson's interval of J, carried over, is one of F1.
 */
export function f1Interval(hits, either) {
  const interval = wilson(hits, either);
  return interval && interval.map((j) => (2 * j) / (1 + j));
}

/**
 * Interval of the mean F1 over classes: the intervals of the classes added up like standard errors, with the
 * correlations that the confusion matrix gives. Unlike the delta method alone it holds for a perfect score.
 */
export function macroInterval(matrix, classes, macroF1) {
  const scored = classes.flatMap((one, label) => (Number.isNaN(one.f1) ? [] : [{ ...one, label }]));
  if (!scored.length) return null;
  const covariance = covarianceOf(matrix, scored);
  const variances = covariance.map((line, place) => line[place]);
  // Where a class is without error its correlations are unknown: one is the cautious guess.
  const correlation = (a, b) => {
    const size = Math.sqrt(variances[a] * variances[b]);
    return a === b || !(size > 0) ? 1 : Math.max(-1, Math.min(1, covariance[a][b] / size));
  };
  const half = (end) => {
    const reach = scored.map((one) => Math.abs(one.f1 - one.f1Interval[end]));
    let sum = 0;
    reach.forEach((a, i) => reach.forEach((b, j) => { sum += correlation(i, j) * a * b; }));
    return Math.sqrt(Math.max(0, sum)) / scored.length;
  };
  return [Math.max(0, macroF1 - half(0)), Math.min(1, macroF1 + half(1))];
}

/** Covariances of the classes' F1, by how far one row more in a cell of the matrix would move each. */
function covarianceOf(matrix, scored) {
  const n = scored.length;
  const total = matrix.reduce((sum, line) => line.reduce((part, rows) => part + rows, sum), 0);
  const place = new Map(scored.map((one, index) => [one.label, index]));
  const sums = Array.from({ length: n }, () => new Float64Array(n));
  const means = new Float64Array(n);
  matrix.forEach((line, truth) => line.forEach((rows, answer) => {
    if (!rows) return;
    // A row moves the F1 of its class and of its answer, and of no other class.
    const moves = new Map();
    for (const label of [truth, answer]) {
      const index = place.get(label);
      if (index === undefined) continue;
      const { f1, rows: own, answered } = scored[index];
      moves.set(index, truth === answer ? (2 - 2 * f1) / (own + answered) : -f1 / (own + answered));
    }
    for (const [i, a] of moves) {
      means[i] += rows * a;
      for (const [j, b] of moves) sums[i][j] += rows * a * b;
    }
  }));
  return sums.map((line, i) => line.map((sum, j) => sum - (means[i] * means[j]) / total));
}
