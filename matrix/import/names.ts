/** Ids made of the headings of a table. */

const LENGTH_MAX = 128

/** The letters of a text that have one in ASCII, in lower case: `Ä` becomes `a`. */
function ascii(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}|['’]/gu, '')
    .toLowerCase()
}

/**
 * An id of an API. Signs within a word of the heading stay: `chat.postMessage` becomes `chat.postmessage`,
 * and `GET /rate_limit` becomes `get-rate_limit`.
 *
 * @param otherwise where the heading has no letter of ASCII
 */
export function apiIdOf(heading: string, otherwise: string): string {
  const id = ascii(heading).replace(/[^a-z0-9]+/g, (signs) =>
    /\s/.test(signs) ? '-' : (/[-_.:/]/.exec(signs)?.[0] ?? '-'),
  )
  return beginningWithLetter(id, otherwise)
}

/** An id of a kind of token: its words, joined by `_`. */
export function kindIdOf(heading: string, otherwise: string): string {
  return beginningWithLetter(ascii(heading).replace(/[^a-z0-9]+/g, '_'), otherwise)
}

function beginningWithLetter(joined: string, otherwise: string): string {
  const id = shortened(joined.replace(/^[-_.:/]+/, ''), '')
  if (id === '') return otherwise
  return /^[a-z]/.test(id) ? id : shortened(`${otherwise.replace(/\d+$/, '')}${id}`, '')
}

/** The id with an ending, as long as an id may be. */
export function shortened(id: string, ending: string): string {
  return id.slice(0, LENGTH_MAX - ending.length).replace(/[-_.:/]+$/, '') + ending
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
