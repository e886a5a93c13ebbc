/**
 * `config show` says what is in effect and where it is from. `config validate` finds faults that would keep a
 * sidecar from starting.
 */
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { scalarKeys } from '../../sidecar/config/config.ts'
import { effectiveConfig } from '../../sidecar/config/effective.ts'
import { command } from '../support/processes/command-line.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const CANARY = 'canary-5ec2e7'

function configFile(config: object): string {
  const path = newFile(JSON.stringify(config), 'portcullis.json')
  chmodSync(path, 0o600)
  return path
}

/** The rows of `config show`, by key. */
async function shown(...args: string[]): Promise<Record<string, { value: unknown; source: string }>> {
  const { code, stdout, stderr } = await command(['config', 'show', '--json', ...args])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const { values } = JSON.parse(stdout) as { values: { key: string; value: unknown; source: string }[] }
  return Object.fromEntries(values.map(({ key, value, source }) => [key, { value, source }]))
}

beforeEach(() => {
  // The transport that the tests run on is a variable, too.
  for (const name of Object.keys(process.env)) if (name.startsWith('PORTCULLIS_')) vi.stubEnv(name, undefined)
  vi.stubEnv('PORTCULLIS_DATA', join(newFolder(), 'data'))
})
afterEach(() => void vi.unstubAllEnvs())

describe('config show', () => {
  test('has every key, with the source that won', async () => {
    const file = configFile({ drain_ms: 1, log: { level: 'debug' }, grpc: { address: 'unix:/a' } })
    vi.stubEnv('PORTCULLIS_LOG_LEVEL', 'warn')
    vi.stubEnv('PORTCULLIS_GRPC_ADDRESS', 'unix:/b')
    const values = await shown('--config', file, '--grpc', 'unix:/c', '--strict')
    expect(Object.keys(values)).toEqual(scalarKeys.map(({ path }) => path.join('.')))
    expect(values).toMatchObject({
      drain_ms: { value: 1, source: `file ${file}` },
      'log.level': { value: 'warn', source: 'environment PORTCULLIS_LOG_LEVEL' },
      'grpc.address': { value: 'unix:/c', source: 'flag' },
      strict: { value: true, source: 'flag' },
      cache_for_ms: { value: 5000, source: 'default' },
      matrix: { value: null, source: 'unset' },
    })
  })

  test('reads the file of PORTCULLIS_CONFIG, unless --config names another', async () => {
    const [one, other] = [configFile({ drain_ms: 1 }), configFile({ drain_ms: 2 })]
    vi.stubEnv('PORTCULLIS_CONFIG', one)
    expect(await shown()).toMatchObject({ drain_ms: { value: 1, source: `file ${one}` } })
    expect(await shown('--config', other)).toMatchObject({ drain_ms: { value: 2, source: `file ${other}` } })
  })

  test.each([
    ['PORTCULLIS_CONFIG', '/nowhere/config.json', '/nowhere/config.json: the file does not exist'],
    ['PORTCULLIS_CONFIG', '', '--config: expected the path of a file'],
    ['PORTCULLIS_CONFG', 'a', 'PORTCULLIS_CONFG: there is no such variable; did you mean PORTCULLIS_CONFIG?'],
  ])('refuses %s=%s', async (variable, value, message) => {
    vi.stubEnv(variable, value)
    expect(await command(['config', 'show'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(message),
    })
  })

  // The source is computed separately from the merging. This test holds the two together.
  test.each(scalarKeys.filter((key) => key.type === 'integer' && key.default !== undefined))(
    'says of $variable what is in force, from each source',
    ({ path, variable, default: preset }) => {
      const key = path.join('.')
      // There is no larger percentage.
      const step = path.at(-1)?.endsWith('_percent') && preset === 100 ? -1 : 1
      const [inFile, inEnvironment, inFlag] = [1, 2, 3].map((count) => Number(preset) + step * count)
      const nested = path.reduceRight<unknown>((value, name) => ({ [name]: value }), inFile)
      const sources = [
        {},
        { file: configFile(nested as object) },
        { environment: { [variable]: String(inEnvironment) } },
        { flags: { [key]: inFlag } },
      ]
      let all = {}
      const expected = [preset, inFile, inEnvironment, inFlag]
      for (const [index, source] of sources.entries()) {
        all = { ...all, ...source }
        const { config, values } = effectiveConfig(all)
        const inForce = path.reduce<unknown>((tree, name) => (tree as Record<string, unknown>)[name], config)
        expect(inForce).toBe(expected[index])
        expect(values.find((each) => each.key === key)?.value).toBe(inForce)
      }
    },
  )

  test('shows no secret', async () => {
    vi.stubEnv('PORTCULLIS_DIRECTORY_URL', `postgres://portcullis:${CANARY}@127.0.0.1/directory`)
    const file = configFile({
      callers: [{ name: 'job', token_sha256: 'ca'.repeat(32) }],
      profiles: {
        nightly: { account: '1', user_name: 'a', password_command: ['read-secret', CANARY] },
        credential: {
          ...{ upstream: 'cloud', account: '1', projects: ['web'], application_credential_id: 'a' },
          application_credential_secret_command: ['read-secret', CANARY],
        },
      },
      http: { catalog: [{ type: 'a', name: 'b', url: `https://user:${CANARY}@a.example/` }] },
    })
    const values = await shown('--config', file)
    expect(JSON.stringify(values)).not.toContain(CANARY)
    expect(JSON.stringify(values)).not.toContain('caca')
    expect(values).toMatchObject({
      'directory.url': { value: '[hidden]', source: 'environment PORTCULLIS_DIRECTORY_URL' },
      'callers[0].name': { value: 'job', source: `file ${file}` },
      'callers[0].token_sha256': { value: '[hidden]' },
      'profiles.nightly.password_command': { value: '[hidden]' },
      'profiles.credential.application_credential_secret_command': { value: '[hidden]' },
      'http.catalog[0].url': { value: 'https://[hidden]@a.example/' },
    })
    const { stdout } = await command(['config', 'show', '--config', file])
    expect(stdout).not.toContain(CANARY)
  })

  test('--set leaves the defaults out', async () => {
    expect(Object.keys(await shown('--set', '--strict'))).toEqual(['data', 'strict'])
  })
})

/** A configuration with one route of egress. */
const egressTo = (api: string) => ({
  profiles: { job: { account: '1', user_name: 'a', password_command: ['true'] } },
  egress: {
    address: '127.0.0.1:0',
    routes: [{ path: '/a/', url: 'https://a.example/', api, profile: 'job', callers: 'anyone' }],
  },
})

describe('config validate', () => {
  test.each<[what: string, config: object, problem: RegExp | undefined]>([
    ['an empty configuration', {}, undefined],
    ['an unknown key', { drain: 1 }, /drain/],
    [
      'routes and egress that fit the matrix',
      {
        routes: [{ path: '/', api: 'balance' }],
        ...egressTo('balance'),
      },
      undefined,
    ],
    ['an address beyond loopback without TLS', { grpc: { address: '0.0.0.0:50051' } }, /grpc\.(address|tls)/],
    ['a matrix that is missing', { matrix: '/nowhere/matrix.json' }, /matrix: \/nowhere\/matrix\.json/],
    [
      'a token file that is missing',
      { callers: [{ name: 'a', token_file: '/nowhere/token' }] },
      /callers\[0\]\.token_file: \/nowhere\/token/,
    ],
    ['a route to an unknown API', { routes: [{ path: '/', api: 'nothing' }] }, /routes\[0\]/],
    [
      'certificates that are missing',
      { http: { tls: { certificate: '/nowhere/a', key: '/nowhere/b' } } },
      /http\.tls\.certificate: \/nowhere\/a/,
    ],
    ['an egress route to an unknown API', egressTo('none'), /egress\.routes\[0\]\.api/],
  ])('finds the fault in %s', async (_what, config, problem) => {
    const ended = await command(['config', 'validate', '--json', '--config', configFile(config)])
    const { problems } = JSON.parse(ended.stdout) as { problems: string[] }
    expect({ code: ended.code, problems }).toEqual(
      problem === undefined
        ? { code: 0, problems: [] }
        : { code: 1, problems: [expect.stringMatching(problem)] },
    )
  })

  test('names every problem at once, warns of a readable secret, and quotes none', async () => {
    const token = newFile(`${CANARY}${'x'.repeat(32)}`)
    chmodSync(token, 0o644)
    const file = configFile({
      matrix: '/nowhere/matrix.json',
      http: { tls: { certificate: '/nowhere/a', key: '/nowhere/b' } },
      callers: [{ name: 'a', token_file: token }],
    })
    const { code, stdout } = await command(['config', 'validate', '--config', file])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^problem: http\.tls.*\nproblem: matrix: .*\nwarning: .*0644.*\n2 problems\n$/)
    expect(stdout).not.toContain(CANARY)
  })
})
