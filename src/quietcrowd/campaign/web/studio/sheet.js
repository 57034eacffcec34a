// A sheet of QR codes to print, one per link.

import { byId, element } from "./elements.js";
import { count } from "./format.js";
import { qrCode } from "./qr.js";

/** Return a labelled code for each link; `all` links are counted. */
export function sheetOf({ title, closes_on: day, join_mode: mode }, links, all = links.length) {
  const until = day === null ? "" : `, until ${day}`;
  return links.map((link, i) => {
    const told = mode === "open" ? "for everyone" : `${count(i + 1)} of ${count(all)}, for one person`;
    const code = qrCode(link, `QR code ${count(i + 1)}`);
    const caption = element("figcaption", {}, told + until);
    return element("figure", {}, element("b", { dir: "auto" }, title), code, caption);
  });
}

/** Print codes, and nothing else of the page. They stay for it until the screen is left. */
export function printSheet(codes) {
  byId("sheet").replaceChildren(...codes);
  print(); // phones do not wait here
}
