/** How soon the TypeScript client finds a sidecar that is back: its attempts follow each other soon. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { connect } from '../../../clients/typescript/index.ts'
import { eventually, whenTheFileEnds } from '../../support/suite/resources.ts'

test.each([
  ['that follows', { local: true, callerToken: 'a-caller-token' }],
  ['that is asked', {}],
])('a client %s tries to connect every two seconds at least', async (_what, options) => {
  const atMs: number[] = []
  const server = createServer((socket) => {
    atMs.push(performance.now())
    socket.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const client = connect(`127.0.0.1:${(server.address() as AddressInfo).port}`, options)
  whenTheFileEnds(() => client.close())
  whenTheFileEnds(() => void server.close())
  await eventually(async () => {
    await client.check({ api: 'balance', credentials: [['X-Token', 'any']] }).catch(() => {})
    return atMs.length >= 10
  })
  const gaps = atMs.slice(1).map((each, index) => each - (atMs[index] ?? 0))
  expect(Math.max(...gaps)).toBeLessThan(2_500)
})
