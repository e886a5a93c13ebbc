/**
 * The panel of a cell: the decision, both sides of each conflict in the words of the source, and what the
 * other mode would say.
 */
import type {
  Api,
  CompiledApi,
  Conflict,
  Decision,
  MatrixSource,
  Statement,
  TokenKind,
} from '../../engine/index.ts'
import { decideCell, explainCell, leavesOut } from '../../matrix/explain.ts'
import type { Mode, Rules } from './rules.ts'
import { checkCommand, loginCommand, requestCommand } from './shell.ts'

/** Words of the prose about a cell. */
export interface Saying {
  readonly statement: Statement
  /** Whether it bears on the API by leaving it out. */
  readonly silent: boolean
}

export interface ConflictSides {
  readonly conflict: Conflict
  /** The statements of the prose in it. The other side is the row of the table. */
  readonly sayings: readonly Saying[]
}

export interface CellView {
  readonly api: CompiledApi
  readonly kind: TokenKind
  readonly decision: Decision
  /** The row as the source prints it, and whether it marks the kind. */
  readonly row: Api
  readonly marked: boolean
  /** The document that the row and the quoted statements were read from. */
  readonly document: Pick<MatrixSource, 'document' | 'digest'> | undefined
  readonly conflicts: readonly ConflictSides[]
  /** The statements of the prose about the cell without a part in a conflict. */
  readonly agreeing: readonly Saying[]
  /** The decision in the other mode, where it is another one. */
  readonly otherMode: Decision | undefined
  readonly request: string
  readonly check: string
  readonly login: string | undefined
}

/** @returns `undefined` for a cell that the matrix does not have */
export function cellView(rules: Rules, mode: Mode, apiId: string, kindId: string): CellView | undefined {
  const { matrix } = rules
  const engine = rules.engine(mode)
  const api = engine.apis.get(apiId)
  const kind = engine.tokenKinds.get(kindId)
  const row = matrix.apis.find(({ id }) => id === apiId)
  if (api === undefined || kind === undefined || row === undefined) return undefined
  const { decision, statements } = explainCell(matrix, engine, apiId, kind)
  const saying = (statement: Statement): Saying => ({ statement, silent: leavesOut(statement.claim, apiId) })
  const bearing = new Set(decision.conflicts.map(({ id }) => id))
  const conflicts = matrix.conflicts.filter(({ id }) => bearing.has(id))
  const taking = new Set(conflicts.flatMap((conflict) => conflict.statements))
  const other = decideCell(rules.engine(otherMode(mode)), apiId, kind)
  return {
    ...{ api, kind, decision, row },
    marked: row.accepts.includes(kindId),
    document: matrix.source,
    conflicts: conflicts.map((conflict) => ({
      conflict,
      sayings: matrix.statements.filter(({ id }) => conflict.statements.includes(id)).map(saying),
    })),
    agreeing: statements.filter(({ id }) => !taking.has(id)).map(saying),
    otherMode: other.reason === decision.reason ? undefined : other,
    request: requestCommand(kind),
    check: checkCommand(apiId),
    login: loginCommand(kind),
  }
}

export function otherMode(mode: Mode): Mode {
  return mode === 'strict' ? 'resolved' : 'strict'
}
