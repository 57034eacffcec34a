// Elements of the page. What comes from outside becomes text, and never anything else.

/** Return the element of an id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Let an element say a text; nothing happens where it says it already, so nothing is read out. */
export function say(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

/** Return a new element that says a text. */
export function make(kind, text = "", className = "") {
  const element = document.createElement(kind);
  element.textContent = text;
  if (className) {
    element.className = className;
  }
  return element;
}

/** Let an element hold a share of one: a bar, and the number beside it. */
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
