// QR codes (ISO/IEC 18004): byte mode, UTF-8, error correction M.

const CHECKS = [0, 10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26];
const BLOCKS = [0, 1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16];
/** Bytes of error correction per block, and blocks, by version. */
const MASKS = [
  (x, y) => (x + y) % 2,
  (x, y) => y % 2,
  (x) => x % 3,
  (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2,
  (x, y) => ((x * y) % 2) + ((x * y) % 3),
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
]; // each inverts the modules for which it is 0
const upTo = (count) => [...Array(count).keys()];

/** Return a text as a QR code, black on white with its quiet zone; RangeError above 666 bytes. */
export function qrCode(text, label = "") {
  const bytes = new TextEncoder().encode(text);
  const version = upTo(21).find((one) => framed(bytes, one).length <= capacity(one));
  if (version === undefined) {
    throw new RangeError("the text is too long for a QR code");
  }
  const lines = symbolOf(version, withChecks(framed(bytes, version), version));
  const runs = lines.flatMap((line, y) =>
    Array.from(line.matchAll(/1+/g), ({ 0: run, index: x }) => `M${x} ${y}h${run.length}v1H${x}z`),
  );
  const drawn = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  };
  const size = lines.length + 8;
  const svg = drawn("svg", { role: "img", "aria-label": label, viewBox: `-4 -4 ${size} ${size}` });
  const ground = drawn("rect", { x: -4, y: -4, width: size, height: size, fill: "#fff" });
  svg.append(ground, drawn("path", { d: runs.join(""), "shape-rendering": "crispEdges" }));
  return svg;
}

/** Return mode, length, data and terminator; the first and the last have half a byte. */
function framed(bytes, version) {
  const all = [bytes.length >> 8, bytes.length & 255, ...bytes, 0].slice(version < 10 ? 1 : 0);
  return all.map((byte, i) => (((all[i - 1] ?? 4) << 4) | (byte >> 4)) & 255);
}

function capacity(version) {
  const count = alignments(version).length;
  const aligning = count && 25 * count ** 2 - 10 * count - 55 + (version > 6 && 36);
  const bits = 16 * version ** 2 + 128 * version + 64 - aligning;
  return version && (bits >> 3) - CHECKS[version] * BLOCKS[version];
}

function alignments(version) {
  const count = version > 1 ? Math.floor(version / 7) + 2 : 0;
  const step = 2 * Math.floor((8 * version + 3 * count + 5) / (4 * count - 4));
  return upTo(count).map((i) => (i ? 4 * version + 10 - step * (count - 1 - i) : 6));
}

/** Return data, padding and error correction, the bytes of all blocks in turn. */
function withChecks(data, version) {
  const [count, size] = [BLOCKS[version], capacity(version)];
  const padded = [...data, ...upTo(size - data.length).map((i) => (i % 2 ? 0x11 : 0xec))];
  const start = (i) => i * Math.floor(size / count) + Math.max(0, i - count + (size % count));
  const blocks = upTo(count).map((i) => padded.slice(start(i), start(i + 1)));
  let [divisor, root] = [[1], 1];
  for (const _ of upTo(CHECKS[version])) {
    divisor = [...divisor, 0].map((one, i) => one ^ fieldProduct(divisor[i - 1] ?? 0, root));
    root = fieldProduct(root, 2);
  }
  const divide = ([first, ...rest], byte) =>
    [...rest, 0].map((one, i) => one ^ fieldProduct(divisor[i + 1], byte ^ first));
  const checks = blocks.map((block) => block.reduce(divide, upTo(divisor.length - 1).fill(0)));
  const inTurn = (parts) => parts.at(-1).flatMap((_, i) => parts.flatMap((part) => part[i] ?? []));
  return [...inTurn(blocks), ...inTurn(checks)];
}

function fieldProduct(one, other) {
  const next = (sum, i) => (sum << 1) ^ ((sum >> 7) * 0x11d) ^ (((other >> (7 - i)) & 1) * one);
  return upTo(8).reduce(next, 0);
}

function withRemainder(value, degree, polynomial) {
  const next = (rest) => (rest << 1) ^ ((rest >> (degree - 1)) * polynomial);
  return (value << degree) | upTo(degree).reduce(next, value);
}

/** Return the modules that no data changes, 0 or 1; 0 for version and format. */
function patterns(version) {
  const end = 4 * version + 16;
  const ring = (centers, x, y) =>
    Math.min(...centers.map(([i, j]) => Math.max(Math.abs(x - i), Math.abs(y - j))));
  const finders = [[3, 3], [end - 3, 3], [3, end - 3]];
  const crossings = alignments(version).flatMap((x, _, all) => all.map((y) => [x, y]));
  const others = crossings.filter((one) => ring(finders, ...one) > 4);
  const moduleAt = (x, y) => {
    const pattern = [1, 1, 0, 1, 0][ring(finders, x, y)] ?? [1, 0, 1][ring(others, x, y)];
    const timing = x === 6 || y === 6 ? (x + y + 1) % 2 : undefined;
    const [low, high] = [Math.min(x, y), Math.max(x, y)];
    const isFormat = high === 8 || (low === 8 && high > end - 8);
    const isLater = isFormat || (version > 6 && low < 6 && high > end - 11);
    return pattern ?? timing ?? (isLater ? 0 : undefined);
  };
  return upTo(end + 1).map((y) => upTo(end + 1).map((x) => moduleAt(x, y)));
}

/** Return the lines of the symbol with the mask of the least penalty. */
function symbolOf(version, bytes) {
  const fixed = patterns(version);
  const [size, data] = [fixed.length, fixed.map((line) => [...line])];
  let place = 0;
  for (let right = size - 1; right > 0; right -= right === 8 ? 3 : 2) {
    for (const i of upTo(2 * size)) {
      const [x, row] = [right - (i % 2), i >> 1];
      const y = (right + 1) & 2 ? row : size - 1 - row;
      data[y][x] ??= (bytes[place >> 3] >> (7 - (place++ % 8))) & 1;
    }
  }
  const masked = MASKS.map((mask) =>
    data.map((line, y) => line.map((bit, x) => fixed[y][x] ?? bit ^ (mask(x, y) === 0))),
  );
  const penalties = masked.map(penaltyOf);
  const best = penalties.indexOf(Math.min(...penalties));
  const [lines, format] = [masked[best], withRemainder(best, 10, 0x537) ^ 0x5412];
  for (const i of upTo(15)) {
    const [x, y] = i < 8 ? [8, i + (i > 5)] : [i === 8 ? 7 : 14 - i, 8];
    const [right, below] = i < 8 ? [size - 1 - i, 8] : [8, size - 15 + i];
    lines[y][x] = lines[below][right] = (format >> i) & 1;
  }
  lines[size - 8][8] = 1;
  for (const i of upTo(version > 6 ? 18 : 0)) {
    const [x, y] = [size - 11 + (i % 3), Math.floor(i / 3)];
    lines[y][x] = lines[x][y] = (withRemainder(version, 12, 0x1f25) >> i) & 1;
  }
  return lines.map((line) => line.join(""));
}

/** Return the penalty of a masked symbol without version and format. */
function penaltyOf(lines) {
  const texts = [...lines, ...lines.map((_, x) => lines.map((line) => line[x]))];
  const matches = (pattern) => texts.flatMap((text) => text.join("").match(pattern) ?? []);
  const runs = matches(/0{5,}|1{5,}/g);
  const finders = matches(/(?<=0000|^0{0,3})1011101|1011101(?=0000|0{0,3}$)/g);
  const sumAt = (x, y) => lines[y][x] + lines[y][x + 1] + lines[y + 1][x] + lines[y + 1][x + 1];
  const inner = upTo(lines.length - 1);
  const squares = inner.flatMap((y) => inner.filter((x) => sumAt(x, y) % 4 === 0));
  const dark = lines.flat().filter(Boolean).length / lines.length ** 2;
  const points = 3 * squares.length + 40 * finders.length - 2 * runs.length;
  return points + runs.join("").length + 10 * Math.floor(Math.abs(100 * dark - 50) / 5);
}
