// How the next token is chosen from the scores of all of them.

/**
 * The most probable token; of equals the first.
 * @param {ArrayLike<number>} scores
 */
export function argmax(scores) {
  let best = 0;
  for (let i = 1; i < scores.length; i++) if (scores[i] > scores[best]) best = i;
  return best;
}

/**
 * The tokens with the highest scores, best first.
 * @param {ArrayLike<number>} scores
 * @param {number} count
 */
export function top(scores, count) {
  const order = Array.from({ length: scores.length }, (_, i) => i);
  return order.sort((a, b) => scores[b] - scores[a]).slice(0, count);
}

/**
 * A token drawn from softmax(scores / temperature): the first at which the cumulative distribution exceeds the number
 * of this seed at this step. The same seed gives the same text, here and in Python.
 * @param {Float32Array} scores
 * @param {{temperature: number, seed: number, made: number}} wish
 */
export function sample(scores, { temperature, seed, made }) {
  const most = scores[argmax(scores)];
  const shares = scores.map((score) => Math.exp((score - most) / temperature));
  const all = shares.reduce((sum, share) => sum + share, 0);
  const wanted = uniform(seed, made) * all;
  let held = 0;
  const found = shares.findIndex((share) => {
    held += share;
    return held > wanted;
  });
  return found < 0 ? argmax(scores) : found;
}

const WEYL = 0x9e3779b97f4a7c15n; // 2⁶⁴ / golden ratio

/**
 * The number of a seed at a step, uniform in [0, 1): a function of both, with no generator to carry on.
 * @param {number} seed
 * @param {number} made
 */
export function uniform(seed, made) {
  const stream = mixed(BigInt.asUintN(64, BigInt(seed)));
  return Number(mixed(BigInt.asUintN(64, stream + BigInt(made + 1) * WEYL)) >> 11n) * 2 ** -53;
}

/**
 * One to one, every bit of the outcome depending on all bits of z. (splitmix64, Steele, Lea and Flood 2014)
 * @param {bigint} z
 */
function mixed(z) {
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}
