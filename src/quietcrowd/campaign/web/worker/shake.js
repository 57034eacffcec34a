// SHAKE-256 (FIPS 202), which browsers do not have: as many bytes as wanted of a message.

const RATE = 136; // bytes per block
const ROUNDS = 24;
const LANES = 25; // of 64 bits each, kept as a lower and an upper half

const [ROTATIONS, TARGETS] = rhoAndPi();
const CONSTANTS = roundConstants();

/**
 * Return bytes that stand for a message.
 * @param {Uint8Array} message
 * @param {number} size
 */
export function shake256(message, size) {
  const blocks = Math.floor(message.length / RATE) + 1;
  const padded = new Uint8Array(blocks * RATE);
  padded.set(message);
  padded[message.length] ^= 0x1f;
  padded[padded.length - 1] ^= 0x80;
  const state = new Uint8Array(8 * LANES);
  for (let start = 0; start < padded.length; start += RATE) {
    for (let i = 0; i < RATE; i += 1) {
      state[i] ^= padded[start + i];
    }
    permute(state);
  }
  const digest = new Uint8Array(size);
  for (let start = 0; start < size; start += RATE) {
    if (start) {
      permute(state);
    }
    digest.set(state.subarray(0, Math.min(RATE, size - start)), start);
  }
  return digest;
}

/** Change the state, 200 bytes, in place: Keccak-f[1600]. */
function permute(state) {
  const view = new DataView(state.buffer);
  const lanes = Int32Array.from({ length: 2 * LANES }, (_, i) => view.getInt32(4 * i, true));
  const moved = new Int32Array(2 * LANES);
  for (let round = 0; round < ROUNDS; round += 1) {
    theta(lanes);
    move(lanes, moved);
    chi(moved, lanes);
    lanes[0] ^= CONSTANTS[2 * round];
    lanes[1] ^= CONSTANTS[2 * round + 1];
  }
  lanes.forEach((half, i) => view.setInt32(4 * i, half, true));
}

/** Return the bits of a half that is rotated left together with its other half; by 0 to 31. */
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

/** Rotate each lane and move it to its new place: rho and pi. */
function move(lanes, moved) {
  for (let lane = 0; lane < LANES; lane += 1) {
    const swap = ROTATIONS[lane] >= 32 ? 1 : 0;
    const [low, high] = [lanes[2 * lane + swap], lanes[2 * lane + 1 - swap]];
    moved[2 * TARGETS[lane]] = rotated(low, high, ROTATIONS[lane] % 32);
    moved[2 * TARGETS[lane] + 1] = rotated(high, low, ROTATIONS[lane] % 32);
  }
}

/** Combine each lane with the next two of its row. */
function chi(moved, lanes) {
  for (let row = 0; row < 50; row += 10) {
    for (let i = 0; i < 10; i += 1) {
      const [next, second] = [moved[row + ((i + 2) % 10)], moved[row + ((i + 4) % 10)]];
      lanes[row + i] = moved[row + i] ^ (~next & second);
    }
  }
}

/** Return by how much each lane is rotated, and where it goes. */
function rhoAndPi() {
  const rotations = new Uint8Array(LANES);
  const targets = new Uint8Array(LANES);
  let [x, y] = [1, 0];
  for (let t = 0; t < LANES - 1; t += 1) {
    const [toX, toY] = [y, (2 * x + 3 * y) % 5];
    rotations[x + 5 * y] = (((t + 1) * (t + 2)) / 2) % 64;
    targets[x + 5 * y] = toX + 5 * toY;
    [x, y] = [toX, toY];
  }
  return [rotations, targets];
}

/** Return what each round adds to the first lane: bits of a shift register, at places 2^j - 1. */
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
