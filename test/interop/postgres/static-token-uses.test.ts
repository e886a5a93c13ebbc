/** Hosts that share a directory write the days of last use of static tokens; one of them may only read it. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { OpenedAuthority } from '../../../sidecar/authority/open-authority.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import { run } from '../../../sidecar/usecases/administration/run.ts'
import { startHost } from '../../support/directory/host.ts'
import { ask, newScene, openAuthority } from '../../support/directory/scene.ts'
import { PostgresServer } from '../../support/postgres/server.ts'
import { TESTER } from '../../support/sidecar/actor.ts'
import { newFolder } from '../../support/suite/resources.ts'

const programs = inject('postgres')

describe.skipIf(!programs.ok)('days of last use', () => {
  const first = newFolder()
  let server: PostgresServer
  let url: string
  let opened: OpenedAuthority
  beforeAll(async () => {
    if (!programs.ok) return
    server = await PostgresServer.start(programs.folder)
    url = await server.newDatabase()
    opened = await openAuthority(first, {
      url: new Secret(url),
      stalenessMs: 0,
      poolSize: 2,
      timeoutMs: 60_000,
    })
  })
  afterAll(async () => {
    await opened?.close()
    await server?.remove()
  })

  /** Another host, which uses a new static token, and stops. */
  async function usedOn(directory: string) {
    const { account, tokens } = await newScene(opened)
    const data = newFolder()
    for (const file of ['signing-keys.json', 'static-token-pepper'])
      copyFileSync(join(first, file), join(data, file))
    const host = await startHost(data, { PORTCULLIS_DIRECTORY_URL: directory })
    for (let times = 0; times < 3; times++) expect(await ask(host, 'static', tokens.static)).toBe('ALLOWED')
    expect(await host.stop()).toBe(0)
    const list = { account, userName: 'owner', pageSize: 1, pageToken: '' }
    const { items } = await run(opened.administration, TESTER, 'listStaticTokens', list)
    const [token] = items
    return { lastUsedDay: token?.lastUsedDay, log: host.log() }
  }
  const today = () => Math.floor(Date.now() / 86_400_000)

  test('a host that stops has written its days for all hosts', async () => {
    const before = today()
    const { lastUsedDay } = await usedOn(url)
    expect([before, today()]).toContain(lastUsedDay)
  })

  test('a host whose database user may only read answers and stops as usual, and says once that no day is written', async () => {
    await server.query('directory_0', `CREATE ROLE reader LOGIN PASSWORD 'reads'`)
    await server.query('directory_0', 'GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader')
    const { lastUsedDay, log } = await usedOn(
      server.url('directory_0', { user: 'reader', password: 'reads' }),
    )
    expect(lastUsedDay).toBeUndefined()
    expect(log.match(/the days of last use of static tokens cannot be written/g)).toHaveLength(1)
    expect(log).toContain('42501: a permission is missing')
  })
})
