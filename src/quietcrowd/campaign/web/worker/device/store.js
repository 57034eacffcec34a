// The device's storage in one IndexedDB database: entries by name, and files of each.

import { Refusal } from "../terms/terms.js";

const STORE = "kept";

export async function openStore() {
  const opened = indexedDB.open("quietcrowd", 1);
  opened.onupgradeneeded = () => opened.result.createObjectStore(STORE);
  await settled(opened, "success");
  return opened.result;
}

/**
 * Read all entries and write, in one transaction; return the entries once they are on disk. `act`
 * must not be async. If it throws, nothing is written.
 */
export async function exchange(database, act) {
  const transaction = database.transaction(STORE, "readwrite", { durability: "strict" });
  const store = transaction.objectStore(STORE);
  const all = IDBKeyRange.bound("", [], false, true); // keys of files are lists
  const before = store.getAll(all);
  let after;
  let failure;
  before.onsuccess = () => {
    try {
      act(before.result, store);
      after = store.getAll(all);
    } catch (error) {
      failure = error;
      transaction.abort();
    }
  };
  await settled(transaction, "complete").catch((error) => {
    throw failure ?? error;
  });
  return after.result;
}

/** Return the key range of all files of an entry. */
export function filesOf(name) {
  return IDBKeyRange.bound([name], [name, []]);
}

function settled(request, good) {
  return new Promise((resolve, reject) => {
    request.addEventListener(good, resolve);
    for (const bad of ["error", "abort"]) {
      request.addEventListener(bad, () => reject(new Refusal("refusal.storage")));
    }
  });
}
