/** Ids made of the headings of a table. */

const LENGTH_MAX = 64

/** The first letter or digit of a text that is not ASCII has none: `Ä` becomes `a`. */
function ascii(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}

/**
 * An id of a heading: lower-case words. Beside letters and digits, signs between two of them stay where the
 * heading is one word, as in `chat.postmessage` or `repos/issues`.
 *
 * @param joint between words
 * @param otherwise where the heading has no letter of ASCII
 */
export function idOf(heading: string, joint: '-' | '_', otherwise: string): string {
  const words = ascii(heading)
    .replace(/['’]/g, '')
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
  const id = shortened(words.join(joint), '')
  if (id === '') return otherwise
  return /^[a-z]/.test(id) ? id : shortened(`${otherwise.replace(/\d+$/, '')}${id}`, '')
}

/** The id with an ending, as long as an id may be. */
export function shortened(id: string, ending: string): string {
  return id.slice(0, LENGTH_MAX - ending.length).replace(/[-_]$/, '') + ending
}

/** Makes ids that no other row has: of two equal ones the second gets a number. */
export class FreeIds {
  readonly #taken: Set<string>

  constructor(taken: Iterable<string>) {
    this.#taken = new Set(taken)
    // Ids that the schema reserves.
    for (const reserved of ['constructor', 'prototype', 'everyone']) this.#taken.add(reserved)
  }

  take(id: string): string {
    let free = id
    for (let count = 2; this.#taken.has(free); count++) free = shortened(id, `-${count}`)
    this.#taken.add(free)
    return free
  }
}
