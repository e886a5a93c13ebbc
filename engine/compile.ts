/**
 * `compile` does all the work once. The space of answers is finite, so the answer to each question is
 * settled here.
 */
import { ApiRows } from './apis.ts'
import { adviceByKind, conflictsByApi, nameConflicts } from './conflicts.ts'
import { completeMatrix, problemsInSteps } from './consistency.ts'
import { CredentialFinder, type CredentialHeaders, type Extraction } from './credentials.ts'
import { CellHandle, decide, deny, handlesOf, reasonsOf } from './decide.ts'
import type { CompiledApi, CompiledKind, Decision, NamedConflict, Question, Scope } from './decision.ts'
import { digestInSteps, digestOf } from './digest.ts'
import { frozenCopy } from './freeze.ts'
import { buildAhead, finish, type Steps } from './large.ts'
import type { MatrixInput, Place, TokenKind } from './matrix.ts'
import { firstPlace, placesOf, schemeOf } from './places.ts'
import type { CredentialReason, Reason } from './reasons.ts'
import { Table } from './table.ts'

export interface CompileOptions {
  /** Deny every cell that a conflict of the source names. Default: the resolution of each conflict rules. */
  readonly strict?: boolean | undefined
}

/**
 * The compiled matrix, which decides.
 *
 * The ids are literal types where `compile` was given them, so that a misspelt id does not compile. Ids that
 * arrive at run time are strings: take the engine as a plain `Engine` to ask about them. Every engine is one.
 */
export interface Engine<KindId extends string = string, ApiId extends string = string> {
  /** SHA-256 over the matrix in canonical JSON (RFC 8785). It names the matrix, whatever the mode. */
  readonly digest: string
  readonly strict: boolean
  /**
   * SHA-256 over `{"digest":…,"strict":…}` in canonical JSON: names the exact rules that decide, the mode
   * included.
   */
  readonly rulesDigest: string
  /** By id, in the order of the matrix. */
  readonly tokenKinds: ReadonlyMap<KindId, CompiledKind<KindId>>
  /** By id, in the order of the matrix. */
  readonly apis: ReadonlyMap<ApiId, CompiledApi<KindId, ApiId>>
  readonly conflicts: readonly NamedConflict[]
  /** Decides. Total: any input whatever gets a decision. Allocates nothing. */
  decide(question: Question<KindId, ApiId>): Decision<KindId>
  /**
   * The handle of a cell: looked up once, it spares later decisions the look-ups. It is made at the first
   * call and is the same object from then on. Total: a cell that the matrix does not have gets a handle too,
   * with a denial behind it.
   */
  handle(kind: KindId, api: ApiId): CellHandle
  /**
   * Decides as `decide` does, about the cell of a handle. Total, and allocates nothing. Anything but a handle
   * of this engine is an unknown API: the handle of another engine, of another copy of this package, or of an
   * earlier matrix.
   *
   * @param holder type of the token's holder, as in `Question`
   */
  decideAt(
    handle: CellHandle,
    scope: Scope,
    target?: Scope | undefined,
    holder?: string | undefined,
  ): Decision<KindId>
  /**
   * The decision where the credential itself has a fault: the denial, or that the API needs no token. An
   * unknown API takes precedence.
   *
   * @param kind of the token, where it is known which token the credential is
   * @param holder type of its holder, as in `Question`
   */
  deny(
    api: ApiId,
    reason: CredentialReason,
    kind?: KindId | undefined,
    holder?: string | undefined,
  ): Decision<KindId>
  /** Finds the one credential among request headers (§5.2), or says what is wrong with them. Total. */
  extract(headers: CredentialHeaders): Extraction
  /**
   * The answers of the rule about a cell, for programs that decide by the answers of this engine elsewhere:
   * the reason for each of twenty questions. First of verified tokens: three scopes (not valid, an account, a
   * project) with four targets each (not given, the same scope, another project of the account, another
   * account); then the faults of a credential, in the order of `CREDENTIAL_REASONS`. Total: an unknown API or
   * kind has a cell, too. Cells that do not differ are the same object.
   */
  reasons(api: string, kind: string): readonly Reason[]
  /** Every decision that this engine can give, each once: for programs that encode them beforehand. */
  decisions(): Iterable<Decision<KindId>>
  /**
   * Whether every decision is built. In a large matrix one is built when it is asked for first, and is the
   * same object from then on. Its answers were settled when the matrix was compiled.
   */
  readonly prebuilt: boolean
}

/**
 * Compiles a matrix. The engine does not keep the given object: later changes to it have no effect.
 *
 * @throws TypeError where an id is taken or unknown, or where the input is not a matrix; a matrix from
 *   `loadMatrix` never throws
 */
export function compile<const KindId extends string, const ApiId extends string>(
  matrix: MatrixInput<KindId, ApiId>,
  options?: CompileOptions,
): Engine<KindId, ApiId>
export function compile(input: MatrixInput, options: CompileOptions = {}): Engine {
  return finish(compileInSteps(input, options))
}

/**
 * As `compile`, a little of the work at each `next()`: for a program that has other things to do meanwhile.
 * The matrix must not change until the last step, which returns the engine.
 *
 * @throws TypeError as `compile` does, from one of the steps
 */
export function* compileInSteps(input: MatrixInput, options: CompileOptions = {}): Steps<Engine> {
  const [problem] = yield* problemsInSteps(input)
  if (problem !== undefined)
    throw new TypeError(`the matrix is not valid: ${problem.path}: ${problem.expected}`)
  const matrix = completeMatrix(input)
  const strict = options.strict === true
  const { title, tokenKinds, apis: rows, statements, conflicts: declared } = matrix
  // The parts by name: another part of an object, such as the `$schema` of the file, is not the matrix.
  const parts = { title, tokenKinds, apis: rows, statements, conflicts: declared }
  const digest = yield* digestInSteps(parts, withoutLine)
  const rulesDigest = digestOf({ digest, strict })
  const kinds = tokenKinds.map(compiledKind)
  const conflicts = yield* nameConflicts(matrix)
  const conflictsOf = yield* conflictsByApi(conflicts)
  const table = new Table(kinds, yield* adviceByKind(matrix, conflicts), { digest, strict, rulesDigest })
  const apiRows = new ApiRows(kinds, strict)
  table.add(undefined, apiRows.unknown)
  const apis = new Map<string, CompiledApi>()
  for (const row of rows) {
    const { api, cells } = apiRows.compile(row, conflictsOf.get(row.id) ?? [])
    apis.set(api.id, api)
    table.add(api, cells)
    yield
  }
  const prebuilt = buildAhead(table.decisions.length, table.all())
  const credentials = new CredentialFinder(kinds)
  return Object.freeze({
    digest,
    strict,
    rulesDigest,
    tokenKinds: new Map(kinds.map((kind) => [kind.id, kind])),
    apis,
    conflicts,
    decide: (question: Question) => decide(table, question),
    handle: handlesOf(table),
    decideAt: (handle: CellHandle, scope: Scope, target?: Scope, holder?: string) =>
      CellHandle.decide(table, handle, scope, target, holder),
    deny: (api: string, reason: CredentialReason, kind?: string, holder?: string) =>
      deny(table, api, reason, kind, holder),
    extract: (headers: CredentialHeaders) => credentials.find(headers),
    reasons: (api: string, kind: string) => reasonsOf(table, api, kind),
    decisions: () => table.all(),
    prebuilt,
  })
}

function compiledKind(kind: TokenKind): CompiledKind {
  const first = firstPlace(kind)
  const { header, prefix } = first
  // As it is without a place to choose from, a scheme that is not there is no property.
  const scheme = schemeOf(first) || undefined
  return frozenCopy({ ...kind, header, scheme, prefix, places: placesOf(kind).map(onlyPlace) })
}

/** The short form of a place is a kind, which has more. */
function onlyPlace({ header, scheme, prefix, basic, with: other }: Place): Place {
  return { header, scheme, prefix, basic, with: other }
}

/** A line moves with every edit of the document above it, and decides nothing. */
function withoutLine(item: object): object {
  if (!Object.hasOwn(item, 'line')) return item
  const { line: _, ...row } = item as { readonly line?: unknown }
  return row
}
