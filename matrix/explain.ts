/** Explaining: what the table, the prose and the engine say about one cell. */
import type { Claim, Decision, Engine, Matrix, Statement, TokenKind } from '../engine/index.ts'

/** Why an API accepts a kind of token or not. */
export interface CellExplanation {
  readonly kind: string
  readonly decision: Decision
  /** The statements of the prose about this kind and this API. */
  readonly statements: readonly Statement[]
}

/** Asks the engine about a cell, and finds what the prose says about it. */
export function explainCell(
  matrix: Pick<Matrix, 'statements'>,
  engine: Pick<Engine, 'decide'>,
  api: string,
  kind: Pick<TokenKind, 'id' | 'scopeLevel'>,
): CellExplanation {
  return {
    kind: kind.id,
    decision: decideCell(engine, api, kind),
    statements: matrix.statements.filter(({ claim }) => isAbout(claim, api, kind.id)),
  }
}

/** The decision about any token of a kind: only the matrix is asked, whatever the token is bound to. */
export function decideCell(
  engine: Pick<Engine, 'decide'>,
  api: string,
  { id, scopeLevel }: Pick<TokenKind, 'id' | 'scopeLevel'>,
): Decision {
  // Without a target only the matrix decides, so any scope that fits the kind will do.
  const scope = scopeLevel === 'project' ? { account: 'any', project: 'any' } : { account: 'any' }
  return engine.decide({ api, kind: id, scope })
}

/** Whether a claim that bears on an API does so by leaving it out of its list. */
export function leavesOut(claim: Claim, api: string): boolean {
  return 'apis' in claim && !claim.apis.includes(api)
}

function isAbout(claim: Claim, api: string, kind: string): boolean {
  if (claim.type === 'row_repeated') return claim.api === api
  if (!('apis' in claim) || claim.kind !== kind) return false
  // A complete list says that the API which it leaves out is not opened.
  // Survives: `claim.type === 'manages'` → `true`. No other claim with a list of APIs is complete.
  return claim.apis.includes(api) || (claim.type === 'manages' && claim.complete)
}
