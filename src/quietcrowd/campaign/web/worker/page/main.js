// Where the page begins.

import { speaker } from "./messages.js";

/** Return the messages of a language, as the page holds them; null for none. */
function catalogOf(language) {
  const block = document.querySelector(`script[data-messages="${language}"]`);
  return block === null ? null : JSON.parse(block.textContent);
}

const say = speaker(catalogOf(document.documentElement.lang));
document.title = say("page.title");
