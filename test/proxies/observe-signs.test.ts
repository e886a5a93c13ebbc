/**
 * Observe mode is visible as long as it lasts: at the start of a sidecar, in its log, in health checks, and
 * where a configuration is checked. A configuration that is not as expected is refused.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Observation } from '../../sidecar/proxies/observation.ts'
import { command } from '../support/processes/command-line.ts'
import { serve } from '../support/processes/processes.ts'
import { EnvoyClient } from '../support/proxies/ext-authz.ts'
import { type RunningSidecar, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventuallyHolds, newFile, newFolder } from '../support/suite/resources.ts'

const HOUR_MS = 3_600_000
const START_MS = Math.floor(Date.now() / 1_000) * 1_000
const UNTIL = new Date(START_MS + HOUR_MS).toISOString().replace(/\.\d+/, '')
let nowMs = START_MS

beforeEach(() => {
  nowMs = START_MS
})

const run = (proxies: object) =>
  runSidecar({
    now: () => nowMs,
    config: newFile(JSON.stringify({ proxies, health: { address: '127.0.0.1:0' } }), 'portcullis.json'),
  })

describe('it is loud', () => {
  const readyz = async (at: RunningSidecar) =>
    (await (await fetch(`http://${at.sidecar.healthAddress}/readyz?verbose`)).json()) as {
      readonly checks: readonly object[]
    }

  test('in the log and in health checks, with its end, and quiet after that', async () => {
    const ending = await run({ mode: 'observe', observe_until: UNTIL })
    const until = new Date(Date.parse(UNTIL)).toISOString()
    expect(ending.logLines.filter((line) => line.includes(`only observed, until ${until}`))).toHaveLength(1)
    const before = await readyz(ending)
    expect(before).toMatchObject({ status: 'ready', warnings: ['proxies_observed'] })
    expect(before.checks).toContainEqual({
      name: 'proxies',
      status: 'warning',
      problems: [{ code: 'proxies_observed', since: expect.any(String), until }],
    })
    const metrics = await (await fetch(`http://${ending.sidecar.healthAddress}/metrics`)).text()
    expect(metrics).toContain('portcullis_problem{code="proxies_observed"} 1')
    expect(metrics).toContain(
      `portcullis_problem_end_timestamp_seconds{code="proxies_observed"} ${Date.parse(UNTIL) / 1_000}`,
    )
    nowMs = START_MS + HOUR_MS
    // No request arrives: the end is reported all the same.
    await eventuallyHolds(async () => expect(await readyz(ending)).not.toHaveProperty('warnings'))
  })

  test('a start after its end enforces, and says so', async () => {
    const over = await run({ mode: 'observe', observe_until: '2020-01-31T00:00:00Z' })
    expect(over.logLines.filter((line) => line.includes('proxies.observe_until has passed'))).toHaveLength(1)
    expect(await readyz(over)).not.toHaveProperty('warnings')
    const { allowed } = await new EnvoyClient(over.address).ask({ context: { api: 'balance' } })
    expect(allowed).toBe(false)
  })

  test.each([
    [{ mode: 'observe' }, { mode: 'observe', until: null }],
    [
      { mode: 'observe', observe_until: '2999-01-31T00:00:00Z' },
      { mode: 'observe', until: '2999-01-31T00:00:00Z' },
    ],
    [{ mode: 'enforce' }, undefined],
  ])('in the ready line of `serve --json`: %j', async (proxies, said) => {
    const config = newFile(JSON.stringify({ proxies, data: newFolder() }), 'config.json')
    const { ready } = await serve(['--config', config])
    expect((ready as { proxies?: object }).proxies).toEqual(said)
  })

  test.each([
    [{ mode: 'observe' }, /only observed, without an end/],
    [{ mode: 'observe', observe_until: '2999-01-31T00:00:00+02:00' }, /until 2999-01-30T22:00:00\.000Z/],
    [{ mode: 'observe', observe_until: '2020-01-31T00:00:00Z' }, /observe mode ended at 2020/],
  ])('in `config validate`: %j', async (proxies, expected) => {
    const config = newFile(JSON.stringify({ proxies, data: newFolder() }), 'config.json')
    const { stdout, code } = await command(['config', 'validate', '--config', config])
    expect({ stdout, code }).toEqual({ stdout: expect.stringMatching(expected), code: 0 })
  })
})

test.each<[proxies: object, message: RegExp]>([
  [{ mode: 'watch' }, /proxies\.mode: expected/],
  [{ mode: 'observe', observe_until: '2027-01-31' }, /proxies\.observe_until: expected a time with its zone/],
  [
    { mode: 'observe', observe_until: '2027-02-30T00:00:00Z' },
    /proxies\.observe_until: expected a time with its zone/,
  ],
  [{ mode: 'observe', observe_until: 'soon' }, /proxies\.observe_until: expected a time with its zone/],
  [{ observe_until: '2027-01-31T00:00:00Z' }, /expected `proxies\.mode: observe` beside it/],
  [{ mode: 'observe', untill: 'x' }, /proxies/],
])('%j is refused', async (proxies, message) => {
  await expect(run(proxies)).rejects.toThrow(message)
})

describe('the end', () => {
  afterEach(() => vi.useRealTimers())

  test('is reported once, with the number of requests that passed, also without a request', () => {
    vi.useFakeTimers()
    let at = 0
    const ends: number[] = []
    const passed: string[] = []
    const observation = new Observation({
      ...{ untilMs: 5_000, now: () => at },
      onEnd: (count) => void ends.push(count),
      onPassed: (protocol, reason) => void passed.push(`${protocol} ${reason}`),
    })
    observation.passed('authorize', 'NO_ROUTE')
    at = 4_999
    vi.advanceTimersByTime(4_999)
    expect([ends, observation.isOn()]).toEqual([[], true])
    at = 5_000
    vi.advanceTimersByTime(1_000)
    at = 0
    vi.advanceTimersByTime(10_000)
    expect([ends, observation.isOn(), passed]).toEqual([[1], false, ['authorize NO_ROUTE']])
  })
})
