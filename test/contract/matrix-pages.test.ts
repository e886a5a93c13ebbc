/** `GetMatrix` by page: what the pages have, how long they are, and what a page token is. */
import { expect, test } from 'vitest'
import { compile, type Engine, finish, type Matrix } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { GetMatrixRequest, GetMatrixResponse } from '../../proto/gen/portcullis/v1/authorization.ts'
import { type EncodedMatrix, matrixInSteps, matrixPage } from '../../sidecar/contract/matrix-messages.ts'
import { encode } from '../../sidecar/contract/responses.ts'
import { manyApis } from '../support/matrices/large-matrix.ts'

const encodedOf = (engine: Engine) => finish(matrixInSteps(engine))
const shipped = encodedOf(compile(supportMatrix))
const large = encodedOf(compile(manyApis(2_345)))

const page = (matrix: EncodedMatrix, pageSize: number, pageToken = '') =>
  matrixPage(matrix, encode(GetMatrixRequest, { pageSize, pageToken }))

function pagesOf(matrix: EncodedMatrix, pageSize: number) {
  const pages: { readonly length: number; readonly read: GetMatrixResponse }[] = []
  do {
    const bytes = page(matrix, pageSize, pages.at(-1)?.read.nextPageToken)
    pages.push({ length: bytes.length, read: GetMatrixResponse.decode(bytes) })
  } while (pages.at(-1)?.read.nextPageToken !== '')
  return pages
}

/** As a client joins them. */
function joined(pages: ReturnType<typeof pagesOf>) {
  const [first, ...others] = pages.map(({ read }) => read.matrix)
  for (const other of others) {
    expect(other).toMatchObject({ digest: first?.digest, rulesDigest: first?.rulesDigest })
    first?.tokenKinds.push(...(other?.tokenKinds ?? []))
    first?.apis.push(...(other?.apis ?? []))
    first?.conflicts.push(...(other?.conflicts ?? []))
  }
  return { matrix: first, nextPageToken: '' }
}

test.each([
  ['the shipped matrix', shipped, [1, 7, 30, 31, 1_000]],
  ['thousands of APIs', large, [1, 99, 100, 1_000]],
] as const)('%s: the pages together are the whole', (_which, matrix, sizes) => {
  const whole = GetMatrixResponse.decode(matrix.whole)
  const { tokenKinds = [], apis = [], conflicts = [] } = whole.matrix ?? {}
  const rows = tokenKinds.length + apis.length + conflicts.length
  for (const size of sizes) {
    const pages = pagesOf(matrix, size)
    expect(pages).toHaveLength(Math.ceil(rows / size))
    expect(joined(pages)).toEqual(whole)
  }
})

/** The longest rows and kinds that a matrix may have. */
const longest: Matrix = {
  title: 'x',
  tokenKinds: Array.from({ length: 64 }, (_, index) => ({
    ...(supportMatrix.tokenKinds[0] as Matrix['tokenKinds'][number]),
    ...{ id: `kind-${index}`, title: '…'.repeat(2_000), header: `X-${index}`, section: '…'.repeat(64) },
    obtained: { by: index === 0 ? 'control_panel' : 'issue', steps: Array(8).fill('…'.repeat(2_000)) },
  })),
  apis: Array.from({ length: 300 }, (_, index) => ({
    ...{ id: `a-${index}-${'x'.repeat(120)}`, title: '…'.repeat(2_000), section: '…'.repeat(64) },
    accepts: Array.from({ length: 64 }, (_, kind) => `kind-${kind}`),
  })),
  ...{ statements: [], conflicts: [] },
}

test('a page has less than 1 MB, however long its rows are', () => {
  const matrix = encodedOf(compile(longest))
  const pages = pagesOf(matrix, 1_000)
  expect(joined(pages)).toEqual(GetMatrixResponse.decode(matrix.whole))
  for (const { length } of pages) expect(length).toBeLessThan(1_000_000)
  expect(pages.length).toBeLessThan(12)
})

const tokenAt = (place: string, digest = shipped.rulesDigest) =>
  Buffer.from(`${place} ${digest}`).toString('base64url')

test.each<[what: string, pageSize: number, pageToken: string, said: string]>([
  ['a size below 0', -1, '', 'page_size: expected 0 (the default) to 1000'],
  ['a size above 1,000', 1_001, '', 'page_size: expected 0 (the default) to 1000'],
  ['a text that is not a token', 1, '?', 'page_token: expected the next_page_token'],
  ['a token of a list', 1, Buffer.from('robot').toString('base64url'), 'page_token: expected the next'],
  ['a place before the first one', 1, tokenAt('0'), 'page_token: expected the next_page_token'],
  ['a place behind the last row', 1, tokenAt('9999'), 'page_token: expected the next_page_token'],
])('%s is refused', (_what, pageSize, pageToken, said) => {
  expect(() => page(shipped, pageSize, pageToken)).toThrow(said)
})

test('a token of another matrix is refused with both digests', () => {
  const { nextPageToken } = GetMatrixResponse.decode(page(large, 1))
  const said = `${shipped.rulesDigest} and no longer ${large.rulesDigest}`
  expect(() => page(shipped, 1, nextPageToken)).toThrow(
    expect.objectContaining({ reason: 'MATRIX_REPLACED', message: expect.stringContaining(said) }),
  )
})
