// The public grid that numbers are rounded to before noise is added.

/**
 * Clip and round a number to a place, 0 to `steps`; in the middle of two to the even one.
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
 * Return whole numbers with noise as they are sent: cut off at what the campaign takes in.
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
