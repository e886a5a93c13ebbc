/**
 * A small valid matrix of a stranger, with every part and every type of claim; faults are planted in copies
 * of it.
 */
import type { Matrix } from '../../../engine/index.ts'

export type Writable<T> = { -readonly [K in keyof T]: Writable<T[K]> }

/** Two kinds, three APIs, one statement of each type, and the two conflicts that follow from them. */
export function smallMatrix(): Writable<Matrix> {
  return {
    title: 'Doors of a house',
    tokenKinds: [
      {
        id: 'day_pass',
        title: 'day pass',
        family: 'paper',
        scopeLevel: 'account',
        header: 'X-Day-Pass',
        issuedTo: 'guest',
        obtained: { by: 'issue' },
        permissionScopes: ['account'],
        lifetimeSeconds: 86_400,
        section: '§1',
      },
      {
        id: 'room_key',
        title: 'room key',
        family: 'metal',
        scopeLevel: 'project',
        header: 'X-Room-Key',
        issuedTo: 'resident',
        obtained: { by: 'control_panel', steps: ['Ask the porter.'] },
        permissionScopes: [],
        lifetimeSeconds: null,
        section: '§1',
      },
    ],
    apis: [
      { id: 'lobby', title: 'Lobby', accepts: ['day_pass', 'room_key'], section: '§2' },
      { id: 'library', title: 'Library', accepts: ['day_pass'], section: '§2' },
      { id: 'cellar', title: 'Cellar', accepts: ['room_key'], section: '§2' },
    ],
    statements: [
      statement('pass-manages', {
        type: 'manages',
        kind: 'day_pass',
        apis: ['lobby', 'library'],
        complete: true,
      }),
      // Against the table, which accepts the key in the lobby: the contradiction that is declared below.
      statement('key-manages-not', { type: 'does_not_manage', kind: 'room_key', apis: ['lobby', 'library'] }),
      statement('key-only-option', { type: 'only_option', kind: 'room_key', apis: ['cellar'] }),
      statement('pass-most', { type: 'most', kind: 'day_pass' }),
      statement('key-bound-to', { type: 'bound_to', kind: 'room_key', scopeLevel: 'project' }),
      statement('pass-issued-to', {
        type: 'issued_to',
        kinds: ['day_pass'],
        holder: 'guest',
        exclusive: true,
      }),
      statement('lobby-repeated', { type: 'row_repeated', api: 'lobby', accepts: ['day_pass', 'room_key'] }),
      statement('pass-advice', { type: 'advice', kinds: ['day_pass'], holder: 'guest', text: 'keep it dry' }),
      statement('key-remark', { type: 'remark', kinds: ['room_key'] }),
    ],
    conflicts: [
      {
        id: 'lobby-key-contradiction',
        type: 'contradiction',
        cells: [{ api: 'lobby', kind: 'room_key' }],
        apis: [],
        kinds: [],
        statements: ['key-manages-not'],
        resolution: 'table',
        reason: 'the table rules',
      },
      {
        id: 'lobby-duplicate-row',
        type: 'duplicate_row',
        cells: [],
        apis: ['lobby'],
        kinds: [],
        statements: ['lobby-repeated'],
        resolution: 'table',
        reason: 'both rows say the same',
      },
    ],
  }
}

type Statement = Writable<Matrix>['statements'][number]

function statement(id: string, claim: Statement['claim']): Statement {
  return { id, section: '§3', text: `the words of ${id}`, claim }
}

/** The keys and indexes of a path such as `apis[0].id`. */
export function segmentsOf(path: string): (string | number)[] {
  return path
    .split(/[.[\]]+/)
    .filter((segment) => segment !== '')
    .map((segment) => (/^\d+$/.test(segment) ? Number(segment) : segment))
}

/** The document with a value planted at a path; `undefined` takes away what stands there. */
export function planted<T extends object>(document: T, path: string, value: unknown): T {
  const segments = segmentsOf(path)
  const last = segments.pop() as string | number
  let parent: unknown = document
  for (const segment of segments) parent = (parent as Record<string | number, unknown>)[segment]
  if (typeof parent !== 'object' || parent === null) throw new Error(`nothing stands at ${path}`)
  if (value === undefined) Reflect.deleteProperty(parent, last)
  else Object.defineProperty(parent, last, { value, enumerable: true, configurable: true, writable: true })
  return document
}

/** The text with a part exchanged; a part that is not there is a mistake of the test. */
export function exchanged(text: string, part: string, other: string): string {
  if (!text.includes(part)) throw new Error(`the text has no ${part}`)
  return text.replace(part, () => other)
}
