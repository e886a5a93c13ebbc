/**
 * Several workers of one host on PostgreSQL: a change is acknowledged when all workers have cleared their
 * caches.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { OpenedAuthority } from '../../../sidecar/authority/open-authority.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import { BlackBox } from '../../support/contract/black-box.ts'
import { type Host, startHost } from '../../support/directory/host.ts'
import { issueTo, newScene, openAuthority, type Scene } from '../../support/directory/scene.ts'
import { PostgresProxy } from '../../support/postgres/proxy.ts'
import { CANARY, PostgresServer } from '../../support/postgres/server.ts'
import { alive } from '../../support/processes/worker-storm.ts'
import { newFolder } from '../../support/suite/resources.ts'

const programs = inject('postgres')
const REVOCATIONS = 30
/**
 * The staleness bound is an hour and PostgreSQL's notifications do not arrive, so only siblings can notify a
 * worker.
 */
const STALENESS_MS = 3_600_000

describe.skipIf(!programs.ok)('two workers that share a directory', () => {
  const folder = newFolder()
  let server: PostgresServer
  let proxy: PostgresProxy
  let database: string
  let authority: OpenedAuthority
  let host: Host
  let scene: Scene
  /** Connections, which the workers get in turn. */
  let boxes: BlackBox[]

  beforeAll(async () => {
    if (!programs.ok) return
    server = await PostgresServer.start(programs.folder)
    proxy = await PostgresProxy.start(server.port)
    proxy.refuseListeners(true)
    const url = await server.newDatabase()
    authority = await openAuthority(folder, {
      url: new Secret(url),
      stalenessMs: STALENESS_MS,
      poolSize: 5,
      timeoutMs: 60_000,
    })
    scene = await newScene(authority)
    database = server.url(new URL(url).pathname.slice(1), { port: proxy.port })
    await startWorkers()
  })

  async function startWorkers(environment: Readonly<Record<string, string>> = {}): Promise<void> {
    host = await startHost(folder, {
      PORTCULLIS_DIRECTORY_URL: database,
      PORTCULLIS_DIRECTORY_STALENESS_MS: String(STALENESS_MS),
      PORTCULLIS_WORKERS: '2',
      ...environment,
    })
    boxes = Array.from({ length: 4 }, () => new BlackBox(host.address))
    for (const box of boxes) await box.ask('GetMatrix', {})
  }

  afterAll(async () => {
    const ended = await host?.stop()
    await authority?.close()
    await proxy?.close()
    await server?.remove()
    if (!programs.ok) return
    expect(ended).toBe(0)
    expect(host.log()).not.toContain(CANARY)
  })

  const newToken = () => issueTo(authority, scene.account, scene.password)

  async function reasonOf(box: BlackBox, value: string): Promise<unknown> {
    const credentials = { headers: [{ name: 'X-Auth-Token', value }] }
    return (await box.ask('Check', { api: 'balance', credentials })).reason
  }

  /** Checks over every connection, so that every worker caches the status, which it would use for an hour. */
  async function cacheInAllWorkers(value: string): Promise<void> {
    for (const box of boxes) expect(await reasonOf(box, value)).toBe('REASON_ALLOWED')
  }

  test(`a token that one worker revokes is denied at the next check by any of them: ${REVOCATIONS} times`, async () => {
    expect(host.log()).not.toContain('"receiving notifications of changes on other hosts"')
    for (let round = 0; round < REVOCATIONS; round++) {
      const value = await newToken()
      await cacheInAllWorkers(value)
      await boxes[round % boxes.length]?.ask('Revoke', { value })
      for (const box of boxes) expect(await reasonOf(box, value)).toBe('REASON_CREDENTIAL_REVOKED')
    }
  })

  test('a change does not wait for a worker that died with a connection in its channel', async () => {
    const stopped = await newestWorker()
    process.kill(stopped, 'SIGSTOP')
    // One of these is on its way to the worker that is stopped.
    const arriving = Array.from({ length: 4 }, () => new BlackBox(host.address))
    const asked = arriving.map((box) => box.ask('GetMatrix', {}))
    const awake = await Promise.any(asked.map(async (answer, index) => (await answer) && arriving[index]))
    process.kill(stopped, 'SIGKILL')
    await Promise.all(asked)
    const value = await newToken()
    await awake?.ask('Revoke', { value })
    for (const box of arriving) expect(await reasonOf(box, value)).toBe('REASON_CREDENTIAL_REVOKED')
  })

  test('a change waits for a worker that hangs, until that worker has ended', async () => {
    expect(await host.stop()).toBe(0)
    // The silence is noticed before the staleness bound ends.
    await startWorkers({ PORTCULLIS_WORKER_HEARTBEAT_TIMEOUT_MS: '4000' })
    const value = await newToken()
    await cacheInAllWorkers(value)
    const [stopped = 0] = Array.from(
      host.log().matchAll(/"worker":(\d+),"msg":"a worker is ready"/g),
      (found) => Number(found[1]),
    )
    process.kill(stopped, 'SIGSTOP')
    const awake = await Promise.any(boxes.map(async (box) => (await box.ask('GetMatrix', {})) && box))
    let acknowledged = false
    const revoking = awake.ask('Revoke', { value }).then(() => {
      acknowledged = true
    })
    // Waits until the change itself is made, which the other worker notices immediately.
    while ((await reasonOf(awake, value)) !== 'REASON_CREDENTIAL_REVOKED') await delay(10)
    expect(acknowledged).toBe(false)
    await revoking
    expect(alive(stopped)).toBe(false)
  })

  /** The worker that became ready last, when two are running. */
  async function newestWorker(): Promise<number> {
    for (;;) {
      const ready = Array.from(host.log().matchAll(/"worker":(\d+),"msg":"a worker is ready"/g), (found) =>
        Number(found[1]),
      )
      if (ready.filter(alive).length === 2) return ready.at(-1) ?? 0
      await delay(10)
    }
  }
})
