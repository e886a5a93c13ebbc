/**
 * The control panel's answers to operators over HTTP: who may look, that no secret is shown, and how
 * listening to decisions ends.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { OF_CALLER_MAX } from '../../sidecar/usecases/control-panel/tail.ts'
import { SESSION } from '../support/console/control-panel.ts'
import { CALLERS, type CallerName, listen, startForOperators } from '../support/console/operators.ts'
import { linesIn } from '../support/signals/decision-log.ts'
import { eventually, passing } from '../support/suite/resources.ts'

const panel = await startForOperators()
const { port, running } = panel
const QUESTION = { api: 'balance', token: { kind: 'static_token', scope: { account: '1' } } }

const VIEWS = ['callers', 'keys', 'removal', 'decisions'] as const
const REFUSED = [403, 'CALLER_RIGHT_MISSING'] as const

/** Status and reason of each view, with the cookie of a browser. */
async function looked(browser: ReturnType<typeof panel.browser>): Promise<unknown[][]> {
  return Promise.all(
    VIEWS.map(async (view) => {
      if (view === 'decisions') {
        const heard = await listen(browser, port)
        if (heard.status === 200) {
          heard.leave()
          return [200, undefined]
        }
      }
      const { status, json } = await browser.get(`/console/operator/${view}`)
      return [status, json?.reason]
    }),
  )
}

test.each<[name: CallerName, expected: readonly [number, string?]]>([
  ['root', [200]],
  ['reader', [200]],
  ['revoker', REFUSED],
  ['clerk', REFUSED],
])('caller %s sees callers, keys and decisions as their rights say', async (name, [status, reason]) => {
  const browser = await panel.loggedInAs(name)
  expect(await looked(browser)).toEqual(VIEWS.map(() => [status, reason]))
})

test('an owner sees none of them, and neither does a browser without a session', async () => {
  const owner = await panel.loggedIn('olga')
  expect(await looked(owner)).toEqual(VIEWS.map(() => [403, 'NOT_ADMINISTRATOR']))
  expect(await looked(panel.browser())).toEqual(VIEWS.map(() => [401, 'REQUESTER_NOT_AUTHENTICATED']))
})

test('a request that is not as the page sends it has no session', async () => {
  const browser = await panel.loggedInAs('root')
  for (const view of VIEWS) {
    const { status } = await browser.get(`/console/operator/${view}`, { 'x-portcullis-console': undefined })
    expect(status).toBe(400)
    const elsewhere = await browser.get(`/console/operator/${view}`, { 'sec-fetch-site': 'cross-site' })
    expect(elsewhere.status).toBe(400)
  }
})

test('callers and keys are shown without anything that is secret', async () => {
  const browser = await panel.loggedInAs('reader')
  const callers = await browser.get('/console/operator/callers')
  const keys = await browser.get('/console/operator/keys')
  expect(callers.json.callers.map(({ name }: { name: string }) => name)).toEqual([
    ...[...Object.keys(CALLERS), 'administrator'],
  ])
  expect(keys.json.signing.map(({ state }: { state: string }) => state)).toEqual(['active', 'staged'])
  expect(keys.json.administratorToken.writtenAtMs).toBeLessThanOrEqual(Date.now())
  const text = callers.text + keys.text
  const names = Object.keys(CALLERS) as CallerName[]
  const secrets = [
    ...names.map((name) => panel.tokenOf(name)),
    ...['static-token-pepper', 'administrator-token'].map((file) =>
      readFileSync(join(running.folder, file), 'utf8').trim(),
    ),
  ]
  for (const secret of secrets) expect(text).not.toContain(secret)
  expect(text).not.toMatch(/PRIVATE KEY|[0-9a-f]{64}/)
  expect(readdirSync(running.folder)).toContain('signing-keys.json')
})

describe('listening to decisions', () => {
  test('begins with what the lines are, and then has those of the log', async () => {
    const heard = await listen(await panel.loggedInAs('reader'), port)
    expect(heard.headers).toMatchObject({
      ...{ 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' },
    })
    await eventually(() => heard.lines().length === 1)
    expect(heard.lines()).toEqual([{ listening: { samplePercent: 100, workers: 1 } }])
    const before = linesIn(panel.log).length
    await running.client.check(QUESTION)
    await running.client.check({ ...QUESTION, api: 'nosuch' })
    await eventually(() => heard.lines().length === 3)
    const logged = await eventually(() => {
      const lines = linesIn(panel.log).slice(before)
      return lines.length === 2 && lines
    })
    expect(heard.lines().slice(1)).toEqual(logged)
    heard.leave()
  })

  test('ends when the caller is withdrawn, and others go on', async () => {
    const other = await startForOperators()
    const heard = await listen(await other.loggedInAs('reader'), other.port)
    const stays = await listen(await other.loggedInAs('root'), other.port)
    other.withdraw('reader')
    await heard.ended
    expect(heard.lines().at(-1)).toEqual({ ended: 'REQUESTER_NOT_AUTHENTICATED' })
    await other.running.client.check(QUESTION)
    await eventually(() => stays.lines().length === 2)
    expect(heard.lines()).toHaveLength(2)
    await other.running.sidecar.close()
    await stays.ended
    expect(stays.lines().at(-1)).toEqual({ ended: 'STOPPING' })
  })

  test('ends with the session', async () => {
    const browser = await panel.loggedInAs('reader')
    const heard = await listen(browser, port)
    await browser.post(`${SESSION}/end`, {})
    await heard.ended
    expect(heard.lines().at(-1)).toEqual({ ended: 'REQUESTER_NOT_AUTHENTICATED' })
  })

  test('does not count as a use of the session, which ends after its idle time', async () => {
    const clock = { nowMs: Date.now() }
    const other = await startForOperators({ now: () => clock.nowMs })
    const heard = await listen(await other.loggedInAs('root'), other.port)
    for (const minutes of [20, 20]) {
      await other.running.client.check(QUESTION)
      clock.nowMs += minutes * 60_000
      // Longer than the time between two looks at the session.
      await passing(1_100)
    }
    await heard.ended
    expect(heard.lines().at(-1)).toEqual({ ended: 'REQUESTER_NOT_AUTHENTICATED' })
  })

  test('ends for a browser that leaves before the answer', async () => {
    const { cookie = '' } = await panel.loggedInAs('root')
    for (let left = 0; left < 3 * OF_CALLER_MAX; left++) {
      const socket = connect(port, '127.0.0.1')
      socket.write(
        `GET /console/operator/decisions HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Portcullis-Console: 1\r\nCookie: ${cookie}\r\n\r\n`,
        () => socket.destroy(),
      )
    }
    const heard = await eventually(async () => {
      const listening = await listen(await panel.loggedInAs('root'), port)
      return listening.status === 200 && listening
    })
    heard.leave()
  })
})
