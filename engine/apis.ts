/** The row of an API: what the rule says about its cells, and how an engine lists it. */
import type { AcceptedKind, CompiledApi, CompiledKind, NamedConflict } from './decision.ts'
import type { Api } from './matrix.ts'
import type { Reason } from './reasons.ts'
import { type Facts, reasonOf } from './rule.ts'
import { isOpen, SITUATIONS } from './situations.ts'

/** The answers of the rule about a cell: the reason in each of the {@link SITUATIONS}. */
export type CellReasons = readonly Reason[]

export interface ApiRow {
  readonly api: CompiledApi
  /** First for all kinds that are not in the matrix, then for each kind. */
  readonly cells: readonly CellReasons[]
}

/** Compiles rows. Parts that many of them share are made once. */
export class ApiRows {
  readonly #kinds: readonly CompiledKind[]
  readonly #strict: boolean
  /** One for each kind. */
  readonly #acceptable: readonly AcceptedKind[]
  /** Of an API that no conflict bears on. */
  readonly #noConflicts: CompiledApi['conflicts']
  readonly #accepted = new Map<string, readonly AcceptedKind[]>()
  readonly #reasons = new Map<string, CellReasons>()

  constructor(kinds: readonly CompiledKind[], strict: boolean) {
    this.#kinds = kinds
    this.#strict = strict
    this.#acceptable = kinds.map((kind) => Object.freeze(acceptable(kind)))
    this.#noConflicts = new Map(kinds.map(({ id }) => [id, NONE]))
  }

  /** The cells of all APIs that are not in the matrix. */
  get unknown(): readonly CellReasons[] {
    // Survives: `'unknown'` → `""`, `'rejects'` → `""`. The rule compares with the other values of the fact,
    // and no other code sees it.
    return [undefined, ...this.#kinds].map(() => this.#reasonsOf('unknown', 'unknown', 'rejects', NONE))
  }

  /** @param bearing the conflicts that bear on the API, in the order of the matrix */
  compile(row: Api, bearing: readonly NamedConflict[]): ApiRow {
    const { id, title, section, accepts } = row
    // Survives: `'known'` → `""`. The rule compares with the other values of the fact, and no other code sees
    // it.
    const known = row.public === true ? 'public' : 'known'
    const cells = this.#kinds.map((kind) => {
      const contesting = bearing.filter((conflict) => contests(conflict, id, kind.id))
      // Survives: `'rejects'` → `""`. The rule compares with the other values of the fact, and no other code
      // sees it.
      const table = accepts.includes(kind.id) ? 'accepts' : 'rejects'
      const reasons = this.#reasonsOf(known, kind.scopeLevel, table, contesting)
      return { kind: kind.id, contesting, reasons }
    })
    const named = (contesting: readonly NamedConflict[]) =>
      Object.freeze(bearing.filter((each) => each.apis.includes(id) || contesting.includes(each)))
    const opens = cells.map(({ reasons }) => isOpen(reasons))
    const contested = cells.filter(({ contesting }) => contesting.length > 0).map(({ kind }) => kind)
    const api = Object.freeze({
      ...{ id, title, section },
      accepted: once(this.#accepted, opens.join(), () =>
        Object.freeze(this.#acceptable.filter((_, index) => opens[index])),
      ),
      public: row.public === true,
      notes: row.notes === undefined ? NO_NOTES : Object.freeze({ ...row.notes }),
      contested: contested.length === 0 ? NONE : Object.freeze(contested),
      conflicts:
        bearing.length === 0
          ? this.#noConflicts
          : new Map(cells.map(({ kind, contesting }) => [kind, named(contesting)])),
    })
    // Survives: `'rejects'` → `""`. The rule compares with the other values of the fact, and no other code
    // sees it.
    const unknownKind = this.#reasonsOf(known, 'unknown', 'rejects', NONE)
    return { api, cells: [unknownKind, ...cells.map(({ reasons }) => reasons)] }
  }

  /** Most cells of a matrix have the same facts: the rule is asked once about each combination. */
  #reasonsOf(
    api: Facts['api'],
    kind: Facts['kind'],
    table: Facts['table'],
    contesting: readonly NamedConflict[],
  ): CellReasons {
    const reversed = contesting.some(({ resolution }) => resolution === 'prose')
    // Survives: `'table'` → `""`. The rule compares with the other values of the fact, and no other code sees
    // it.
    const conflict = contesting.length === 0 ? 'none' : reversed ? 'prose' : 'table'
    const facts = { api, kind, table, conflict, strict: this.#strict } as const
    return once(this.#reasons, `${api} ${kind} ${table} ${conflict}`, () =>
      SITUATIONS.map((situation) => reasonOf({ ...facts, ...situation })),
    )
  }
}

const NONE: readonly never[] = Object.freeze([])

const NO_NOTES: CompiledApi['notes'] = Object.freeze({})

function acceptable(kind: CompiledKind): AcceptedKind {
  const { id, header, scheme, obtained } = kind
  const { by, link } = obtained
  return {
    kind: id,
    header,
    ...(scheme && { scheme }),
    issuable: by === 'issue',
    obtained: by,
    ...(link && { link }),
  }
}

/** Whether a conflict puts the value of this cell in doubt. */
function contests({ cells }: NamedConflict, api: string, kind: string): boolean {
  return cells.some((cell) => cell.api === api && cell.kind === kind)
}

/** The value that was made for a key, or is made now. */
function once<T>(made: Map<string, T>, key: string, make: () => T): T {
  const value = made.get(key) ?? make()
  made.set(key, value)
  return value
}
