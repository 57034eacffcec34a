// Polling while someone looks.

/**
 * Take a step now, and again some milliseconds after each, except while the page is hidden.
 *
 * A step returns whether to continue. The returned function stops polling.
 */
export function poll(step, milliseconds) {
  let timer = 0;
  let busy = false;
  let ended = false;

  async function turn() {
    clearTimeout(timer);
    if (busy || ended || document.hidden) {
      return;
    }
    busy = true;
    const further = await step();
    busy = false;
    ended ||= !further;
    timer = ended ? 0 : setTimeout(turn, milliseconds);
  }

  document.addEventListener("visibilitychange", turn);
  turn();
  return () => {
    ended = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", turn);
  };
}
