/**
 * The faults of a document, in words. They never hold a value of the document, because it may be a secret.
 */
import { namesMeant } from '../../engine/index.ts'

/** A place in a text. Both count from 1; a column counts UTF-16 code units. */
export interface Place {
  readonly line: number
  readonly column: number
}

/** The value that was expected at a path of a document; and where in its text that is, if that is known. */
export interface Problem extends Partial<Place> {
  /** JSON path, for example `apis[3].accepts[0]`; empty for the document as a whole. */
  readonly path: string
  /** The expected value; lower case, no final period. */
  readonly expected: string
}

/** Most problems of a document that are reported. The others are counted. */
export const PROBLEMS_MAX = 100

/**
 * How many characters of a key, of a path and of a text are shown. A document can have keys of a megabyte.
 */
const KEY_LENGTH_MAX = 100
const PATH_LENGTH_MAX = 500
const TEXT_LENGTH_MAX = 4_000

/** Collects the first problems of a document, and counts the others. */
export class Problems<T extends Problem = Problem> {
  readonly #first: T[] = []
  #count = 0

  /** @param describe makes the problem. It is not called for a problem that is only counted. */
  add(describe: () => T): void {
    this.#count++
    if (this.#first.length < PROBLEMS_MAX) this.#first.push(describe())
  }

  /** Counts a problem that is not worth describing. */
  count(): void {
    this.#count++
  }

  /** The problems. Where there are too many, the last entry says how many more there are. */
  list(): (T | Problem)[] {
    const shown = this.#first.map((problem) => ({
      ...problem,
      path: shortened(problem.path, PATH_LENGTH_MAX),
      expected: shortened(problem.expected, TEXT_LENGTH_MAX),
    }))
    const more = this.#count - shown.length
    return more === 0 ? shown : [...shown, { path: '', expected: `and ${more} more` }]
  }
}

/** The first of a list of problems, which may be long. */
export function firstProblems<T extends Problem>(problems: readonly T[]): readonly (T | Problem)[] {
  const first = new Problems<T>()
  for (const problem of problems) first.add(() => problem)
  return first.list()
}

function shortened(text: string, lengthMax: number): string {
  return text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text
}

/** `path: expected …`; without a path where the whole document is meant. */
export function problemText(problem: Problem): string {
  return problem.path === '' ? problem.expected : `${problem.path}: ${problem.expected}`
}

/** The JSON path of a list of keys and indexes. */
export function pathOf(segments: readonly (string | number)[]): string {
  let path = ''
  for (const segment of segments) {
    if (typeof segment === 'number') path += `[${segment}]`
    else if (segment.length <= KEY_LENGTH_MAX && /^[A-Za-z_$][\w$]*$/.test(segment))
      path += path === '' ? segment : `.${segment}`
    else path += `[${JSON.stringify(segment.slice(0, KEY_LENGTH_MAX))}]`
  }
  return path
}

/** An error that ajv reports, as far as it is read here. */
export interface SchemaError {
  readonly keyword: string
  /** JSON pointer. */
  readonly instancePath: string
  /** They depend on the keyword. */
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string
  /** The key that is wrong, where a schema of keys was asked. */
  readonly propertyName?: string
  /** The schema that the keyword stands in. */
  readonly parentSchema?: { readonly properties?: object }
  /** The value that is wrong. It is never shown. */
  readonly data?: unknown
}

/** Most errors of a schema that are described. Several of them can be about one place. */
const ERRORS_DESCRIBED_MAX = 5 * PROBLEMS_MAX

/**
 * A JSON Schema as code that `npm run gen` makes of it: whether a document is valid, and the errors of the
 * last one that was not.
 */
export interface Validator {
  (document: unknown): boolean
  errors?: readonly SchemaError[] | null
}

/** The faults of a document by a schema. Empty: it is valid. */
export function problemsBy(validate: Validator, document: unknown): readonly Problem[] {
  return validate(document) ? [] : schemaProblems(validate.errors ?? [], document)
}

/** A schema's errors as problems; one for each place. */
export function schemaProblems(errors: readonly SchemaError[], document: unknown): Problem[] {
  const places = new Set<string>()
  const problems = new Problems()
  let described = 0
  for (const error of errors) {
    // The branches of a union repeat what its discriminator says.
    if (error.keyword === 'oneOf' || error.keyword === 'if' || error.keyword === 'propertyNames') continue
    // To describe an error takes as long as its path is, so the rest is counted by error and not by place.
    if (places.size >= PROBLEMS_MAX || described++ >= ERRORS_DESCRIBED_MAX) {
      problems.count()
      continue
    }
    const problem = schemaProblem(error, document)
    if (places.has(problem.path)) continue
    places.add(problem.path)
    problems.add(() => problem)
  }
  return problems.list()
}

function schemaProblem(error: SchemaError, document: unknown): Problem {
  // The schema of names is asked about a name, and the path leads to its object.
  const name = error.propertyName === undefined ? [] : [error.propertyName]
  const at = [...segmentsOf(error.instancePath, document), ...name]
  const { params } = error
  switch (error.keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const field = String(params.additionalProperty ?? params.unevaluatedProperty)
      return { path: pathOf([...at, field]), expected: `unknown field${knownFields(error, field)}` }
    }
    case 'required':
      return {
        path: pathOf([...at, String(params.missingProperty)]),
        expected: 'expected this field, it is missing',
      }
    case 'type':
      return { path: pathOf(at), expected: `expected ${[params.type].flat().map(withArticle).join(' or ')}` }
    case 'enum':
      return { path: pathOf(at), expected: oneOf(params.allowedValues as unknown[], error.data) }
    case 'const':
      return { path: pathOf(at), expected: `expected ${quote(params.allowedValue)}` }
    case 'discriminator':
      return { path: pathOf([...at, String(params.tag)]), expected: 'expected the name of a known type' }
    case 'pattern':
      return { path: pathOf(at), expected: `expected a string that matches ${params.pattern}` }
    case 'not':
      return { path: pathOf(at), expected: 'expected another value: this one is reserved' }
    case 'minLength':
      return { path: pathOf(at), expected: `expected at least ${count(params.limit, 'character')}` }
    case 'maxLength':
      return { path: pathOf(at), expected: `expected at most ${count(params.limit, 'character')}` }
    case 'minItems':
      return { path: pathOf(at), expected: `expected at least ${count(params.limit, 'item')}` }
    case 'maxItems': {
      const found = Array.isArray(error.data) ? `, found ${error.data.length}` : ''
      return { path: pathOf(at), expected: `expected at most ${count(params.limit, 'item')}${found}` }
    }
    case 'uniqueItems':
      return {
        path: pathOf([...at, Math.max(Number(params.i), Number(params.j))]),
        expected: 'expected no repetition of an earlier item',
      }
    case 'minimum':
    case 'maximum':
      return { path: pathOf(at), expected: `expected a number ${params.comparison} ${params.limit}` }
    default:
      return { path: pathOf(at), expected: error.message ?? `expected \`${error.keyword}\` to hold` }
  }
}

/** The keys and indexes of a JSON pointer; the document shows which are which. */
function segmentsOf(pointer: string, document: unknown): (string | number)[] {
  const segments: (string | number)[] = []
  let value = document
  for (const escaped of pointer.split('/').slice(1)) {
    const key = escaped.replaceAll('~1', '/').replaceAll('~0', '~')
    segments.push(Array.isArray(value) ? Number(key) : key)
    value = (value as Record<string, unknown> | undefined)?.[key]
  }
  return segments
}

/** The field that was meant, or else those that there are. */
function knownFields(error: SchemaError, field: string): string {
  const known = Object.keys(error.parentSchema?.properties ?? {}).filter((each) => each !== '$schema')
  const [meant] = namesMeant(field, known)
  if (meant !== undefined) return `; did you mean \`${meant}\`?`
  return known.length > 0 ? `; expected one of ${known.join(', ')}` : ''
}

/** The allowed values, and the one that was meant. */
function oneOf(allowed: readonly unknown[], found: unknown): string {
  const names = allowed.filter((each) => typeof each === 'string')
  const [meant] = typeof found === 'string' ? namesMeant(found.slice(0, KEY_LENGTH_MAX), names) : []
  const hint = meant === undefined ? '' : `; did you mean \`${meant}\`?`
  return `expected one of ${allowed.map(quote).join(', ')}${hint}`
}

const quote = (value: unknown): string => (typeof value === 'string' ? `\`${value}\`` : JSON.stringify(value))
const withArticle = (type: unknown): string =>
  type === 'null' ? 'null' : `${/^[aeiou]/.test(String(type)) ? 'an' : 'a'} ${type}`
const count = (limit: unknown, unit: string): string => `${limit} ${unit}${limit === 1 ? '' : 's'}`
