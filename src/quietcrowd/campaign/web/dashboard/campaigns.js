// The list of a requester's campaigns.

import { byId, say } from "./elements.js";
import { count } from "./numbers.js";
import { SortableTable } from "./table.js";

const table = new SortableTable(byId("campaigns"), byId("campaigns-more"));
const words = new Intl.Collator("en", { numeric: true });

function number(name, field) {
  return { name, numeric: true, value: (row) => row[field], text: (row) => count(row[field]) };
}

/** Show campaigns by title; `choose` is called with the selected one. */
export function showCampaigns(campaigns, choose) {
  const rows = [...campaigns].sort((one, other) => words.compare(one.title, other.title));
  const columns = [
    {
      name: "Title",
      value: (row) => row.title,
      text: (row) => row.title,
      below: (row) => row.id,
      press: choose,
    },
    { name: "State", value: (row) => row.state, text: (row) => row.state },
    number("Tasks", "tasks"),
    number("Workers", "participants"),
    number("Reports", "reports"),
  ];
  byId("campaigns-found").hidden = rows.length === 0;
  say(byId("campaigns-none"), rows.length ? "" : "There is no campaign yet: quietcrowd campaign create makes one.");
  say(byId("campaigns-note"), rows.length ? `Yours: ${count(rows.length)}.` : "");
  table.show(columns, rows, null);
}
