/** The kind of token that is issued for a scope. */
import type { Scope, TokenKind } from '../../engine/index.ts'
import { callError } from '../base/call-error.ts'

/** §4.1 rules 1 and 2: the scope says which kind it is. @param kinds of the matrix, in its order */
export function kindOfScope<Kind extends TokenKind>(scope: Scope, kinds: Iterable<Kind>): Kind | undefined {
  const level = levelOf(scope)
  for (const kind of kinds) if (kind.obtained.by === 'issue' && kind.scopeLevel === level) return kind
  return undefined
}

/** As {@link kindOfScope}. @throws CallError where the matrix has none */
export function kindForScope<Kind extends TokenKind>(scope: Scope, kinds: Iterable<Kind>): Kind {
  const kind = kindOfScope(scope, kinds)
  if (kind === undefined) throw callError('NO_KIND_FOR_SCOPE', { level: levelOf(scope) })
  return kind
}

function levelOf({ project }: Scope): TokenKind['scopeLevel'] {
  return project === undefined ? 'account' : 'project'
}
