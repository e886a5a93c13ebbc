/** Questions of a command, before a server of Node's: one connection, which ends with the command. */
import { once } from 'node:events'
import { createServer, type ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { UnaryCalls } from '../../sidecar/cli/unary-calls.ts'
import { HANGS_MS } from '../support/suite/resources.ts'

test('calls at the same time share one connection, which is closed', async () => {
  const sessions: ServerHttp2Session[] = []
  const server = createServer()
    .on('session', (session) => sessions.push(session))
    .on('stream', (stream) => {
      stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.end(Buffer.of(0, 0, 0, 0, 1, 7))
    })
    .listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const calls = new UnaryCalls({ address, tls: undefined, deadlineMs: HANGS_MS })
  const answers = await Promise.all([1, 2, 3].map(() => calls.call('/a.B/C', Buffer.of(1))))
  expect(answers).toEqual([1, 2, 3].map(() => Buffer.of(7)))
  expect(sessions).toHaveLength(1)
  const [session] = sessions as [ServerHttp2Session]
  const closed = session.closed ? undefined : once(session, 'close')
  calls.close()
  await closed
})
