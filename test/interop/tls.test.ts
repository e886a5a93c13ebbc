/** Mutual TLS: only clients with a certificate of the right authority get answers, in every language. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { ChannelCredentials, status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { PortcullisError } from '../../clients/typescript/index.ts'
import { AuthorizationStub } from '../support/contract/stubs.ts'
import { PREFACE } from '../support/http2/frames.ts'
import { type Certificate, makeAuthority, makeCertificate } from '../support/interop/certificates.ts'
import { startClient, type TlsFiles } from '../support/interop/client.ts'
import { languages } from '../support/interop/languages.ts'
import { ownAddress } from '../support/interop/own-address.ts'
import { type Sidecar, startSidecar } from '../support/interop/sidecar.ts'
import { connect } from '../support/sidecar/client.ts'
import { newFolder } from '../support/suite/resources.ts'
import type { Available } from './setup.ts'

/** The result of one check: its reason, or the status of the error. */
type Attempt = (address: string, tls: TlsFiles | undefined) => Promise<string>

const CHECK = { api: 'balance', token: { kind: 'static_token', scope: { account: '1' } } }

interface Certificates {
  readonly ours: Certificate
  readonly theirs: Certificate
  readonly server: Certificate
  readonly client: Certificate
  readonly stranger: Certificate
}

/** How a client connects, and the result. */
const CONNECTIONS: readonly (readonly [
  title: string,
  outcome: string,
  tls: (made: Certificates) => TlsFiles | undefined,
])[] = [
  ['a certificate of our authority', 'ALLOWED', ({ ours, client }) => trusting(ours, client)],
  ['no certificate', 'UNAVAILABLE', ({ ours }) => trusting(ours)],
  ['a certificate of another authority', 'UNAVAILABLE', ({ ours, stranger }) => trusting(ours, stranger)],
  ['trust in another authority', 'UNAVAILABLE', ({ theirs, client }) => trusting(theirs, client)],
  ['no TLS', 'UNAVAILABLE', () => undefined],
]

describe.skipIf(!inject('openssl').ok).each([1, 2])('a sidecar with TLS and %d workers', (workers) => {
  let folder: string
  let certificates: Certificates
  let sidecar: Sidecar
  beforeAll(async () => {
    folder = newFolder()
    certificates = await makeCertificates(folder)
    const { server, ours } = certificates
    const config = join(folder, 'portcullis.json')
    const tls = {
      certificate: server.certificate,
      key: server.key,
      client_ca: ours.certificate,
      any_client: true,
    }
    writeFileSync(config, JSON.stringify({ grpc: { tls } }))
    sidecar = await startSidecar('--config', config, '--workers', String(workers))
  })
  afterAll(async () => {
    await sidecar?.stop()
  })

  // With the certificate of a client that is let in.
  test.each<[protocols: string[] | undefined, isServed: boolean]>([
    [['h2'], true],
    [['http/1.1', 'h2'], true],
    [undefined, false],
    [['http/1.1'], false],
    [['h2c', 'grpc-exp'], false],
  ])('by ALPN a client offers %j: served %j', async (protocols, isServed) => {
    const { ca, certificate: cert, key } = contentsOf(certificates.ours.certificate, certificates.client)
    const port = Number(sidecar.address.split(':')[1])
    const offered = protocols && { ALPNProtocols: protocols }
    const socket = connectTls({ port, host: '127.0.0.1', ca, cert, key, ...offered })
    const received = new Promise<number>((resolve) => {
      socket.once('data', ({ length }) => resolve(length))
      socket.once('close', () => resolve(0))
      // A protocol that the server does not have ends the handshake.
      socket.on('error', () => {})
    })
    socket.write(PREFACE)
    expect((await received) > 0).toBe(isServed)
    socket.destroy()
  })

  for (const { language, skipped, attempt } of attempts())
    describe.skipIf(skipped)(language, () => {
      test.each(CONNECTIONS)('a client with %s: %s', async (_title, outcome, tls) => {
        expect(await attempt(sidecar.address, tls(certificates))).toBe(outcome)
      })
    })
})

describe.skipIf(!inject('openssl').ok || ownAddress === undefined)(
  'a sidecar that other machines can reach',
  () => {
    test('counts failed logins by the client address, and treats loopback as this machine', async () => {
      const folder = newFolder()
      const authority = await makeAuthority(folder, 'ours')
      const server = await makeCertificate(folder, 'server', authority)
      const config = join(folder, 'portcullis.json')
      const tls = {
        certificate: server.certificate,
        key: server.key,
        client_ca: authority.certificate,
        any_client: true,
      }
      const throttle = { failures: 1, pause_ms: 3_600_000 }
      writeFileSync(config, JSON.stringify({ grpc: { tls }, login_throttle: throttle }))
      const sidecar = await startSidecar('--config', config, '--grpc', '0.0.0.0:0')
      const { account, service_user: user } = sidecar.demo
      const login = async (host: string, password: string) => {
        const address = sidecar.address.replace('0.0.0.0', host)
        const client = connect(address, { tls: contentsOf(authority.certificate, server) })
        const issuing = client.issue({
          password: { userName: user.name, account, password },
          scope: { account },
        })
        return issuing
          .then(
            () => 'issued',
            (error) => error.reason,
          )
          .finally(() => client.close())
      }
      try {
        expect(await login(ownAddress ?? '', 'wrong')).toBe('LOGIN_FAILED')
        expect(await login(ownAddress ?? '', 'wrong')).toBe('LOGIN_THROTTLED')
        expect(await login('127.0.0.1', 'wrong')).toBe('LOGIN_FAILED')
        expect(await login(ownAddress ?? '', user.password)).toBe('issued')
      } finally {
        await sidecar.stop()
      }
    })
  },
)

function attempts(): { language: string; skipped: boolean; attempt: Attempt }[] {
  return [
    { language: 'TypeScript', skipped: false, attempt: inTypeScript },
    ...languages.map(({ language, program }) => ({
      language,
      skipped: !program.ok,
      attempt: inLanguage(program),
    })),
  ]
}

function inLanguage(program: Available): Attempt {
  return async (address, tls) => {
    const client = startClient(program, address, tls)
    try {
      const { responses, error } = await client.ask({
        call: 'AuthorizationService/Check',
        requests: [CHECK],
      })
      return error?.code ?? responses[0]?.reason.replace('REASON_', '')
    } finally {
      await client.stop()
    }
  }
}

const inTypeScript: Attempt = async (address, tls) => {
  if (tls !== undefined && tls.own === undefined) return withoutCertificate(address, tls.ca)
  const client = connect(address, tls?.own && { tls: contentsOf(tls.ca, tls.own) })
  try {
    return (await client.check(CHECK)).reason
  } catch (error) {
    if (error instanceof PortcullisError) return error.code
    throw error
  } finally {
    client.close()
  }
}

/** The package's client does not connect without a certificate, so the generated stub is used. */
function withoutCertificate(address: string, ca: string): Promise<string> {
  const credentials = ChannelCredentials.createSsl(readFileSync(ca))
  const stub = new AuthorizationStub(address, credentials)
  return new Promise((resolve) => {
    stub.getMatrix({ pageSize: 0, pageToken: '' }, (error) => {
      stub.close()
      resolve(error === null ? 'ALLOWED' : (status[error.code] ?? ''))
    })
  })
}

function contentsOf(ca: string, { certificate, key }: Certificate) {
  return { ca: readFileSync(ca), certificate: readFileSync(certificate), key: readFileSync(key) }
}

function trusting(authority: Certificate, own?: Certificate): TlsFiles {
  return { ca: authority.certificate, ...(own && { own }) }
}

async function makeCertificates(folder: string): Promise<Certificates> {
  const [ours, theirs] = await Promise.all([makeAuthority(folder, 'ours'), makeAuthority(folder, 'theirs')])
  const server = await makeCertificate(folder, 'server', ours)
  const client = await makeCertificate(folder, 'client', ours)
  const stranger = await makeCertificate(folder, 'stranger', theirs)
  return { ours, theirs, server, client, stranger }
}
