// Stand-in: of tables and of Laplace noise.
export function guaranteeOf({ mechanism, answers_per_participant: count }) {
  return { workerEpsilon: mechanism.epsilon * count, delta: 0 };
}
