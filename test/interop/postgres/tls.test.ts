/**
 * TLS to PostgreSQL, as `directory.url` requires it: every connection is encrypted, and no other server is
 * accepted.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { Secret } from '../../../sidecar/base/secret.ts'
import { openPostgres } from '../../../sidecar/directory/postgres.ts'
import { DirectoryStore } from '../../../sidecar/directory/store.ts'
import { type Certificate, makeAuthority, makeCertificate } from '../../support/interop/certificates.ts'
import { CANARY, PostgresServer } from '../../support/postgres/server.ts'
import { newFolder } from '../../support/suite/resources.ts'

const programs = inject('postgres')
const UNTRUSTED =
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE: no trusted authority signed the certificate; add sslrootcert=FILE to the URL to trust the authority of that file'

describe.skipIf(!programs.ok)('PostgreSQL over TLS', () => {
  const folder = newFolder()
  let server: PostgresServer
  let authority: string
  let stranger: string
  /** A server that takes clients with a certificate alone. */
  let strict: PostgresServer
  /** The certificates of clients: of the database's user, of another, and of a user unknown to the server. */
  let clients: Readonly<Record<'owner' | 'other' | 'foreign', Certificate>>
  beforeAll(async () => {
    if (!programs.ok) return
    const signer = await makeAuthority(folder, 'authority')
    authority = signer.certificate
    const foreignSigner = await makeAuthority(folder, 'stranger')
    stranger = foreignSigner.certificate
    clients = {
      owner: await makeCertificate(folder, 'owner', signer, []),
      other: await makeCertificate(folder, 'other', signer, []),
      foreign: await makeCertificate(newFolder(), 'owner', foreignSigner, []),
    }
    server = await PostgresServer.start(programs.folder, {
      certificate: await makeCertificate(folder, 'server', signer),
    })
    strict = await PostgresServer.start(programs.folder, {
      certificate: await makeCertificate(folder, 'strict', signer),
      clientAuthority: authority,
    })
  })
  afterAll(async () => {
    await strict?.remove()
    await server?.remove()
  })

  const open = (url: string, onListening?: (on: boolean) => void) =>
    openPostgres({ url: new Secret(url), poolSize: 3, timeoutMs: 60_000, onListening })

  test('with sslmode=verify-full every connection is encrypted, including the one for notifications', async () => {
    const url = await server.newDatabase()
    const heard = Promise.withResolvers<boolean>()
    const database = await open(`${url}?sslmode=verify-full&sslrootcert=${authority}`, heard.resolve)
    try {
      await database.follow()
      expect(await heard.promise).toBe(true)
      const store = new DirectoryStore(database, Date.now)
      await store.change('a test', (change) => change.createAccount('123456'))
      expect(await store.records.account('123456')).toBeDefined()
      const connections = await server.query(
        'postgres',
        `SELECT DISTINCT application_name AS name, ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
         WHERE application_name LIKE 'portcullis%' ORDER BY 1`,
      )
      expect(connections).toEqual([
        { name: 'portcullis', ssl: true },
        { name: 'portcullis listener', ssl: true },
      ])
    } finally {
      await database.close()
    }
  })

  test.each<[server: string, url: () => string, why: string]>([
    [
      'a server whose certificate no authority of the system has signed',
      () => `${server.url('postgres')}?sslmode=verify-full`,
      UNTRUSTED,
    ],
    [
      'a server whose certificate another authority has signed',
      () => `${server.url('postgres')}?sslmode=verify-full&sslrootcert=${stranger}`,
      UNTRUSTED,
    ],
    [
      'a server whose certificate is for another name',
      () => `${server.url('postgres', { host: 'localhost' })}?sslmode=verify-full&sslrootcert=${authority}`,
      'ERR_TLS_CERT_ALTNAME_INVALID: the certificate is for another name',
    ],
  ])('with sslmode=verify-full nothing is sent to %s', async (_server, url, why) => {
    const error = await open(url()).catch((caught: unknown) => caught)
    expect((error as Error).message).toBe(
      `directory.url: expected a directory that can be opened (PostgreSQL: ${why})`,
    )
    expect((error as Error).stack).not.toContain(CANARY)
  })

  const withCertificate = ({ certificate, key }: Certificate) =>
    `${strict.url('postgres')}?sslmode=verify-full&sslrootcert=${authority}&sslcert=${certificate}&sslkey=${key}`

  test('a server that wants a certificate of clients gets the one that the URL names', async () => {
    const database = await open(withCertificate(clients.owner))
    expect(
      await database.all('SELECT client_dn AS name FROM pg_stat_ssl WHERE pid = pg_backend_pid()'),
    ).toEqual([{ name: '/CN=owner' }])
    await database.close()
  })

  test.each<[client: string, url: () => string, why: RegExp]>([
    [
      'no certificate',
      () => `${strict.url('postgres')}?sslmode=verify-full&sslrootcert=${authority}`,
      /28000: the login is not accepted/,
    ],
    [
      'the certificate of another user',
      () => withCertificate(clients.other),
      /28P01: the password is not accepted, or the client certificate is for another user/,
    ],
    ['a certificate of another authority', () => withCertificate(clients.foreign), /UNKNOWN_CA|ECONNRESET/],
  ])('such a server refuses a client with %s', async (_client, url, why) => {
    const error = await open(url()).catch((caught: unknown) => caught)
    expect((error as Error).message).toMatch(/^directory\.url: expected a directory that can be opened \(/)
    expect((error as Error).message).toMatch(why)
    expect((error as Error).stack).not.toContain(CANARY)
  })
})
