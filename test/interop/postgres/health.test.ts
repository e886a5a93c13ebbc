/**
 * Whether a sidecar is ready while its PostgreSQL cannot be reached, hangs, or only has no notifications for
 * it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { PostgresProxy } from '../../support/postgres/proxy.ts'
import { PostgresServer } from '../../support/postgres/server.ts'
import { type RunningSidecar, runSidecar } from '../../support/sidecar/sidecar.ts'
import { eventually } from '../../support/suite/resources.ts'

const programs = inject('postgres')
const STALENESS_MS = 500

describe.skipIf(!programs.ok)('a sidecar on PostgreSQL', () => {
  let server: PostgresServer
  let proxy: PostgresProxy
  let running: RunningSidecar
  beforeAll(async () => {
    if (!programs.ok) return
    server = await PostgresServer.start(programs.folder)
    proxy = await PostgresProxy.start(server.port)
    const database = new URL(await server.newDatabase()).pathname.slice(1)
    running = await runSidecar({
      flags: {
        'directory.url': server.url(database, { port: proxy.port }),
        'directory.staleness_ms': STALENESS_MS,
        'directory.timeout_ms': 300,
        'health.address': '127.0.0.1:0',
      },
    })
  })
  afterAll(async () => {
    await running?.sidecar.close()
    await proxy?.close()
    await server?.remove()
  })

  const readiness = async () => {
    const answer = await fetch(`http://${running.sidecar.healthAddress}/readyz`)
    return [answer.status, await answer.json()]
  }
  const logged = (text: string) => running.logLines.filter((line) => line.includes(text)).length
  const NO_NOTIFICATIONS = 'no notifications of changes on other hosts'

  test('is not ready while it hangs, and again when it answers', async () => {
    expect(await readiness()).toEqual([200, { status: 'ready' }])
    proxy.goSilent(true)
    await eventually(async () => (await readiness())[0] === 503)
    expect(await readiness()).toEqual([503, { status: 'not ready', problems: ['directory_unreachable'] }])
    expect(logged('the database of the directory does not answer')).toBe(1)
    proxy.goSilent(false)
    await eventually(async () => (await readiness())[0] === 200)
    expect(logged('the database of the directory answers again')).toBe(1)
  })

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
})
