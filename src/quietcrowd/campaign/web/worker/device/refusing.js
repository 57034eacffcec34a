// Actions that the device rejects.

import { Refusal } from "../terms/terms.js";

export function refuseIf(isSo, key, values) {
  if (isSo) {
    throw new Refusal(key, values);
  }
}
