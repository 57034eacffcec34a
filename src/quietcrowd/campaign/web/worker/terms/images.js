// Images that tasks show beside words, named by the SHA-256 of their bytes.

const IMAGE_HASH = /^[0-9a-f]{64}$/;

/**
 * Return the image that a column of a task is, or null: `{"image": SHA-256 in hex, "alt": text}`.
 * @param {unknown} value
 * @returns {{hash: string, alt: string} | null}
 */
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
