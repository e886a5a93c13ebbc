/** Trying: the engine's findings among pasted headers, and its answer about each possible token. */
import {
  carries,
  type Decision,
  type Engine,
  credentialHeaders as namesOf,
  placeName,
  type TokenKind,
} from '../../engine/index.ts'
import { decideCell } from '../../matrix/explain.ts'
import { placeText } from './shell.ts'

/** The parts that were read of a pasted text. */
export interface Pasted {
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Numbers of the lines that are not headers, from 1. */
  readonly unread: readonly number[]
}

/** A kind that travels in the header that was found, and the decision about it. */
export interface Candidate {
  readonly kind: TokenKind
  readonly decision: Decision
}

export type Trial =
  | { readonly type: 'fault'; readonly decision: Decision; readonly otherHeaders: readonly string[] }
  /** Only an authority knows the kind of the token. There may be none: of another prefix. */
  | { readonly type: 'found'; readonly header: string; readonly candidates: readonly Candidate[] }

/** Headers as programs show them: `Name: value`, curl's `-H 'Name: value'`, and the `> ` of its `-v`. */
export function readPasted(text: string): Pasted {
  const headers: (readonly [string, string])[] = []
  const unread: number[] = []
  for (const [index, line] of text.split(/\r\n|\r|\n/).entries()) {
    const found = headersIn(line)
    headers.push(...found)
    if (found.length === 0 && !isNoise(line)) unread.push(index + 1)
  }
  return { headers, unread }
}

/** `-H 'a: b'` and `--header "a: b"`, as often as they stand in a command. */
const CURL_HEADER = /(?:^|\s)(?:-H|--header)[= ]?\s*(?:'([^']*)'|"([^"]*)")/g
/** A field name (RFC 9110 §5.1) and its value. */
const HEADER = /^(?:[>*]\s+)?\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:[ \t]*(.*?)[ \t]*$/

function headersIn(line: string): (readonly [string, string])[] {
  const arguments_ = Array.from(line.matchAll(CURL_HEADER), ([, single, double]) => single ?? double ?? '')
  const texts = arguments_.length > 0 ? arguments_ : /^\s*curl\s/.test(line) ? [] : [line]
  return texts.flatMap((each) => {
    const [, name, value] = HEADER.exec(each) ?? []
    return name === undefined ? [] : [[name, value ?? ''] as const]
  })
}

/** The lines around headers: empty lines, the first line of a request, and the rest of a command. */
function isNoise(line: string): boolean {
  return /^\s*(?:[>*<{}]?\s*$|(?:>\s*)?[A-Z]+ \S+ HTTP\/|curl\s|[\\-]|['"]?https?:)/.test(line)
}

/** Asks the engine about the headers, without a look at what only an authority knows. */
export function tryHeaders(engine: Engine, api: string, { headers }: Pasted): Trial {
  const found = engine.extract(headers)
  const kinds = [...engine.tokenKinds.values()]
  const names = namesOf(engine.tokenKinds.values())
  if (!found.ok)
    return {
      type: 'fault',
      decision: engine.deny(api, found.reason),
      otherHeaders: [
        ...new Set(headers.map(([name]) => name).filter((name) => !names.has(name.toLowerCase()))),
      ],
    }
  const candidates = kinds
    .filter((kind) => carries(kind, found))
    .map((kind) => ({ kind, decision: decideCell(engine, api, kind) }))
  const all = kinds.flatMap(({ places }) => places)
  const place = all.find((each) => placeName(each) === found.place) ?? found
  return { type: 'found', header: placeText(place), candidates }
}

/** The headers that carry credentials. A sidecar that verifies is sent no others. */
export function credentialHeaders(engine: Engine, { headers }: Pasted): Pasted['headers'] {
  const names = namesOf(engine.tokenKinds.values())
  return headers.filter(([name]) => names.has(name.toLowerCase()))
}
