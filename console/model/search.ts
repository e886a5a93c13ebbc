/** Finding texts by words of them, as fast as a user types. */

/** A text without case, accents and compatibility forms, in which words are looked for. */
export function folded(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}

/** The words of a search. None: everything is found. */
export function wordsOf(search: string): readonly string[] {
  return folded(search).split(/\s+/).filter(Boolean)
}

/**
 * Whether a search may be an expression of `portcullis matrix query`: it has a sign of one, or begins or goes
 * on as only one does. A single word is a word, unless it is one of strict mode.
 */
export function looksLikeQuery(search: string): boolean {
  return /[=~]|^\s*(\(|(not|opens|opened)\s|strict\.)|\S\s+(in|and|or)\s/i.test(search)
}

/** Whether a folded text has every word, wherever. */
export function hasWords(text: string, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word))
}

/** A piece of a text, and whether a word of the search is there. */
export interface Piece {
  readonly text: string
  readonly found: boolean
}

/**
 * Cuts a text where words of the search are. A text that changes its length when it is folded stays whole.
 */
export function piecesOf(text: string, words: readonly string[]): readonly Piece[] {
  const plain = folded(text)
  if (words.length === 0 || plain.length !== text.length) return [{ text, found: false }]
  const marked = new Uint8Array(text.length)
  for (const word of words)
    for (let at = plain.indexOf(word); at !== -1; at = plain.indexOf(word, at + word.length))
      marked.fill(1, at, at + word.length)
  const pieces: Piece[] = []
  for (let start = 0, end = 0; start < text.length; start = end) {
    while (end < text.length && marked[end] === marked[start]) end++
    pieces.push({ text: text.slice(start, end), found: marked[start] === 1 })
  }
  return pieces
}
