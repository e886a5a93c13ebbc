/** Streams over HTTP/1.1: answers as they come, deadlines, clients that leave, and the end of the sidecar. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect, test } from 'vitest'
import { enveloped, envelopesIn, post } from '../support/contract.ts'
import { eventually } from '../support/resources.ts'
import { runSidecar } from '../support/sidecar.ts'

const LISTENING = { 'http.address': '127.0.0.1:0', 'http.connect': true }
const WATCH = '/portcullis.v1.AuthorizationService/WatchMatrix'
const HEALTH = '/grpc.health.v1.Health/Watch'
const STREAM = { 'content-type': 'application/connect+json' }

/** Begins a call and reads its answer as it comes. */
async function begin(address: string, path: string) {
  const asking = request(`http://${address}`, { path, method: 'POST', agent: false, headers: STREAM })
  asking.end(enveloped('{}'))
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  const parts: Buffer[] = []
  response.on('data', (part: Buffer) => parts.push(part))
  response.on('error', () => {})
  return { response, messages: () => envelopesIn(Buffer.concat(parts)), leave: () => asking.destroy() }
}

test('a watch has the matrix at once, and ends without an error when the sidecar stops', async () => {
  const { sidecar } = await runSidecar({ flags: LISTENING })
  const { response, messages } = await begin(sidecar.httpAddress ?? '', WATCH)
  await eventually(() => messages().length === 1)
  const ended = once(response, 'end')
  await sidecar.close()
  await ended
  expect(messages().map(({ flags, bytes }) => [flags, flags === 2 ? bytes.toString() : ''])).toEqual([
    [0, ''],
    [2, '{}'],
  ])
})

test('a call that does not end by itself is ended when the sidecar stops', async () => {
  const { sidecar } = await runSidecar({ flags: { ...LISTENING, drain_ms: 50 } })
  const { response, messages } = await begin(sidecar.httpAddress ?? '', HEALTH)
  await eventually(() => messages().length === 1)
  const ended = once(response, 'end')
  await sidecar.close()
  await ended
  const said = messages().map(({ bytes }) => JSON.parse(bytes.toString()))
  expect(said).toMatchObject([
    { status: 'SERVING' },
    { status: 'NOT_SERVING' },
    { error: { code: 'unavailable', message: 'the sidecar is stopping' } },
  ])
})

test('a watch ends at its deadline', async () => {
  const { sidecar } = await runSidecar({ flags: LISTENING })
  const headers = { ...STREAM, 'connect-timeout-ms': '50' }
  const { body } = await post(sidecar.httpAddress ?? '', WATCH, enveloped('{}'), headers)
  const [, last] = envelopesIn(body)
  expect(JSON.parse(last?.bytes.toString() ?? '')).toMatchObject({ error: { code: 'deadline_exceeded' } })
})

test('what a client left is given up', async () => {
  const { sidecar } = await runSidecar({ flags: LISTENING })
  const watchers: unknown[] = []
  const watch = sidecar.rules.watch.bind(sidecar.rules)
  sidecar.rules.watch = (watcher) => {
    watchers.push(watcher)
    const unwatch = watch(watcher)
    return () => {
      watchers.pop()
      unwatch()
    }
  }
  const { messages, leave } = await begin(sidecar.httpAddress ?? '', WATCH)
  await eventually(() => messages().length === 1)
  expect(watchers).toHaveLength(1)
  leave()
  await eventually(() => watchers.length === 0)
})
