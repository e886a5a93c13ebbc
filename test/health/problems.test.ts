/**
 * Problems that make a sidecar unready, and those that are only reported. Every protocol of health checks
 * says the same, and so does the command line.
 */
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ServiceDefinition } from '@grpc/proto-loader'
import { describe, expect, test, vi } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { Rules } from '../../sidecar/rules/rules.ts'
import { BlackBox, protosOf } from '../support/contract/black-box.ts'
import { command } from '../support/processes/command-line.ts'
import { type RunningSidecar, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'

const HEALTH = protosOf('grpc-health-check', 'proto/health/v1/health.proto')[
  'grpc.health.v1.Health'
] as ServiceDefinition

interface Found {
  readonly status: string
  readonly problems?: readonly string[]
  readonly warnings?: readonly string[]
  readonly checks?: readonly { readonly name: string; readonly status: string; readonly problems: object[] }[]
  readonly matrix_digests?: readonly string[]
}

async function run(flags: Readonly<Record<string, string | number>> = {}) {
  const matrix = join(newFolder(), 'matrix.json')
  const replace = (content: string) => {
    writeFileSync(`${matrix}.new`, content)
    renameSync(`${matrix}.new`, matrix)
  }
  const titled = (title: string) => JSON.stringify({ ...supportMatrix, title })
  replace(titled('first'))
  const running = await runSidecar({
    times: { keyPollMs: 5 },
    flags: {
      'http.address': '127.0.0.1:0',
      'health.address': '127.0.0.1:0',
      matrix,
      matrix_poll_ms: 5,
      keys_unreadable_ms: 0,
      ...flags,
    },
  })
  return { running, matrix, replace, titled, look: () => lookAt(running) }
}

/** The answer of every protocol, which is the same. */
async function lookAt({ sidecar, address }: RunningSidecar): Promise<Found & { readonly http: number }> {
  const [ofListener, ofHttp] = await Promise.all(
    [sidecar.healthAddress, sidecar.httpAddress].map((each) => fetch(`http://${each}/readyz?verbose`)),
  )
  const found = (await ofListener?.json()) as Found
  expect([ofHttp?.status, await ofHttp?.json()]).toEqual([ofListener?.status, found])
  const { status } = await new BlackBox(address, HEALTH).ask('check', { service: '' })
  const ready = ofListener?.status === 200
  expect(status).toBe(ready ? 'SERVING' : 'NOT_SERVING')
  const asked = await command(['health', '--ready', '--health', sidecar.healthAddress ?? ''])
  const { problems } = found
  expect(asked).toMatchObject({
    code: ready ? 0 : 1,
    stdout: problems === undefined ? `${found.status}\n` : `${found.status}: ${problems.join(', ')}\n`,
  })
  expect(await command(['health', '--ready', '--address', address])).toMatchObject({
    code: ready ? 0 : 1,
    stdout: ready ? 'ready\n' : 'not ready\n',
  })
  return { ...found, http: ofListener?.status ?? 0 }
}

const since = expect.stringMatching(/^\d{4}-.*Z$/)

test('keys that cannot be read make it unready until they can be', async () => {
  const { running, look } = await run()
  expect(await look()).toMatchObject({ status: 'ready' })
  const keys = join(running.folder, 'signing-keys.json')
  renameSync(keys, `${keys}.away`)
  await eventually(() => isUnready(running))
  const found = await look()
  expect(found).toMatchObject({ status: 'not ready', problems: ['signing_keys_unreadable'] })
  expect(found.checks?.find(({ name }) => name === 'signing_keys')).toEqual({
    name: 'signing_keys',
    status: 'failing',
    problems: [{ code: 'signing_keys_unreadable', since }],
  })
  renameSync(`${keys}.away`, keys)
  await eventually(async () => !(await isUnready(running)))
  expect(await look()).toMatchObject({ status: 'ready' })
})

async function isUnready({ sidecar }: RunningSidecar): Promise<boolean> {
  return (await fetch(`http://${sidecar.healthAddress}/readyz`)).status === 503
}

async function warningsOf({ sidecar }: RunningSidecar): Promise<readonly string[]> {
  const answer = await fetch(`http://${sidecar.healthAddress}/readyz`)
  return ((await answer.json()) as Found).warnings ?? []
}

describe('an invalid matrix file', () => {
  test('leaves the sidecar ready with the last good one, and is a warning until it is fixed', async () => {
    const { running, replace, titled, look } = await run()
    const before = await look()
    expect(before.matrix_digests).toEqual([compile(JSON.parse(titled('first'))).digest])
    replace('{"title": "a secret"')
    await eventually(async () => (await warningsOf(running)).length > 0)
    const found = await look()
    expect(found).toMatchObject({ http: 200, status: 'ready', warnings: ['matrix_refused'] })
    expect(found.matrix_digests).toEqual(before.matrix_digests)
    expect(found.checks?.find(({ name }) => name === 'matrix')).toEqual({
      name: 'matrix',
      status: 'warning',
      problems: [{ code: 'matrix_refused', since }],
    })
    expect(JSON.stringify(found)).not.toContain('secret')
    replace(titled('second'))
    await eventually(async () => (await warningsOf(running)).length === 0)
    expect(await look()).toEqual({
      ...before,
      matrix_digests: [compile(JSON.parse(titled('second'))).digest],
    })
  })

  test.each<[claim: string, spoil: (matrix: string) => void]>([
    ['is invalid', (matrix) => writeFileSync(matrix, '{}')],
    ['is missing', (matrix) => rmSync(matrix)],
  ])(
    'that %s for longer than max_matrix_age_ms makes it unready, and its decisions stay',
    async (_claim, spoil) => {
      const { running, matrix, replace, titled, look } = await run({ max_matrix_age_ms: 20 })
      spoil(matrix)
      await eventually(() => isUnready(running))
      const found = await look()
      expect(found).toMatchObject({
        status: 'not ready',
        problems: ['matrix_stale'],
        warnings: ['matrix_refused'],
      })
      expect(
        running.logLines.filter((line) => line.includes('has not matched its file for too long')),
      ).toHaveLength(1)
      const claims = { kind: 'static_token', scope: { account: '123456' } }
      expect(await running.client.check({ api: 'balance', token: claims })).toMatchObject({ allowed: true })
      replace(titled('first'))
      await eventually(async () => !(await isUnready(running)))
      expect(await look()).toMatchObject({ status: 'ready' })
    },
  )
})

test('a matrix is stale after exactly its time, and not for a process that slept', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  try {
    const path = newFile(JSON.stringify(supportMatrix))
    const looks: string[] = []
    const rules = new Rules({
      ...{ path, strict: false, pollMs: 1_000, maxAgeMs: 3_000, onRefused: () => {} },
      onLook: ({ refused, stale }) => looks.push(stale ? 'stale' : refused ? 'refused' : 'good'),
    })
    vi.advanceTimersByTime(2_000)
    writeFileSync(path, '{}')
    vi.advanceTimersByTime(4_000)
    writeFileSync(path, JSON.stringify(supportMatrix))
    vi.advanceTimersByTime(1_000)
    expect(looks).toEqual(['good', 'good', 'refused', 'refused', 'refused', 'stale', 'good'])
    vi.setSystemTime(Date.now() + 3_600_000)
    vi.advanceTimersByTime(1_000)
    expect(looks.at(-1)).toBe('good')
    rules.close()
  } finally {
    vi.useRealTimers()
  }
})

test.each([[{ max_matrix_age_ms: 10, matrix_poll_ms: 0 }], [{ max_matrix_age_ms: 10, matrix_poll_ms: 11 }]])(
  '%j is refused, because every matrix would be stale',
  async (flags) => {
    await expect(runSidecar({ flags })).rejects.toThrow('max_matrix_age_ms: expected matrix_poll_ms above 0')
  },
)
