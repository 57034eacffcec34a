// Taking everything back: on the server, or what this device keeps.

import { byId } from "./elements.js";

/** Ask whether to withdraw: as who has gone on here, or else with a key. */
export function withdrawal(app) {
  const foreign = !app.order;
  const withdraw = async () => {
    const given = foreign ? byId("key").value.trim() : undefined;
    await app.device.withdraw(given);
    app.answers.clear();
    await app.go("end", foreign ? "screen.withdrawn.key" : "screen.withdrawn");
  };
  return { foreign, withdraw };
}

/** Ask whether this device is to forget. */
export function forget(app) {
  return {
    forget: async () => {
      await app.device.forget();
      app.answers.clear();
      await app.go("end", "screen.forgotten");
    },
  };
}
