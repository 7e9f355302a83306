// What may go wrong where somebody was asked.

/** Something that whoever answers says in one line. */
export class Wrong extends Error {}

/**
 * Whether nobody waits for an answer any more.
 * @param {unknown} error
 */
export function gaveUp(error) {
  return error instanceof Error && error.name === 'AbortError';
}
