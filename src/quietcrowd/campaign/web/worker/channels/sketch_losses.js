// The privacy loss of sketches: the effect of all answers together on the sums, given task names.

import { momentScale, norm, products, sketch, taskProfiles } from "./sketch.js";

const MOST_PROFILES = 2 ** 26;
const MOST_HELD = 2 ** 24; // numbers of a table that is processed whole
const MOST_TERMS = 2 ** 29; // maximum number of additions to try all signs
const WIDEST = 1024; // maximum size of tables for singular values
const SQUARINGS = 14;
const ROUNDING = 2 ** -52;

const total = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

/** Return the loss of all answers to tasks; infinite if only the sum of single losses is known. */
export function lossOfNamed(channel, names) {
  const { grid, noise_scale: scale, profile, moments_epsilon: epsilon } = channel;
  if (names.length * profile.rank > MOST_PROFILES) {
    return Infinity;
  }
  const profiles = taskProfiles(profile, names);
  let moved = (grid.steps * largestSum(profiles)) / scale;
  if (epsilon) {
    moved += largestMoments(profiles, profile.rank) / momentScale(profiles, epsilon);
  }
  return Math.max(sketch.loss(channel), moved);
}

function largestMoments(profiles, rank) {
  if ((profiles.length * rank * (rank + 1)) / 2 <= MOST_HELD) {
    return largestSum(profiles.map(products));
  }
  const ofOne = (most, row) => Math.max(most, norm(products(row)));
  return profiles.length * profiles.reduce(ofOne, 1);
}

/** Return the largest 1-norm of a sum of rows with signs, or an upper bound. */
function largestSum(rows) {
  const whole = total(rows.map(norm));
  if (rows.every((row) => row.every((number) => number >= 0))) {
    return whole;
  }
  const columns = turned(rows);
  const [few, many] = rows.length < columns.length ? [rows, columns] : [columns, rows];
  if (few.length <= 30 && 2 ** (few.length - 1) * many.length <= MOST_TERMS) {
    return withAllSigns(few);
  }
  if (few.length > WIDEST || few.length * many.length > MOST_HELD) {
    return whole;
  }
  const isSigned = (column) => column.some((number) => number < 0);
  const single = total(columns.filter((column) => !isSigned(column)).map(total));
  return Math.min(whole, ofSpectrum(few), single + ofSpectrum(columns.filter(isSigned)));
}

/** Return the largest 1-norm of a signed sum of rows, flipping one sign at a time (Gray code). */
function withAllSigns(rows) {
  const sums = Float64Array.from(rows[0], (_, k) => total(rows.map((row) => row[k])));
  const next = rows.map((row) => Float64Array.from(row, (number) => -2 * number)); // to be added
  let largest = norm(sums);
  for (let turn = 1; turn < 2 ** (rows.length - 1); turn += 1) {
    const row = next[31 - Math.clz32(turn & -turn)];
    let sum = 0;
    for (let k = 0; k < sums.length; k += 1) {
      sums[k] += row[k];
      row[k] = -row[k];
      sum += Math.abs(sums[k]);
    }
    largest = Math.max(largest, sum);
  }
  return largest;
}

const squareOf = (numbers) => total(numbers.map((number) => number * number));

const turned = (table) => (table[0] ?? []).map((_, k) => table.map((row) => row[k]));
const withoutZeros = (table) => table.filter((row) => row.some((number) => number !== 0));

/** Return a bound from the largest singular value; see Python's privacy/sketches.py. */
function ofSpectrum(table) {
  const rows = turned(withoutZeros(turned(withoutZeros(table))));
  const [ofRows, ofColumns] = [rows, turned(rows)].map((one) =>
    one.map((row) => Math.sqrt(squareOf(row))),
  );
  const scaled = rows.map((row, i) =>
    row.map((number, k) => number / Math.sqrt(ofRows[i]) / Math.sqrt(ofColumns[k])),
  );
  const small = scaled.length < ofColumns.length ? scaled : turned(scaled);
  const slack = 8 * (Math.max(scaled.length, ofColumns.length) + 16) * ROUNDING;
  const error = slack * total(scaled.map(squareOf));
  const largest = eigenvalueBound(gramOf(small), slack, SQUARINGS) + error;
  return Math.sqrt(largest * total(ofRows) * total(ofColumns)) * (1 + slack);
}

function gramOf(rows) {
  return rows.map((one) =>
    rows.map((other) => other.reduce((sum, number, k) => sum + number * one[k], 0)),
  );
}

function eigenvalueBound(matrix, slack, squarings) {
  const size = Math.sqrt(total(matrix.map(squareOf))) * (1 + slack);
  if (!squarings || !size) {
    return size;
  }
  const unit = matrix.map((row) => row.map((number) => number / size));
  return size * Math.sqrt(eigenvalueBound(gramOf(unit), slack, squarings - 1) + slack);
}
