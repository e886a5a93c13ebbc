/**
 * Flow control (RFC 9113, §5.2) with real clients: one that heeds our windows waits and is answered, and we
 * keep to small windows of theirs.
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { encoded } from '../../support/contract/black-box.ts'
import { messageFrame } from '../../support/http2/frames.ts'
import { type AdministeredDemo, serveAdministeredDemo } from '../../support/interop/administered-demo.ts'
import { startClient } from '../../support/interop/client.ts'
import { installH2load } from '../../support/interop/debian.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { newFile } from '../../support/suite/resources.ts'

const CHECK = { api: 'balance', token: { kind: 'static_token', scope: { account: '1' } } }

const go = inject('go')
const h2load = await obtained('h2load', installH2load)

let sidecar: AdministeredDemo
beforeAll(async () => {
  sidecar = await serveAdministeredDemo()
})
afterAll(() => sidecar?.stop())

test.skipIf(!go.ok)(
  '1,500 batches of 1,000 checks at once on a connection of grpc-go are all answered',
  async () => {
    const client = startClient(go, sidecar.ready.grpc)
    // The client takes longer to prepare this many calls than a connection may take to come about.
    expect(
      (await client.ask({ call: 'AuthorizationService/Check', requests: [CHECK] })).error,
    ).toBeUndefined()
    const { responses, error } = await client.ask({
      call: 'AuthorizationService/CheckBatch',
      requests: [{ checks: Array(1_000).fill(CHECK) }],
      // Several times what a connection may hold. A busy machine must answer them before a message is late.
      at_once: 1_500,
      deadline_ms: 600_000,
    })
    await client.stop()
    expect(error).toBeUndefined()
    expect(responses.map(({ results }) => results.length)).toEqual([1_000])
    expect(sidecar.stderr()).not.toContain('buffered_bytes')
    const peakMegabytes =
      Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${sidecar.pid}/status`, 'utf8'))?.[1]) / 1_024
    expect(peakMegabytes).toBeLessThan(512)
  },
)

const runH2load = h2load.ok ? h2load.value : undefined
describe.skipIf(!h2load.ok)('h2load', () => {
  // Of one byte, and of 15. `-w` is the window of a stream, `-W` that of the connection.
  test.each(['-w 1', '-W 1', '-w 4', '-w 1 -W 1'])('%s: every call is answered', async (windows) => {
    const body = newFile(messageFrame(encoded('CheckRequest', CHECK)))
    const load = ['-c8', '-m16', '-n1000', '-t1', '-d', body, ...windows.split(' ')]
    const headers = ['-H', 'content-type: application/grpc', '-H', 'te: trailers']
    const url = `http://${sidecar.ready.grpc}/portcullis.v1.AuthorizationService/Check`
    const printed = await runH2load?.([...load, ...headers, url])
    expect(printed).toContain('1000 succeeded, 0 failed, 0 errored, 0 timeout')
  })
})
