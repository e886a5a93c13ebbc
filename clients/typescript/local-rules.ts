/** The rules of the sidecar as `WatchChanges` sends them: the answer of each cell to each question. */
import { CredentialFinder } from '../../engine/credentials.ts'
import type { AcceptedKind, Place, Reason, Scope } from '../../engine/index.ts'
import { placeName } from '../../engine/places.ts'
import { CREDENTIAL_REASONS, type CredentialReason } from '../../engine/reasons.ts'
import { SITUATIONS, situationOf, situationOfFault } from '../../engine/situations.ts'
import type { Rules as WireRules } from '../../proto/gen/portcullis/v1/authorization.ts'
import type { CellNote, Matrix, TokenKind, TokenPlace } from '../../proto/gen/portcullis/v1/matrix.ts'
import { LocalRoutes } from './local-routes.ts'
import { acceptedKind, reasonName } from './values.ts'

/** A reason that a newer sidecar knows is `UNSPECIFIED`, and denies. */
export type LocalReason = Reason | 'UNSPECIFIED'

/** Twenty reasons, in the order of `CellReasons`. */
type Cell = readonly LocalReason[]

/** How an answer says what it is. */
interface Words {
  readonly message: string
  /** Request header for tokens of the kind. */
  readonly header: string
  /** Before the token in that header; empty: the token alone. */
  readonly scheme: string
}

/** The content of an answer, whatever the token. Answers share it. */
export interface Verdict extends Words {
  readonly allowed: boolean
  readonly reason: LocalReason
  readonly accepted: readonly AcceptedKind[]
  readonly advice: readonly string[]
  readonly digest: string
  readonly strict: boolean
  readonly rulesDigest: string
}

/** The row of an API. */
interface Row {
  /** Indexes of cells: first for kinds that are not in the matrix. */
  readonly cells: readonly number[]
  readonly notes: readonly CellNote[]
  /** The words where a kind is accepted; `undefined` before the first question. */
  allowed: (Verdict | undefined)[] | undefined
}

/** Rules of which not all parts have come. Each is taken in as it comes, so that no turn takes long. */
export class ComingRules {
  readonly rows = new Map<string, Row>()
  readonly cells: Cell[] = []
  /** `undefined`: there are none yet. */
  routes: LocalRoutes | undefined
  parts = 0

  add({ cells, apis, routes }: WireRules): void {
    this.parts++
    for (const { api, ...row } of apis) this.rows.set(api, { ...row, allowed: undefined })
    for (const { reasons } of cells) this.cells.push(reasons.map(reasonName))
    if (routes === undefined) return
    if (this.routes === undefined) this.routes = new LocalRoutes(routes)
    else this.routes.take(routes)
  }
}

/** Without a target, which is how a row says what it accepts. */
const NO_TARGET = {
  account: situationOf({ account: 'a' }, undefined),
  project: situationOf({ account: 'a', project: 'p' }, undefined),
}

/** The sidecar says what this program cannot follow. */
export class WrongSidecar extends Error {
  override readonly name = 'WrongSidecar'
}

export class LocalRules {
  readonly matrix: Matrix
  readonly credentials: CredentialFinder
  /** `undefined`: the sidecar must be asked about each request. */
  readonly routes: LocalRoutes | undefined
  readonly #places: ReadonlyMap<string, readonly Place[]>
  /** Kind → its column. */
  readonly #columns: ReadonlyMap<string, number>
  readonly #cells: readonly Cell[]
  readonly #rows: ReadonlyMap<string, Row>
  readonly #unknownApi: Row

  /** @param coming the parts before the last one @throws WrongSidecar if some are missing */
  constructor(last: WireRules, coming = new ComingRules()) {
    const { matrix } = last
    if (matrix === undefined) throw new WrongSidecar('its rules have no matrix')
    // One of the release before. Without places, no token would be found in a request.
    if (matrix.tokenKinds.some(({ places }) => places.length === 0))
      throw new WrongSidecar('its rules do not say where tokens travel')
    this.matrix = matrix
    coming.add(last)
    this.routes = coming.routes
    this.#places = new Map(matrix.tokenKinds.map(({ id, places }) => [id, places.map(placeOf)]))
    this.credentials = new CredentialFinder(Array.from(this.#places.values(), (places) => ({ places })))
    this.#columns = new Map(matrix.tokenKinds.map(({ id }, index) => [id, index + 1]))
    this.#rows = coming.rows
    this.#cells = coming.cells
    const unknownApi = this.#rows.get('')
    if (unknownApi === undefined || !this.#isWhole())
      throw new WrongSidecar('its rules do not have a cell for each API and kind')
    this.#unknownApi = unknownApi
  }

  #isWhole(): boolean {
    const count = this.#cells.length
    if (this.#cells.some((cell) => cell.length < SITUATIONS.length)) return false
    for (const { cells } of this.#rows.values()) {
      if (cells.length !== this.#columns.size + 1) return false
      for (const index of cells) if (index >= count) return false
    }
    return true
  }

  /**
   * The answer of the rules for a kind of token, by its column: the whole verdict where it opens the API, and
   * the reason where not, because the words for it come from the sidecar.
   *
   * @param situation its place in `SITUATIONS`
   */
  verdict(api: string, column: number, situation: number): Verdict | LocalReason {
    const row = this.#row(api)
    const reason = this.#reasonIn(row, column, situation)
    if (reason !== 'ALLOWED') return reason
    row.allowed ??= []
    const { allowed } = row
    allowed[column] ??= this.#allowed(api, row, this.matrix.tokenKinds[column - 1])
    return allowed[column]
  }

  /** @param kind `undefined`: no token is needed */
  #allowed(api: string, { notes }: Row, kind: TokenKind | undefined): Verdict {
    const advice = notes.filter((note) => note.kind === kind?.id).map(({ text }) => text)
    return this.#said('ALLOWED', wordsOf(api, kind), [], advice)
  }

  denied(api: string, reason: LocalReason, words: Words): Verdict {
    return this.#said(reason, words, this.accepted(api).map(Object.freeze) as AcceptedKind[], [])
  }

  #said(
    reason: LocalReason,
    { message, header, scheme }: Words,
    accepted: readonly AcceptedKind[],
    advice: readonly string[],
  ): Verdict {
    const { digest, strict, rulesDigest } = this.matrix
    const allowed = reason === 'ALLOWED'
    return {
      allowed,
      reason,
      message,
      header,
      scheme,
      accepted: Object.freeze(accepted),
      advice: Object.freeze(advice),
      digest,
      strict,
      rulesDigest,
    }
  }

  /** The answer of the rules for a token with that kind and scope. */
  reason(api: string, kind: string, scope: Scope | undefined, target: Scope | undefined): LocalReason {
    return this.#reason(api, this.column(kind), situationOf(scope, target))
  }

  /** The answer of the rules for a credential with a fault. @param kind empty: it is not known */
  reasonOfFault(api: string, kind: string, fault: CredentialReason): LocalReason {
    return this.#reason(api, this.column(kind), situationOfFault(fault))
  }

  /** Whether tokens of the kind travel so. Of a kind that is not in the matrix, they travel anywhere. */
  carries(kind: string, place: string, value: string): boolean {
    const places = this.#places.get(kind)
    return (
      places === undefined ||
      places.some((each) => placeName(each) === place && value.startsWith(each.prefix ?? ''))
    )
  }

  /** The kinds that open the API, in the order of the matrix. */
  accepted(api: string): AcceptedKind[] {
    return this.matrix.tokenKinds.flatMap(({ id, ...kind }, index) => {
      const situation = kind.scopeLevel === 'project' ? NO_TARGET.project : NO_TARGET.account
      return this.#reason(api, index + 1, situation) === 'ALLOWED'
        ? [acceptedKind({ ...kind, kind: id })]
        : []
    })
  }

  /** Where the kind stands in each row; 0: it is not in the matrix. */
  column(kind: string): number {
    return this.#columns.get(kind) ?? 0
  }

  #reason(api: string, column: number, situation: number): LocalReason {
    return this.#reasonIn(this.#row(api), column, situation)
  }

  #reasonIn({ cells }: Row, column: number, situation: number): LocalReason {
    return this.#cells[cells[column] as number]?.[situation] as LocalReason
  }

  #row(api: string): Row {
    return this.#rows.get(api) ?? this.#unknownApi
  }
}

function wordsOf(api: string, kind: TokenKind | undefined): Words {
  if (kind === undefined) return { message: `\`${api}\` needs no token`, header: '', scheme: '' }
  const { described, header, scheme } = kind
  return { message: `\`${api}\` accepts ${described}`, header, scheme }
}

/** An empty text of the contract is an absent value. */
function placeOf({ header, scheme, prefix, basic, with: other }: TokenPlace): Place {
  if (basic !== '') return { header, prefix, basic: basic as 'user', with: other || undefined }
  return { header, scheme: scheme || undefined, prefix, with: other || undefined }
}

/** Whether the credential itself is at fault where that is the reason. */
export function isFault(reason: LocalReason): reason is CredentialReason {
  return FAULTS.has(reason)
}

const FAULTS: ReadonlySet<LocalReason> = new Set(CREDENTIAL_REASONS)
