// The number of answers that the worker's budget allows.

/** Return how many answers of the device's campaign fit into a limit; null is no limit. */
export async function answersWithin(device, limit) {
  const spent = async (count) => (await device.spending(count)).after;
  const isAllowed = async (count) => limit === null || (await spent(count)) <= limit;
  const { answers } = device.terms;
  let [allowed, beyond] = (await isAllowed(answers)) ? [answers, answers] : [0, answers];
  while (beyond - allowed > 1) {
    const middle = Math.floor((allowed + beyond) / 2);
    [allowed, beyond] = (await isAllowed(middle)) ? [middle, beyond] : [allowed, middle];
  }
  return allowed;
}
