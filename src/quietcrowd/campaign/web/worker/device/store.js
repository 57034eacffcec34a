// What the device keeps, in one database of the browser for all campaigns of an origin.

import { Refusal } from "../terms/terms.js";

const STORES = ["campaigns", "files", "budget"];

/** Open the database, or make it. */
export async function openStore() {
  const request = indexedDB.open("quietcrowd", 1);
  request.onupgradeneeded = () => {
    const [campaigns, ...others] = STORES;
    request.result.createObjectStore(campaigns, { keyPath: "name" });
    others.forEach((one) => request.result.createObjectStore(one));
  };
  return settled(request, "success");
}

/**
 * Read and write in one transaction, which is on the disk when this ends; return what `act` does.
 *
 * `act` is given all entries, the campaign's own and the budget, and is no async function: nothing
 * is awaited between reading and writing. Where it throws, nothing is written. It returns what is
 * to be kept: `entry` (null: deleted), `files` by their names (null: deleted), `budget`.
 */
export async function exchange(database, name, act) {
  const { transaction, campaigns, files, budget } = begin(database);
  const entries = campaigns.getAll();
  const most = budget.get("most");
  let kept;
  let failure;
  most.onsuccess = () => {
    try {
      const own = entries.result.find((entry) => entry.name === name);
      kept = { own, ...act({ entries: entries.result, own, budget: most.result ?? null }) };
    } catch (error) {
      failure = error;
      transaction.abort();
      return;
    }
    if (kept.entry) {
      campaigns.put(kept.entry);
    } else if (kept.entry === null) {
      campaigns.delete(name);
    }
    if (kept.files === null) {
      files.delete(filesOf(name));
    }
    kept.files?.forEach((content, file) => files.put(content, [name, file]));
    if (kept.budget !== undefined) {
      budget.put(kept.budget, "most");
    }
  };
  await settled(transaction, "complete").catch((error) => {
    throw failure ?? error;
  });
  return kept;
}

/** Return the files of a campaign by their names: texts and images. */
export async function filesIn(database, name) {
  const { transaction, files } = begin(database);
  const [names, contents] = [files.getAllKeys(filesOf(name)), files.getAll(filesOf(name))];
  await settled(transaction, "complete");
  return new Map(names.result.map(([, file], i) => [file, contents.result[i]]));
}

/** Delete all that is kept, of all campaigns. */
export async function clearStore(database) {
  const { transaction, ...stores } = begin(database);
  Object.values(stores).forEach((one) => one.clear());
  await settled(transaction, "complete");
}

function begin(database) {
  const transaction = database.transaction(STORES, "readwrite", { durability: "strict" });
  const stores = STORES.map((one) => [one, transaction.objectStore(one)]);
  return { transaction, ...Object.fromEntries(stores) };
}

function filesOf(name) {
  return IDBKeyRange.bound([name], [name, []]);
}

/** Return what a request gives, or wait for a transaction; Refusal where the browser cannot. */
function settled(request, good) {
  return new Promise((resolve, reject) => {
    request.addEventListener(good, () => resolve(request.result));
    for (const bad of ["error", "abort"]) {
      request.addEventListener(bad, () => reject(new Refusal("refusal.storage")));
    }
  });
}
