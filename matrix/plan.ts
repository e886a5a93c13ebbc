/** Planning: which tokens a job needs for the APIs that it calls. */
import type { CompiledKind, Engine, TokenKind } from '../engine/index.ts'

/** One token of a plan. */
export interface PlannedToken {
  readonly kind: CompiledKind
  /** The requested APIs for which it serves. No API is given to two tokens. */
  readonly apis: readonly string[]
}

export interface Plan {
  /** The smallest set of kinds that opens all the APIs that any kind opens, in the order of the matrix. */
  readonly tokens: readonly PlannedToken[]
  /** APIs that need no token. */
  readonly public: readonly string[]
  /** APIs that no kind opens. */
  readonly unopened: readonly string[]
  /** Ids that are not in the matrix. */
  readonly unknown: readonly string[]
}

/**
 * Finds the smallest set of kinds that opens all the APIs. Among sets of one size, the one with the most
 * kinds that can be issued by a call, then with the fewest APIs that are left to a contested cell, then with
 * the most kinds that are bound to a project (the narrower grant), then the first in the order of the matrix.
 *
 * @param engine whose matrix it is. The parts that are named here are alike in all copies of the engine;
 *   handles are not.
 */
export function planTokens(engine: Pick<Engine, 'apis' | 'tokenKinds'>, apis: readonly string[]): Plan {
  const asked = [...new Set(apis)]
  const unknown = asked.filter((api) => !engine.apis.has(api))
  const isPublic = (api: string) => engine.apis.get(api)?.public === true
  const known = asked.filter((api) => engine.apis.has(api) && !isPublic(api))
  const openedBy = new Map(
    // Survives: `engine.apis.get(api)?.accepted` → `engine.apis.get(api).accepted`. Only APIs of the matrix
    // are asked about.
    known.map((api) => [api, new Set(engine.apis.get(api)?.accepted.map(({ kind }) => kind))]),
  )
  // Survives: `openedBy.get(api)?.has` → `openedBy.get(api).has`. Only APIs of the matrix are asked about.
  const opens = (kind: TokenKind, api: string) => openedBy.get(api)?.has(kind.id) === true
  // Survives: `[...engine.tokenKinds.values()].filter((kind) => known.some((api) => opens(kind, api)))` →
  // `[...engine.tokenKinds.values()]`. It only spares to search with kinds that a smallest set has not, or
  // has already.
  const candidates = [...engine.tokenKinds.values()].filter((kind) => known.some((api) => opens(kind, api)))
  const open = known.filter((api) => candidates.some((kind) => opens(kind, api)))

  // A kind that alone opens some API is in every answer; only the rest must be searched.
  const forced = candidates.filter((kind) =>
    open.some((api) => opens(kind, api) && candidates.every((other) => other === kind || !opens(other, api))),
  )
  const left = open.filter((api) => !forced.some((kind) => opens(kind, api)))
  // Survives: `candidates.filter((kind) => !forced.includes(kind))` → `candidates`. It only spares to search
  // with kinds that a smallest set has not, or has already.
  const rest = candidates.filter((kind) => !forced.includes(kind))
  const chosenFor = (kinds: readonly CompiledKind[], api: string) =>
    preferredKinds(
      kinds.filter((kind) => opens(kind, api)),
      (kind) => contestedCells(engine, kind, [api]),
    )[0]
  const contested = (some: readonly CompiledKind[]) =>
    open.filter((api) => {
      const chosen = chosenFor([...forced, ...some], api)
      // Survives: `chosen !== undefined` → `true`. All kinds together open what any opens, so there is a
      // smallest set.
      return chosen !== undefined && contestedCells(engine, chosen, [api]) > 0
    }).length
  const chosen = best(
    smallest(rest, (some) => left.every((api) => some.some((kind) => opens(kind, api)))),
    contested,
  )
  const kinds = candidates.filter((kind) => forced.includes(kind) || chosen.includes(kind))
  return {
    tokens: kinds.map((kind) => ({ kind, apis: open.filter((api) => chosenFor(kinds, api) === kind) })),
    public: asked.filter(isPublic),
    unopened: known.filter((api) => !candidates.some((kind) => opens(kind, api))),
    unknown,
  }
}

/**
 * The kinds in the order of preference: first those that a call can obtain; among equals those with the
 * fewest contested cells, because the source contradicts itself there; and among equals those bound to a
 * project.
 *
 * @param contested how many cells of a kind are contested, of those that matter; default: none
 */
export function preferredKinds<Kind extends TokenKind>(
  kinds: readonly Kind[],
  // Survives: `() => 0` → `() => undefined`. A difference that is not a number decides as little as one of 0.
  contested: (kind: Kind) => number = () => 0,
): Kind[] {
  const ranked = kinds.map((kind) => ({
    kind,
    obtained: kind.obtained.by === 'issue' ? 0 : 1,
    contested: contested(kind),
    level: kind.scopeLevel === 'project' ? 0 : 1,
  }))
  ranked.sort((a, b) => a.obtained - b.obtained || a.contested - b.contested || a.level - b.level)
  return ranked.map(({ kind }) => kind)
}

/** How many cells of a kind are contested, of those of the given APIs. */
export function contestedCells(
  { apis }: Pick<Engine, 'apis'>,
  kind: TokenKind,
  asked: readonly string[],
): number {
  return asked.filter((api) => apis.get(api)?.contested.includes(kind.id) === true).length
}

/**
 * Every smallest selection that satisfies, in the order of the items; sizes ascend, so the search ends early.
 */
function smallest<T>(items: readonly T[], satisfies: (some: readonly T[]) => boolean): (readonly T[])[] {
  // Survives: `size <= items.length` → `size < items.length`. All kinds together open what any opens, so
  // there is a smallest set.
  for (let size = 0; size <= items.length; size++) {
    const found = [...selections(items, size)].filter(satisfies)
    if (found.length > 0) return found
  }
  // Survives: `[]` → `["Stryker was here"]`. All kinds together open what any opens, so there is a smallest
  // set.
  return []
}

/**
 * The one with the most kinds that can be issued, then the fewest contested cells, then the most bound to a
 * project, then the first.
 */
function best<Kind extends TokenKind>(
  selections: readonly (readonly Kind[])[],
  contested: (kinds: readonly Kind[]) => number,
): readonly Kind[] {
  const issuable = (kinds: readonly TokenKind[]) =>
    kinds.filter((kind) => kind.obtained.by === 'issue').length
  const narrow = (kinds: readonly TokenKind[]) => kinds.filter((kind) => kind.scopeLevel === 'project').length
  const ranked = selections.map((kinds) => ({
    kinds,
    rank: [-issuable(kinds), contested(kinds), -narrow(kinds)] as const,
  }))
  const [first] = ranked.toSorted(({ rank: a }, { rank: b }) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2])
  // Survives: `[]` → `["Stryker was here"]`, `first?.kinds` → `first.kinds`. All kinds together open what any
  // opens, so there is a smallest set.
  return first?.kinds ?? []
}

function* selections<T>(items: readonly T[], size: number, from = 0): Generator<T[]> {
  if (size === 0) {
    yield []
    return
  }
  for (let index = from; index <= items.length - size; index++)
    for (const others of selections(items, size - 1, index + 1)) yield [items[index] as T, ...others]
}
