/**
 * Reads YAML or JSON files strictly, in time linear in their length: no duplicate keys and no aliases. Errors
 * never quote the file.
 */
import { createRequire } from 'node:module'
import { forms, type Problem, readJson } from '../../matrix/document/index.ts'
import { yamlForm } from '../../matrix/document/yaml.ts'
import { FileTooLong, readAtMost } from '../base/bounded-file.ts'

/** Size of the largest file that is accepted, in bytes. */
const BYTES_MAX = 32 * 1024 * 1024

export type FileReading =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/**
 * Reads a YAML or JSON file. JSON is a subset of YAML, so the parser of YAML, which takes more than a
 * hundred times as long, reads what that of JSON refuses.
 */
export function readTextFile(path: string): FileReading {
  try {
    return parseText(new TextDecoder('utf-8', { fatal: true }).decode(readAtMost(path, BYTES_MAX)))
  } catch (error) {
    if (error instanceof FileTooLong) return failure(error.message)
    const { code } = error as NodeJS.ErrnoException
    return failure(code === 'ENOENT' ? 'the file does not exist' : `cannot be read (${code ?? 'not UTF-8'})`)
  }
}

/**
 * Loaded only if there is a file to read: the package has 72 files, and most sidecars use only flags and
 * variables.
 */
let loaded: typeof import('yaml') | undefined
const yaml = () => {
  loaded ??= createRequire(import.meta.url)('yaml') as typeof import('yaml')
  return loaded
}

/** Deepest nesting that is read: that of JSON. */
const DEPTH_MAX = 64

function parseText(text: string): FileReading {
  const asJson = /^\s*\{/.test(text) ? readJson(text, { firstProblem: true }) : undefined
  if (asJson?.ok) return asJson
  const lineOf = (offset: number) => text.slice(0, offset).split('\n').length
  const { parseDocument } = yaml()
  // The parser compares each key with all others of its object. `faultIn` looks for them in a set.
  const document = withoutStacks(() => parseDocument(text, { uniqueKeys: false, prettyErrors: false }))
  const [error] = document.errors
  if (error !== undefined)
    return error.code === 'RESOURCE_EXHAUSTION'
      ? failure(TOO_DEEP)
      : failure(`expected YAML or JSON; ${error.code} at line ${lineOf(error.pos[0])}`)
  const fault = faultIn(document.contents, 1)
  if (fault !== undefined)
    return failure(
      fault.offset === undefined ? fault.expected : `${fault.expected} at line ${lineOf(fault.offset)}`,
    )
  // An empty file is an empty configuration.
  return { ok: true, value: document.toJS({ maxAliasCount: 0 }) ?? {} }
}

/**
 * Problems of a file with its path and their lines: `portcullis.yaml:12: routes[3].path: expected …`.
 *
 * @param problems each with its key before the first colon
 */
export function placedProblems(path: string, problems: readonly string[]): string[] {
  const keys = problems.map((problem) => problem.slice(0, problem.indexOf(':')))
  const text = readAtMost(path, BYTES_MAX).toString()
  const form = readJson(text, { firstProblem: true }).ok ? forms.json : yamlForm(yaml())
  // To find lines in a longer text takes longer than to look for them.
  const places = text.length > form.bytesMax ? [] : form.placesOf(text, keys)
  return problems.map((problem, index) => {
    const line = places[index]?.line
    return `${path}${line === undefined ? '' : `:${line}`}: ${problem}`
  })
}

const TOO_DEEP = `expected at most ${DEPTH_MAX} levels of nesting`

interface Fault {
  readonly expected: string
  /** Where it is in the text. */
  readonly offset?: number | undefined
}

/** The first fault of a document that the parser passes over. */
function faultIn(node: unknown, depth: number): Fault | undefined {
  const { isAlias, isMap, isSeq } = yaml()
  // A few lines of aliases can expand to gigabytes.
  if (isAlias(node)) return { expected: 'expected YAML without aliases' }
  if (!isMap(node) && !isSeq(node)) return undefined
  if (depth > DEPTH_MAX) return { expected: TOO_DEEP }
  const keys = new Set<string>()
  for (const item of node.items) {
    const fault = isMap(node) ? faultOfPair(item as Pair, keys, depth) : faultIn(item, depth + 1)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** @param keys of the object so far */
function faultOfPair({ key, value }: Pair, keys: Set<string>, depth: number): Fault | undefined {
  const { isScalar } = yaml()
  if (!isScalar(key)) return faultIn(key, depth + 1) ?? { expected: 'expected keys that are texts' }
  // As the parser makes the key of an object from it: `1` and `"1"` are one key.
  const name = String(key.value ?? '')
  if (keys.has(name)) return { expected: 'expected YAML or JSON; DUPLICATE_KEY', offset: key.range?.[0] }
  keys.add(name)
  return faultIn(value, depth + 1)
}

type Pair = import('yaml').Pair

/** Without stack traces, which take longer than all the rest where a text has an error in every place. */
function withoutStacks<T>(work: () => T): T {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return work()
  } finally {
    Error.stackTraceLimit = limit
  }
}

function failure(expected: string): FileReading {
  return { ok: false, problems: [{ path: '', expected }] }
}
