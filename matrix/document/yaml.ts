/**
 * Reads YAML 1.2 as strictly as JSON: a text has only values that JSON has. The library that parses it is
 * given, because most programs read no YAML and need not load it.
 */
import type { Alias, Pair, ParsedNode, YAMLError } from 'yaml'
import type { DocumentForm } from './form.ts'
import { DEPTH_MAX, FINITE, REPEATS, RESERVED, type Reading, TOO_DEEP_EXPECTED, WELL_FORMED } from './json.ts'
import { segmentsOf } from './places.ts'
import { type Place, Problems, pathOf } from './problems.ts'

/** The used parts of the package `yaml`. */
export type YamlLibrary = Pick<
  typeof import('yaml'),
  'Lexer' | 'parseDocument' | 'isAlias' | 'isMap' | 'isScalar' | 'isSeq'
>

/** How the core schema of YAML 1.2 is asked for. Repeated keys are found in a set instead. */
export const YAML_OPTIONS = {
  version: '1.2',
  schema: 'core',
  merge: false,
  strict: true,
  uniqueKeys: false,
  prettyErrors: false,
  // With `silent` it would pass over all documents but the first.
  logLevel: 'error',
} as const

/**
 * Longest text in bytes, and most parts that its parser cuts it into. YAML takes twenty times the time of
 * JSON, and a hundred times the memory: with this number of parts some seconds and half a gigabyte, whatever
 * it says. A matrix of 5,000 APIs and 16 kinds is in these bounds.
 */
const YAML_BYTES_MAX = 4 * 1024 * 1024
const YAML_PARTS_MAX = 500_000

/**
 * YAML 1.2: one document of maps, lists and core scalars. It refuses what JSON does not have: anchors,
 * aliases, merge keys, tags, keys that are not texts, infinite numbers; and what is refused in JSON.
 */
export function yamlForm(library: YamlLibrary): DocumentForm {
  return {
    id: 'yaml',
    bytesMax: YAML_BYTES_MAX,
    read: (text) => readYaml(library, text),
    placesOf: (text, paths) => placesInYaml(library, text, paths),
  }
}

/** The nodes of the text. An empty key does, too. */
type Noted = ParsedNode | Alias.Parsed
type Node = Noted | null | undefined

function readYaml(library: YamlLibrary, text: string): Reading {
  // The parser takes these for letters. YAML has none of them (§5.1 of its specification).
  const foreign = /[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u.exec(
    text,
  )
  if (foreign !== null) {
    const expected = foreign[0].isWellFormed() ? 'expected YAML without control characters' : WELL_FORMED
    const place = new Lines(text).placeAt(foreign.index)
    return { ok: false, problems: [{ path: '', expected: `${expected} at ${textOf(place)}`, ...place }] }
  }
  if (hasTooManyParts(library, text)) return { ok: false, problems: [{ path: '', expected: TOO_MANY }] }
  const document = parsed(library, text)
  const [error] = document.errors
  if (error !== undefined) {
    const place = new Lines(text).placeAt(error.pos[0])
    return { ok: false, problems: [{ path: '', expected: syntaxExpected(error, place), ...place }] }
  }
  // Survives: `document.directives?.yaml` → `document.directives.yaml`. A parsed document has directives;
  // only the type lets them lack.
  if (document.directives?.yaml.version !== YAML_OPTIONS.version)
    return {
      ok: false,
      problems: [{ path: '', expected: 'expected YAML 1.2, without a directive of another' }],
    }
  const walk = new Walk(library, text)
  const value = walk.valueOf(document.contents as Node, [])
  const problems = walk.problems.list()
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value }
}

const TOO_MANY = `expected at most ${YAML_PARTS_MAX} parts of YAML; write so large a document in JSON`

/** The parser keeps all of its parts, and its lexer keeps none. */
function hasTooManyParts({ Lexer }: YamlLibrary, text: string): boolean {
  let count = 0
  for (const _ of new Lexer().lex(text)) if (++count > YAML_PARTS_MAX) return true
  return false
}

function parsed({ parseDocument }: YamlLibrary, text: string) {
  // Stack traces take longer than all the rest where a text has an error in every place.
  const errors: object & { stackTraceLimit?: number | undefined } = Error as object
  const limit = errors.stackTraceLimit
  errors.stackTraceLimit = 0
  try {
    return parseDocument(text, YAML_OPTIONS)
  } finally {
    errors.stackTraceLimit = limit
  }
}

/** The messages of the parser quote the text, which may hold a secret, so its codes are put into words. */
function syntaxExpected({ code }: YAMLError, place: Place): string {
  const at = textOf(place)
  if (code === 'RESOURCE_EXHAUSTION') return `${TOO_DEEP_EXPECTED} at ${at}`
  if (code === 'MULTIPLE_DOCS') return `expected YAML with one document; another one begins at ${at}`
  if (code === 'BAD_ALIAS' || code === 'ALIAS_PROPS') return `expected YAML without aliases at ${at}`
  if (/TAG/.test(code)) return `expected YAML without tags at ${at}`
  return `expected YAML; ${SAID[code] ?? code.replaceAll('_', ' ').toLowerCase()} at ${at}`
}

/** The parser's names of the commonest mistakes, and plain descriptions of them. */
const SAID: Readonly<Record<string, string>> = {
  BAD_INDENT: 'the indentation does not fit, or a bracket is not closed',
  TAB_AS_INDENT: 'a line is indented with a tab',
  MISSING_CHAR: 'a character is missing, such as a quote, a bracket or a colon,',
  MULTILINE_IMPLICIT_KEY: 'a key must be on one line',
  UNEXPECTED_TOKEN: 'a character does not belong',
}

const textOf = ({ line, column }: Place): string => `line ${line}, column ${column}`

/** Makes the value of a document, and notes what JSON does not have. */
class Walk {
  readonly problems = new Problems()
  readonly #library: YamlLibrary
  readonly #lines: Lines

  constructor(library: YamlLibrary, text: string) {
    this.#library = library
    this.#lines = new Lines(text)
  }

  valueOf(node: Node, path: readonly (string | number)[]): unknown {
    const { isAlias, isMap, isScalar, isSeq } = this.#library
    if (!node) return null
    if (isAlias(node)) return this.#note(node, path, 'expected YAML without aliases')
    if (node.anchor !== undefined) this.#note(node, path, 'expected YAML without anchors')
    if (node.tag !== undefined) this.#note(node, path, 'expected YAML without tags')
    if (isScalar(node)) {
      const { value } = node
      if (typeof value === 'string' && !value.isWellFormed()) return this.#note(node, path, WELL_FORMED)
      if (typeof value === 'number' && !Number.isFinite(value)) return this.#note(node, path, FINITE)
      return value
    }
    if (path.length >= DEPTH_MAX) return this.#note(node, [], TOO_DEEP_EXPECTED)
    if (isSeq(node)) return node.items.map((item, index) => this.valueOf(item as Node, [...path, index]))
    return isMap(node) ? this.#objectOf(node.items as readonly Pair[], path) : undefined
  }

  #objectOf(pairs: readonly Pair[], path: readonly (string | number)[]): unknown {
    const members = new Map<string, unknown>()
    for (const { key, value } of pairs) {
      const name = this.#nameOf(key as Noted, path)
      if (name === undefined) continue
      const at = [...path, name]
      if (members.has(name)) this.#note(key as Noted, at, REPEATS)
      if (name === '__proto__') this.#note(key as Noted, at, RESERVED)
      members.set(name, this.valueOf(value as Node, at))
    }
    return Object.fromEntries(members)
  }

  /** The key of a pair; `undefined` where it is not a text. */
  #nameOf(key: Noted, path: readonly (string | number)[]): string | undefined {
    if (!this.#library.isScalar(key) || typeof key.value !== 'string')
      return this.#note(key, path, 'expected keys that are texts')
    if (key.anchor !== undefined || key.tag !== undefined)
      return this.#note(key, path, 'expected keys without anchors and tags')
    if (!key.value.isWellFormed()) this.#note(key, path, WELL_FORMED)
    if (key.value === '<<' && key.type === 'PLAIN')
      return this.#note(key, path, 'expected YAML without merge keys')
    return key.value
  }

  #note({ range: [offset] }: Noted, path: readonly (string | number)[], expected: string): undefined {
    const place = this.#lines.placeAt(offset)
    this.problems.add(() => ({ path: pathOf(path), expected, ...place }))
  }
}

function placesInYaml(
  library: YamlLibrary,
  text: string,
  paths: readonly string[],
): readonly (Place | undefined)[] {
  // Survives: `paths.length === 0` → `false`. It only spares to parse a text where no place is asked for.
  if (paths.length === 0) return []
  const { contents } = parsed(library, text)
  const lines = new Lines(text)
  return paths.map((path) => {
    const offset = offsetOf(library, contents as Node, segmentsOf(path))
    return offset === undefined ? undefined : lines.placeAt(offset)
  })
}

/** Where the deepest part of a path that is there begins. */
function offsetOf(library: YamlLibrary, root: Node, path: readonly (string | number)[]): number | undefined {
  let node = root
  let offset: number | undefined
  for (const segment of path) {
    // A name is not a place of a list.
    if (library.isSeq(node)) node = node.items[segment as number] as Node
    else if (library.isMap(node)) {
      // Of a key that repeats, the last one is the fault.
      const pair = (node.items as readonly Pair[]).findLast(
        ({ key }) => library.isScalar(key) && key.value === segment,
      )
      const key = pair?.key as Node
      offset = key?.range[0] ?? offset
      node = pair?.value as Node
      continue
    } else return offset
    offset = node?.range?.[0] ?? offset
  }
  return offset
}

/** Where the lines of a text begin. */
class Lines {
  readonly #starts: number[] = [0]

  constructor(text: string) {
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) this.#starts.push(at + 1)
  }

  placeAt(offset: number): Place {
    let [low, high] = [0, this.#starts.length]
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      if ((this.#starts[middle] as number) <= offset) low = middle
      else high = middle
    }
    return { line: low + 1, column: offset - (this.#starts[low] as number) + 1 }
  }
}
