/** The encoded matrix. */
import { type CompiledApi, type Engine, finish, type Steps, type TokenKind } from '../../engine/index.ts'
import { Matrix } from '../../proto/gen/portcullis/v1/matrix.ts'
import { GET_MATRIX_RESPONSE } from './field-numbers.ts'
import { FieldWriter } from './field-writer.ts'
import { conflictMessage, durationOf, encode } from './responses.ts'

const WRITER = new FieldWriter()
const NO_BYTES = Buffer.alloc(0)

/** How many rows of a matrix are encoded in one step. */
const ROWS_A_STEP = 100

/** `GetMatrixResponse` and `WatchMatrixResponse` have the same encoding. */
export function matrixResponse(engine: Engine): Buffer {
  return finish(matrixResponseInSteps(engine))
}

/** The same in steps. */
export function* matrixResponseInSteps(engine: Engine): Steps<Buffer> {
  const { digest, strict, rulesDigest } = engine
  // Encodings of parts, one after the other, are that of the whole.
  const part = (fields: Partial<Matrix>) => encode(Matrix, { ...EMPTY_MATRIX, ...fields })
  const parts = [part({ digest, strict, tokenKinds: Array.from(engine.tokenKinds.values(), kindMessage) })]
  for (const rows of groups(engine.apis.values())) {
    parts.push(part({ apis: rows.map(apiMessage) }))
    yield
  }
  for (const rows of groups(engine.conflicts)) {
    parts.push(part({ conflicts: rows.map(conflictMessage) }))
    yield
  }
  parts.push(part({ rulesDigest }))
  WRITER.start(NO_BYTES)
  WRITER.bytes(GET_MATRIX_RESPONSE.matrix, Buffer.concat(parts))
  return WRITER.finish()
}

const EMPTY_MATRIX: Matrix = {
  ...{ digest: '', strict: false, tokenKinds: [], apis: [], conflicts: [], rulesDigest: '' },
}

function* groups<T>(rows: Iterable<T>): Generator<readonly T[]> {
  let group: T[] = []
  for (const row of rows)
    if (group.push(row) === ROWS_A_STEP) {
      yield group
      group = []
    }
  if (group.length > 0) yield group
}

function kindMessage(kind: TokenKind): Matrix['tokenKinds'][number] {
  return {
    id: kind.id,
    title: kind.title,
    family: kind.family,
    scopeLevel: kind.scopeLevel,
    header: kind.header,
    scheme: kind.scheme ?? '',
    prefix: kind.prefix ?? '',
    issuedTo: kind.issuedTo,
    issuable: kind.obtained.by === 'issue',
    permissionScopes: [...kind.permissionScopes],
    lifetime: kind.lifetimeSeconds === null ? undefined : durationOf(kind.lifetimeSeconds * 1000),
    steps: [...(kind.obtained.steps ?? [])],
    section: kind.section,
  }
}

function apiMessage(api: CompiledApi): Matrix['apis'][number] {
  return {
    id: api.id,
    title: api.title,
    accepted: api.accepted.map(({ kind }) => kind),
    contested: [...api.contested],
    section: api.section,
  }
}
