// Elements of the page. External content becomes text, and nothing else.

/** Return a new element; functions become listeners, booleans are toggled, strings are text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      made.addEventListener(key, value);
    } else if (typeof value === "boolean") {
      made.toggleAttribute(key, value);
    } else {
      made.setAttribute(key, value);
    }
  }
  made.append(...children);
  return made;
}

export function byId(id) {
  return document.getElementById(id);
}

/** A page that runs one action at a time; a subclass has `refused`, which shows an error. */
export class Page {
  #isBusy = false;

  /** Run one action at a time, and show its refusal. */
  async attempt(act) {
    if (this.#isBusy) {
      return;
    }
    this.#isBusy = true;
    this.tell("");
    try {
      await act();
    } catch (error) {
      this.refused(error);
    } finally {
      this.#isBusy = false;
    }
  }

  /** Show a message at the top of the page. */
  tell(message) {
    byId("alert").textContent = message;
    message && byId("alert").scrollIntoView({ block: "center" });
  }
}

/** Return a template's copy, filled with messages and values by its `data-` attributes. */
export function filled(name, app, values = {}) {
  const made = byId(name).content.cloneNode(true);
  const each = (mark, act) => {
    for (const one of made.querySelectorAll(`[data-${mark}]`)) {
      act(one, one.dataset[mark]);
    }
  };
  const click = (one, act) =>
    one.addEventListener("click", (event) => {
      event.preventDefault(); // forms are never submitted
      app.attempt(() => act(event));
    });
  each("if", (one, key) => values[key] || one.remove());
  each("say", (one, key) => one.append(app.say(key, values)));
  each("label", (one, key) => one.setAttribute("aria-label", app.say(key, values)));
  each("value", (one, key) => one.setAttribute("value", values[key]));
  each("href", (one, key) => one.setAttribute("href", values[key]));
  each("off", (one, key) => one.toggleAttribute("disabled", values[key]));
  each("text", (one, key) => {
    const copies = [values[key]].flat().map((text) => {
      const copy = one.cloneNode();
      copy.textContent = text;
      return copy;
    });
    one.replaceWith(...copies);
  });
  each("go", (one, screen) => click(one, () => app.go(screen)));
  each("do", (one, act) => click(one, values[act] ?? (() => app[act]())));
  each("put", (one, key) => one.append(...values[key])); // last: these are already filled
  return [...made.children];
}

/** Return a table with its caption, or nothing without rows; first row and column are headings. */
export function tables(rows, caption) {
  if (rows.length === 0) {
    return [];
  }
  const lines = rows.map((cells, line) =>
    cells.map((cell, place) => {
      const scope = line === 0 ? "col" : "row";
      return cell !== "" && (line === 0 || place === 0)
        ? element("th", { scope, dir: "auto" }, cell)
        : element("td", {}, cell);
    }),
  );
  const [head, ...rest] = lines.map((cells) => element("tr", {}, ...cells));
  const label = { class: "table", role: "region", tabindex: 0, "aria-label": caption };
  const parts = [element("thead", {}, head), element("tbody", {}, ...rest)];
  const region = element("div", label, element("table", {}, ...parts));
  return [element("p", { class: "quiet", "aria-hidden": "true" }, caption), region];
}
