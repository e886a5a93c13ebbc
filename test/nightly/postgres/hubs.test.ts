/**
 * A fleet in small: two hubs share a directory on PostgreSQL, and a sidecar with two workers follows them
 * over TLS. All are separate processes.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { PortcullisError } from '../../../clients/typescript/index.ts'
import type { OpenedAuthority } from '../../../sidecar/authority/open-authority.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import { type Host, startHost } from '../../support/directory/host.ts'
import { ask, DENYING, newScene, openAuthority } from '../../support/directory/scene.ts'
import { type Certificate, makeAuthority, makeCertificate } from '../../support/interop/certificates.ts'
import { PostgresServer } from '../../support/postgres/server.ts'
import { serve } from '../../support/processes/processes.ts'
import { connect } from '../../support/sidecar/client.ts'
import { eventually, newFolder, whenTheFileEnds } from '../../support/suite/resources.ts'

const programs = inject('postgres')
/** Most connections of one process: for queries, and one for notifications. */
const POOL_SIZE = 2
const CONNECTIONS_MAX = POOL_SIZE + 1
const HOST = 'URI:spiffe://example/host'
const CALLERS = [{ name: 'host', certificate: { uri: 'spiffe://example/host' }, rights: ['follow'] }]

describe.skipIf(!programs.ok || !inject('openssl').ok)('a sidecar that follows two hubs over TLS', () => {
  let server: PostgresServer
  let url: string
  let ca: Certificate
  let authority: OpenedAuthority
  let hubs: readonly Served[]
  let follower: Host

  type Served = Awaited<ReturnType<typeof serve>>

  beforeAll(async () => {
    if (!programs.ok) return
    server = await PostgresServer.start(programs.folder)
    url = await server.newDatabase()
    ca = await makeAuthority(newFolder(), 'ours')
    const shared = { url: new Secret(url), stalenessMs: 3_600_000, poolSize: POOL_SIZE, timeoutMs: 60_000 }
    const data = newFolder()
    authority = await openAuthority(data, shared)
    const own = await makeCertificate(newFolder(), 'hub', ca)
    const tls = { certificate: own.certificate, key: own.key, client_ca: ca.certificate }
    const startHub = async () => {
      const folder = join(newFolder(), 'data')
      mkdirSync(folder, { mode: 0o700 })
      for (const file of ['signing-keys.json', 'static-token-pepper'])
        copyFileSync(join(data, file), join(folder, file))
      const config = configOf({ directory: { url, pool_size: POOL_SIZE }, grpc: { tls }, callers: CALLERS })
      return serve(['--config', config, '--data', folder])
    }
    hubs = [await startHub(), await startHub()]
    follower = await startFollower([HOST])
  })

  afterAll(async () => {
    await authority?.close()
    await server?.remove()
  })

  function configOf(config: object): string {
    const path = join(newFolder(), 'portcullis.json')
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 })
    return path
  }

  /** @param names of its client certificate */
  async function startFollower(names: readonly string[]): Promise<Host> {
    const { certificate, key } = await makeCertificate(newFolder(), 'host', ca, names)
    const addresses = hubs.map(({ ready }) => ready.grpc)
    const hub = { addresses, tls: { ca: ca.certificate, certificate, key } }
    const config = configOf({ workers: 2, directory: { hub } })
    return startHost(join(newFolder(), 'data'), { PORTCULLIS_CONFIG: config })
  }

  /** The same host, by a separate connection: connections go to the workers in turn. */
  function again(host: Host): Host {
    const client = connect(host.address)
    whenTheFileEnds(() => client.close())
    return { ...host, client }
  }

  async function connections(): Promise<number> {
    const [row] = await server.query(
      'postgres',
      "SELECT COUNT(*)::int AS count FROM pg_stat_activity WHERE application_name LIKE 'portcullis%'",
    )
    return Number(row?.count)
  }

  test.each(DENYING)('%s: each worker denies soon', async (_change, sort, reason, apply) => {
    const scene = await newScene(authority)
    const workers = [again(follower), again(follower)]
    for (const worker of workers) expect(await ask(worker, sort, scene.tokens[sort])).toBe('ALLOWED')
    await apply(authority, scene)
    for (const worker of workers)
      await eventually(async () => (await ask(worker, sort, scene.tokens[sort])) === reason)
  })

  test('more of them take no further connections of PostgreSQL', async () => {
    const { tokens } = await newScene(authority)
    expect(await connections()).toBeGreaterThan(0)
    for (let count = 0; count < 3; count++) {
      const another = await startFollower([HOST])
      expect(await ask(another, 'account', tokens.account)).toBe('ALLOWED')
    }
    expect(await connections()).toBeLessThanOrEqual((hubs.length + 1) * CONNECTIONS_MAX)
  })

  test('a certificate without the right is not let in, and nothing is allowed', async () => {
    const { tokens } = await newScene(authority)
    const stranger = await startFollower(['URI:spiffe://example/stranger'])
    await expect(ask(stranger, 'account', tokens.account)).rejects.toSatisfy(
      (error) => error instanceof PortcullisError && error.reason === 'DIRECTORY_UNAVAILABLE',
    )
    expect(stranger.log()).toContain('a hub is there and refuses to be followed')
  })

  test('a hub is killed: what is known goes on, and a revocation at the other one counts', async () => {
    const scene = await newScene(authority)
    const [first] = hubs
    expect(await ask(follower, 'account', scene.tokens.account)).toBe('ALLOWED')
    first?.signal('SIGKILL')
    await first?.ended
    expect(await ask(follower, 'account', scene.tokens.account)).toBe('ALLOWED')
    const revoke = DENYING.find(([change]) => change === 'the token is revoked')?.[3]
    await revoke?.(authority, scene)
    for (const worker of [again(follower), again(follower)])
      await eventually(
        async () => (await ask(worker, 'account', scene.tokens.account)) === 'CREDENTIAL_REVOKED',
      )
  })
})
