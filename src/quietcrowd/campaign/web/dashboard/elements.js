// Elements of the page. External content becomes text, and nothing else.

export function byId(id) {
  return document.getElementById(id);
}

/** Set the text of an element only if it differs, so that screen readers do not repeat it. */
export function say(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

export function make(kind, text = "", className = "") {
  const element = document.createElement(kind);
  element.textContent = text;
  if (className) {
    element.className = className;
  }
  return element;
}

/** Show a fraction as a bar with a number next to it. */
export function showShare(element, share, text) {
  const both = make("div", "", "share");
  if (share !== null) {
    const bar = byId("bar").content.firstElementChild.cloneNode(true);
    const part = Math.min(1, Math.max(0, share));
    bar.lastElementChild.setAttribute("width", String(100 * part));
    both.append(bar);
  }
  both.append(make("span", text, "number"));
  element.replaceChildren(both);
}
