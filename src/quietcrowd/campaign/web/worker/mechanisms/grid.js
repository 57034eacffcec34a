// The public grid to which numbers are rounded before noise is added.

/**
 * Clip and round a number to a place from 0 to `steps`; ties are rounded to the even place.
 * @param {{low: number, step: number, steps: number}} grid
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
 * Add noise to whole numbers, and clip them to the bounds that the campaign accepts.
 * @param {number[]} numbers
 * @param {bigint[]} noise
 * @param {[number, number]} bounds
 * @returns {number[]}
 */
export function withNoise(numbers, noise, [low, high]) {
  return numbers.map((number, i) => {
    const noisy = BigInt(number) + noise[i];
    if (noisy < BigInt(low)) {
      return low;
    }
    return noisy > BigInt(high) ? high : Number(noisy);
  });
}
