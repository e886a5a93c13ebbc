/**
 * The health of a sidecar while its PostgreSQL cannot be reached, hangs, or only has no notifications for it;
 * and the health of its follower.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { ServiceDefinition } from '@grpc/proto-loader'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { newStaticToken } from '../../../sidecar/authority/static-token.ts'
import { BlackBox, protosOf } from '../../support/contract/black-box.ts'
import { PostgresProxy } from '../../support/postgres/proxy.ts'
import { PostgresServer } from '../../support/postgres/server.ts'
import { command } from '../../support/processes/command-line.ts'
import { issued, populate, type RunningSidecar, runSidecar } from '../../support/sidecar/sidecar.ts'
import { eventually, freePort, newFile } from '../../support/suite/resources.ts'

const programs = inject('postgres')
const STALENESS_MS = 2_000
const TIMEOUT_MS = 1_500
const HEALTH = protosOf('grpc-health-check', 'proto/health/v1/health.proto')['grpc.health.v1.Health']
const FOLLOWER = newFile('follower-caller-token-0123456789abcdef')
const CALLERS = `callers: [{ name: follower, token_file: ${FOLLOWER}, rights: [follow] }]`

describe.skipIf(!programs.ok)('a sidecar on PostgreSQL', () => {
  let server: PostgresServer
  let proxy: PostgresProxy
  let database: string
  let running: RunningSidecar
  let value: string
  beforeAll(async () => {
    if (!programs.ok) return
    server = await PostgresServer.start(programs.folder)
    proxy = await PostgresProxy.start(server.port)
    database = new URL(await server.newDatabase()).pathname.slice(1)
    running = await runSidecar({
      config: newFile(CALLERS, 'portcullis.yaml'),
      flags: {
        'directory.url': server.url(database, { port: proxy.port }),
        'directory.staleness_ms': STALENESS_MS,
        'directory.timeout_ms': TIMEOUT_MS,
        'health.address': '127.0.0.1:0',
      },
    })
    ;({ value } = await issued(running, await populate(running)))
  })
  afterAll(async () => {
    await running?.sidecar.close()
    await proxy?.close()
    await server?.remove()
  })

  const readiness = async ({ sidecar } = running) => {
    const answer = await fetch(`http://${sidecar.healthAddress}/readyz`)
    return [answer.status, await answer.json()]
  }
  const logged = (text: string) => running.logLines.filter((line) => line.includes(text)).length
  const checkAt = ({ client }: RunningSidecar, credential: [name: string, value: string]) =>
    client.check({ api: 'balance', credentials: [credential] }).then(
      ({ reason }) => reason,
      ({ reason }: { reason?: string }) => reason,
    )
  const NO_NOTIFICATIONS = 'no notifications of changes on other hosts'

  test('is not ready while it hangs, and again when it answers', async () => {
    expect(await readiness()).toEqual([200, { status: 'ready' }])
    proxy.goSilent(true)
    await eventually(async () => (await readiness())[0] === 503)
    expect(await readiness()).toEqual([503, { status: 'not ready', problems: ['directory_unreachable'] }])
    expect(logged('the directory does not answer')).toBe(1)
    proxy.goSilent(false)
    await eventually(async () => (await readiness())[0] === 200)
    expect(logged('the directory answers again')).toBe(1)
  })

  /** Checks of tokens that it does not remember, one after the other. */
  const checkUnknown = async (count: number) => {
    const reasons = new Set<string | undefined>()
    for (let index = 0; index < count; index++)
      reasons.add(await checkAt(running, ['X-Token', newStaticToken()]))
    return [...reasons]
  }

  test.each<[fault: string, begin: () => Promise<() => Promise<void>>, problem: string]>([
    [
      'a table is locked',
      async () => {
        const locking = new Client({ connectionString: server.url(database) })
        await locking.connect()
        await locking.query('BEGIN; LOCK TABLE users')
        return () => locking.end()
      },
      '57014: the answer took too long',
    ],
    [
      'it hangs',
      async () => {
        proxy.goSilent(true)
        return async () => proxy.goSilent(false)
      },
      'timeout',
    ],
  ])(
    'while %s, one query waits for it, callers are refused at once, and it is not ready',
    async (_fault, begin, problem) => {
      await eventually(async () => (await readiness())[0] === 200)
      expect(await checkUnknown(1)).toEqual(['CREDENTIAL_INVALID'])
      const linesBefore = running.logLines.length
      const end = await begin()
      try {
        expect(await checkUnknown(1)).toEqual(['DIRECTORY_UNAVAILABLE'])
        await eventually(async () => (await readiness())[0] === 503)
        await eventually(async () => {
          const fromMs = performance.now()
          expect(await checkUnknown(10)).toEqual(['DIRECTORY_UNAVAILABLE'])
          return performance.now() - fromMs < TIMEOUT_MS
        })
        expect(await readiness()).toEqual([503, { status: 'not ready', problems: ['directory_unreachable'] }])
      } finally {
        await end()
      }
      const said = running.logLines
        .slice(linesBefore)
        .filter((line) => line.includes('the sidecar is not ready until it does'))
      expect(said).toEqual([expect.stringContaining(problem)])
      await eventually(async () => (await readiness())[0] === 200)
      await eventually(async () => (await checkUnknown(1))[0] === 'CREDENTIAL_INVALID')
    },
  )

  test('stays ready where it answers queries and sends no notifications', async () => {
    const before = logged(NO_NOTIFICATIONS)
    // It was ready before it listened again.
    await eventually(() => logged('receiving notifications of changes on other hosts') > before)
    proxy.refuseListeners(true)
    await eventually(() => logged(NO_NOTIFICATIONS) > before)
    for (let asked = 0; asked < 5; asked++) {
      expect((await readiness())[0]).toBe(200)
      await delay(STALENESS_MS)
    }
    proxy.refuseListeners(false)
  })

  test('that cannot be asked makes its follower unready too, once and for as long, wherever that is asked', async () => {
    const config = `directory:
  staleness_ms: ${STALENESS_MS}
  timeout_ms: 2000
  hub: { addresses: ['${running.address}'], token_file: ${FOLLOWER} }
`
    const file = newFile(config, 'portcullis.yaml')
    const grpc = `127.0.0.1:${await freePort()}`
    const flags = { 'health.address': '127.0.0.1:0', 'grpc.address': grpc }
    const follower = await runSidecar({ config: file, flags })
    const health = new BlackBox(grpc, HEALTH as ServiceDefinition)
    const check = () => checkAt(follower, ['X-Auth-Token', value])
    const metric = async (name: string) => {
      const text = await (await fetch(`http://${follower.sidecar.healthAddress}/metrics`)).text()
      return text.split('\n').find((line) => line.startsWith(name))
    }
    const isReady = async () => (await readiness(follower))[0] === 200
    const seen: boolean[] = []
    const look = async (until: boolean) => {
      const ready = await isReady()
      if (ready !== seen.at(-1)) seen.push(ready)
      return ready === until
    }
    expect(await check()).toBe('ALLOWED')
    await eventually(() => look(true))
    proxy.goSilent(true)
    await eventually(() => look(false))
    // Longer than a hub may be silent, so that it was left and tried again some times.
    for (const fromMs = performance.now(); performance.now() - fromMs < 6_000; await delay(20))
      await look(false)
    expect(seen).toEqual([true, false])
    expect(await readiness(follower)).toEqual([
      503,
      { status: 'not ready', problems: ['directory_unreachable'] },
    ])
    expect(await check()).toBe('DIRECTORY_UNAVAILABLE')
    expect(await health.ask('check', {})).toEqual({ status: 'NOT_SERVING' })
    expect(await metric('portcullis_ready')).toBe('portcullis_ready 0')
    expect(await metric('portcullis_problem{code="directory_unreachable"}')).toMatch(/ 1$/)
    const { stdout, code } = await command([
      'doctor',
      '--config',
      file,
      '--grpc',
      grpc,
      '--data',
      follower.folder,
    ])
    expect([code, stdout]).toEqual([1, expect.stringContaining('a sidecar answers, and says: not ready')])
    expect(stdout).toContain('it is there, and refuses to be followed: the directory does not answer')
    const lines = (text: string) => follower.logLines.filter((line) => line.includes(text))
    expect(lines('the directory does not answer; the sidecar is not ready')).toHaveLength(1)
    expect(lines('a hub is there and refuses to be followed').length).toBeLessThanOrEqual(2)
    proxy.goSilent(false)
    await eventually(() => look(true))
    await eventually(async () => (await check()) === 'ALLOWED')
    for (const fromMs = performance.now(); performance.now() - fromMs < 3_000; await delay(20))
      await look(true)
    expect(seen).toEqual([true, false, true])
    expect(lines('the directory answers again')).toHaveLength(1)
  })
})
