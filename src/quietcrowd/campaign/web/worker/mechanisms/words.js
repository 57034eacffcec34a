// Sources of random words: functions that return `count` 32-bit words as a Uint32Array.

/** @typedef {(count: number) => Uint32Array} WordSource */

const AT_ONCE = 65_536 / 4; // maximum words of one browser call

/** Return words of the browser's cryptographic generator. @type {WordSource} */
export function systemWords(count) {
  const words = new Uint32Array(count);
  for (let start = 0; start < count; start += AT_ONCE) {
    crypto.getRandomValues(words.subarray(start, start + AT_ONCE));
  }
  return words;
}

/**
 * Return integers that are exactly uniform on 0 to `size - 1`.
 *
 * Two words make a 64-bit number, lower half first. Numbers at or above the largest multiple of the
 * size are drawn again, together and in order.
 * @param {WordSource} words
 * @param {number} size  at most 2^32 + 1
 * @param {number} count
 */
export function uniformIntegers(words, size, count) {
  const whole = BigInt(size);
  const limit = (2n ** 64n / whole) * whole;
  const integers = new Array(count);
  let open = [...integers.keys()];
  while (open.length) {
    const drawn = words(2 * open.length);
    open = open.filter((place, i) => {
      const number = BigInt(drawn[2 * i]) | (BigInt(drawn[2 * i + 1]) << 32n);
      integers[place] = Number(number % whole);
      return number >= limit;
    });
  }
  return integers;
}
