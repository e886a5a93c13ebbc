/** Batches, streams and watches: order, length and ids are right in every language. */
import { expect, test } from 'vitest'
import type { Row } from '../support/interop/client.ts'
import { checkRow, issueRow, responseOf } from '../support/interop/interop-rows.ts'
import { inEveryLanguage } from '../support/interop/languages.ts'
import { cells, scopeFor } from '../support/matrices/oracle.ts'

/** The longest batch that the sidecar accepts by default. */
const BATCH_LENGTH_MAX = 1000

/** Cells in an irregular order, so that a wrong order of answers is noticed. */
const manyCells = Array.from({ length: BATCH_LENGTH_MAX }, (_, index) => {
  const cell = cells()[(index * 37 + Math.floor(index / 90)) % cells().length]
  if (cell === undefined) throw new Error('the oracle is empty')
  return cell
})

const checkOf = ({ api, kind }: { api: string; kind: string }) => ({
  api,
  token: { kind, scope: scopeFor(kind) },
})

inEveryLanguage((ask, sidecar) => {
  test('a batch of 1,000 checks is answered in the order of its checks', async () => {
    const row: Row = {
      call: 'AuthorizationService/CheckBatch',
      requests: [{ checks: manyCells.map(checkOf) }],
    }
    const { results } = responseOf(await ask(row))
    expect(results).toHaveLength(BATCH_LENGTH_MAX)
    expect(results).toMatchObject(manyCells.map(({ accepted, header }) => ({ allowed: accepted, header })))
    // The message begins with the API's id, so that a misplaced answer is noticed.
    const named = results.map(({ message }: { message: string }) => message.split('`')[1])
    expect(named).toEqual(manyCells.map(({ api }) => api))
  })

  test('1,000 real tokens and their answers fit the limits of both sides', async () => {
    const { demo } = sidecar()
    const scope = { account: demo.account, project: demo.project }
    const { header, value } = responseOf(await ask(issueRow(demo, { scope })))
    // The cell with the longest answer: it is denied, and a conflict names it.
    const { call, requests } = checkRow('audit-logs', [header, value])
    const checks = Array(BATCH_LENGTH_MAX).fill(requests[0])
    const { results } = responseOf(await ask({ call: `${call}Batch`, requests: [{ checks }] }))
    expect(results).toHaveLength(BATCH_LENGTH_MAX)
    expect(results.at(-1)).toMatchObject({ allowed: false, verified: true, token: { scope } })
  })

  test('an empty batch gets an empty answer', async () => {
    const empty: Row = { call: 'AuthorizationService/CheckBatch', requests: [{}] }
    expect(responseOf(await ask(empty))).toEqual({ results: [] })
  })

  test('a stream is answered in order, each answer with the id of its check', async () => {
    const requests = cells().map((cell, index) => ({ id: `question ${index}`, check: checkOf(cell) }))
    const { responses, error } = await ask({ call: 'AuthorizationService/CheckStream', requests })
    expect(error).toBeUndefined()
    expect(responses).toMatchObject(
      cells().map(({ accepted, header }, index) => ({
        id: `question ${index}`,
        result: { allowed: accepted, header },
      })),
    )
    expect(responses).toHaveLength(requests.length)
  })

  test('a watch begins with the current matrix, which GetMatrix returns too', async () => {
    const now = responseOf(await ask({ call: 'AuthorizationService/GetMatrix', requests: [{}] }))
    const watch = { call: 'AuthorizationService/WatchMatrix', requests: [{}], responses_max: 1 } as const
    expect(responseOf(await ask(watch))).toEqual(now)
    expect(now.matrix).toMatchObject({ digest: sidecar().ready.matrix_digest, strict: false })
    expect(now.matrix.token_kinds.map(({ lifetime }: { lifetime?: string }) => lifetime)).toEqual([
      '86400s',
      '86400s',
      undefined,
    ])
  })

  test('a plan is the smallest set of tokens that opens all of the APIs', async () => {
    const apis = ['dedicated-servers', 'balance', 'secrets', 'tickets']
    const plan = responseOf(await ask({ call: 'AuthorizationService/Plan', requests: [{ apis }] }))
    expect(plan.unopened).toEqual([])
    expect(plan.tokens).toMatchObject([
      { kind: 'iam_token_project_scoped', issuable: true, apis: ['dedicated-servers', 'secrets'] },
      { kind: 'static_token', issuable: false, apis: ['balance', 'tickets'] },
    ])
  })

  test.each(['', 'portcullis.v1.AuthorizationService'])('the health of `%s` is SERVING', async (service) => {
    expect(responseOf(await ask({ call: 'Health/Check', requests: [{ service }] }))).toEqual({
      status: 'SERVING',
    })
  })
})
