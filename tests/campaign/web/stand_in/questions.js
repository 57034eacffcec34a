// Stand-in: as device/questions.py has it.
import { canonicalHash } from "./canonical.js";
const spell = (label) => (typeof label === "string" ? label : JSON.stringify(label));
function answersOf({ domain: { kind, labels, levels, ...rest } }) {
  return kind === "interval" ? rest : (labels ?? levels).map(spell).sort();
}
export async function taskQuestions(tasks, { mechanism }) {
  const hashes = new Map();
  const first = new Map();
  const firsts = new Map();
  for (const { name, data } of tasks) {
    const asked = Object.keys(data).length ? { data } : { task: name };
    const hash = await canonicalHash({ ...asked, answers: answersOf(mechanism) });
    hashes.set(name, hash);
    firsts.set(hash, firsts.get(hash) ?? name);
    first.set(name, firsts.get(hash));
  }
  return { hashes, first };
}
export async function channelHash({ mechanism, channel, report }) {
  if (!["one-layer", "laplace"].includes(mechanism.mechanism)) {
    return null;
  }
  const law = { answers: answersOf(mechanism), channel, every_task: report.every_task };
  return canonicalHash(law);
}
