/** The rules of the sidecar as `WatchChanges` tells them: what each cell answers to each question. */
import { CredentialNames } from '../../engine/credentials.ts'
import type { AcceptedKind, Reason, Scope } from '../../engine/index.ts'
import { withArticle } from '../../engine/messages.ts'
import { CREDENTIAL_REASONS, type CredentialReason } from '../../engine/reasons.ts'
import { SITUATIONS, situationOf, situationOfFault } from '../../engine/situations.ts'
import type { Rules as WireRules } from '../../proto/gen/portcullis/v1/authorization.ts'
import type { Matrix, TokenKind } from '../../proto/gen/portcullis/v1/matrix.ts'
import { reasonName } from './values.ts'

/** A reason that a newer sidecar knows is `UNSPECIFIED`, and denies. */
export type LocalReason = Reason | 'UNSPECIFIED'

/** Twenty reasons, in the order of `CellReasons`. */
type Cell = readonly LocalReason[]

/** How an answer says what it is. */
export interface Words {
  readonly message: string
  /** Request header for tokens of the kind. */
  readonly header: string
}

/** The row of an API. */
interface Row {
  /** First for kinds that are not in the matrix. */
  readonly cells: readonly Cell[]
  /** What is said where a kind is accepted; empty where nobody has asked yet. */
  readonly allowed: (Words | undefined)[]
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
  /** The headers that carry credentials. */
  readonly names: CredentialNames
  readonly #kinds: ReadonlyMap<string, { readonly column: number; readonly kind: TokenKind }>
  readonly #rows: ReadonlyMap<string, Row>
  readonly #unknownApi: Row

  /** @throws WrongSidecar if parts are missing */
  constructor({ matrix, cells, apis }: WireRules) {
    if (matrix === undefined) throw new WrongSidecar('its rules have no matrix')
    this.matrix = matrix
    this.names = new CredentialNames(matrix.tokenKinds.map(({ header }) => header))
    this.#kinds = new Map(matrix.tokenKinds.map((kind, index) => [kind.id, { column: index + 1, kind }]))
    const known = cells.map(({ reasons }) => reasons.map(reasonName))
    this.#rows = new Map(
      apis.map(({ api, cells: row }) => [
        api,
        { cells: row.map((index) => known[index] ?? []), allowed: [] },
      ]),
    )
    const unknownApi = this.#rows.get('')
    const isWhole = ({ cells }: Row) =>
      cells.length === this.#kinds.size + 1 && cells.every((cell) => cell.length >= SITUATIONS.length)
    if (unknownApi === undefined || !Array.from(this.#rows.values()).every(isWhole))
      throw new WrongSidecar('its rules do not have a cell for each API and kind')
    this.#unknownApi = unknownApi
  }

  /** What the sidecar says of a kind of token where the API accepts it. */
  wordsOfAllowed(api: string, kind: string): Words {
    const { allowed } = this.#row(api)
    const column = this.#column(kind)
    allowed[column] ??= wordsOf(api, this.#kinds.get(kind)?.kind)
    return allowed[column]
  }

  /** What the rules say of a token with that kind and scope. */
  reason(api: string, kind: string, scope: Scope | undefined, target: Scope | undefined): LocalReason {
    return this.#cell(api, this.#column(kind))[situationOf(scope, target)] as LocalReason
  }

  /** What the rules say of a credential with a fault. @param kind empty: it is not known */
  reasonOfFault(api: string, kind: string, fault: CredentialReason): LocalReason {
    return this.#cell(api, this.#column(kind))[situationOfFault(fault)] as LocalReason
  }

  /** The kinds that open the API, in the order of the matrix. */
  accepted(api: string): AcceptedKind[] {
    return this.matrix.tokenKinds.flatMap(({ id, header, scopeLevel, issuable }, index) => {
      const situation = scopeLevel === 'project' ? NO_TARGET.project : NO_TARGET.account
      return this.#cell(api, index + 1)[situation] === 'ALLOWED' ? [{ kind: id, header, issuable }] : []
    })
  }

  #column(kind: string): number {
    return this.#kinds.get(kind)?.column ?? 0
  }

  #row(api: string): Row {
    return this.#rows.get(api) ?? this.#unknownApi
  }

  #cell(api: string, column: number): Cell {
    return this.#row(api).cells[column] as Cell
  }
}

function wordsOf(api: string, kind: TokenKind | undefined): Words {
  const { title = '', header = '' } = kind ?? {}
  return { message: `\`${api}\` accepts ${withArticle(title)} in \`${header}\``, header }
}

/** Whether the credential itself is at fault where that is the reason. */
export function isFault(reason: LocalReason): reason is CredentialReason {
  return FAULTS.has(reason)
}

const FAULTS: ReadonlySet<LocalReason> = new Set(CREDENTIAL_REASONS)
