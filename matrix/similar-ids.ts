/**
 * Ids that differ by a slip: in one letter of one word, or only in the marks between words. Rows such as
 * `disk-1` and `disk-2`, `get-key` and `set-key`, `list-key` and `list-keys` are meant.
 */

/** Two ids of a list, by their indexes. */
export interface SimilarIds {
  readonly index: number
  readonly earlier: number
}

/** A word this short differs in one letter from many others: `vpc` and `vpn` are two products. */
const LENGTH_MIN = 5

/** With how many others of one hash an id is compared: that bounds the work, whatever the ids are. */
const COMPARED_MAX = 64

/** The earliest similar id of each id that has one. Takes as long as it takes to sort all the letters. */
export function similarIds(ids: readonly string[]): SimilarIds[] {
  const words = ids.map(wordOf)
  const hashes = sortedHashes(words)
  const earliest = new Map<number, number>()
  for (const [start, found] of hashes.entries()) {
    const hash = Math.floor(found / INDEXES)
    const one = found % INDEXES
    for (let next = start + 1; next - start <= COMPARED_MAX; next++) {
      if (Math.floor((hashes[next] as number) / INDEXES) !== hash) break
      // Of one hash, indexes ascend.
      const other = (hashes[next] as number) % INDEXES
      if (
        words[one] === words[other]
          ? ids[one] !== ids[other]
          : isSlip(ids[one] as string, ids[other] as string)
      )
        earliest.set(other, Math.min(one, earliest.get(other) ?? one))
    }
  }
  return Array.from(earliest, ([index, earlier]) => ({ index, earlier })).sort((a, b) => a.index - b.index)
}

const MARKS = /[-_.:/]/g

/** The id without its marks, but for those between digits, which distinguish numbers. */
function wordOf(id: string): string {
  return id.replace(MARKS, (_mark, at: number) =>
    isDigit(id.charCodeAt(at - 1)) && isDigit(id.charCodeAt(at + 1)) ? '-' : '',
  )
}

// Survives: `code >= 48` → `true`. Ids have letters, digits and marks, and no character before or behind all
// of these.
const isDigit = (code: number): boolean => code >= 48 && code <= 57
// Survives: `code <= 122` → `true`. Ids have letters, digits and marks, and no character before or behind all
// of these.
const isLetter = (code: number): boolean => code >= 97 && code <= 122

/** More than a file can have rows. A hash and an index together fit into a number. */
const INDEXES = 2 ** 20
const BASE = 0x01000193

/**
 * The hash of each word, and of each word without one of its letters, with the index of the word: two words
 * that differ in one letter have one in common.
 */
function sortedHashes(words: readonly string[]): Float64Array {
  let letters = 0
  for (const word of words) letters += word.length + 1
  const hashes = new Float64Array(letters)
  let count = 0
  const powers = [1]
  for (const [index, word] of words.entries()) {
    const begun = [0]
    // Survives: `at < word.length` → `at <= word.length`. Behind the last letter there is none; and another
    // hash does as well.
    for (let at = 0; at < word.length; at++) {
      // Survives: `Math.imul(begun[at] as number, BASE) + word.charCodeAt(at)` → `Math.imul(begun[at] as
      // number, BASE) - word.charCodeAt(at)`. Behind the last letter there is none; and another hash does as
      // well.
      begun.push((Math.imul(begun[at] as number, BASE) + word.charCodeAt(at)) | 0)
      if (powers.length <= at + 1) powers.push(Math.imul(powers[at] as number, BASE))
    }
    const whole = begun[word.length] as number
    hashes[count++] = (whole >>> 0) * INDEXES + index
    for (let at = 0; at < word.length; at++) {
      if (!isLetter(word.charCodeAt(at))) continue
      const power = powers[word.length - at - 1] as number
      const rest = (whole - Math.imul(begun[at + 1] as number, power)) | 0
      const without = (Math.imul(begun[at] as number, power) + rest) | 0
      hashes[count++] = (without >>> 0) * INDEXES + index
    }
  }
  return hashes.subarray(0, count).sort()
}

/** Whether the ids differ in one word alone, and there by a slip. Their hashes say that it is a letter. */
function isSlip(one: string, other: string): boolean {
  const words = one.split(MARKS)
  const others = other.split(MARKS)
  if (words.length !== others.length) return false
  const differing = words.flatMap((word, at) =>
    word === others[at] ? [] : [[word, others[at] as string] as const],
  )
  const [pair] = differing
  return pair !== undefined && differing.length === 1 && isMistyped(...pair)
}

/** Whether one word becomes the other by a wrong letter, and not by another ending or as another verb. */
function isMistyped(one: string, other: string): boolean {
  const [short, long] = [one, other].sort((a, b) => a.length - b.length) as [string, string]
  if (long.length < LENGTH_MIN) return false
  let at = 0
  while (short[at] === long[at]) at++
  if (short.slice(short.length === long.length ? at + 1 : at) !== long.slice(at + 1)) return false
  const isEnding = at === short.length && (long.endsWith('s') || /e[dr]$/.test(long))
  return !isEnding && !(at === 0 && VERB.test(short) && VERB.test(long))
}

/** Verbs that differ in one letter: `getpresence` and `setpresence`. */
const VERB = /^[gs]et/
