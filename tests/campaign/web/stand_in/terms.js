// Stand-in: reads without checking.
export class Refusal extends Error {
  constructor(key, values = {}) {
    super(key);
    Object.assign(this, { key, values });
  }
}
export async function readTerms(text, { configHash }) {
  const config = JSON.parse(text);
  return {
    ...config,
    answers: config.answers_per_participant,
    configHash,
    guarantee: { workerEpsilon: config.guarantee.worker_epsilon, delta: config.guarantee.delta },
  };
}
export async function readTasks({ tasks }) {
  return tasks.map(({ task_id: id, task: name, data }) => ({ id, name, data }));
}
