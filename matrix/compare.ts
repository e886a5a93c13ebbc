/** Comparing: exactly which cells another matrix, or another mode, opens and closes. */
import { type Decision, type Engine, finish, type Steps } from '../engine/index.ts'
import { decideCell } from './explain.ts'

/**
 * `opened`: denied before, allowed now. `reason`: denied as before, for another reason. `conflicts`: as
 * before, with other conflicts.
 */
export type CellChangeType = 'opened' | 'closed' | 'reason' | 'conflicts'

/** A cell about which two engines do not say the same. */
export interface CellChange {
  readonly type: CellChangeType
  readonly api: string
  readonly kind: string
  readonly before: Decision
  readonly after: Decision
}

/** What is new, what is gone, and what is there as before with other properties; by id. */
export interface ListChange {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
}

export interface Comparison {
  /** Opened cells first, then closed ones; among equals in the order of the matrices. */
  readonly cells: readonly CellChange[]
  readonly apis: ListChange
  readonly tokenKinds: ListChange
}

const ORDER: readonly CellChangeType[] = ['opened', 'closed', 'reason', 'conflicts']

/** Compares what two engines say of every cell that one of them has. */
export function compareEngines(before: Engine, after: Engine): Comparison {
  return finish(compareInSteps(before, after))
}

/** As {@link compareEngines}, an API at each step: for a page that somebody uses meanwhile. */
export function* compareInSteps(before: Engine, after: Engine): Steps<Comparison> {
  const kinds = union(before.tokenKinds, after.tokenKinds)
  const found: CellChange[] = []
  for (const api of union(before.apis, after.apis)) {
    for (const kind of kinds) found.push(...changesOf(before, after, api, kind))
    yield
  }
  return {
    cells: ORDER.flatMap((type) => found.filter((change) => change.type === type)),
    apis: listChange(before.apis, after.apis, ({ title, section }) => [title, section]),
    tokenKinds: listChange(before.tokenKinds, after.tokenKinds, (kind) => kind),
  }
}

function changesOf(before: Engine, after: Engine, api: string, kind: string): CellChange[] {
  const [then, now] = [decisionOf(before, api, kind), decisionOf(after, api, kind)]
  const type = typeOf(then, now)
  return type === undefined ? [] : [{ type, api, kind, before: then, after: now }]
}

function typeOf(before: Decision, after: Decision): CellChangeType | undefined {
  if (before.allowed !== after.allowed) return after.allowed ? 'opened' : 'closed'
  if (before.reason !== after.reason) return isAbsence(before, after) ? undefined : 'reason'
  return conflictsOf(before) === conflictsOf(after) ? undefined : 'conflicts'
}

/** A denied cell that came or went with its row or its column: the lists of APIs and kinds say so once. */
function isAbsence(before: Decision, after: Decision): boolean {
  return [before.reason, after.reason].some((each) => each === 'UNKNOWN_API' || each === 'UNKNOWN_TOKEN_KIND')
}

/** Of a kind that the engine does not have, it says that it is unknown. */
function decisionOf(engine: Engine, api: string, kind: string): Decision {
  return decideCell(engine, api, engine.tokenKinds.get(kind) ?? { id: kind, scopeLevel: 'account' })
}

function conflictsOf({ conflicts }: Decision): string {
  return conflicts
    .map(({ id, resolution }) => `${id} ${resolution}`)
    .sort()
    .join('\n')
}

/** The ids of both, those of the second first: it is the one that somebody reads. */
function union(before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): string[] {
  return [...new Set([...after.keys(), ...before.keys()])]
}

function listChange<T extends object>(
  before: ReadonlyMap<string, T>,
  after: ReadonlyMap<string, T>,
  compared: (item: T) => object,
): ListChange {
  const same = (id: string) =>
    JSON.stringify(compared(before.get(id) as T)) === JSON.stringify(compared(after.get(id) as T))
  return {
    added: [...after.keys()].filter((id) => !before.has(id)),
    removed: [...before.keys()].filter((id) => !after.has(id)),
    changed: [...after.keys()].filter((id) => before.has(id) && !same(id)),
  }
}
