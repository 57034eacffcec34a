// Messages of the page, from one catalog per language.

/** Return a function from a key to its message, which is that of `key.one` if `count` is 1. */
export function speaker(catalog) {
  return (key, values = {}) => {
    const one = `${key}.one`;
    const chosen = values.count === 1 && Object.hasOwn(catalog, one) ? one : key;
    if (!Object.hasOwn(catalog, chosen)) {
      throw new RangeError(`there is no message "${chosen}"`);
    }
    return catalog[chosen].replace(/\{(\w+)\}/g, (_, name) => {
      if (!Object.hasOwn(values, name)) {
        throw new RangeError(`message "${chosen}" lacks a value for ${name}`);
      }
      return String(values[name]);
    });
  };
}
