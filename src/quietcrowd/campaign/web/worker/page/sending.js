// Drawing, keeping and sending: one step, with nothing to decide in between.

import { byId } from "./elements.js";

/** Make reports of the answers, and send them. */
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

/** Send what is kept, until the server has it. */
export async function deliver(app) {
  const { device, say } = app;
  app.answers.clear();
  await app.go("sending");
  try {
    await device.send(() => byId("waiting")?.replaceChildren(say("screen.offline")));
  } finally {
    await (device.state === "sent" && app.go("receipt")); // also where reports were rejected
  }
}
