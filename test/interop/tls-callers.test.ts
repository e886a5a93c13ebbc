/**
 * The names of a client certificate decide which caller calls, and an unknown certificate gets no answer of
 * any service.
 */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { credentials, Client as GrpcClient, Metadata, status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { type Client, type ClientOptions, PortcullisError } from '../../clients/typescript/index.ts'
import { type Certificate, makeAuthority, makeCertificate } from '../support/interop/certificates.ts'
import { serve } from '../support/processes/processes.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { connect } from '../support/sidecar/client.ts'
import { relayFrom } from '../support/sidecar/relay.ts'
import { ACCOUNT, issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const TOKEN = 'the-token-of-a-clerk-of-32-characters-or-more'
const CHECK = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }
const UNKNOWN = 'CLIENT_CERTIFICATE_UNKNOWN'
const AMBIGUOUS = 'CLIENT_CERTIFICATE_AMBIGUOUS'

const CALLERS = [
  { name: 'reader', certificate: { uri: 'spiffe://example/ns/a/reader' }, rights: ['read'] },
  { name: 'worker', certificate: { dns: 'Worker.Example' } },
  { name: 'admin', certificate: { dns: 'admin.example' }, rights: ['everything'] },
  { name: 'expired', certificate: { dns: 'expired.example' }, expires_at: '2020-01-01T00:00:00Z' },
  { name: 'late', certificate: { dns: 'late.example' }, expires_at: '2100-01-01T00:00:00Z' },
  { name: 'clerk', token_sha256: createHash('sha256').update(TOKEN).digest('hex'), rights: ['read'] },
]

/**
 * The names of a certificate, the result of a check, and that of listing accounts, which needs the right
 * `read`.
 */
const ROWS: readonly [claim: string, names: readonly string[], checked: string, listed: string][] = [
  ['a DNS name in another case', ['DNS:wORKER.example'], 'ALLOWED', 'CALLER_RIGHT_MISSING'],
  ['a SPIFFE ID', ['URI:spiffe://example/ns/a/reader'], 'ALLOWED', 'LISTED'],
  [
    'several names, one of a caller',
    ['DNS:other.example', 'IP:127.0.0.1', 'URI:spiffe://example/ns/a/reader'],
    'ALLOWED',
    'LISTED',
  ],
  ['names of two callers', ['DNS:admin.example', 'DNS:worker.example'], AMBIGUOUS, AMBIGUOUS],
  [
    'the name of a caller and that of an expired one',
    ['DNS:admin.example', 'DNS:expired.example'],
    AMBIGUOUS,
    AMBIGUOUS,
  ],
  ['the name of an expired caller', ['DNS:expired.example'], UNKNOWN, UNKNOWN],
  ['a URI in another case', ['URI:spiffe://EXAMPLE/ns/a/reader'], UNKNOWN, UNKNOWN],
  ['a URI with an entry in it', ['URI:http://a, DNS:admin.example'], UNKNOWN, UNKNOWN],
  ['a URI with quotes and an entry in it', ['URI:http://a\\", DNS:admin.example, \\"'], UNKNOWN, UNKNOWN],
  ['a wildcard', ['DNS:*.example'], UNKNOWN, UNKNOWN],
  ['the name as an email address', ['email:admin.example'], UNKNOWN, UNKNOWN],
  ['the name as the common name alone', [], UNKNOWN, UNKNOWN],
]

let folder: string
let authority: Certificate
let server: Certificate

/** A certificate with these names. Its common name is that of a caller, which must not matter. */
async function certificateWith(names: readonly string[]): Promise<Certificate> {
  return makeCertificate(newFolder(), 'admin.example', authority, names)
}

beforeAll(async () => {
  if (!inject('openssl').ok) return
  folder = newFolder()
  authority = await makeAuthority(folder, 'ours')
  server = await makeCertificate(folder, 'server', authority)
})

function writeConfig(
  callers: readonly object[],
  tls: object = {},
  path = join(newFolder(), 'portcullis.json'),
) {
  const files = { certificate: server.certificate, key: server.key, client_ca: authority.certificate }
  writeFileSync(path, JSON.stringify({ grpc: { tls: { ...files, ...tls } }, callers }))
  return path
}

const contentsOf = ({ certificate, key }: Certificate) => ({
  ca: readFileSync(authority.certificate),
  certificate: readFileSync(certificate),
  key: readFileSync(key),
})

function clientOf(address: string, own: Certificate, options: ClientOptions = {}): Client {
  const client = connect(address, { tls: contentsOf(own), ...options })
  whenTheFileEnds(() => client.close())
  return client
}

/** The value, or the reason of the error. */
const outcome = (asking: Promise<string>) =>
  asking.catch((error: unknown) => {
    if (error instanceof PortcullisError) return error.reason ?? error.code
    throw error
  })
const checked = (client: Client) => outcome(client.check(CHECK).then(({ reason }) => reason))
const listed = (client: Client) => outcome(client.directory.listAccounts({}).then(() => 'LISTED'))

describe.skipIf(!inject('openssl').ok).each([
  ['sockets', 1],
  ['sockets', 2],
  ['grpc-js', 1],
] as const)('on %s with %d workers, a certificate with', (transport, workers) => {
  let running: Awaited<ReturnType<typeof serve>>
  beforeAll(async () => {
    const data = join(newFolder(), 'data')
    const args = ['--config', writeConfig(CALLERS), '--data', data, '--workers', String(workers)]
    running = await serve(args, { environment: { PORTCULLIS_GRPC_TRANSPORT: transport } })
  })
  afterAll(async () => {
    running?.signal('SIGTERM')
    await running?.ended
  })

  test.each(ROWS)('%s', async (_claim, names, check, list) => {
    const own = await certificateWith(names)
    // Connections go to the workers in turn.
    for (let connection = 0; connection < workers; connection++) {
      const client = clientOf(running.ready.grpc, own)
      expect([await checked(client), await listed(client)]).toEqual([check, list])
    }
  })
})

describe.skipIf(!inject('openssl').ok)('a client certificate', () => {
  test('of an unknown client gets no answer of any service, not even with a valid caller token, and the log has its names once', async () => {
    const { address, logLines } = await runSidecar({ config: writeConfig(CALLERS) })
    const own = await certificateWith(['DNS:nobody.example'])
    const tls = contentsOf(own)
    const raw = new GrpcClient(address, credentials.createSsl(tls.ca, tls.key, tls.certificate))
    whenTheFileEnds(() => raw.close())
    const bytes = (value: Buffer) => value
    const metadata = new Metadata()
    metadata.set('authorization', `Bearer ${TOKEN}`)
    const codes = await Promise.all(
      [
        '/portcullis.v1.AuthorizationService/Check',
        '/portcullis.v1.AuthorizationService/CheckStream',
        '/portcullis.v1.AuthorizationService/GetMatrix',
        '/portcullis.v1.AuthorizationService/WatchMatrix',
        '/portcullis.v1.AuthorizationService/Issue',
        '/portcullis.v1.DirectoryService/ListAccounts',
        '/grpc.health.v1.Health/Check',
        '/grpc.health.v1.Health/Watch',
        '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
        '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
      ].map(
        (path) =>
          new Promise((resolve) => {
            const call = raw.makeServerStreamRequest(path, bytes, bytes, Buffer.alloc(0), metadata)
            call.on('data', () => resolve('an answer'))
            call.on('error', ({ code }: { code?: number }) => resolve(code))
          }),
      ),
    )
    expect(codes).toEqual(codes.map(() => status.UNAUTHENTICATED))
    const refused = logLines.filter((line) => line.includes('a client was refused'))
    expect(refused).toHaveLength(1)
    expect(refused[0]).toContain('dns:nobody.example')
  })

  test('is read once for each connection, because that costs more than a check', async () => {
    const { address } = await runSidecar({ config: writeConfig(CALLERS) })
    const client = clientOf(address, await certificateWith(['DNS:worker.example']))
    expect(await checked(client)).toBe('ALLOWED')
    const reading = vi.spyOn(TLSSocket.prototype, 'getPeerCertificate')
    for (let check = 0; check < 20; check++) expect(await checked(client)).toBe('ALLOWED')
    expect(reading).not.toHaveBeenCalled()
    expect(await listed(client)).toBe('CALLER_RIGHT_MISSING')
    expect(reading).not.toHaveBeenCalled()
    reading.mockRestore()
  })

  test('of a withdrawn caller ends its streams and gets no more answers on the open connection, until it is a caller again', async () => {
    const config = writeConfig(CALLERS)
    const { sidecar, address, logLines } = await runSidecar({ config })
    const own = await certificateWith(['DNS:worker.example'])
    const client = clientOf(address, own)
    const other = clientOf(address, await certificateWith(['DNS:admin.example']))
    const watch = client.watchMatrix()
    await watch.next()
    const questions = Promise.withResolvers<void>()
    const stream = client.checkStream(
      (async function* () {
        yield CHECK
        await questions.promise
      })(),
    )
    expect((await stream.next()).value).toMatchObject({ reason: 'ALLOWED' })
    const ended = Promise.all([watch, stream].map((each) => outcome(each.next().then(() => 'an answer'))))

    writeConfig([{ name: 'admin', certificate: { dns: 'admin.example' } }], {}, config)
    sidecar.reload()
    expect(await ended).toEqual([UNKNOWN, UNKNOWN])
    questions.resolve()
    expect(await checked(client)).toBe(UNKNOWN)
    expect(await checked(other)).toBe('ALLOWED')

    const closed = 'no caller has a certificate any more, so every call over TLS is refused'
    expect(logLines.filter((line) => line.includes(closed))).toHaveLength(0)
    writeConfig([], {}, config)
    sidecar.reload()
    expect([await checked(client), await checked(other)]).toEqual([UNKNOWN, UNKNOWN])
    expect(logLines.filter((line) => line.includes(closed))).toHaveLength(1)

    writeConfig(CALLERS, {}, config)
    sidecar.reload()
    expect(await checked(client)).toBe('ALLOWED')
  })

  test.each([1, 2])('of a withdrawn caller is refused by %d workers without a signal', async (workers) => {
    const config = writeConfig(CALLERS)
    const data = join(newFolder(), 'data')
    const running = await serve(['--config', config, '--data', data, '--workers', String(workers)])
    const own = await certificateWith(['DNS:worker.example'])
    const clients = Array.from({ length: workers }, () => clientOf(running.ready.grpc, own))
    for (const client of clients) expect(await checked(client)).toBe('ALLOWED')
    writeConfig([{ name: 'admin', certificate: { dns: 'admin.example' } }], {}, config)
    await eventually(async () =>
      (await Promise.all(clients.map(checked))).every((reason) => reason === UNKNOWN),
    )
    running.signal('SIGTERM')
    await running.ended
  })

  test('of a caller who expires is refused from then on, also on an open stream', async () => {
    const clock = { nowMs: Date.parse('2099-12-31T23:59:59Z') }
    const { address } = await runSidecar({ config: writeConfig(CALLERS), now: () => clock.nowMs })
    const client = clientOf(address, await certificateWith(['DNS:late.example']))
    const next = Promise.withResolvers<void>()
    const stream = client.checkStream(
      (async function* () {
        yield CHECK
        await next.promise
        yield CHECK
      })(),
    )
    expect((await stream.next()).value).toMatchObject({ reason: 'ALLOWED' })
    clock.nowMs += 1000
    next.resolve()
    expect(await outcome(stream.next().then(() => 'an answer'))).toBe(UNKNOWN)
    expect(await checked(client)).toBe(UNKNOWN)
  })

  test('of a caller who is withdrawn: their queued call is not carried out', async () => {
    const config = writeConfig(CALLERS)
    const { sidecar, address } = await runSidecar({
      config,
      flags: { 'passwords.concurrent': 1, 'passwords.waiting': 1000 },
    })
    const admin = clientOf(address, await certificateWith(['DNS:admin.example']))
    await admin.directory.createAccount({ account: '1' })
    const full = Promise.allSettled(
      Array.from({ length: 40 }, (_, index) =>
        admin.directory.createServiceUser({ account: '1', name: `filler-${index}` }),
      ),
    )
    let over = false
    const creating = admin.directory.createServiceUser({ account: '1', name: 'late' }).finally(() => {
      over = true
    })
    const result = Promise.allSettled([creating])
    // Calls of one connection begin in order, so the creation has been authenticated when this has its
    // answer.
    await admin.directory.getAccount({ account: '1' })
    writeConfig(CALLERS.slice(0, 1), {}, config)
    sidecar.reload()
    expect(over).toBe(false)
    expect(await result).toMatchObject([{ status: 'rejected', reason: { reason: UNKNOWN } }])
    await full
    const page = { after: '', size: 100 }
    const users = await sidecar.administration.records.users('1', 'service_user', page)
    expect(users.map(({ name }) => name)).not.toContain('late')
  })

  test('yields to the credential that a call presents: rights are never added together', async () => {
    const running = await runSidecar({ config: writeConfig(CALLERS) })
    const secrets = await populate(running)
    const own = await certificateWith(['DNS:admin.example'])
    const admin = clientOf(running.address, own)
    const { value } = await issued({ client: admin }, secrets)
    const asClerk = clientOf(running.address, own, { callerToken: TOKEN }).directory
    await asClerk.listAccounts({})
    await expect(asClerk.createAccount({ account: '1' })).rejects.toMatchObject({
      message: 'caller `clerk` may not do this in the directory: it needs the right `everything`',
    })
    const asUser = clientOf(running.address, own, { iamToken: value }).directory
    await expect(asUser.createAccount({ account: '1' })).rejects.toMatchObject({
      reason: 'NOT_ADMINISTRATOR',
    })
    const asNobody = clientOf(running.address, own, { callerToken: `${TOKEN}-unknown` }).directory
    await expect(asNobody.listAccounts({})).rejects.toMatchObject({ reason: 'CALLER_TOKEN_INVALID' })
    await admin.directory.createAccount({ account: '1' })
    const { records } = await admin.directory.listAuditRecords({ account: '1' })
    expect(records.map(({ actor }) => actor)).toEqual(['caller admin'])
  })

  test('adds its right to revoke, and leaves the holder of a token theirs', async () => {
    const running = await runSidecar({ config: writeConfig(CALLERS) })
    const secrets = await populate(running)
    const worker = clientOf(running.address, await certificateWith(['DNS:worker.example']))
    const admin = clientOf(running.address, await certificateWith(['DNS:admin.example']))
    const { value, tokenId } = await issued({ client: worker }, secrets)
    await expect(worker.revoke({ tokenId })).rejects.toMatchObject({ reason: 'CALLER_RIGHT_MISSING' })
    await expect(worker.revoke({ value: secrets.staticToken })).rejects.toMatchObject({
      reason: 'REQUESTER_NOT_AUTHENTICATED',
    })
    await worker.revoke({ value })
    await admin.revoke({ value: secrets.staticToken })
  })

  test('issues by the profiles of its caller', async () => {
    const people = await runSidecar()
    const secrets = await populate(people)
    await people.sidecar.close()
    const passwordFile = join(newFolder(), 'password')
    writeFileSync(passwordFile, secrets.passwordOf('account'))
    const config = writeConfig([
      { name: 'worker', certificate: { dns: 'worker.example' }, profiles: ['job'] },
      { name: 'admin', certificate: { dns: 'admin.example' } },
    ])
    const profiles = { job: { account: ACCOUNT, user_name: 'account', password_file: passwordFile } }
    writeFileSync(config, JSON.stringify({ ...JSON.parse(readFileSync(config, 'utf8')), profiles }))
    const { address } = await runSidecar({ config, folder: people.folder })
    const asking = { profile: 'job', scope: { account: ACCOUNT } }
    const worker = clientOf(address, await certificateWith(['DNS:worker.example']))
    expect((await worker.issue(asking)).kind).toBe('iam_token_account_scoped')
    const admin = clientOf(address, await certificateWith(['DNS:admin.example']))
    await expect(admin.issue(asking)).rejects.toMatchObject({ reason: 'PROFILE_NOT_ALLOWED' })
  })

  test('of an unknown client may call where any_client is true; that of a caller has their rights, and that of two callers has none', async () => {
    const { address } = await runSidecar({ config: writeConfig(CALLERS, { any_client: true }) })
    const outcomes = async (...names: string[]) => {
      const client = clientOf(address, await certificateWith(names))
      return [await checked(client), await listed(client)]
    }
    expect(await outcomes('DNS:nobody.example')).toEqual(['ALLOWED', 'REQUESTER_NOT_AUTHENTICATED'])
    expect(await outcomes('DNS:expired.example')).toEqual(['ALLOWED', 'REQUESTER_NOT_AUTHENTICATED'])
    expect(await outcomes('DNS:admin.example')).toEqual(['ALLOWED', 'LISTED'])
    expect(await outcomes('DNS:admin.example', 'DNS:worker.example')).toEqual(['ALLOWED', AMBIGUOUS])
  })
})

describe.skipIf(!inject('openssl').ok)('a sidecar that follows a hub by its certificate', () => {
  test('is believed about the addresses of its clients', async () => {
    const callers = [{ name: 'host', certificate: { dns: 'host.example' }, rights: ['follow'] }]
    const hub = await runSidecar({ config: writeConfig(callers) })
    const secrets = await populate(hub, {
      accounts: [
        {
          account: ACCOUNT,
          service_users: [{ name: 'admin', permissions: [{ scope: 'account' }], roles: ['iam.admin'] }],
          control_panel_users: [{ name: 'owner', static_tokens: ['key'] }],
        },
      ],
    })
    const own = await certificateWith(['DNS:host.example'])
    const { certificate, key } = own
    const tls = { ca: authority.certificate, certificate, key }
    const config = join(newFolder(), 'portcullis.json')
    writeFileSync(config, JSON.stringify({ directory: { hub: { addresses: [hub.address], tls } } }))
    const follower = await runSidecar({ config })
    const password = { userName: 'admin', account: ACCOUNT, password: secrets.passwordOf('admin') }
    const { value: iamToken } = await follower.client.issue({ password, scope: { account: ACCOUNT } })
    await hub.sidecar.run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges: ['127.0.0.9'] })
    const found: string[] = []
    for (const from of ['127.0.0.9', '127.0.0.2']) {
      const client = connect(await relayFrom(from, follower), { iamToken })
      whenTheFileEnds(() => client.close())
      found.push(await outcome(client.directory.listProjects({ account: ACCOUNT }).then(() => 'READ')))
    }
    expect(found).toEqual(['READ', 'ADDRESS_NOT_ALLOWED'])
  })
})
