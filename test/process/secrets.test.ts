/**
 * Secrets stay secret when a sidecar is printed, and in the output of a process that prints them once.
 * `test/canaries` searches every other output.
 */
import { connect as connectHttp2 } from 'node:http2'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox } from '../support/contract/black-box.ts'
import { serve } from '../support/processes/processes.ts'
import { issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'

const CANARY = 'canary9f3b'

test('printing a sidecar to any depth shows no secret', async () => {
  const running = await runSidecar()
  const secrets = await populate(running)
  const { passwordOf, staticToken } = secrets
  const { value } = await issued(running, secrets)
  const printed = [
    inspect(running.sidecar, { depth: Number.POSITIVE_INFINITY, showHidden: true, getters: true }),
    JSON.stringify(running.sidecar),
    String(running.sidecar),
  ].join('')
  for (const secret of [passwordOf('account'), staticToken, value]) expect(printed).not.toContain(secret)
})

test('a process prints its secrets only once, in the ready line', async () => {
  const child = await serve(['--dev'], { environment: { PORTCULLIS_LOG_LEVEL: 'trace' } })
  const { service_user, static_token, account } = child.ready.demo ?? fail()
  const elsewhere = new BlackBox(child.ready.grpc)
  const requester = { password: { user_name: service_user.name, account, password: service_user.password } }
  const { value } = await elsewhere.ask('issue', { ...requester, scope: { account } })
  for (const [header, credential] of [
    ['X-Auth-Token', value],
    ['X-Token', static_token],
    ['X-Token', `${CANARY}\u0007`],
  ])
    await elsewhere.ask('check', credentialQuestion('balance', header as string, credential as string))
  await elsewhere.ask('issue', { ...requester, scope: { account: CANARY } }).catch(() => {})
  // By default grpc-js reports headers that it cannot read, with their values.
  await sendRaw(child.ready.grpc, { authorization: `Bearer ${CANARY}é` })
  child.signal('SIGTERM')
  const { stdout, stderr, code } = await child.ended
  expect(code).toBe(0)
  const afterReady = stdout.slice(stdout.indexOf('\n'))
  for (const secret of [service_user.password, static_token, String(value), CANARY]) {
    expect(afterReady).not.toContain(secret)
    expect(stderr).not.toContain(secret)
  }
})

function fail(): never {
  throw new Error('the development sidecar has no demo account')
}

/** Makes a call with headers that no gRPC client would send. */
async function sendRaw(address: string, headers: Record<string, string>): Promise<void> {
  const session = connectHttp2(`http://${address}`)
  const request = session.request({
    ':method': 'POST',
    ':path': '/portcullis.v1.AuthorizationService/GetMatrix',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  })
  request.end(Buffer.alloc(5))
  request.resume()
  await new Promise((resolve) => request.on('close', resolve))
  session.close()
}
