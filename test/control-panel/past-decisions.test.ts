/** Operators search the past of decisions over HTTP: who may, what they get, and that others do not wait. */
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { WAITING_MAX } from '../../sidecar/usecases/control-panel/search.ts'
import { type CallerName, startForOperators } from '../support/console/operators.ts'
import { credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox } from '../support/contract/black-box.ts'
import { OTHER_CELLS } from '../support/matrices/shadow-matrices.ts'
import { ACCOUNT, issued, populate } from '../support/sidecar/sidecar.ts'
import { type LoggedLine, linesIn } from '../support/signals/decision-log.ts'
import { eventually, newFile } from '../support/suite/resources.ts'

const SEARCH = '/console/operator/decisions/search'
const panel = await startForOperators({
  flags: { matrix_shadow: newFile(JSON.stringify(OTHER_CELLS), 'next.json') },
})
const { running, log } = panel
const people = await populate(running, {
  accounts: [
    {
      account: ACCOUNT,
      service_users: [{ name: 'worker', permissions: [{ scope: 'account' }] }],
      control_panel_users: [{ name: 'igor', static_tokens: ['key'] }],
    },
  ],
})
const token = (await issued(running, people, { user: 'worker' })).value
const box = new BlackBox(running.address)
for (let round = 0; round < 130; round++) {
  await box.ask('check', credentialQuestion('email', 'X-Auth-Token', token))
  await box.ask('check', credentialQuestion('reports', 'X-Token', people.staticToken))
}
// The shadow closes it.
await box.ask('check', credentialQuestion('balance', 'X-Auth-Token', token))
await eventually(() => linesIn(log).length === 261)
const reader = await panel.loggedInAs('reader')
const search = async (body: object, browser = reader) => {
  const { status, json } = await browser.post(SEARCH, body)
  return {
    status,
    json: json as never as {
      rows: { line: LoggedLine; userName?: string; afterwards: object }[]
      nextPageToken: string
      reason?: string
      damaged: number
    },
  }
}

test.each<[name: CallerName | 'owner' | 'nobody', status: number, reason: string | undefined]>([
  ['root', 200, undefined],
  ['reader', 200, undefined],
  ['clerk', 403, 'CALLER_RIGHT_MISSING'],
  ['owner', 403, 'NOT_ADMINISTRATOR'],
  ['nobody', 401, 'REQUESTER_NOT_AUTHENTICATED'],
])('%s may search or not', async (name, status, reason) => {
  const browser =
    name === 'owner'
      ? await panel.loggedIn('olga')
      : name === 'nobody'
        ? panel.browser()
        : await panel.loggedInAs(name)
  const answer = await search({}, browser)
  expect([answer.status, answer.json.reason]).toEqual([status, reason])
})

test('a request that is not as the page sends it is refused', async () => {
  const rows = [
    [{ 'x-portcullis-console': undefined }, 400],
    [{ origin: 'http://elsewhere.example' }, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 400],
  ] as const
  for (const [headers, status] of rows) expect((await reader.post(SEARCH, {}, headers)).status).toBe(status)
  expect((await reader.get(SEARCH)).status).toBe(405)
})

test('the newest come first, page by page, with the name of the user and what the rules decide now', async () => {
  const first = await search({ api: 'email' })
  expect(first.json).toMatchObject({ damaged: 0, nextPageToken: '' })
  expect(first.json.rows).toHaveLength(130)
  expect(first.json.rows[0]).toMatchObject({
    userName: 'worker',
    line: { api: 'email', reason: 'TOKEN_KIND_NOT_ACCEPTED' },
    afterwards: { digest: 'same', message: expect.stringContaining('does not accept'), now: { same: true } },
  })
  const all = await search({})
  const rest = await search({ page_token: all.json.nextPageToken })
  expect([all.json.rows.length, rest.json.rows.length, rest.json.nextPageToken]).toEqual([200, 61, ''])
  const times = [...all.json.rows, ...rest.json.rows].map(({ line }) => line.time)
  expect(times).toEqual(times.toSorted().reverse())
})

test.each<[what: string, body: object, count: number]>([
  ['a token by its value', { token }, 131],
  ['a token with its header', { token: `X-Auth-Token: ${token}` }, 131],
  ['a token behind a scheme', { token: `Authorization: Kiosk ${token}` }, 131],
  ['a token behind a prefix', { token: `old_${token}` }, 131],
  ['a user by name and account', { user: 'worker', account: ACCOUNT }, 131],
  ['a reason', { reason: 'ALLOWED' }, 131],
  ['a verdict', { verdict: 'denied', api: 'email' }, 130],
  ['a time', { until_ms: 1_000 }, 0],
  ['a fingerprint', { fingerprint: 'A'.repeat(32) }, 0],
  ['what a shadow would open', { shadow: 'opened' }, 0],
  ['what a shadow would close', { shadow: 'closed' }, 1],
])('%s is found', async (_what, body, count) => {
  const { status, json } = await search(body)
  expect([status, json.rows.length]).toEqual([200, count])
})

test.each<[what: string, body: object]>([
  ['a token as a fingerprint', { fingerprint: 'pcst_secretsecret' }],
  ['a token and a fingerprint', { fingerprint: 'a'.repeat(32), token: 'pcst_secretsecret' }],
  ['a text that is not one token', { token: 'words of pcst_secretsecret' }],
  ['a time that is a text', { since_ms: 'pcst_secretsecret' }],
  ['a verdict that is none', { verdict: 'pcst_secretsecret' }],
  ['a difference that is none', { shadow: 'pcst_secretsecret' }],
  ['a page that is none', { page_token: 'pcst_secretsecret' }],
  ['a field that is none', { tokens: 'pcst_secretsecret' }],
])('%s is refused, and nothing repeats it', async (_what, body) => {
  const { status, text } = await reader.post(SEARCH, body)
  expect(status).toBe(400)
  expect(text).not.toContain('secretsecret')
  expect(running.logLines.join('')).not.toContain('secretsecret')
})

test('no token that was looked for is in the log of the sidecar', async () => {
  await search({ token: people.staticToken })
  expect(running.logLines.join('')).not.toContain(people.staticToken.slice(8))
})

describe('while a long log is searched', () => {
  // Four megabytes: many blocks, between which others have their turn.
  const lengthen = () =>
    appendFileSync(
      log,
      `${JSON.stringify({ ...linesIn(log)[0], time: '2001-01-01T00:00:00.000Z' })}\n`.repeat(12_000),
    )

  test('one search runs, some wait, further ones are refused, and checks go on', async () => {
    lengthen()
    const searching = Array.from({ length: WAITING_MAX + 4 }, () => search({ request_id: 'nobody' }))
    let answered = 0
    let goesOn = true
    const ended = Promise.all(searching).finally(() => {
      goesOn = false
    })
    while (goesOn && answered <= 50) {
      await running.client.check({ api: 'balance', token: { kind: 'static_token', scope: { account: '1' } } })
      answered++
    }
    const statuses = (await ended).map(({ status }) => status)
    // One runs and the others wait.
    expect(statuses.filter((status) => status === 200)).toHaveLength(1 + WAITING_MAX)
    expect(statuses.filter((status) => status === 503)).toHaveLength(3)
    expect(answered).toBeGreaterThan(50)
  })

  test('a client that leaves gives its place to others', async () => {
    const asking = Array.from({ length: 1 + WAITING_MAX + 1 }, () =>
      request({
        ...{ host: '127.0.0.1', port: panel.port, path: SEARCH, method: 'POST', agent: false },
        headers: {
          ...{
            'x-portcullis-console': '1',
            'sec-fetch-site': 'same-origin',
            'content-type': 'application/json',
          },
          ...{ origin: `http://127.0.0.1:${panel.port}`, cookie: reader.cookie },
        },
      }),
    )
    // The one that is refused finds all places taken.
    const refused = Promise.race(
      asking.map((each) => {
        each.on('error', () => {})
        each.end(JSON.stringify({ request_id: 'nobody' }))
        return once(each, 'response')
      }),
    )
    expect((await refused)[0].statusCode).toBe(503)
    for (const each of asking) each.destroy()
    await eventually(async () => (await search({ api: 'email' })).status === 200)
    // A request whose client has gone is no failure of the sidecar.
    expect(running.logLines.filter((text) => JSON.parse(text).level >= 50)).toEqual([])
  })
})
