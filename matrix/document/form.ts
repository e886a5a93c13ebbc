/** The forms that a document may be written in. A reader of documents is given one. */
import { type Reading, readJson } from './json.ts'
import { placesOf } from './places.ts'
import type { Place } from './problems.ts'

/** A form: how a text is read, and where the paths of its value are in it. */
export interface DocumentForm {
  readonly id: 'json' | 'jsonc' | 'yaml'
  /** Longest text that is read, in bytes of UTF-8. */
  readonly bytesMax: number
  /** Reads a text strictly, in time linear in its length. */
  read(text: string): Reading
  /**
   * The places of paths such as `apis[3].accepts[0]`, each that of the key or of the item. Of a path that is
   * not there it is the place of what it should be in; `undefined`: that is the whole document.
   */
  placesOf(text: string, paths: readonly string[]): readonly (Place | undefined)[]
}

const JSON_BYTES_MAX = 32 * 1024 * 1024

/** JSON (RFC 8259). */
export const json: DocumentForm = {
  id: 'json',
  bytesMax: JSON_BYTES_MAX,
  read: (text) => readJson(text),
  placesOf,
}

/** JSON with comments (`//`, `/*`), and a comma behind the last item where one likes. */
export const jsonc: DocumentForm = {
  id: 'jsonc',
  bytesMax: JSON_BYTES_MAX,
  read: (text) => readJson(text, { comments: true }),
  placesOf,
}

/** The forms that need no parser of YAML. */
export const forms = { json, jsonc } as const

/**
 * The form of a file by the ending of its name, in capitals or not: `.json`, `.yaml` or `.yml`. A file of any
 * other name is JSON with comments, which JSON is as well.
 */
export function formOfName(name: string): DocumentForm['id'] {
  const ending = /\.(?:json|ya?ml)$/i.exec(name)?.[0].toLowerCase()
  if (ending === undefined) return 'jsonc'
  return ending === '.json' ? 'json' : 'yaml'
}
