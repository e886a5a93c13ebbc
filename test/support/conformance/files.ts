/** Reads the files of the conformance suite. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Place, placeFrom } from '../../../engine/index.ts'

export const OURS: string = join(import.meta.dirname, '../../../clients/conformance')

/** `CONFORMANCE` names another folder, as for the clients in other languages. */
export const SUITE: string = resolve(process.env.CONFORMANCE ?? OURS)

/** Of the format of the files. */
export const VERSION = 6

/** The lines of a file after the first one, which says the version. */
export function linesOf<Line>(name: string): Line[] {
  const [first, ...lines] = readFileSync(join(SUITE, `${name}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  if (first?.version !== VERSION) throw new Error(`${name}.jsonl: expected version ${VERSION}`)
  return lines
}

/** A header, with how often it is repeated. */
export type HeaderLine = readonly [name: string, value: Value, times?: number]

/** Each header by itself. */
export function headersOf(headers: readonly HeaderLine[]): (readonly [name: string, value: string])[] {
  return headers.flatMap(([name, value, times = 1]) =>
    Array.from({ length: times }, () => [name, textOf(value)] as const),
  )
}

interface CredentialRow {
  readonly name: string
  readonly places: readonly Place[]
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly found?: readonly [header: string, value: string, scheme?: string, part?: string]
  readonly fault?: string
}

/** The credential that is found among headers. */
export function credentialRows(): CredentialRow[] {
  return linesOf<CredentialLine>('credentials').map(({ names = [], headers, found, ...row }) => ({
    places: names.map((name) => placeFrom(name) as Place),
    ...row,
    headers: headersOf(headers),
    ...(found !== undefined && { found: [found[0], textOf(found[1]), ...found.slice(2)] as never }),
  }))
}

/** Text, parts of it that are each repeated, or bytes. */
type Value = string | { readonly pieces: readonly [string, number][] } | { readonly base64: string }

interface CredentialLine extends Omit<CredentialRow, 'places' | 'headers' | 'found'> {
  readonly names?: readonly string[]
  readonly places?: readonly Place[]
  readonly headers: readonly HeaderLine[]
  readonly found?: readonly [header: string, value: Value, scheme?: string]
}

function textOf(value: Value): string {
  if (typeof value === 'string') return value
  // A header of Node is a string whose characters are the bytes.
  if ('base64' in value) return Buffer.from(value.base64, 'base64').toString('latin1')
  return value.pieces.map(([text, times]) => text.repeat(times)).join('')
}
