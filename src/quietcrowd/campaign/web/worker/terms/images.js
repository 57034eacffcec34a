// Images in tasks, referred to by the SHA-256 of their bytes.

const IMAGE_HASH = /^[0-9a-f]{64}$/;

/** Return the image in a column of a task, `{"image": SHA-256 in hex, "alt": text}`, or null. */
export function imageIn(value) {
  const named =
    typeof value === "object" &&
    value !== null &&
    Object.keys(value).sort().join() === "alt,image" &&
    typeof value.alt === "string" &&
    typeof value.image === "string" &&
    IMAGE_HASH.test(value.image);
  return named ? { hash: value.image, alt: value.alt } : null;
}

const MOST_PIXELS = 40_000_000;
const JPEG_FRAMES = [0xc0, 0xc1, 0xc2, 0xc9, 0xca]; // segments with height and width
const PNG = [0x89504e47, 0x0d0a1a0a, 13, 0x49484452];
const [RIFF, WEBP] = [0x52494646, 0x57454250];
const [VP8, VP8L, VP8X] = [0x56503820, 0x5650384c, 0x56503858];

/** Return whether bytes are a PNG, JPEG or WebP with few pixels, before a browser decodes them. */
export function isShownImage(content) {
  try {
    const pixels = pixelsOf(new DataView(content));
    return pixels > 0 && pixels <= MOST_PIXELS;
  } catch {
    return false; // truncated header
  }
}

function pixelsOf(view) {
  const word = (place) => view.getUint32(place);
  const short = (place) => view.getUint16(place);
  const little = (place) => view.getUint32(place, true);
  if (PNG.every((one, index) => word(4 * index) === one)) {
    return word(16) * word(20);
  }
  if (word(0) >>> 8 === 0xffd8ff) {
    let place = 2;
    while (view.getUint8(place) === 0xff) {
      const code = view.getUint8(place + 1);
      if (JPEG_FRAMES.includes(code)) {
        return short(place + 5) * short(place + 7);
      }
      place += code === 0xff ? 1 : 2 + short(place + 2); // padding by FF bytes
    }
  } else if (word(0) === RIFF && word(8) === WEBP) {
    if (word(12) === VP8X) {
      return ((little(23) >>> 8) + 1) * ((little(26) >>> 8) + 1);
    }
    if (word(12) === VP8L && view.getUint8(20) === 0x2f) {
      return ((little(21) & 0x3fff) + 1) * (((little(21) >>> 14) & 0x3fff) + 1);
    }
    if (word(12) === VP8 && little(22) >>> 8 === 0x2a019d) {
      return (little(26) & 0x3fff) * ((little(26) >>> 16) & 0x3fff);
    }
  }
  return 0;
}
