/**
 * Callers: narrow rights, an expiry, a hash instead of the token, and changes that take effect without a
 * restart.
 */
import { createHash } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ConfigError } from '../../sidecar/index.ts'
import { command } from '../support/processes/command-line.ts'
import { serve } from '../support/processes/processes.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'

const TOKEN = 'the-token-of-a-clerk-of-32-characters-or-more'
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const clerk = (keys: string, token = `token_sha256: ${sha256(TOKEN)}`) =>
  `callers: [{ name: clerk, ${token}, ${keys} }]\n`
const withdrawn = { code: 'UNAUTHENTICATED', reason: 'CALLER_TOKEN_INVALID' }

/** A sidecar whose configuration has this text, and its clerk. */
async function withClerk(
  text: string,
  options: Omit<NonNullable<Parameters<typeof runSidecar>[0]>, 'config'> = {},
) {
  const config = newFile(text, 'portcullis.yaml')
  const running = await runSidecar({ ...options, config })
  return { ...running, config, clerk: running.connect({ callerToken: TOKEN }) }
}

describe('a change takes effect without a restart', () => {
  const refused = async (running: Awaited<ReturnType<typeof withClerk>>) =>
    running.clerk.directory.listAccounts({}).then(
      () => false,
      (error: { reason: string }) => error.reason === 'CALLER_TOKEN_INVALID',
    )

  test('of the configuration file: a caller is withdrawn, another appears', async () => {
    const running = await withClerk(clerk('rights: [everything]'))
    await running.clerk.directory.createAccount({ account: '1' })
    const other = 'the-token-of-another-clerk-of-32-characters'
    writeFileSync(running.config, clerk('rights: [read]', `token_sha256: ${sha256(other)}`))
    await eventually(() => refused(running))
    expect((await running.connect({ callerToken: other }).directory.listAccounts({})).accounts).toHaveLength(
      1,
    )
  })

  test.each<[what: string, change: (path: string) => void]>([
    ['replaced', (path) => writeFileSync(path, `${TOKEN}-replaced`)],
    ['deleted', (path) => rmSync(path)],
  ])('of a token file that is %s', async (_what, change) => {
    const tokenFile = newFile(TOKEN)
    const running = await withClerk(clerk('rights: [everything]', `token_file: ${tokenFile}`))
    await running.clerk.directory.listAccounts({})
    change(tokenFile)
    await eventually(() => refused(running))
  })

  test('of the administrator token', async () => {
    const running = await runSidecar()
    const tokenOf = () => readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim()
    const before = running.connect({ callerToken: tokenOf() })
    await before.directory.listAccounts({})
    expect((await command(['keys', 'rotate-administrator-token', '--data', running.folder])).code).toBe(0)
    await eventually(() =>
      before.directory.listAccounts({}).then(
        () => false,
        () => true,
      ),
    )
    await expect(before.directory.listAccounts({})).rejects.toMatchObject(withdrawn)
    await running.connect({ callerToken: tokenOf() }).directory.listAccounts({})
  })

  test('on SIGHUP, in every worker', async () => {
    const config = newFile(clerk('rights: [read]'), 'portcullis.yaml')
    const data = join(newFolder(), 'data')
    const running = await serve(['--config', config, '--data', data, '--workers', '2'])
    const args = ['account', 'list', '--address', running.ready.grpc, '--caller-token-file', newFile(TOKEN)]
    expect((await command(args)).code).toBe(0)
    writeFileSync(config, clerk('rights: [revoke]'))
    running.signal('SIGHUP')
    await eventually(async () => {
      const outcomes: string[] = []
      // Each on a connection of its own, which the workers get in turn.
      for (let times = 0; times < 4; times++) outcomes.push((await command(args)).stderr)
      return outcomes.every((stderr) => stderr.includes('CALLER_RIGHT_MISSING'))
    })
  })

  test('of a file that cannot be used: the last good callers stay, and the log says so', async () => {
    const running = await withClerk(clerk('rights: [read]'))
    writeFileSync(running.config, clerk('rights: [nothing]'))
    running.sidecar.reload()
    await running.clerk.directory.listAccounts({})
    const said = running.logLines.filter((line) => line.includes('the last good ones stay in force'))
    expect(said.at(-1)).toContain('callers[0].rights[0]')
  })
})

describe('portcullis caller new', () => {
  test('prints a token and an entry of the configuration that knows it', async () => {
    const { code, stdout } = await command([
      'caller',
      'new',
      'help desk',
      '--right',
      'read',
      '--right',
      'administer:1',
    ])
    expect(code).toBe(0)
    const [, token = '', entry = ''] = /^token, shown this once: (\S+)\n\n(.*)$/s.exec(stdout) ?? []
    expect(entry).not.toContain(token)
    const running = await runSidecar({ config: newFile(entry, 'portcullis.yaml') })
    const { directory } = running.connect({ callerToken: token })
    await running.sidecar.run(TESTER, 'createAccount', { account: '1' })
    await directory.createProject({ account: '1', name: 'alpha' })
    await directory.listAccounts({})
    await expect(directory.createAccount({ account: '2' })).rejects.toMatchObject({
      message: 'caller `help desk` may not do this in the directory: it needs the right `everything`',
    })
  })

  test.each<[flags: string[], certificate: object]>([
    [['--certificate-dns', 'worker.example'], { dns: 'worker.example' }],
    [['--certificate-uri', 'spiffe://example/worker'], { uri: 'spiffe://example/worker' }],
  ])('makes no token for a caller with a certificate: %j', async (flags, certificate) => {
    const args = ['caller', 'new', 'worker', ...flags, '--right', 'read']
    const { code, stdout } = await command([...args, '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ caller: { name: 'worker', certificate, rights: ['read'] } })
    await runSidecar({ config: newFile((await command(args)).stdout, 'portcullis.yaml') })
  })

  test.each<[flags: string[], message: string]>([
    [['--certificate-dns', '*.example'], '--certificate-dns: expected a DNS name without a wildcard'],
    [['--certificate-uri', 'worker'], '--certificate-uri: expected a URI'],
    [
      ['--certificate-dns', 'a', '--certificate-uri', 'a:b'],
      '--certificate-uri: expected no --certificate-dns with it',
    ],
  ])('refuses %j', async (flags, message) => {
    const { code, stderr } = await command(['caller', 'new', 'worker', ...flags])
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })

  test.each([['nothing'], ['administer'], ['administer:'], ['administer:a b']])(
    'refuses %s as a right',
    async (right) => {
      const { code, stderr } = await command(['caller', 'new', 'clerk', '--right', right])
      expect(code).toBe(2)
      expect(stderr).toContain(
        '--right: expected a right: revoke, read, follow, everything, or administer:ACCOUNT',
      )
    },
  )
})

describe('the administrator token', () => {
  test('can be switched off: there is no file, and an existing one identifies no caller', async () => {
    const off = await runSidecar({ flags: { administrator_token: false } })
    expect(() => readFileSync(join(off.folder, 'administrator-token'))).toThrow(/ENOENT/)
    const on = await runSidecar()
    const callerToken = readFileSync(join(on.folder, 'administrator-token'), 'utf8').trim()
    const without = await runSidecar({ folder: on.folder, flags: { administrator_token: false } })
    await expect(without.connect({ callerToken }).directory.listAccounts({})).rejects.toMatchObject(withdrawn)
  })
})

describe('the start is refused', () => {
  test.each<[claim: string, text: string, message: string]>([
    [
      'administrator: true',
      clerk('administrator: true'),
      'callers[0].administrator: expected `rights` instead: `rights: [revoke]` to revoke tokens by their id, narrower rights for what the caller needs, or `rights: [everything]` for all that administrator: true granted',
    ],
    [
      'administrator: false',
      clerk('administrator: false'),
      'callers[0].administrator: expected no such key; remove it',
    ],
    [
      'an unknown right',
      clerk('rights: [read, write]'),
      'callers[0].rights[1]: expected a right: revoke, read, follow, everything, or administer:ACCOUNT',
    ],
    [
      '`administer` without an account',
      clerk('rights: [administer]'),
      'callers[0].rights[0]: expected a right: revoke, read, follow, everything, or administer:ACCOUNT',
    ],
    [
      'an expiry without a time zone',
      clerk('expires_at: "2027-01-31T00:00:00"'),
      'callers[0].expires_at: expected a time with its zone between the years 1970 and 9999, for example 2027-01-31T00:00:00Z',
    ],
    [
      'no token and no certificate',
      'callers: [{ name: clerk }]\n',
      'callers[0]: expected token_file, token_sha256 or certificate',
    ],
    [
      'a wildcard in a certificate',
      'callers: [{ name: clerk, certificate: { dns: "*.example" } }]\n',
      'callers[0].certificate.dns: expected a DNS name without a wildcard, for example worker.example',
    ],
    [
      'a URI that Node would quote',
      'callers: [{ name: clerk, certificate: { uri: "spiffe://example/a, DNS:b" } }]\n',
      'callers[0].certificate.uri: expected a URI of ASCII characters without quotes, commas and backslashes, for example spiffe://example/worker',
    ],
    [
      'a certificate with two names',
      'callers: [{ name: clerk, certificate: { dns: a.example, uri: "spiffe://a" } }]\n',
      'callers[0].certificate: expected either dns or uri',
    ],
    [
      'a certificate without a name',
      'callers: [{ name: clerk, certificate: {} }]\n',
      'callers[0].certificate: expected either dns or uri',
    ],
    [
      'a name that two callers have',
      'callers: [{ name: a, certificate: { dns: a.example } }, { name: b, certificate: { dns: A.Example } }]\n',
      'callers[1].certificate: expected a unique name, callers[0] has the same one',
    ],
    [
      'TLS without a client that may call',
      `grpc: { tls: { certificate: a, key: b, client_ca: c } }\n${clerk('rights: [read]')}`,
      'grpc.tls: expected the clients that may call: a caller with `certificate` in `callers`, or `grpc.tls.any_client: true` for every client with a certificate of grpc.tls.client_ca',
    ],
    [
      'two tokens',
      clerk(`token_file: ${newFile(TOKEN)}`),
      'callers[0]: expected either token_file or token_sha256',
    ],
  ])('for %s', async (_claim, text, message) => {
    await expect(withClerk(text)).rejects.toThrow(new ConfigError(message))
  })
})
