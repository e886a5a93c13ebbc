/** Planning: which tokens a job needs for the APIs that it calls. */
import type { Engine, TokenKind } from '../engine/index.ts'

/** One token of a plan. */
export interface PlannedToken {
  readonly kind: TokenKind
  /** Which of the requested APIs to use it for. No API is given to two tokens. */
  readonly apis: readonly string[]
}

export interface Plan {
  /** The smallest set of kinds that opens all the APIs that any kind opens, in the order of the matrix. */
  readonly tokens: readonly PlannedToken[]
  /** APIs that no kind opens. */
  readonly unopened: readonly string[]
  /** Ids that are not in the matrix. */
  readonly unknown: readonly string[]
}

/**
 * Finds the smallest set of kinds that opens all the APIs. Among sets of one size, the one with the most
 * kinds that can be issued by a call, then with the most that are bound to a project (the narrower grant),
 * then the first in the order of the matrix.
 *
 * @param engine whose matrix it is. The parts that are named here are alike in all copies of the engine; handles are not.
 */
export function planTokens(engine: Pick<Engine, 'apis' | 'tokenKinds'>, apis: readonly string[]): Plan {
  const asked = [...new Set(apis)]
  const unknown = asked.filter((api) => !engine.apis.has(api))
  const known = asked.filter((api) => engine.apis.has(api))
  const opens = (kind: TokenKind, api: string) =>
    engine.apis.get(api)?.accepted.some((accepted) => accepted.kind === kind.id) === true
  const candidates = [...engine.tokenKinds.values()].filter((kind) => known.some((api) => opens(kind, api)))
  const open = known.filter((api) => candidates.some((kind) => opens(kind, api)))

  // A kind that alone opens some API is in every answer; only the rest has to be searched.
  const forced = candidates.filter((kind) =>
    open.some((api) => opens(kind, api) && candidates.every((other) => other === kind || !opens(other, api))),
  )
  const left = open.filter((api) => !forced.some((kind) => opens(kind, api)))
  const rest = candidates.filter((kind) => !forced.includes(kind))
  const chosen = best(smallest(rest, (some) => left.every((api) => some.some((kind) => opens(kind, api)))))
  const kinds = candidates.filter((kind) => forced.includes(kind) || chosen.includes(kind))
  const byPreference = preferredKinds(kinds)
  return {
    tokens: kinds.map((kind) => ({
      kind,
      apis: open.filter((api) => byPreference.find((first) => opens(first, api)) === kind),
    })),
    unopened: known.filter((api) => !open.includes(api)),
    unknown,
  }
}

/** The kinds in the order of preference: first those that a call can obtain, and among equals those bound to a project. */
export function preferredKinds(kinds: readonly TokenKind[]): TokenKind[] {
  const rank = (kind: TokenKind) =>
    (kind.obtained.by === 'issue' ? 0 : 2) + (kind.scopeLevel === 'project' ? 0 : 1)
  return [...kinds].sort((a, b) => rank(a) - rank(b))
}

/** Every smallest selection that satisfies, in the order of the items; sizes ascend, so the search ends early. */
function smallest<T>(items: readonly T[], satisfies: (some: readonly T[]) => boolean): (readonly T[])[] {
  for (let size = 0; size <= items.length; size++) {
    const found = [...selections(items, size)].filter(satisfies)
    if (found.length > 0) return found
  }
  return []
}

/** The one with the most kinds that can be issued, then with the most that are bound to a project, then the first. */
function best(selections: readonly (readonly TokenKind[])[]): readonly TokenKind[] {
  const issuable = (kinds: readonly TokenKind[]) =>
    kinds.filter((kind) => kind.obtained.by === 'issue').length
  const narrow = (kinds: readonly TokenKind[]) => kinds.filter((kind) => kind.scopeLevel === 'project').length
  return selections.toSorted((a, b) => issuable(b) - issuable(a) || narrow(b) - narrow(a))[0] ?? []
}

function* selections<T>(items: readonly T[], size: number, from = 0): Generator<T[]> {
  if (size === 0) {
    yield []
    return
  }
  for (let index = from; index <= items.length - size; index++)
    for (const others of selections(items, size - 1, index + 1)) yield [items[index] as T, ...others]
}
