// What the device does not do.

import { Refusal } from "../terms/terms.js";

/** Raise Refusal where something is so. */
export function refuseIf(isSo, key, values) {
  if (isSo) {
    throw new Refusal(key, values);
  }
}
