// Fields of the plan's form, each with label, default, note and error.

import { make } from "./elements.js";

/** Base of all fields; `kinds` are the kinds of answers for which it is shown. */
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

  /** Return the element that labels the control. */
  title() {
    const label = make("label", this.label);
    label.htmlFor = `field-${this.name}`;
    return label;
  }

  /** Show an error, or none if the text is empty. */
  tell(message) {
    this.#mistake.textContent = message;
    for (const one of this.controls) {
      one.setAttribute("aria-invalid", String(message !== ""));
    }
  }

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

  showFor(kind) {
    this.element.hidden = this.kinds !== null && !this.kinds.includes(kind);
  }

  get asked() {
    return !this.element.hidden;
  }
}

/** A text field; `usual` is the placeholder. */
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

/** A field with one choice; choices are pairs of a value and its text. */
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

  /** Offer choices, the first of them checked. */
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
