/** The encoded matrix, whole and by page. */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import {
  type CompiledApi,
  type CompiledKind,
  type Engine,
  finish,
  type Steps,
  schemeOf,
  withCarriage,
} from '../../engine/index.ts'
import { GetMatrixRequest } from '../../proto/gen/portcullis/v1/authorization.ts'
import { type CellNote, Matrix } from '../../proto/gen/portcullis/v1/matrix.ts'
import { type CallError, callError, invalidArgument } from '../base/call-error.ts'
import { keyIn, sizeOf, tokenOf } from '../usecases/administration/paging.ts'
import { GET_MATRIX_RESPONSE } from './field-numbers.ts'
import { FieldWriter } from './field-writer.ts'
import { decoded } from './handler.ts'
import { conflictMessage, durationOf, encode } from './responses.ts'

const WRITER = new FieldWriter()
const NO_BYTES = Buffer.alloc(0)

/** How many rows of a matrix are encoded in one step. */
const ROWS_A_STEP = 100

/** How many such groups of rows are joined in one step. */
const PARTS_A_STEP = 50

/** Most bytes of the matrix in a page. With its token, a page has less than 1,000,000. */
const PAGE_BYTES_MAX = 999_000

/** Most bytes of the whole matrix in one message: clients of gRPC take no longer one where nothing is set. */
const WHOLE_BYTES_MAX = 4_194_304

/** The matrix of an engine, encoded once for all who ask. */
export interface EncodedMatrix {
  /** `GetMatrixResponse` and `WatchMatrixResponse` have the same encoding. */
  readonly whole: Buffer
  /** The `Matrix` of a page without rows. */
  readonly head: Buffer
  /** Where in `whole` the rows begin: token kinds, APIs, conflicts; and where the last one ends. */
  readonly places: readonly number[]
  readonly rulesDigest: string
}

/** The whole matrix. */
export function matrixResponse(engine: Engine): Buffer {
  return finish(matrixInSteps(engine)).whole
}

export function* matrixInSteps(engine: Engine): Steps<EncodedMatrix> {
  const { digest, strict, rulesDigest } = engine
  const head = partOf({ digest, strict, rulesDigest })
  // Encodings of parts, one after the other, are that of the whole.
  const parts = [head]
  const ends = [head.length]
  let length = head.length
  for (const rows of groupsOfRows(engine)) {
    const encoded = partOf(rows)
    parts.push(encoded)
    for (const end of rowEnds(encoded)) ends.push(length + end)
    length += encoded.length
    yield
  }
  const field = new BinaryWriter().tag(GET_MATRIX_RESPONSE.matrix, WireType.LengthDelimited)
  const start = field.uint32(length).finish()
  const whole = yield* joinedInSteps([start, ...parts])
  const places = ends.map((end) => start.length + end)
  return { whole, head, places, rulesDigest }
}

/** Megabytes that are written at once are a page fault each few kilobytes. */
function* joinedInSteps(parts: readonly Uint8Array[]): Steps<Buffer> {
  const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const [index, part] of parts.entries()) {
    whole.set(part, at)
    at += part.length
    if (index % PARTS_A_STEP === 0) yield
  }
  return whole
}

/** Why it is not sent as a whole; `undefined`: it is. */
export function wholeRefusal({ whole: { length } }: EncodedMatrix): CallError | undefined {
  if (length <= WHOLE_BYTES_MAX) return undefined
  const [bytes, most] = [length, WHOLE_BYTES_MAX].map((count) => count.toLocaleString('en')) as [
    string,
    string,
  ]
  return callError('MATRIX_TOO_LARGE', { bytes, most })
}

/** The encoded `Matrix` of an engine without APIs and conflicts. */
export function matrixHead({ digest, strict, rulesDigest, tokenKinds }: Engine): Buffer {
  return partOf({ digest, strict, rulesDigest, tokenKinds: Array.from(tokenKinds.values(), kindMessage) })
}

/**
 * Answers a `GetMatrixRequest`.
 *
 * @throws CallError if the request does not follow the contract, or begins in another matrix, or the whole is
 *   too large for a message
 */
export function matrixPage(matrix: EncodedMatrix, request: Buffer): Buffer {
  const { pageSize, pageToken } = decoded(request, GetMatrixRequest.decode)
  if (pageSize === 0 && pageToken === '') {
    const refusal = wholeRefusal(matrix)
    if (refusal !== undefined) throw refusal
    return matrix.whole
  }
  const { whole, head, places, rulesDigest } = matrix
  const size = sizeOf({ pageSize, pageToken })
  const from = pageToken === '' ? 0 : placeIn(pageToken, matrix)
  const start = places[from] as number
  const fits = (to: number) =>
    (places[to] ?? Number.POSITIVE_INFINITY) - start + head.length <= PAGE_BYTES_MAX
  let to = from + 1
  while (to - from < size && fits(to + 1)) to++
  WRITER.start(NO_BYTES)
  WRITER.parts(GET_MATRIX_RESPONSE.matrix, head, whole.subarray(start, places[to]))
  if (to < places.length - 1) WRITER.text(GET_MATRIX_RESPONSE.nextPageToken, tokenOf(`${to} ${rulesDigest}`))
  return WRITER.finish()
}

/** The first row of a page. @throws CallError */
function placeIn(pageToken: string, { places, rulesDigest: found }: EncodedMatrix): number {
  const [, place = '', seen = ''] = /^([1-9]\d{0,6}) (sha256:[0-9a-f]{64})$/.exec(keyIn(pageToken)) ?? []
  if (seen !== '' && seen !== found)
    throw callError('MATRIX_REPLACED', { what: 'the digest of the rules in force', seen, found })
  const from = Number(place)
  if (seen === '' || from >= places.length - 1)
    throw invalidArgument({ field: 'page_token', expected: 'the next_page_token of the previous response' })
  return from
}

/** Messages of single rows would leave garbage whose collection takes a long turn. */
function* groupsOfRows({ tokenKinds, apis, conflicts }: Engine): Generator<Partial<Matrix>> {
  for (const some of groups(tokenKinds.values())) yield { tokenKinds: some.map(kindMessage) }
  for (const some of groups(apis.values())) yield { apis: some.map(apiMessage) }
  for (const some of groups(conflicts)) yield { conflicts: some.map(conflictMessage) }
}

/** Where each row of an encoded `Matrix` ends. */
function* rowEnds(encoded: Buffer): Generator<number> {
  const reader = new BinaryReader(encoded)
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag()
    reader.skip(type, number)
    yield reader.pos
  }
}

function partOf(fields: Partial<Matrix>): Buffer {
  return encode(Matrix, { ...EMPTY_MATRIX, ...fields })
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

function kindMessage(kind: CompiledKind): Matrix['tokenKinds'][number] {
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
    obtained: kind.obtained.by,
    link: kind.obtained.link ?? '',
    places: kind.places.map((place) => ({
      header: place.header,
      scheme: schemeOf(place),
      prefix: place.prefix ?? '',
      basic: place.basic ?? '',
      with: place.with ?? '',
    })),
    described: withCarriage(kind),
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
    public: api.public,
    notes: noteMessages(api),
  }
}

export function noteMessages({ notes }: Pick<CompiledApi, 'notes'>): CellNote[] {
  return Object.entries(notes).map(([kind, text]) => ({ kind, text }))
}
