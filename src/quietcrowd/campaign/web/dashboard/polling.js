// Asking again and again, while somebody looks.

/**
 * Take a step now and then a while after each, but not while the page is hidden.
 *
 * A step returns whether there is to be another one. What is returned ends it all.
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
