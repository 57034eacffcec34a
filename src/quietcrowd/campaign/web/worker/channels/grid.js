// The public grid to which numbers are rounded before noise is added.

import { boundsOf, labelsOf } from "../terms/domain.js";
import { requireMembers, isFrom, must } from "./reading.js";

/** Check that a grid is that of a domain of numbers with its step; see Python's grid.py. */
export function checkGrid(grid, domain) {
  requireMembers(grid, "low step steps high");
  const { step } = grid;
  const [low, high] = boundsOf(domain);
  const width = high - low;
  must(isFrom(2 ** -960, Number.MAX_VALUE, width));
  must(isFrom(Number.MIN_VALUE, width, step) && 2 ** Math.round(Math.log2(step)) === step);
  must(width / step <= 2 ** 24);
  const steps = 2 * Math.ceil(width / step / 2);
  const farthest = Math.max(Math.abs(low), Math.abs(high));
  must(step * steps <= 1.01 * width && farthest <= step * 2 ** 50);
  must(farthest + step * 2 ** 63 < Infinity);
  must(grid.low === low && grid.high === high && grid.steps === steps);
}

/** Clip and round a number to a place from 0 to `steps`; ties are rounded to the even place. */
export function placeOf({ low, step, steps }, number) {
  const place = (number - low) / step;
  const below = Math.floor(place);
  const above = place - below;
  const up = above > 0.5 || (above === 0.5 && below % 2 !== 0);
  return Math.min(Math.max(up ? below + 1 : below, 0), steps);
}

export function placesOf({ mechanism, channel }, codes) {
  const labels = labelsOf(mechanism.domain);
  const number = (code) => (labels === null ? code : labels[code]);
  return codes.map((code) => (code === null ? null : placeOf(channel.grid, number(code))));
}

/** Add noise to whole numbers, and clip them to the bounds that the campaign accepts. */
export function withNoise(numbers, noise, [low, high]) {
  return numbers.map((number, i) => {
    const noisy = BigInt(number) + noise[i];
    if (noisy < BigInt(low)) {
      return low;
    }
    return noisy > BigInt(high) ? high : Number(noisy);
  });
}
