// The public grid that numbers are rounded to before noise is added.

/** @typedef {{low: number, step: number, steps: number}} Grid */

/**
 * Clip and round a number to a place on the grid, 0 to `steps`; in the middle to an even place.
 * @param {Grid} grid
 * @param {number} number
 */
export function placeOf({ low, step, steps }, number) {
  const place = (number - low) / step;
  const below = Math.floor(place);
  const above = place - below;
  const up = above > 0.5 || (above === 0.5 && below % 2 !== 0);
  return Math.min(Math.max(up ? below + 1 : below, 0), steps);
}

/**
 * Return a noisy place as it is sent: cut off at what the campaign takes in.
 * @param {bigint} noisy
 * @param {[number, number]} bounds
 */
export function cutOff(noisy, [low, high]) {
  if (noisy < BigInt(low)) {
    return low;
  }
  return noisy > BigInt(high) ? high : Number(noisy);
}
