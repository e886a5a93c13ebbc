/** Which kind of token is issued for a scope. */
import type { Scope, TokenKind } from '../../engine/index.ts'

/** §4.1 rules 1 and 2: the scope says which kind it is. @param kinds of the matrix, in its order */
export function kindOfScope(scope: Scope, kinds: ReadonlyMap<string, TokenKind>): TokenKind | undefined {
  const level = scope.project === undefined ? 'account' : 'project'
  for (const kind of kinds.values())
    if (kind.obtained.by === 'issue' && kind.scopeLevel === level) return kind
  return undefined
}
