/** Certificates that change while the sidecar runs: new connections use the new ones, and open ones stay. */
import { X509Certificate } from 'node:crypto'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { type Client, PortcullisError } from '../../clients/typescript/index.ts'
import { type Certificate, makeAuthority, makeCertificate } from '../support/interop/certificates.ts'
import { serve } from '../support/processes/processes.ts'
import { connect } from '../support/sidecar/client.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const CHECK = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }
const IN_FORCE = 'new TLS certificates are in force'
const REFUSED = 'the TLS certificates cannot be used; the last good ones stay in force'

/** One authority, with a server and a client that it has signed. */
interface Family {
  readonly authority: Certificate
  readonly server: Certificate
  readonly client: Certificate
}

async function newFamily(): Promise<Family> {
  const folder = newFolder()
  const authority = await makeAuthority(folder, 'authority')
  return {
    authority,
    server: await makeCertificate(folder, 'server', authority),
    client: await makeCertificate(folder, 'client', authority),
  }
}

/** The files of a sidecar, and a configuration that names them. */
function newFiles({ authority, server }: Family) {
  const folder = newFolder()
  const file = (name: string) => join(folder, name)
  const tls = { certificate: file('server.pem'), key: file('server.key'), client_ca: file('ca.pem') }
  const use = (family: Pick<Family, 'authority' | 'server'>) => {
    copyFileSync(family.server.certificate, tls.certificate)
    copyFileSync(family.server.key, tls.key)
    copyFileSync(family.authority.certificate, tls.client_ca)
  }
  use({ authority, server })
  writeFileSync(file('portcullis.json'), JSON.stringify({ grpc: { tls: { ...tls, any_client: true } } }))
  return { tls, use, config: file('portcullis.json') }
}

function clientOf(address: string, { authority, client }: Family): Client {
  const connection = connect(address, {
    tls: {
      ca: readFileSync(authority.certificate),
      certificate: readFileSync(client.certificate),
      key: readFileSync(client.key),
    },
  })
  whenTheFileEnds(() => connection.close())
  return connection
}

/** The reason of a check on a new connection, or the status of the error. */
async function attempt(address: string, family: Family): Promise<string> {
  try {
    return (await clientOf(address, family).check(CHECK)).reason
  } catch (error) {
    if (error instanceof PortcullisError) return error.code
    throw error
  }
}

describe.skipIf(!inject('openssl').ok)('certificates that change', () => {
  test('are read on reload: new connections use them, and an open one stays', async () => {
    const [old, next] = await Promise.all([newFamily(), newFamily()])
    const { config, use } = newFiles(old)
    const flags = { 'health.address': '127.0.0.1:0' }
    const { sidecar, address, logLines } = await runSidecar({ config, flags })
    const expiry = () =>
      sidecar.metrics().find(({ name }) => name === 'portcullis_certificate_expiry_timestamp_seconds')
        ?.samples
    const expiryOf = ({ server }: Family) => [
      {
        labels: { listener: 'grpc' },
        value: Date.parse(new X509Certificate(readFileSync(server.certificate)).validTo) / 1000,
      },
    ]
    expect(expiry()).toEqual(expiryOf(old))
    const open = clientOf(address, old)
    expect(await open.check(CHECK)).toMatchObject({ reason: 'ALLOWED' })
    expect(await attempt(address, next)).toBe('UNAVAILABLE')
    use(next)
    sidecar.reload()
    expect(logLines.filter((line) => line.includes(IN_FORCE))).toHaveLength(1)
    expect(await attempt(address, next)).toBe('ALLOWED')
    expect(expiry()).toEqual(expiryOf(next))
    expect(await attempt(address, old)).toBe('UNAVAILABLE')
    expect(await open.check(CHECK)).toMatchObject({ reason: 'ALLOWED' })
  })

  test.each<[what: string, spoil: (tls: Record<string, string>, other: Family) => void, problem: RegExp]>([
    [
      'a certificate without its key',
      (tls, other) => copyFileSync(other.server.certificate, tls.certificate ?? ''),
      /server\.pem and .*server\.key cannot be used: /,
    ],
    ['a key that is half written', (tls) => writeFileSync(tls.key ?? '', '-----BEGIN'), /cannot be used: /],
    [
      'an invalid authority',
      (tls) => writeFileSync(tls.client_ca ?? '', ''),
      /client_ca: .* cannot be used: /,
    ],
  ])(
    'are refused loudly if they are unusable, and the last good ones stay: %s',
    async (_what, spoil, problem) => {
      const [good, other] = await Promise.all([newFamily(), newFamily()])
      const { config, tls, use } = newFiles(good)
      const { sidecar, address, logLines } = await runSidecar({ config })
      spoil(tls, other)
      sidecar.reload()
      const refused = logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === REFUSED)
      expect(refused).toEqual([
        expect.objectContaining({ level: 50, problem: expect.stringMatching(problem) }),
      ])
      expect(await attempt(address, good)).toBe('ALLOWED')
      use(other)
      sidecar.reload()
      expect(await attempt(address, other)).toBe('ALLOWED')
    },
  )

  test.each([1, 2])('are noticed by %d workers without a signal', async (workers) => {
    const [old, next] = await Promise.all([newFamily(), newFamily()])
    const { config, use } = newFiles(old)
    const data = join(newFolder(), 'data')
    const running = await serve(['--config', config, '--data', data, '--workers', String(workers)])
    use(next)
    const taken = () => running.stderr().split(IN_FORCE).length - 1
    await eventually(() => taken() === workers)
    for (let connection = 0; connection < 2; connection++) {
      expect(await attempt(running.ready.grpc, next)).toBe('ALLOWED')
      expect(await attempt(running.ready.grpc, old)).toBe('UNAVAILABLE')
    }
    running.signal('SIGTERM')
    expect(await running.ended).toMatchObject({ code: 0 })
  })
})
