// SHAKE-256 (FIPS 202), which browsers lack.

const RATE = 136; // bytes per block
const ROUNDS = 24;
const LANES = 25; // of 64 bits each, stored as a lower and an upper half
const CONSTANTS = roundConstants();

/** Return a digest of `size` bytes. @param {Uint8Array} message */
export function shake256(message, size) {
  const padded = new Uint8Array((Math.floor(message.length / RATE) + 1) * RATE);
  padded.set(message);
  padded[message.length] ^= 0x1f;
  padded[padded.length - 1] ^= 0x80;
  const lanes = new Int32Array(2 * LANES);
  const state = new Uint8Array(lanes.buffer); // lowest byte first, as on all systems with browsers
  for (let start = 0; start < padded.length; start += RATE) {
    for (let i = 0; i < RATE; i += 1) {
      state[i] ^= padded[start + i];
    }
    permute(lanes);
  }
  const digest = new Uint8Array(size);
  for (let start = 0; start < size; start += RATE) {
    digest.set(state.subarray(0, Math.min(RATE, size - start)), start);
    permute(lanes);
  }
  return digest;
}

function permute(lanes) {
  for (let round = 0; round < ROUNDS; round += 1) {
    theta(lanes);
    move(lanes);
    chi(lanes);
    lanes[0] ^= CONSTANTS[2 * round];
    lanes[1] ^= CONSTANTS[2 * round + 1];
  }
}

/** Rotate 64 bits left by 0 to 31, and return the half that was `half`. */
function rotated(half, other, by) {
  return by ? (half << by) | (other >>> (32 - by)) : half;
}

/** Add to each lane the parities of two columns. */
function theta(lanes) {
  const parity = new Int32Array(10);
  lanes.forEach((half, i) => {
    parity[i % 10] ^= half;
  });
  for (let i = 0; i < 10; i += 1) {
    const [before, after] = [(i + 8) % 10, (i + 2) % 10];
    const added = parity[before] ^ rotated(parity[after], parity[after ^ 1], 1);
    for (let row = 0; row < 50; row += 10) {
      lanes[row + i] ^= added;
    }
  }
}

/** Rotate each lane and move it to the place of the next (rho and pi). */
function move(lanes) {
  let [x, y] = [1, 0];
  let [low, high] = [lanes[2], lanes[3]];
  for (let t = 1, by = 1; t < LANES; t += 1, by = (by + t) % 64) {
    [x, y] = [y, (2 * x + 3 * y) % 5];
    const place = 2 * (x + 5 * y);
    const [one, other] = by < 32 ? [low, high] : [high, low];
    [low, high] = [lanes[place], lanes[place + 1]];
    lanes[place] = rotated(one, other, by % 32);
    lanes[place + 1] = rotated(other, one, by % 32);
  }
}

function chi(lanes) {
  for (let row = 0; row < 50; row += 10) {
    const old = lanes.slice(row, row + 10);
    old.forEach((half, i) => {
      lanes[row + i] = half ^ (~old[(i + 2) % 10] & old[(i + 4) % 10]);
    });
  }
}

/** Return the constants that rounds add to the first lane, from a shift register. */
function roundConstants() {
  const constants = new Int32Array(2 * ROUNDS);
  let register = 1;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let j = 0; j < 7; j += 1) {
      const place = 2 ** j - 1;
      constants[2 * round + (place >> 5)] ^= (register & 1) << place % 32;
      register = (register << 1) ^ (register & 0x80 ? 0x171 : 0);
    }
  }
  return constants;
}
