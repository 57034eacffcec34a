// Randomizing, storing and sending in one step, without further decisions.

import { byId } from "./elements.js";

export async function send(app) {
  await app.go("sending");
  try {
    await app.device.commit(app.answers);
  } catch (error) {
    await app.go("review");
    throw error;
  }
  await deliver(app);
}

/** Send stored reports until the server has them. */
export async function deliver(app) {
  const { device, say } = app;
  app.answers.clear();
  await app.go("sending");
  try {
    await device.send(() => byId("waiting")?.replaceChildren(say("screen.offline")));
  } finally {
    await (device.state === "sent" && app.go("receipt")); // also if reports were rejected
  }
}
