/** Finds the words of statements in the texts of a document. */
import { spaced } from './blocks.ts'

export class Quotes {
  /** All texts as one, in small letters: a statement may quote sentences of several. */
  readonly #text: string
  /** Where each text begins in it, and its line. */
  readonly #places: readonly (readonly [offset: number, line: number])[]

  constructor(texts: readonly { readonly line: number; readonly text: string }[]) {
    const places: [number, number][] = []
    let text = ''
    for (const each of texts) {
      places.push([text.length, each.line])
      text += `${plain(each.text)} `
    }
    this.#text = text
    this.#places = places
  }

  /** Line of the text that the words begin in; `undefined`: they do not stand in the document. */
  lineOf(words: string): number | undefined {
    const quoted = plain(words)
    const offset = quoted === '' ? -1 : this.#text.indexOf(quoted)
    if (offset === -1) return undefined
    let [low, high] = [0, this.#places.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.#places[middle] as readonly [number, number])[0] <= offset) low = middle
      else high = middle - 1
    }
    return this.#places[low]?.[1]
  }
}

/** Without what differs by how a text is set: case, quotation marks, markup, and the white space of words. */
function plain(text: string): string {
  return spaced(text.replace(/[“”„«»"'’`*_]/g, '')).toLowerCase()
}
