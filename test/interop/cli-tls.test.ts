/**
 * The command line and the agent over TLS, with certificates of openssl: from another machine as on the host.
 */
import { chmodSync, copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { type Certificate, makeAuthority, makeCertificate } from '../support/interop/certificates.ts'
import { run } from '../support/processes/processes.ts'
import { ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const CLERK = 'the-token-of-a-clerk-of-32-characters-or-more'

describe.skipIf(!inject('openssl').ok)('over TLS', () => {
  const folder = newFolder()
  let ca: Certificate
  let stranger: Certificate
  let operator: Certificate
  let reader: Certificate
  let address: string
  /** Of a sidecar whose certificate has a DNS name alone. */
  let named: string
  let plain: string
  let password: string

  beforeAll(async () => {
    ca = await makeAuthority(folder, 'ours')
    const others = await makeAuthority(folder, 'others')
    stranger = await makeCertificate(folder, 'stranger', others, ['DNS:operator.example'])
    operator = await makeCertificate(folder, 'operator', ca, ['DNS:operator.example'])
    reader = await makeCertificate(folder, 'reader', ca, ['DNS:reader.example'])
    const own = await makeCertificate(folder, 'sidecar', ca)
    const other = await makeCertificate(folder, 'named', ca, ['DNS:sidecar.example'])
    const configOf = ({ certificate, key }: Certificate) =>
      newFile(
        JSON.stringify({
          grpc: { tls: { certificate, key, client_ca: ca.certificate } },
          callers: [
            { name: 'operator', certificate: { dns: 'operator.example' }, rights: ['everything'] },
            { name: 'reader', certificate: { dns: 'reader.example' }, profiles: ['nightly'] },
            { name: 'clerk', token_file: newFile(CLERK), rights: ['read'] },
          ],
          profiles: {
            nightly: { account: ACCOUNT, user_name: 'account', password_file: newFile(password) },
          },
        }),
        'portcullis.json',
      )
    const data = join(newFolder(), 'data')
    const first = await runSidecar({ folder: data })
    password = (await populate(first)).passwordOf('account')
    address = (await runSidecar({ folder: data, config: configOf(own) })).address
    named = (await runSidecar({ config: configOf(other) })).address
    plain = first.address
  })

  const with_ = ({ certificate, key }: Certificate) => ['--cert', certificate, '--key', key]
  const to = (where: string, ...more: readonly string[]) => ['--address', where, ...more]
  const trusted = () => ['--ca', ca.certificate]

  test.each<[claim: string, words: () => readonly string[], expected: RegExp]>([
    ['check', () => ['check', 'balance', '--kind', 'static_token', '--account', '1'], /^ALLOWED|allowed/],
    ['health', () => ['health'], /^alive\n$/],
    ['health --ready', () => ['health', '--ready'], /^ready\n$/],
    ['accounts, with the rights of the certificate', () => ['account', 'list'], new RegExp(ACCOUNT)],
    ['audit trail', () => ['audit', 'export'], /"caller"|operator|create/],
    [
      'issue with a password',
      () => ['issue', '--account', ACCOUNT, '--user', 'account', '--password-file', newFile(password)],
      /^X-Auth-Token: eyJ/,
    ],
    ['revoke', () => ['revoke', '--token-id', 'q9Zk3vY0T1uB7xw2LmN4Rg', '--yes'], /^revoked/],
  ])('%s is answered', async (_claim, words, expected) => {
    const ended = await run([...words(), ...to(address, ...trusted(), ...with_(operator))])
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringMatching(expected) })
    if (words()[0] !== 'issue') expect(ended.stderr).toBe('')
  })

  test('a certificate has no other rights than its caller, and a caller token beside it says who asks', async () => {
    const asked = ['account', 'list', ...to(address, ...trusted())]
    expect(await run([...asked, ...with_(reader)])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/right/),
    })
    const clerk = ['--caller-token-file', newFile(CLERK)]
    expect(await run([...asked, ...with_(reader), ...clerk])).toMatchObject({ code: 0 })
  })

  test('variables say the same, and options go before them', async () => {
    const environment = {
      ...{ PORTCULLIS_GRPC_ADDRESS: address, PORTCULLIS_TLS_CA: ca.certificate },
      ...{ PORTCULLIS_TLS_CERT: reader.certificate, PORTCULLIS_TLS_KEY: reader.key },
    }
    expect(await run(['health'], { environment })).toMatchObject({ code: 0, stdout: 'alive\n' })
    expect(await run(['account', 'list'], { environment })).toMatchObject({ code: 2 })
    expect(await run(['account', 'list', ...with_(operator)], { environment })).toMatchObject({ code: 0 })
    expect(await run(['health'], { environment: { PORTCULLIS_TLS: 'yes' } })).toMatchObject({
      stderr: expect.stringContaining('PORTCULLIS_TLS: expected true or false'),
    })
  })

  test('a certificate with another name is refused, unless the name is expected', async () => {
    const words = ['check', 'balance', '--kind', 'static_token', '--account', '1']
    const asked = [...words, ...to(named, ...trusted(), ...with_(operator))]
    const refused = await run(asked)
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('has another name') })
    const named_ = ['--server-name', 'sidecar.example']
    expect(await run([...asked, ...named_])).toMatchObject({ code: 0, stderr: '' })
    const health = ['health', ...to(named, ...trusted(), ...with_(operator))]
    expect(await run(health)).toMatchObject({ code: 2 })
    expect(await run([...health, ...named_])).toMatchObject({ code: 0, stdout: 'alive\n' })
  })

  const KIND = ['check', 'balance', '--kind', 'static_token', '--account', '1']
  test.each<[claim: string, options: () => readonly string[], message: RegExp]>([
    ['no TLS', () => to(address), /no sidecar answers at .*it may expect TLS/],
    [
      'authorities of others',
      () => to(address, '--ca', stranger.certificate, ...with_(operator)),
      /signed by no authority that is trusted here; expected one of `ca`/,
    ],
    [
      'the authorities of this machine',
      () => to(address, '--tls', ...with_(operator)),
      /signed by no authority that is trusted here/,
    ],
    ['no client certificate', () => to(address, ...trusted()), /it expects a client certificate/],
    [
      'a certificate of strangers',
      () => to(address, ...trusted(), ...with_(stranger)),
      /another client certificate|does not accept the client certificate/,
    ],
    ['a server without TLS', () => to(plain, ...trusted()), /does not speak TLS/],
    [
      'a certificate without its key',
      () => to(address, '--cert', operator.certificate),
      /--cert .* and --key .*: expected both, or neither/,
    ],
    [
      'a key of another certificate',
      () => to(address, '--cert', operator.certificate, '--key', reader.key),
      /--cert .*: expected a certificate in PEM, and its private key without a password/,
    ],
    [
      'a file that is not there',
      () => to(address, '--ca', '/nowhere.pem'),
      /--ca .*nowhere\.pem cannot be read \(ENOENT\)/,
    ],
    ['invalid authorities', () => to(address, '--ca', operator.key), /--ca .*: expected certificates in PEM/],
    [
      'a socket',
      () => to('unix:/run/portcullis.sock', '--tls'),
      /--tls .*: expected an address HOST:PORT, because a Unix socket has no TLS/,
    ],
  ])('%s: the error says what was expected', async (_claim, options, message) => {
    const { code, stdout, stderr } = await run([...KIND, ...options()])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(message)
    for (const file of [operator, reader, stranger])
      expect(stderr).not.toContain(readFileSync(file.key, 'utf8').split('\n')[1])
  })

  test('a key that others can read is warned of, and one that they can change is refused', async () => {
    const key = join(newFolder(), 'key.pem')
    copyFileSync(operator.key, key)
    const asked = ['health', ...to(address, ...trusted(), '--cert', operator.certificate, '--key', key)]
    chmodSync(key, 0o644)
    expect(await run(asked)).toEqual({
      ...{ code: 0, stdout: 'alive\n' },
      stderr: `warning: ${key}: every user of this machine can read it (mode 0644); expected mode 0600\n`,
    })
    chmodSync(key, 0o666)
    expect(await run(asked)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        `--key (or PORTCULLIS_TLS_KEY): ${key}: every user of this machine can change it`,
      ),
    })
  })

  test('an agent gets its tokens with a certificate, by its configuration and by variables', async () => {
    const tls = { ca: ca.certificate, certificate: reader.certificate, key: reader.key }
    for (const own of [true, false]) {
      const file = join(newFolder(), 'token')
      const config = newFile(
        JSON.stringify({
          sidecar: { address, ...(own && { tls }) },
          tokens: [{ profile: 'nightly', apis: ['balance'], file }],
        }),
        'agent.json',
      )
      const environment = own
        ? {}
        : { PORTCULLIS_TLS_CA: tls.ca, PORTCULLIS_TLS_CERT: tls.certificate, PORTCULLIS_TLS_KEY: tls.key }
      const ended = await run(['agent', '--config', config, '--once'], { environment })
      expect(ended).toMatchObject({ code: 0 })
      expect(readFileSync(file, 'utf8')).toMatch(/^eyJ/)
    }
  })
})
