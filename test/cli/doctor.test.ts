/** `doctor` finds each thing that is wrong, says how to fix it, shows no secret, and changes nothing. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { environmentFindings } from '../../sidecar/cli/doctor/environment-findings.ts'
import { examine } from '../../sidecar/cli/doctor/examine.ts'
import { command } from '../support/processes/command-line.ts'
import { CERTIFICATE, KEY } from '../support/proxies/self-signed.ts'
import { populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const DAY_MS = 86_400_000
/** Within the validity of the certificate. */
const NOW = Date.parse('2027-06-01T00:00:00Z')

const secrets: string[] = []
let original = ''
beforeAll(async () => {
  const running = await runSidecar()
  const { staticToken, passwordOf } = await populate(running)
  await running.sidecar.close()
  original = running.folder
  const keys = JSON.parse(readFileSync(join(original, 'signing-keys.json'), 'utf8'))
  secrets.push(
    staticToken,
    passwordOf('account'),
    readFileSync(join(original, 'static-token-pepper'), 'utf8').trim(),
    readFileSync(join(original, 'administrator-token'), 'utf8').trim(),
    ...keys.keys.map(({ private_key: key }: { private_key: string }) => key.split('\n')[1]),
  )
})

interface Sabotage {
  readonly what: string
  /** @returns the configuration */
  readonly spoil: (folder: string) => object | undefined
  readonly expected: readonly [severity: 'warning' | 'error', check: string, message: RegExp, fix: RegExp]
  readonly nowMs?: number
}

const at = (name: string) => (folder: string) => join(folder, name)
const keysOf = at('signing-keys.json')
const privately = (text: string) => {
  const path = newFile(text)
  chmodSync(path, 0o600)
  return path
}
const sqlite = (folder: string, sql: string) => {
  const database = new DatabaseSync(join(folder, 'directory.sqlite'))
  database.exec(sql)
  database.close()
  return undefined
}
const tls = (more: object = {}) => ({
  http: { tls: { certificate: newFile(CERTIFICATE), key: privately(KEY) }, ...more },
})

/** An address of this machine where nothing listens. */
async function unusedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
const unused = await unusedPort()

const SABOTAGES: readonly Sabotage[] = [
  {
    what: 'keys that every user can change',
    spoil: (folder) => void chmodSync(keysOf(folder), 0o666),
    expected: ['error', 'permissions', /can change it \(mode 0666\)/, /^chmod 600 .*signing-keys\.json$/],
  },
  {
    what: 'a data folder that every user can enter with a pepper that every user can read',
    spoil: (folder) => {
      chmodSync(folder, 0o755)
      chmodSync(join(folder, 'static-token-pepper'), 0o644)
      return undefined
    },
    expected: ['warning', 'permissions', /can read it \(mode 0755\)/, /^chmod 700 /],
  },
  {
    what: 'a token file that every user can read',
    spoil: () => {
      const path = newFile(`canary-${'x'.repeat(40)}`)
      chmodSync(path, 0o644)
      return { callers: [{ name: 'a', token_file: path }] }
    },
    expected: ['warning', 'permissions', /mode 0644/, /^chmod 600 /],
  },
  {
    what: 'keys that are not readable as such',
    spoil: (folder) => void writeFileSync(keysOf(folder), `${readFileSync(keysOf(folder))}canary`),
    expected: ['error', 'keys', /expected signing keys as Portcullis writes them/, /backup|another host/],
  },
  {
    what: 'keys that are missing',
    spoil: (folder) => void rmSync(keysOf(folder)),
    expected: ['error', 'keys', /ENOENT/, /backup|another host/],
  },
  {
    what: 'an old key',
    spoil: () => undefined,
    nowMs: Date.now() + 92 * DAY_MS,
    expected: ['warning', 'keys', /has signed for 91 days$/, /^portcullis keys rotate$/],
  },
  {
    what: 'a key of the future',
    spoil: () => undefined,
    nowMs: Date.now() - DAY_MS,
    expected: ['warning', 'keys', /is from the future/, /clock/],
  },
  {
    what: 'a pepper that is missing',
    spoil: (folder) => void rmSync(join(folder, 'static-token-pepper')),
    expected: ['error', 'pepper', /denies every static token$/, /backup/],
  },
  {
    what: 'another pepper',
    spoil: (folder) => void writeFileSync(join(folder, 'static-token-pepper'), `${'ab'.repeat(32)}\n`),
    expected: ['error', 'pepper', /^1 static tokens were hashed with another pepper/, /copy the file/],
  },
  {
    what: 'a pepper that was cut off',
    spoil: (folder) => void writeFileSync(join(folder, 'static-token-pepper'), 'abcd'),
    expected: ['error', 'pepper', /expected 64 hex digits$/, /backup/],
  },
  {
    what: 'a directory that is missing',
    spoil: (folder) => void rmSync(join(folder, 'directory.sqlite')),
    expected: ['warning', 'directory', /no accounts and no users$/, /^portcullis restore FILE/],
  },
  {
    what: 'a file that is not a directory',
    spoil: (folder) => void writeFileSync(join(folder, 'directory.sqlite'), 'canary '.repeat(1000)),
    expected: ['error', 'directory', /cannot be read as a directory/, /portcullis restore FILE --replace$/],
  },
  {
    what: 'a damaged directory',
    spoil: (folder) => {
      const file = join(folder, 'directory.sqlite')
      const bytes = readFileSync(file)
      const name = bytes.indexOf('stranger')
      bytes[name] = (bytes[name] ?? 0) ^ 1
      return void writeFileSync(file, bytes)
    },
    expected: ['error', 'directory', /the directory is damaged/, /portcullis restore FILE --replace$/],
  },
  {
    what: 'a directory of a newer version',
    spoil: (folder) => sqlite(folder, 'PRAGMA user_version = 99'),
    expected: [
      'error',
      'directory',
      /^version 99, this Portcullis reads \d+ or earlier$/,
      /newer Portcullis/,
    ],
  },
  {
    what: 'a directory of an older version',
    spoil: (folder) => sqlite(folder, 'PRAGMA user_version = 4'),
    expected: [
      'warning',
      'directory',
      /^version 4; the next start upgrades it to \d+$/,
      /portcullis migrate$/,
    ],
  },
  {
    what: 'a clock that went back',
    spoil: () => undefined,
    nowMs: Date.now() - 2 * DAY_MS,
    expected: ['error', 'clock', /and the last change of the directory is from/, /synchronise the clocks/],
  },
  {
    what: 'a clock that was set back between two changes',
    spoil: (folder) =>
      sqlite(
        folder,
        `INSERT INTO audit (at_ms, actor, action, account, subject, details)
         VALUES (4102444800000, 'a', 'b', '', '', '{}'), (4102444700000, 'a', 'b', '', '', '{}')`,
      ),
    nowMs: 4_102_444_800_000,
    expected: [
      'warning',
      'clock',
      /^a clock was set back: the change after that of 2100-01-01T00:00:00.000Z is from 2099-12-31T23:58:20.000Z$/,
      /chrony/,
    ],
  },
  {
    what: 'proxies that are only observed',
    spoil: () => ({ proxies: { mode: 'observe' } }),
    expected: ['warning', 'proxies', /only observed, without an end/, /set `proxies\.observe_until`/],
  },
  {
    what: 'a matrix that is missing',
    spoil: () => ({ matrix: '/nowhere/matrix.json' }),
    expected: [
      'error',
      'matrix',
      /\/nowhere\/matrix\.json cannot be read \(ENOENT\)/,
      /^portcullis matrix lint/,
    ],
  },
  {
    what: 'a matrix that is invalid',
    spoil: () => ({ matrix: newFile('{"title": "canary"}') }),
    expected: ['error', 'matrix', /./, /^portcullis matrix lint/],
  },
  {
    what: 'a certificate that expires soon',
    spoil: () => tls(),
    nowMs: Date.parse('2036-11-01T00:00:00Z'),
    expected: ['warning', 'certificates', /expires soon: valid until 2036-11-19/, /^replace /],
  },
  {
    what: 'a certificate that has expired',
    spoil: () => tls(),
    nowMs: Date.parse('2037-01-01T00:00:00Z'),
    expected: ['error', 'certificates', /has expired: valid until 2036-11-19/, /^replace /],
  },
  {
    what: 'a certificate for another name',
    spoil: () => tls({ public_url: 'https://other.example' }),
    nowMs: NOW,
    expected: ['warning', 'certificates', /is not for other\.example/, /that name$/],
  },
  {
    what: 'a certificate without its key',
    spoil: () => {
      const { http } = tls()
      return { http: { tls: { ...http.tls, key: privately(KEY.replace(/\n.*\n/, '\ncanary\n')) } } }
    },
    expected: ['error', 'certificates', /http\.tls: .* cannot be used/, /certificate and its key/],
  },
  {
    what: 'an upstream without a server',
    spoil: () => ({ upstreams: { cloud: { auth_url: `http://127.0.0.1:${unused}` } } }),
    expected: ['error', 'reachability', /cannot be reached \(ECONNREFUSED\)/, /that it is running/],
  },
  {
    what: 'a database without a server',
    spoil: () => ({ directory: { url: `postgres://portcullis:canary@127.0.0.1:${unused}/directory` } }),
    expected: [
      'error',
      'directory',
      /ECONNREFUSED: nothing listens on that address/,
      /PostgreSQL is running/,
    ],
  },
  {
    what: 'a key of the configuration that is unknown',
    spoil: () => ({ drain: 1 }),
    expected: ['error', 'configuration', /drain/, /docs\/operate\/configuration\.md/],
  },
]

/** A copy of the folder of a sidecar, and the options of a command for it. */
function copied(spoil: Sabotage['spoil']) {
  const data = join(newFolder(), 'data')
  cpSync(original, data, { recursive: true })
  chmodSync(data, 0o700)
  const config = privately(JSON.stringify(spoil(data) ?? {}))
  return { data, config, grpc: 'unix:/nowhere/grpc.sock' }
}

describe('doctor', () => {
  test('finds nothing wrong with a sidecar that was stopped, and one that runs', async () => {
    const running = await runSidecar({ folder: copied(() => undefined).data })
    for (const [grpc, said] of [
      [running.address, 'a sidecar answers'],
      ['unix:/nowhere/grpc.sock', 'no sidecar answers'],
    ]) {
      const { code, stdout } = await command(['doctor', '--data', running.folder, '--grpc', `${grpc}`])
      expect({ code, last: stdout.trim().split('\n').at(-1) }).toEqual({
        code: 0,
        last: '0 errors, 0 warnings',
      })
      expect(stdout).toContain(said)
    }
    // It changes nothing, so the sidecar goes on.
    expect((await running.client.check({ api: 'iam', credentials: [['X-Token', 'a']] })).reason).toBe(
      'CREDENTIAL_INVALID',
    )
    const other = await command(['doctor', '--data', running.folder, '--grpc', running.address, '--strict'])
    expect(other.stdout).toMatch(/^warning +sidecar .*uses other rules/m)
  })

  test.each(SABOTAGES)('finds $what', async ({ spoil, expected, nowMs = Date.now() }) => {
    const options = copied(spoil)
    const before = contentOf(options.data)
    const findings = await examine(options, () => nowMs)
    const [severity, check, message, fix] = expected
    expect(findings).toContainEqual({
      ...{ severity, check, subject: expect.any(String) },
      ...{ message: expect.stringMatching(message), fix: expect.stringMatching(fix) },
    })
    for (const each of findings) if (each.severity !== 'ok') expect(each.fix).toBeTruthy()
    expect(contentOf(options.data)).toEqual(before)
    const said = JSON.stringify(findings)
    for (const secret of secrets) expect(said).not.toContain(secret)
    expect(said).not.toContain('canary')
  })

  test('finds variables that nothing reads, and no others', async () => {
    const config = { profiles: { job: { password_env: 'PORTCULLIS_JOB_PASSWORD' } } } as never
    const read = {
      ...{
        PORTCULLIS_CONFIG: 'a',
        PORTCULLIS_DATA: 'a',
        PORTCULLIS_JOB_PASSWORD: 'a',
        PORTCULLIS_HEADER: 'a',
        PATH: 'a',
      },
      ...{ PORTCULLIS_SERVICE_HOST: 'a', PORTCULLIS_SERVICE_PORT_GRPC: 'a', PORTCULLIS_PORT: 'a' },
      ...{ PORTCULLIS_PORT_50051_TCP: 'a', PORTCULLIS_PORT_50051_TCP_ADDR: 'a' },
    }
    expect(environmentFindings(config, read)).toEqual([])
    const unread = { PORTCULLIS_STRICTNESS: 'canary', portcullis_data: 'canary' }
    expect(environmentFindings(config, { ...read, ...unread })).toMatchObject([
      { severity: 'warning', check: 'environment', subject: 'PORTCULLIS_STRICTNESS' },
      { severity: 'warning', check: 'environment', subject: 'portcullis_data' },
    ])
    vi.stubEnv('PORTCULLIS_STRICTNESS', 'canary')
    const findings = await examine(
      copied(() => undefined),
      Date.now,
    )
    vi.unstubAllEnvs()
    expect(findings.map(({ subject }) => subject)).toContain('PORTCULLIS_STRICTNESS')
    expect(JSON.stringify(findings)).not.toContain('canary')
  })

  test('ends with 1 and prints one line of JSON where something is wrong', async () => {
    const { data } = copied((folder) => void rmSync(keysOf(folder)))
    const { code, stdout } = await command(['doctor', '--data', data, '--grpc', '127.0.0.1:0', '--json'])
    const { errors, findings } = JSON.parse(stdout) as { errors: number; findings: { severity: string }[] }
    expect({ code, errors }).toEqual({ code: 1, errors: 1 })
    expect(findings.filter(({ severity }) => severity === 'error')).toHaveLength(1)
  })

  test('says what the next start does about a missing folder, and does not create it', async () => {
    const data = join(newFolder(), 'data')
    const findings = await examine({ data, grpc: '127.0.0.1:0' }, Date.now)
    expect(findings.filter(({ severity }) => severity !== 'ok')).toMatchObject([
      { severity: 'warning', subject: data },
    ])
    expect(existsSync(data)).toBe(false)
  })
})

/** Names, modes and contents, without the files beside the database that a reader makes. */
function contentOf(folder: string) {
  return readdirSync(folder)
    .filter((name) => !/-(wal|shm)$/.test(name))
    .map((name) => [
      name,
      statSync(join(folder, name)).mode,
      readFileSync(join(folder, name)).toString('base64'),
    ])
}

/** A small file system; `undefined`: this user may not mount one. */
function newDisk(): string | undefined {
  const folder = newFolder()
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  whenTheFileEnds(() => void execFileSync('umount', [folder]))
  return folder
}

const disk = newDisk()
test.skipIf(disk === undefined)('a full disk is not a reason to restore a backup', async () => {
  const data = join(disk ?? '', 'data')
  cpSync(original, data, { recursive: true })
  chmodSync(data, 0o700)
  const full = openSync(join(disk ?? '', 'full'), 'w')
  expect(() => {
    for (;;) writeSync(full, Buffer.alloc(4_096))
  }).toThrow('ENOSPC')
  closeSync(full)
  const { stdout } = await command(['doctor', '--data', data, '--json'])
  const { findings } = JSON.parse(stdout) as { findings: { check: string; severity: string; fix?: string }[] }
  expect(findings.filter(({ check }) => check === 'directory')).toMatchObject([
    { severity: 'error', fix: expect.stringMatching(/^free some space on that disk/) },
  ])
  expect(stdout).not.toContain('restore FILE')
})

test('reaches a server, and names the certificate that it cannot trust', async () => {
  const { createServer: createSecureServer } = await import('node:tls')
  const server = createSecureServer({ cert: CERTIFICATE, key: KEY })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenTheFileEnds(() => server.close())
  const { port } = server.address() as { port: number }
  const auth_url = `https://127.0.0.1:${port}`
  const ca = newFile(CERTIFICATE)
  utimesSync(ca, 0, 0)
  const findings = await examine(
    copied(() => ({ upstreams: { trusting: { auth_url, ca }, without: { auth_url } } })),
    () => NOW,
  )
  expect(findings.filter(({ check }) => check === 'reachability')).toMatchObject([
    // The certificate is for a name, and the URL has an address.
    { severity: 'error', message: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID') },
    { severity: 'error', message: expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT') },
  ])
})
