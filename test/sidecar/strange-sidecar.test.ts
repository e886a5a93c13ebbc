/** The client against a sidecar of another version, or one that lies: whatever is not a plain yes is a no. */
import { expect, test } from 'vitest'
import { type Check, type CheckAnswer, type Client, connect } from '../../sidecar/client/index.ts'
import { encoded, field, joined, tag } from '../support/bytes.ts'
import { fakeSidecar } from '../support/fake-sidecar.ts'
import { ACCOUNT, whenTheFileEnds } from '../support/sidecar.ts'

/** A client of a server with these handlers. */
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

test('the fake says yes where it should, so the rows below fail for what they change', async () => {
  expect(await ask(allowed)).toMatchObject({ allowed: true, reason: 'ALLOWED' })
})

test.each([
  ['an empty answer', Buffer.alloc(0)],
  ['yes without a reason', joined(tag(1, 0), [1])],
  ['yes with the reason 0', joined(tag(1, 0), [1], tag(2, 0), [0])],
  ['yes with a reason of the future', joined(tag(1, 0), [1], tag(2, 0), [17])],
  ['yes with a reason far beyond', joined(tag(1, 0), [1], tag(2, 0), [0xff, 0xff, 0xff, 0xff, 0x07])],
  ['yes with a negative reason', joined(tag(1, 0), [1], tag(2, 0), [...Array(9).fill(0xff), 0x01])],
  [
    'yes with the reason of a denial',
    encoded('CheckResponse', { allowed: true, reason: 'REASON_UNKNOWN_API' }),
  ],
  ['the reason of a yes alone', encoded('CheckResponse', { allowed: false, reason: 'REASON_ALLOWED' })],
])('%s is a denial', async (_claim, answer) => {
  expect((await ask(answer)).allowed).toBe(false)
})

test.each([
  ['fewer answers than questions', 1],
  ['more answers than questions', 3],
])('a batch with %s is an error, not a wrong pairing', async (_claim, count) => {
  const bytes = joined(...Array.from({ length: count }, () => field(1, allowed)))
  const strange = await clientOf({ checkBatch: answering(bytes) })
  await expect(strange.checkBatch([good, good])).rejects.toThrow(
    `expected 2 answers from the sidecar, found ${count}`,
  )
})

test.each<[claim: string, answers: Buffer[]]>([
  ['without the answer to the first question', [field(1, '0'), joined(field(1, '1'), field(2, allowed))]],
  [
    'with the answer to the second question first',
    ['1', '0'].map((id) => joined(field(1, id), field(2, allowed))),
  ],
  ['with fewer answers than questions', [joined(field(1, '0'), field(2, allowed))]],
])('a stream %s is an error, not a wrong pairing', async (_claim, answers) => {
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
