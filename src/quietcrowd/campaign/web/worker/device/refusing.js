// Actions that the device refuses.

import { Refusal } from "../terms/terms.js";

export function refuseIf(isSo, key, values) {
  if (isSo) {
    throw new Refusal(key, values);
  }
}
