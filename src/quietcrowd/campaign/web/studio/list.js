// All campaigns of a requester.

import { count, counted, loss } from "./format.js";
import { DataTable, words } from "./table.js";

const YES_NO = { kind: "categorical", labels: ["yes", "no"] };
export const FIRST_TITLE = "New campaign";

/** The screen of all campaigns, by title. */
export async function list(app) {
  const campaigns = [];
  for await (const items of app.requester.pages("campaigns")) {
    campaigns.push(...items);
  }
  const rows = campaigns.sort((one, other) => words.compare(one.title, other.title));
  const table = new DataTable("Campaigns");
  table.show(COLUMNS, { rows, complete: true }, { note: () => `Yours: ${count(rows.length)}.` });
  return {
    table: rows.length ? [table.part] : [],
    none: rows.length ? "" : "There are no campaigns yet. Make the first one: a draft is visible to no one else.",
    create: () => create(app),
  };
}

const COLUMNS = [
  {
    name: "Campaign",
    value: (row) => row.title,
    text: (row) => row.title,
    link: (row) => row.id,
    below: ({ tasks, goal = "truths" }) => `${counted(tasks, "question")}, ${goal}`,
  },
  { name: "State", value: (row) => row.state, text: (row) => row.state },
  {
    name: "People shown",
    numeric: true,
    value: (row) => row.participants,
    text: (row) => (row.state === "draft" ? "–" : count(row.participants)),
  },
  {
    name: "Total loss, ε",
    numeric: true,
    value: ({ total_epsilon: total = null }) => total,
    text: ({ total_epsilon: total }) => (total === undefined || total === null ? "–" : loss(total)),
  },
  {
    name: "Closes",
    value: (row) => row.closes_on,
    text: (row) => (row.state === "closed" ? "closed" : (row.closes_on ?? "–")),
  },
];

async function create(app) {
  const body = { title: FIRST_TITLE, domain: YES_NO };
  const { id } = await app.requester.post("campaigns", body);
  app.visit(id);
}
