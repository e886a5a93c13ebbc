/**
 * Where nothing can be decided: denied in an answer, on every way that Envoy asks, while the call itself
 * succeeds.
 */
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { ROOT } from '../support/checkout/sources.ts'
import { askAt } from '../support/identity/identity.ts'
import { startProcess } from '../support/processes/processes.ts'
import { ENVOY_TOKEN, iam, peopleBehindEnvoy } from '../support/proxies/behind-envoy.ts'
import { EnvoyClient } from '../support/proxies/ext-authz.ts'
import { PROXY_SECRET } from '../support/proxies/proxied.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

describe('an upstream that does not answer', async () => {
  const robot = {
    upstream: 'cloud',
    account: ACCOUNT,
    user_name: 'robot',
    password_file: newFile('password'),
  }
  const people = await peopleBehindEnvoy()
  const running = await people.run(
    { 'http.address': '127.0.0.1:0' },
    {
      upstreams: { cloud: { auth_url: 'http://127.0.0.1:9/identity/v3', verify: { profile: 'robot' } } },
      profiles: { robot },
      callers: [{ name: 'envoy', token_file: newFile(ENVOY_TOKEN), profiles: ['robot'] }],
    },
  )
  const envoy = new EnvoyClient(running.address)
  const replaced = { api: 'balance', account: ACCOUNT, credential_profile: 'robot' }

  test('keeps out a request whose token it may know', async () => {
    const { allowed, status, headers, body, metadata } = await envoy.ask({
      context: { api: 'balance' },
      headers: [iam('a-token-of-the-upstream')],
    })
    expect({ allowed, status }).toEqual({ allowed: false, status: 503 })
    expect(headers).toMatchObject({ 'retry-after': expect.stringMatching(/^\d+$/) })
    expect(body).toEqual({
      error: {
        reason: 'UPSTREAM_UNAVAILABLE',
        message: 'the request could not be authorized; try again later',
      },
    })
    expect(metadata).toEqual({ allowed: false, reason: 'UPSTREAM_UNAVAILABLE' })
  })

  test('keeps out a request whose credential it would replace', async () => {
    const wishes = { callerToken: ENVOY_TOKEN }
    const verdict = await envoy.ask({ context: replaced, headers: [iam(people.account)] }, wishes)
    expect(verdict).toMatchObject({
      allowed: false,
      status: 503,
      metadata: { reason: 'UPSTREAM_UNAVAILABLE' },
    })
  })

  test('keeps it out over HTTP too, by a status that Envoy takes for a denial', async () => {
    const { status, json } = await askAt(Number(running.sidecar.httpAddress?.split(':').at(-1)), {
      path: '/ext-authz/api=balance/',
      headers: { 'x-portcullis-proxy-secret': PROXY_SECRET, 'x-auth-token': 'a-token-of-the-upstream' },
    })
    expect([status, json.error.reason]).toEqual([403, 'UPSTREAM_UNAVAILABLE'])
  })
})

test('a sidecar that answers no proxies does not send a proxy a 200', async () => {
  const { sidecar } = await runSidecar({ flags: { 'http.address': '127.0.0.1:0' } })
  const port = Number(sidecar.httpAddress?.split(':').at(-1))
  const { status } = await askAt(port, {
    path: '/ext-authz/api=balance/',
    headers: { host: `127.0.0.1:${port}` },
  })
  expect(status).toBe(404)
})

test('the code is loaded with the first question', async () => {
  const program = newFile(
    `import { registerHooks } from 'node:module'
const loaded = []
registerHooks({
  load(url, context, next) {
    const name = /sidecar\\/(?:contract\\/ext-authz|proxies)\\/([\\w-]+)/.exec(url)
    if (name) loaded.push(name[1])
    return next(url, context)
  },
})
const { readConfig, startSidecar } = await import('${pathToFileURL(ROOT)}sidecar/index.ts')
const flags = { data: '${newFolder()}', 'grpc.address': '127.0.0.1:0', 'http.address': 'off', 'log.level': 'silent' }
const sidecar = await startSidecar(readConfig({ flags }))
console.log(JSON.stringify(loaded))
await sidecar.close()
`,
    'program.mjs',
  )
  const { stdout, stderr } = await startProcess([process.execPath, program]).ended
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual(['ext-authz-methods'])
})
