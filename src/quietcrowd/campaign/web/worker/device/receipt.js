// Receipts of uploads.

import { refuseIf } from "./refusing.js";

const LONGEST_CODE = 100;

/** Return the receipt in a response; throw Refusal if it is inconsistent. */
export function checkedReceipt(said, upload) {
  const { reports, sketch } = JSON.parse(upload);
  const { accepted, duplicates, rejected, completion_code: code = null } = said;
  const ids = new Set((reports ?? [sketch]).map((one) => one.report_id));
  const addsUp =
    [accepted, duplicates].every((count) => Number.isSafeInteger(count) && count >= 0) &&
    Array.isArray(rejected) &&
    rejected.every((one) => ids.delete(one?.report_id)) &&
    accepted + duplicates === ids.size &&
    (code === null || (typeof code === "string" && code.length <= LONGEST_CODE));
  refuseIf(!addsUp, "refusal.receipt");
  return { rejected: rejected.length, completionCode: code };
}
