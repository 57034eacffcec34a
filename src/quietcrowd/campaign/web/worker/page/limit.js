// How many answers the worker's limit for all campaigns of this site allows.

/** Return how many answers a limit allows in the device's campaign; null is no limit. */
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
