// Withdrawal from the server, and deletion on this device.

import { byId } from "./elements.js";

/** Ask whether to withdraw, with a key unless the worker has continued here. */
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

/** Ask whether to delete all data on this device. */
export function forget(app) {
  return {
    forget: async () => {
      await app.device.forget();
      app.answers.clear();
      await app.go("end", "screen.forgotten");
    },
  };
}
