/** The client and a sidecar that is of another version or lies: every unclear answer counts as a denial. */

import type { sendUnaryData } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import type { Check, CheckAnswer, Client } from '../../clients/typescript/index.ts'
import { encoded, type Message } from '../support/contract/black-box.ts'
import { bytesOf } from '../support/contract/contract.ts'
import { field, joined, tag } from '../support/contract/protobuf-bytes.ts'
import { connect } from '../support/sidecar/client.ts'
import { fakeSidecar } from '../support/sidecar/fake-sidecar.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { whenTheFileEnds } from '../support/suite/resources.ts'

/** Makes a client of a fake server with these handlers. */
async function clientOf(handlers: Parameters<typeof fakeSidecar>[0]): Promise<Client> {
  const client = connect(await fakeSidecar(handlers))
  whenTheFileEnds(() => client.close())
  return client
}

/** A unary handler that answers with these bytes. */
const answering = (bytes: Buffer) => (_call: unknown, callback: (error: null, bytes: Buffer) => void) =>
  callback(null, bytes)

const good: Check = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }

const allowed = encoded('CheckResponse', { allowed: true, reason: 'REASON_ALLOWED' })
const ask = async (answer: Buffer) => (await clientOf({ check: answering(answer) })).check(good)

test('the fake server can allow, so the rows below are denied because of their changes', async () => {
  expect(await ask(allowed)).toMatchObject({ allowed: true, reason: 'ALLOWED' })
})

test.each([
  ['an empty answer', Buffer.alloc(0)],
  ['allowed without a reason', joined(tag(1, 0), [1])],
  ['allowed with the reason 0', joined(tag(1, 0), [1], tag(2, 0), [0])],
  ['allowed with a reason of a later version', joined(tag(1, 0), [1], tag(2, 0), [17])],
  [
    'allowed with the largest reason number',
    joined(tag(1, 0), [1], tag(2, 0), [0xff, 0xff, 0xff, 0xff, 0x07]),
  ],
  ['allowed with a negative reason', joined(tag(1, 0), [1], tag(2, 0), [...Array(9).fill(0xff), 0x01])],
  [
    'allowed with the reason of a denial',
    encoded('CheckResponse', { allowed: true, reason: 'REASON_UNKNOWN_API' }),
  ],
  [
    'the reason ALLOWED without allowed',
    encoded('CheckResponse', { allowed: false, reason: 'REASON_ALLOWED' }),
  ],
])('%s is a denial', async (_claim, answer) => {
  expect((await ask(answer)).allowed).toBe(false)
})

test.each([
  ['fewer answers than checks', 1],
  ['more answers than checks', 3],
])('a batch with %s is an error', async (_claim, count) => {
  const bytes = joined(...Array.from({ length: count }, () => field(1, allowed)))
  const strange = await clientOf({ checkBatch: answering(bytes) })
  await expect(strange.checkBatch([good, good])).rejects.toThrow(
    `expected 2 answers from the sidecar, found ${count}`,
  )
})

test.each<[claim: string, answers: Buffer[]]>([
  ['without the answer to the first check', [field(1, '0'), joined(field(1, '1'), field(2, allowed))]],
  [
    'with the answer to the second check first',
    ['1', '0'].map((id) => joined(field(1, id), field(2, allowed))),
  ],
  ['with fewer answers than checks', [joined(field(1, '0'), field(2, allowed))]],
])('a stream %s is an error', async (_claim, answers) => {
  const strange = await clientOf({
    checkStream: (call: NodeJS.ReadWriteStream & { write(bytes: Buffer): void }) => {
      call.on('data', () => {})
      call.on('end', () => {
        for (const answer of answers) call.write(answer)
        call.end()
      })
    },
  })
  const found: CheckAnswer[] = []
  const asking = (async () => {
    for await (const answer of strange.checkStream([good, good])) found.push(answer)
  })()
  await expect(asking).rejects.toThrow()
})

test.each([
  [
    'once is asked for from its beginning',
    1,
    { digest: 'other', tokenKinds: [], apis: [{ id: 'a' }, { id: 'b' }] },
  ],
  ['each time is an error in the end', 9, { code: 'FAILED_PRECONDITION' }],
])('a matrix that is replaced between two pages %s', async (_claim, replaced, expected) => {
  let left = replaced
  const client = await clientOf({
    getMatrix: (call: { readonly request: Message }, answer: sendUnaryData<Buffer>) => {
      const isFirst = call.request.page_token === ''
      const digest = left > 0 ? 'one' : 'other'
      const matrix = { digest, apis: [{ id: isFirst ? 'a' : 'b' }] }
      if (isFirst || left === 0)
        answer(null, bytesOf('GetMatrixResponse', { matrix, nextPageToken: isFirst ? 'second' : '' }))
      else {
        left--
        answer({ code: 9, details: 'another one is in force' })
      }
    },
  })
  expect(await client.getMatrix().catch((error: unknown) => error)).toMatchObject(expected)
  expect(left).toBe(Math.max(0, replaced - 3))
})
