// Taking everything back: on the server, or what this device keeps.

import { byId } from "./elements.js";

/** Ask whether to withdraw: as who joined here, or with a key. */
export function withdrawal(app, key = "") {
  const foreign = key !== "" || app.device.state === "new";
  const withdraw = async () => {
    const given = foreign ? byId("key").value.trim().split("#w=").at(-1) : undefined;
    await app.device.withdraw(given);
    await app.end("screen.withdrawn");
  };
  return { foreign, key, withdraw };
}

/** Ask whether this device is to forget. */
export function forget(app) {
  return {
    forget: async () => {
      await app.device.forget();
      await app.end("screen.forgotten");
    },
  };
}
