// The kind of answers: a form for a domain, as the API describes it.

import { byId } from "./elements.js";

/** Return the kind of answers that the form shows for a domain; a pair such as “yes,no” is one. */
function kindOf({ kind, labels }) {
  if (kind !== "categorical") {
    return { ordinal: "scale", interval: "number" }[kind];
  }
  const isPair = ({ value }) => value.split(",").sort().join() === [...labels].sort().join();
  return [...byId("kind").options].find(isPair)?.value ?? "labels";
}

/** Fill the form from a domain, and call `changed` with a new one. */
export function domainForm(domain, changed) {
  const kind = byId("kind");
  const show = () => {
    for (const part of document.querySelectorAll("[data-kind]")) {
      part.hidden = part.dataset.kind !== kind.value;
    }
  };
  const take = () => {
    const made = domainIn();
    made !== null && changed(made);
  };
  kind.value = kindOf(domain);
  byId("labels").value = (domain.labels ?? []).join("\n");
  const { levels = [1, 5], low = 0, high = 10 } = domain;
  fill("scale", [levels[0], levels.at(-1)]);
  fill("number", [low, high]);
  show();
  kind.addEventListener("change", () => {
    show();
    take();
  });
  for (const one of document.querySelectorAll("[data-kind] :is(input, textarea)")) {
    one.addEventListener("change", take);
  }
}

function fill(kind, [low, high]) {
  byId(`${kind}-low`).value = String(low);
  byId(`${kind}-high`).value = String(high);
}

/** Return the domain in the form; null while it is incomplete. */
export function domainIn(kind = byId("kind").value) {
  if (kind.includes(",")) {
    return { kind: "categorical", labels: kind.split(",") };
  }
  if (kind === "labels") {
    const labels = byId("labels").value.split("\n").map((line) => line.trim()).filter(Boolean);
    return labels.length > 1 ? { kind: "categorical", labels } : null;
  }
  const [low, high] = ["low", "high"].map((end) => Number(byId(`${kind}-${end}`).value));
  if (!(low < high)) {
    return null;
  }
  if (kind === "number") {
    return { kind: "interval", low, high };
  }
  const levels = Array.from({ length: high - low + 1 }, (_, i) => low + i);
  return { kind: "ordinal", levels };
}

/** Return a campaign's domain as members of the order of a plan: as many labels as a question has options. */
export function plannedDomain({ domain: { kind, labels, levels, low, high }, mechanism }) {
  const some = labels?.slice(0, mechanism.option_counts?.at(-1));
  return { categorical: { labels: some }, ordinal: { levels }, interval: { between: [low, high] } }[kind];
}

/** Return the possible answers in words; `counts` are numbers of options, if each question lists its own. */
export function answersOf({ kind, labels, levels, low, high }, counts) {
  if (kind === "interval") {
    return `a number from ${low} to ${high}`;
  }
  if (kind === "ordinal") {
    return `a level from ${levels[0]} to ${levels.at(-1)}`;
  }
  const all = labels.length > 4 ? `one of ${labels.length} labels` : labels.join(" or ");
  return counts ? "one of the options of each question" : all;
}
