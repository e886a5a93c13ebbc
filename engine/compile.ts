/**
 * `compile` does all the work once. The space of answers is finite, so every answer is built and
 * frozen here; `decide` picks.
 */
import { type Advised, adviceByKind, conflictsByApi, contests, nameConflicts } from './conflicts.ts'
import { refuseInconsistent } from './consistency.ts'
import { type CredentialHeaders, CredentialNames, type Extraction, extractCredential } from './credentials.ts'
import { type Answers, alike, type Cell, decide, decideAt, deny, handleOf } from './decide.ts'
import type { CompiledApi, Decision, NamedConflict, Question, Scope } from './decision.ts'
import { digestOf } from './digest.ts'
import { frozenCopy } from './freeze.ts'
import type { Api, Matrix, TokenKind } from './matrix.ts'
import { messageOf } from './messages.ts'
import { CREDENTIAL_REASONS, type CredentialReason, KNOWN_TOKEN_REASONS, type Reason } from './reasons.ts'

export interface CompileOptions {
  /** Deny every cell that a conflict of the source names. Default: each conflict's resolution rules. */
  readonly strict?: boolean
}

export interface Engine {
  /** SHA-256 over the matrix in canonical JSON (RFC 8785): with `strict` it names the exact rules that decide. */
  readonly digest: string
  readonly strict: boolean
  /** By id, in the order of the matrix. */
  readonly tokenKinds: ReadonlyMap<string, TokenKind>
  /** By id, in the order of the matrix. */
  readonly apis: ReadonlyMap<string, CompiledApi>
  readonly conflicts: readonly NamedConflict[]
  /** Decides. Total: any input whatever gets a decision. Allocates nothing. */
  decide(question: Question): Decision
  /**
   * The handle of a cell: looked up once, it spares each later decision the look-ups. Total: what the matrix does not know
   * has a handle too. It is of this engine alone; to any other, one of a later matrix too, it is an unknown API.
   */
  handle(kind: string, api: string): number
  /**
   * Decides as `decide` does, about the cell of a handle. Total, and allocates nothing.
   *
   * @param holder type of the token's holder, as in `Question`
   */
  decideAt(handle: number, scope: Scope, target?: Scope, holder?: string): Decision
  /**
   * The denial for a credential that is no good. An unknown API takes precedence.
   *
   * @param kind of the token, where the credential is known to have been one
   * @param holder type of its holder, as in `Question`
   */
  deny(api: string, reason: CredentialReason, kind?: string, holder?: string): Decision
  /** Finds the one credential among request headers (§5.2), or says what is wrong with them. Total. */
  extract(headers: CredentialHeaders): Extraction
  /** Every decision that this engine can give, each once: for whoever encodes them beforehand. */
  decisions(): Iterable<Decision>
}

/** The next engine's first handle: no two engines of a program share one, so that none is taken for another's. */
let nextHandle = 0

const NONE: readonly never[] = Object.freeze([])
const UNADVISED: Advised = { advice: NONE, conflicts: NONE }

/**
 * Compiles a matrix. The engine keeps nothing of the object given: later changes to it have no effect.
 *
 * @throws TypeError where ids repeat or refer to nothing, or where this is no matrix; one from `loadMatrix` never does.
 */
export function compile(matrix: Matrix, options: CompileOptions = {}): Engine {
  refuseInconsistent(matrix)
  const strict = options.strict === true
  const { title, tokenKinds, apis: apiRows, statements, conflicts: declared } = matrix
  // The parts by name: what else an object carries, such as the `$schema` of the file, is not the matrix.
  const digest = digestOf({ title, tokenKinds, apis: apiRows, statements, conflicts: declared })
  const kinds = matrix.tokenKinds.map((kind) => frozenCopy(kind))
  const conflicts = Object.freeze(nameConflicts(matrix))
  const byApi = conflictsByApi(conflicts)
  const advice = adviceByKind(matrix, conflicts)
  const apis = new Map<string, CompiledApi>()
  const rows = new Map<string, number>()
  const decisions: Decision[] = []
  const cells: Cell[] = []

  const build = (reason: Reason, api?: CompiledApi, kind?: TokenKind, advised: Advised = UNADVISED) => {
    const decision: Decision = Object.freeze({
      allowed: reason === 'ALLOWED',
      reason,
      message: messageOf(reason, { kinds, api, kind }),
      header: kind?.header ?? '',
      accepted: reason === 'ALLOWED' ? NONE : (api?.accepted ?? NONE),
      conflicts: conflictsOf(api, kind, advised),
      advice: advised.advice,
      digest,
    })
    decisions.push(decision)
    return decision
  }

  cells.push(alike(build('UNKNOWN_API')))
  for (const row of matrix.apis) {
    const bearing = byApi.get(row.id) ?? NONE
    const verdicts = new Map(kinds.map((kind) => [kind.id, verdictOf(row, kind, bearing, strict)]))
    const api = compileApi(row, kinds, bearing, verdicts)
    apis.set(api.id, api)
    rows.set(api.id, cells.length)
    for (const kind of kinds) {
      const verdict = verdicts.get(kind.id) as Reason
      const cell = (advised: Advised, byHolder?: Map<string, Cell>): Cell =>
        buildCell(kind, verdict, (reason) => build(reason, api, kind, advised), byHolder)
      const byHolder = advice.get(kind.id)
      cells.push(cell(UNADVISED, byHolder && mapValues(byHolder, (advised) => cell(advised))))
    }
    cells.push(alike(build('UNKNOWN_TOKEN_KIND', api)))
  }

  // After all cells: what a decision looks at stays close together in memory.
  const faults = mapValues(
    apis,
    (api) => new Map(CREDENTIAL_REASONS.map((reason) => [reason, build(reason, api)])),
  )
  const advisedFault = (reason: CredentialReason, id: string, { advice, conflicts }: Advised) => {
    const fault: Decision = Object.freeze({ ...(faults.get(id)?.get(reason) as Decision), advice, conflicts })
    decisions.push(fault)
    return fault
  }
  const advisedFaults = mapValues(advice, (byHolder) =>
    mapValues(byHolder, (said) =>
      mapValues(
        apis,
        ({ id }) => new Map(KNOWN_TOKEN_REASONS.map((reason) => [reason, advisedFault(reason, id, said)])),
      ),
    ),
  )

  const places = new Map(kinds.map((kind, place) => [kind.id, place]))
  const answers: Answers = { cells, rows, places, faults, advisedFaults, firstHandle: nextHandle }
  nextHandle += cells.length
  const headers = new CredentialNames(kinds.map((kind) => kind.header))
  return Object.freeze({
    digest,
    strict,
    tokenKinds: new Map(kinds.map((kind) => [kind.id, kind])),
    apis,
    conflicts,
    decide: (question: Question) => decide(answers, question),
    handle: (kind: string, api: string) => handleOf(answers, kind, api),
    decideAt: (handle: number, scope: Scope, target?: Scope, holder?: string) =>
      decideAt(answers, handle, scope, target, holder),
    deny: (api: string, reason: CredentialReason, kind?: string, holder?: string) =>
      deny(answers, api, reason, kind, holder),
    extract: (list: CredentialHeaders) => extractCredential(list, headers),
    decisions: () => decisions.values(),
  })
}

/** What the matrix says of one cell: the table, unless a conflict is resolved for the prose or the mode is strict. */
function verdictOf(row: Api, kind: TokenKind, conflicts: readonly NamedConflict[], strict: boolean): Reason {
  const contesting = conflicts.filter((conflict) => contests(conflict, row.id, kind.id))
  const reversed = contesting.some((conflict) => conflict.resolution === 'prose')
  if (row.accepts.includes(kind.id) === reversed) return 'TOKEN_KIND_NOT_ACCEPTED'
  return strict && contesting.length > 0 ? 'CONTESTED' : 'ALLOWED'
}

function compileApi(
  row: Api,
  kinds: readonly TokenKind[],
  conflicts: readonly NamedConflict[],
  verdicts: ReadonlyMap<string, Reason>,
): CompiledApi {
  const bearing = (kind: TokenKind) =>
    conflicts.filter((conflict) => conflict.apis.includes(row.id) || contests(conflict, row.id, kind.id))
  return Object.freeze({
    id: row.id,
    title: row.title,
    section: row.section,
    accepted: Object.freeze(
      kinds
        .filter((kind) => verdicts.get(kind.id) === 'ALLOWED')
        .map((kind) =>
          Object.freeze({ kind: kind.id, header: kind.header, issuable: kind.obtained.by === 'issue' }),
        ),
    ),
    contested: Object.freeze(
      kinds.map((kind) => kind.id).filter((kind) => conflicts.some((one) => contests(one, row.id, kind))),
    ),
    conflicts: new Map(kinds.map((kind) => [kind.id, Object.freeze(bearing(kind))])),
  })
}

/** Of a cell, and of its kind in such a holder's hands. One array for all decisions of a cell wherever it can be. */
function conflictsOf(
  api: CompiledApi | undefined,
  kind: TokenKind | undefined,
  advised: Advised,
): readonly NamedConflict[] {
  const bearing = (kind && api?.conflicts.get(kind.id)) ?? NONE
  return advised.conflicts.length === 0 ? bearing : Object.freeze([...bearing, ...advised.conflicts])
}

function buildCell(
  kind: TokenKind,
  verdict: Reason,
  build: (reason: Reason) => Decision,
  advised?: ReadonlyMap<string, Cell>,
): Cell {
  const said = build(verdict)
  return {
    projectBound: kind.scopeLevel === 'project',
    invalidScope: build('INVALID_SCOPE'),
    verdict: said,
    open: said.allowed,
    // A cell that denies never gets as far as the target.
    accountMismatch: said.allowed ? build('ACCOUNT_MISMATCH') : said,
    projectMismatch: said.allowed && kind.scopeLevel === 'project' ? build('PROJECT_MISMATCH') : said,
    advised,
  }
}

function mapValues<K, V, W>(map: ReadonlyMap<K, V>, change: (value: V) => W): Map<K, W> {
  return new Map(Array.from(map, ([key, value]) => [key, change(value)]))
}
