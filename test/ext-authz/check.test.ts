/**
 * Envoy's external authorization over gRPC: what passes, what does not and why, with both forms of headers.
 */
import { describe, expect, test } from 'vitest'
import { refused } from '../support/contract/black-box.ts'
import { iam, peopleBehindEnvoy } from '../support/proxies/behind-envoy.ts'
import { EnvoyClient, type HeaderList } from '../support/proxies/ext-authz.ts'
import { rowsOf } from '../support/proxies/proxy-rows.ts'
import { ACCOUNT, OTHER_ACCOUNT } from '../support/sidecar/sidecar.ts'

const people = await peopleBehindEnvoy()
const { account } = people
const BALANCE = { api: 'balance' }
const ROWS = rowsOf(people)

const running = await people.run()
const envoy = new EnvoyClient(running.address)

describe.each([
  { form: 'headers joined', raw: false },
  { form: 'headers as they came', raw: true },
])('$form', ({ raw }) => {
  test.each(ROWS)('$what: $reason', async ({ headers, context = BALANCE, from, status, reason }) => {
    const verdict = await envoy.ask({ context, raw, ...(headers && { headers }), ...(from && { from }) })
    expect(verdict).toMatchObject({
      allowed: status === undefined,
      status,
      metadata: { allowed: status === undefined, reason, api: context.api },
    })
    if (status === undefined) return
    const { error } = verdict.body as { error: Record<string, unknown> }
    expect(error).toMatchObject({ reason, message: expect.any(String), accepted: expect.any(Array) })
    expect(verdict.headers['content-type']).toBe('application/json')
    expect(verdict.headers['www-authenticate'] !== undefined).toBe(status === 401)
  })

  test('the sender of the request is passed on, and the claims of a client about itself are not', async () => {
    const forged: HeaderList = [
      ['x-portcullis-account', OTHER_ACCOUNT],
      ['x-portcullis-account', OTHER_ACCOUNT],
      ['x-portcullis-project', 'beta'],
      ['x-portcullis-admin', 'true'],
      ['x_portcullis_kind', 'static_token'],
    ]
    const context = { api: 'balance', account: ACCOUNT }
    const { allowed, headers, removed, metadata } = await envoy.ask({
      ...{ context, raw },
      headers: [iam(account), ...forged],
    })
    const { tokenId } = people
    expect({ allowed, headers }).toEqual({
      allowed: true,
      headers: {
        'x-portcullis-kind': 'iam_token_account_scoped',
        'x-portcullis-account': ACCOUNT,
        'x-portcullis-user-id': expect.stringMatching(/./),
        'x-portcullis-user-name': 'account',
        'x-portcullis-user-type': 'service_user',
        'x-portcullis-token-id': tokenId,
        'x-portcullis-rules-digest': running.sidecar.rulesDigest,
      },
    })
    // Envoy removes after it sets.
    expect(removed.filter((name) => Object.hasOwn(headers, name))).toEqual([])
    expect(removed.toSorted()).toEqual([
      'path-info',
      'path_info',
      'script-name',
      'script_name',
      'x-original-url',
      'x-portcullis-admin',
      'x-portcullis-authority',
      'x-portcullis-project',
      'x-portcullis-would-deny',
      'x-rewrite-url',
      'x-script-name',
      'x_original_url',
      'x_portcullis_kind',
      'x_rewrite_url',
      'x_script_name',
    ])
    expect(metadata).toEqual({
      ...{ allowed: true, reason: 'ALLOWED', api: 'balance', verified: true, strict: false },
      ...{ kind: 'iam_token_account_scoped', account: ACCOUNT, token_id: tokenId, advice: [] },
      ...{ user_id: headers['x-portcullis-user-id'], user_name: 'account', user_type: 'service_user' },
      rules_digest: running.sidecar.rulesDigest,
      conflicts: expect.any(Array),
    })
  })
})

test('a client cannot have proxies behind Envoy remove who sent the request', async () => {
  const ask = (connection: string) =>
    envoy.ask({ context: BALANCE, headers: [iam(account), ['connection', connection]] })
  expect(await ask('Upgrade, X-Portcullis-Project')).toMatchObject({
    ...{ allowed: false, status: 403 },
    metadata: { reason: 'NOT_CANONICAL' },
  })
  expect(await ask('Upgrade')).toMatchObject({ allowed: true })
})

test.each<[what: string, context: Record<string, string>]>([
  ['no API', {}],
  ['a misspelt account', { ...BALANCE, acount: '1' }],
  ['a project without its account', { ...BALANCE, project: 'alpha' }],
])('a route with %s is closed, and the log says why', async (_what, context) => {
  const before = running.logLines.length
  const verdict = await envoy.ask({ context, headers: [iam(account)] })
  expect(verdict).toMatchObject({
    allowed: false,
    status: 500,
    body: { error: { reason: 'INVALID_ARGUMENT' } },
    metadata: { allowed: false, reason: 'INVALID_ARGUMENT' },
  })
  const lines = running.logLines.slice(before).filter((line) => line.includes('a request of a proxy'))
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 40,
    problem: expect.stringMatching(/^context_extensions/),
  })
  // Every request of such a route would bring a line.
  await envoy.ask({ context, headers: [iam(account)] })
  expect(running.logLines.slice(before).filter((line) => line.includes('a request of a proxy'))).toHaveLength(
    1,
  )
})

test('bytes that are not a question are refused as by every other call', async () => {
  for (const bytes of [[0x0a], [0x0a, 0x05], [0x00], [0x0c]])
    expect(await refused(envoy.send(Buffer.from(bytes)))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'INVALID_ARGUMENT',
    })
  // An empty question is one about nothing.
  expect(await envoy.ask({})).toMatchObject({ allowed: false, status: 500 })
})
