// Fields of the form of a plan: each has its label, what is usual, and the place of its mistakes.

import { make } from "./elements.js";

/** What all fields share: an element, a mistake, and for which kinds of answers they are. */
class Field {
  #mistake;

  constructor({ name, label, note = "", kinds = null }, control) {
    this.name = name;
    this.label = label;
    this.kinds = kinds;
    this.control = control;
    this.element = make("div", "", "field");
    this.#mistake = make("p", "", "error");
    this.#mistake.id = `field-${name}-error`;
    this.#mistake.setAttribute("role", "alert");
    control.id = `field-${name}`;
    control.setAttribute("aria-describedby", `field-${name}-note field-${name}-error`);
    const noted = make("p", note, "quiet");
    noted.id = `field-${name}-note`;
    this.element.append(this.title(), control, noted, this.#mistake);
  }

  /** Return what stands above the control, and names it. */
  title() {
    const label = make("label", this.label);
    label.htmlFor = `field-${this.name}`;
    return label;
  }

  /** Tell a mistake at the field, or, with an empty text, none. */
  tell(message) {
    this.#mistake.textContent = message;
    for (const one of this.controls) {
      one.setAttribute("aria-invalid", String(message !== ""));
    }
  }

  /** All that can have the focus. */
  get controls() {
    return [this.control];
  }

  get told() {
    return this.#mistake.textContent !== "";
  }

  get value() {
    return this.control.value.trim();
  }

  set value(text) {
    this.control.value = text;
  }

  /** Show the field where answers are of such a kind. */
  showFor(kind) {
    this.element.hidden = this.kinds !== null && !this.kinds.includes(kind);
  }

  get asked() {
    return !this.element.hidden;
  }
}

/** A field in which one writes; `usual` stands there until one does. */
export class TextField extends Field {
  constructor(spec) {
    const control = make("input");
    control.type = "text";
    control.spellcheck = false;
    control.placeholder = spec.usual ?? "";
    control.value = spec.value ?? "";
    super(spec, control);
  }
}

/** A field in which one chooses one of some: pairs of a value and its words. */
export class ChoiceField extends Field {
  constructor(spec) {
    const control = make("select");
    for (const [value, words] of spec.choices) {
      const option = make("option", words);
      option.value = value;
      control.append(option);
    }
    super(spec, control);
  }
}

/** A field in which one chooses any of some. */
export class SeveralField extends Field {
  constructor(spec) {
    const control = make("div", "", "several");
    control.setAttribute("role", "group");
    control.setAttribute("aria-labelledby", `field-${spec.name}-title`);
    super(spec, control);
  }

  title() {
    const title = make("span", this.label, "label");
    title.id = `field-${this.name}-title`;
    return title;
  }

  get controls() {
    return [...this.control.querySelectorAll("input")];
  }

  /** Offer what there is; the first of it is chosen. */
  offer(names) {
    const boxes = names.map((name, place) => {
      const label = make("label", "", "choice");
      const box = make("input");
      box.type = "checkbox";
      box.value = name;
      box.checked = place === 0;
      label.append(box, ` ${name}`);
      return label;
    });
    this.control.replaceChildren(...boxes);
  }

  get value() {
    return this.controls.filter((box) => box.checked).map((box) => box.value);
  }

  set value(names) {
    for (const box of this.controls) {
      box.checked = names.includes(box.value);
    }
  }
}
