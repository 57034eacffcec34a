// A sheet of QR codes to print, one per link.

import { byId, element } from "./elements.js";
import { count } from "./format.js";
import { qrCode } from "./qr.js";

const TYPED = 72; // characters of a link that people type; a longer one shows only its host

/** Return a labelled code for each link; `all` links are counted. */
export function sheetOf({ title, requester, contact, closes_on: day, join_mode: mode }, links, all = links.length) {
  const until = day === null ? "" : `, until ${day}`;
  const small = (text) => element("small", { dir: "auto" }, text);
  const who = [requester, contact].filter(Boolean).join(", ");
  return links.map((link, i) => {
    const told = mode === "open" ? "for everyone" : `${count(i + 1)} of ${count(all)}, for one person`;
    const rest = link.length > TYPED ? `. It opens ${new URL(link).host}.` : `, or type the address: ${link}`;
    const code = [qrCode(link, `QR code ${count(i + 1)}`), small(`Scan this code with your phone's camera${rest}`)];
    const caption = element("figcaption", {}, told + until);
    return element("figure", {}, element("b", { dir: "auto" }, title), small(`Who asks: ${who}`), ...code, caption);
  });
}

/** Print codes, and nothing else of the page. They stay for it until the screen is left. */
export function printSheet(codes) {
  byId("sheet").replaceChildren(...codes);
  print(); // phones do not wait here
}
