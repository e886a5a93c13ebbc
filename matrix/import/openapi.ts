/**
 * Reads an OpenAPI 3.0 or 3.1 description: security schemes are kinds of token, and operations, paths or tags
 * are APIs. References within the document are followed; others are not fetched. Schemas are not looked at.
 */
import type { Place } from '../../engine/index.ts'
import { type DocumentForm, pathOf } from '../document/index.ts'
import { DocumentError } from './blocks.ts'
import type { LeftOut, ReadApi, Reading, ReadKind, ReadOptions, ReadRoute } from './reading.ts'

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const

type Json = Readonly<Record<string, unknown>>
type Path = readonly (string | number)[]

/** Longest chain of references that is followed. */
const REFERENCES_MAX = 32

/** @throws DocumentError with the line where a reference leads in a circle or out of the document */
export function readOpenApi(text: string, form: DocumentForm, options: ReadOptions): Reading {
  const read = form.read(text)
  if (!read.ok) {
    const [problem] = read.problems
    throw new DocumentError(problem?.expected ?? 'expected JSON', problem?.line)
  }
  const document = new OpenApi(read.value, (paths) =>
    form.placesOf(text, paths.map(pathOf)).map((place) => place?.line ?? 1),
  )
  return new OpenApiReader(document, options).read()
}

/** A description, and the lines of its parts. */
class OpenApi {
  readonly root: Json
  readonly #linesOf: (paths: readonly Path[]) => readonly number[]

  constructor(value: unknown, linesOf: (paths: readonly Path[]) => readonly number[]) {
    this.root = objectOf(value) ?? {}
    this.#linesOf = linesOf
    const version = this.root.openapi
    if (typeof version !== 'string' || !/^3\.[01]\./.test(version))
      throw new DocumentError('expected `openapi` 3.0 or 3.1', this.lineOf(['openapi']))
  }

  lineOf(path: Path): number {
    return this.#linesOf([path])[0] ?? 1
  }

  linesOf(paths: readonly Path[]): readonly number[] {
    return this.#linesOf(paths)
  }

  /** The object at a place, or where its references lead. */
  resolved(value: unknown, at: Path): Json | undefined {
    let object = objectOf(value)
    for (let count = 0; object !== undefined && typeof object.$ref === 'string'; count++) {
      if (count === REFERENCES_MAX)
        throw new DocumentError(
          'expected a reference that does not lead in a circle',
          this.lineOf([...at, '$ref']),
        )
      object = objectOf(this.#target(object.$ref, at))
    }
    return object
  }

  #target(reference: string, at: Path): unknown {
    if (!reference.startsWith('#/'))
      throw new DocumentError(
        'expected a reference within the document; others are not fetched',
        this.lineOf([...at, '$ref']),
      )
    let value: unknown = this.root
    for (const part of reference.slice(2).split('/')) {
      const key = unescaped(part)
      const object = objectOf(value)
      value = object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined
    }
    if (value === undefined)
      throw new DocumentError('expected a reference to a part of the document', this.lineOf([...at, '$ref']))
    return value
  }
}

function unescaped(part: string): string {
  const text = part.replaceAll('~1', '/').replaceAll('~0', '~')
  return /%[0-9a-f]{2}/i.test(text) ? text.replace(/(?:%[0-9a-f]{2})+/gi, safelyDecoded) : text
}

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function objectOf(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The kinds of token that an operation takes, and whether it needs one. */
interface Security {
  readonly accepts: ReadonlySet<number>
  readonly isPublic: boolean
}

/** An operation as it is read, before operations become APIs. */
interface Operation {
  readonly at: Path
  readonly path: string
  readonly method: string
  readonly heading: string
  readonly group: string
  readonly security: Security
}

class OpenApiReader {
  readonly #document: OpenApi
  readonly #by: 'operation' | 'path' | 'tag'
  readonly #kinds: (ReadKind & { readonly schemes: readonly string[] })[] = []
  /** Names of schemes that travel together → index of the kind. */
  readonly #kindOf = new Map<string, number>()
  readonly #schemes = new Map<string, Place | undefined>()
  readonly #left: { readonly at: Path; readonly what: string; readonly why: string }[] = []
  readonly #securities = new Map<unknown, Security>()
  readonly #skipped: ReadonlySet<string>

  constructor(document: OpenApi, { by = 'operation', leaveOut = [] }: ReadOptions) {
    this.#document = document
    this.#by = by
    this.#skipped = new Set(leaveOut)
  }

  read(): Reading {
    this.#readSchemes()
    const operations = this.#operations()
    if (operations.length === 0)
      throw new DocumentError(
        'expected operations with a method, found none',
        this.#document.lineOf(['paths']),
      )
    // All at once: each look-up reads the whole text.
    const lines = this.#document.linesOf([
      ...operations.map(({ at }) => at),
      ...this.#kinds.map(({ schemes: [name = ''] }) => schemeAt(name)),
      ...this.#left.map(({ at }) => at),
    ])
    const kindLines = lines.slice(operations.length)
    const leftLines = kindLines.slice(this.#kinds.length)
    const leftOut = this.#left.map(
      ({ what, why }, index): LeftOut => ({ line: leftLines[index] ?? 1, what, why }),
    )
    if (this.#kinds.length === 0) throw new DocumentError(this.#noKind(), lines[0])
    return {
      ...{
        found: {},
        where: `OpenAPI ${String(this.#document.root.openapi)}`,
        under: '',
        line: 1,
        kindsAre: 'security schemes',
      },
      kinds: this.#kinds.map(({ heading, carriage }, index) => ({
        ...{ heading, carriage, line: kindLines[index] ?? 1 },
      })),
      ...this.#apis(operations, lines, leftOut),
      ...{ saysPublic: true, repeated: [], marks: [], texts: [], leftOut },
    }
  }

  #noKind(): string {
    const [left] = this.#left
    const because = left === undefined ? '' : `; ${left.what}: ${left.why}`
    return `expected an operation with the security scheme of a header${because}`
  }

  #readSchemes(): void {
    const schemes = objectOf(objectOf(this.#document.root.components)?.securitySchemes) ?? {}
    for (const [name, value] of Object.entries(schemes)) {
      const scheme = this.#document.resolved(value, schemeAt(name)) ?? {}
      const place = this.#skipped.has(name) ? undefined : placeOf(scheme)
      this.#schemes.set(name, place)
      const why = this.#skipped.has(name) ? 'as asked' : whyNot(scheme)
      if (place === undefined) this.#left.push({ at: schemeAt(name), what: `security scheme “${name}”`, why })
    }
  }

  #operations(): Operation[] {
    const paths = objectOf(this.#document.root.paths) ?? {}
    const operations: Operation[] = []
    for (const [path, value] of Object.entries(paths)) {
      const item = this.#document.resolved(value, ['paths', path])
      for (const method of METHODS) {
        const operation = objectOf(item?.[method])
        if (operation === undefined) continue
        // A path item that is referred to has its operations elsewhere.
        const at =
          objectOf(objectOf(value)?.[method]) === undefined ? ['paths', path] : ['paths', path, method]
        const heading = textOf(operation.operationId) || `${method.toUpperCase()} ${path}`
        const group =
          this.#by === 'operation'
            ? heading
            : this.#by === 'tag'
              ? textOf(listOf(operation.tags)[0])
              : prefixOf(path)
        if (this.#skipped.has(heading) || this.#skipped.has(group)) continue
        const security = this.#securityOf(operation, at)
        operations.push({ at, path, method: method.toUpperCase(), heading, group, security })
      }
    }
    return operations
  }

  /** Of the operation, else of the whole document. */
  #securityOf(operation: Json, at: Path): Security {
    const own = operation.security !== undefined
    const written = own ? operation.security : this.#document.root.security
    // Most operations share that of the document.
    const known = own ? undefined : this.#securities.get(written)
    if (known !== undefined) return known
    const security = this.#readSecurity(written, own ? [...at, 'security'] : at)
    if (!own) this.#securities.set(written, security)
    return security
  }

  #readSecurity(written: unknown, at: Path): Security {
    if (!Array.isArray(written)) {
      const what = 'operations without `security`'
      this.#left.push({ at, what, why: 'closed: one that needs no token says `security: []`' })
      return { accepts: new Set(), isPublic: false }
    }
    const accepts = new Set<number>()
    let isPublic = written.length === 0
    for (const requirement of written) {
      const names = Object.keys(objectOf(requirement) ?? {})
      if (names.length === 0) isPublic = true
      else {
        const kind = this.#kindOfSchemes(names, at)
        if (kind !== undefined) accepts.add(kind)
      }
    }
    return { accepts, isPublic }
  }

  /** The kind of one scheme, or of a key with a header beside it. */
  #kindOfSchemes(names: readonly string[], at: Path): number | undefined {
    const key = JSON.stringify(names)
    const known = this.#kindOf.get(key)
    if (known !== undefined) return known
    // The key comes first, whatever is beside it.
    const ordered = names.toSorted((one, other) => Number(isToken(other)) - Number(isToken(one)))
    const places = ordered.map((name) => this.#schemes.get(name))
    const unknown = names.find((name) => !this.#schemes.has(name))
    if (unknown !== undefined)
      throw new DocumentError(
        `expected a security scheme of the document, found “${unknown}”`,
        this.#document.lineOf(at),
      )
    const [first, second, third] = places
    const isPair = second !== undefined && second.scheme === undefined && second.basic === undefined
    if (first === undefined || third !== undefined || (names.length > 1 && !isPair)) {
      if (names.length > 1)
        this.#left.push({
          at,
          what: names.join(' with '),
          why: 'a kind has a token and one header beside it',
        })
      return undefined
    }
    const place: Place = isPair ? { ...first, with: second.header } : first
    const { header, scheme, basic, with: other } = place
    const carriage =
      basic === undefined && other === undefined ? { header, ...(scheme && { scheme }) } : { places: [place] }
    const kind = this.#kinds.push({ heading: names.join(' with '), line: 1, carriage, schemes: names }) - 1
    this.#kindOf.set(key, kind)
    return kind
  }

  /** Operations of one group become one API, which accepts what all of them accept. */
  #apis(operations: readonly Operation[], lines: readonly number[], leftOut: LeftOut[]) {
    const groups = new Map<string, { readonly all: Operation[]; readonly line: number }>()
    const routes: ReadRoute[] = []
    const order = new Map<string, number>()
    const base = basePathOf(this.#document.root.servers)
    for (const [index, operation] of operations.entries()) {
      const line = lines[index] ?? 1
      const group = groups.get(operation.group) ?? { all: [], line }
      groups.set(operation.group, group)
      group.all.push(operation)
      if (!order.has(operation.group)) order.set(operation.group, order.size)
      const { path, method } = operation
      routes.push({ path: `${base}${path}`, method, api: order.get(operation.group) as number, line })
    }
    const apis = Array.from(groups, ([group, { all, line }]): ReadApi => {
      const [first, ...others] = all as [Operation, ...Operation[]]
      const accepts = [...first.security.accepts].filter((kind) =>
        others.every(({ security }) => security.accepts.has(kind)),
      )
      const isPublic = all.every(({ security }) => security.isPublic)
      if (
        all.some(({ security }) => security.isPublic !== isPublic || security.accepts.size > accepts.length)
      )
        leftOut.push({
          ...{ line, what: `“${group}”` },
          why: 'its operations accept different kinds: the API accepts what all of them do',
        })
      const heading = group || 'without a tag'
      return { heading, section: '', line, accepts, notes: new Map(), isPublic }
    })
    return { apis, routes }
  }
}

/** Whether the name of a scheme is that of a token, and not of its holder. */
const isToken = (name: string): boolean => /key|token|secret|password/i.test(name)

const schemeAt = (name: string): Path => ['components', 'securitySchemes', name]

/** The path of the servers, where all have the same one. */
function basePathOf(servers: unknown): string {
  const paths = listOf(servers).map((server) =>
    textOf(objectOf(server)?.url)
      .replace(/^[a-z]+:\/\/[^/]*/i, '')
      .replace(/\/$/, ''),
  )
  const [path = ''] = paths
  return path.startsWith('/') && paths.every((other) => other === path) ? path : ''
}

/** The first segment that is a name, without the version before it. */
function prefixOf(path: string): string {
  const segments = path.split('/').filter((segment) => segment !== '' && !segment.includes('{'))
  const at = /^(?:api|v\d+(?:\.\d+)*)$/i.test(segments[0] ?? '') && segments.length > 1 ? 1 : 0
  return segments[at] ?? '/'
}

/** The names of headers and schemes that a kind may have. */
const WORD = /^[A-Za-z][A-Za-z0-9-]{0,63}$/

/** Where the token of a scheme travels; `undefined`: in no header that a kind can have. */
function placeOf({ type, in: where, name, scheme }: Json): Place | undefined {
  const written = textOf(scheme).toLowerCase()
  switch (type) {
    case 'apiKey':
      return where === 'header' && WORD.test(textOf(name)) ? { header: textOf(name) } : undefined
    case 'oauth2':
    case 'openIdConnect':
      return { header: 'Authorization', scheme: 'Bearer' }
    case 'http':
      if (written === 'basic') return { header: 'Authorization', basic: 'password' }
      return !WORD.test(written) ? undefined : { header: 'Authorization', scheme: canonical(textOf(scheme)) }
    default:
      return undefined
  }
}

/** `bearer` is most often written in small letters, and sent with a capital. */
const canonical = (scheme: string): string => scheme.replace(/^[a-z]/, (letter) => letter.toUpperCase())

function whyNot({ type, in: where }: Json): string {
  if (type === 'apiKey' && where === 'header')
    return 'the name of its header has other characters than letters, digits and `-`, and proxies drop it'
  if (type === 'apiKey' && where === 'cookie')
    return 'a browser sends cookies with every request that another site makes it send'
  if (type === 'apiKey' && where === 'query') return 'addresses are written to logs and histories'
  return 'its token travels in no header'
}
