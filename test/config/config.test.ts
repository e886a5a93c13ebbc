/**
 * The configuration: the precedence of its sources, its errors, and that errors never show a value of a file.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import agent from '../../sidecar/config/agent.schema.json' with { type: 'json' }
import schema from '../../sidecar/config/config.schema.json' with { type: 'json' }
import { ConfigError, type ConfigSources, readConfig } from '../../sidecar/index.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

type Flags = NonNullable<ConfigSources['flags']>
/** A value that no message may show. */
const CANARY = 'canary-7d1f'
const KEYS = Object.keys(schema.properties).join(', ')
const HTTP_KEYS = Object.keys(schema.properties.http.properties).join(', ')

/** The message of the error, with `FILE` instead of the path of the configuration file. */
function refusal(text: string | Uint8Array | undefined, environment = {}, flags: Flags = {}): string {
  const path = text === undefined ? undefined : newFile(text, 'portcullis.yaml')
  try {
    readConfig({ file: path, environment, flags })
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    const { name, message } = error as ConfigError
    expect(name).toBe('ConfigError')
    expect(message).not.toContain(CANARY)
    return message.replaceAll(path ?? '\0', 'FILE')
  }
  throw new Error('the configuration was accepted')
}

describe('sources', () => {
  const file = (text: string) => newFile(text, 'portcullis.yaml')

  test('flags override the environment, which overrides the file, which overrides the defaults', () => {
    const path = file('data: from-file\ndrain_ms: 1\ncache_for_ms: 2\n')
    const environment = { PORTCULLIS_DATA: 'from-environment', PORTCULLIS_DRAIN_MS: '3' }
    const config = readConfig({ file: path, environment, flags: { data: 'from-flag', strict: undefined } })
    expect(config).toMatchObject({
      data: 'from-flag',
      drain_ms: 3,
      cache_for_ms: 2,
      matrix_poll_ms: 1_000,
      strict: false,
    })
  })

  test('a key of a group does not change the other keys of the group', () => {
    const config = readConfig({
      file: file('grpc:\n  max_batch_length: 7\n'),
      environment: { PORTCULLIS_GRPC_ADDRESS: '127.0.0.1:1' },
    })
    expect(config.grpc).toMatchObject({
      address: '127.0.0.1:1',
      max_batch_length: 7,
      max_concurrent_streams: 1_000,
    })
  })

  test.each([
    ['YAML', 'strict: true # a comment\nhttp: { address: off }\n'],
    ['JSON', '{"strict": true, "http": {"address": "off"}}'],
  ])('%s is read', (_format, text) => {
    expect(readConfig({ file: file(text) })).toMatchObject({ strict: true, http: { address: 'off' } })
  })

  test.each([
    ['an empty file', ''],
    ['a file of comments', '# nothing yet\n'],
  ])('%s means the defaults', (_claim, text) => {
    const path = file(text)
    expect(readConfig({ file: path })).toEqual({ ...readConfig(), file: path })
  })

  test('the default addresses are only open to this machine', () => {
    expect(readConfig()).toMatchObject({
      grpc: { address: '127.0.0.1:50051' },
      http: { address: '127.0.0.1:8180' },
    })
  })

  test.each([
    ['PORTCULLIS_STRICT', 'true', { strict: true }],
    ['PORTCULLIS_STRICT', 'false', { strict: false }],
    ['PORTCULLIS_HTTP_ADDRESS', 'off', { http: { address: 'off' } }],
    ['PORTCULLIS_PASSWORDS_CONCURRENT', '4', { passwords: { concurrent: 4 } }],
    ['PORTCULLIS_LOG_LEVEL', 'silent', { log: { level: 'silent', format: 'auto' } }],
    ['PORTCULLIS_MATRIX', '/rules.json', { matrix: '/rules.json' }],
  ])('%s=%s is read', (name, value, expected) => {
    expect(readConfig({ environment: { [name]: value } })).toMatchObject(expected)
  })
})

const PROFILE = `{account: "1", user_name: x, password_file: ${CANARY}}`
test.each<[claim: string, text: string | Uint8Array, message: string]>([
  ['an unknown key', `dta: ${CANARY}`, 'FILE: dta: unknown field; did you mean `data`?'],
  ['a key that is like none', `nothing: ${CANARY}`, `FILE: nothing: unknown field; expected one of ${KEYS}`],
  [
    'a group in capitals with dashes',
    'LOGIN-THROTTLE: {}',
    'FILE: ["LOGIN-THROTTLE"]: unknown field; did you mean `login_throttle`?',
  ],
  [
    'an unknown key of a group that is like none',
    `http: {nothing: ${CANARY}}`,
    `FILE: http.nothing: unknown field; expected one of ${HTTP_KEYS}`,
  ],
  ['a key in capitals', `Data: ${CANARY}`, 'FILE: Data: unknown field; did you mean `data`?'],
  [
    'a reserved key',
    `__proto__: {data: ${CANARY}}`,
    `FILE: __proto__: unknown field; expected one of ${KEYS}`,
  ],
  [
    'an unknown key of a group',
    `http: {adress: ${CANARY}}`,
    'FILE: http.adress: unknown field; did you mean `address`?',
  ],
  ['a word instead of a number', `drain_ms: ${CANARY}`, 'FILE: drain_ms: expected an integer'],
  ['a number in quotes', 'drain_ms: "1"', 'FILE: drain_ms: expected an integer'],
  ['a fraction', 'drain_ms: 1.5', 'FILE: drain_ms: expected an integer'],
  ['a number that is too small', 'drain_ms: -1', 'FILE: drain_ms: expected a number >= 0'],
  ['a number that is too large', 'drain_ms: 600001', 'FILE: drain_ms: expected a number <= 600000'],
  // YAML 1.1 read these as booleans.
  ['yes instead of true', 'strict: yes', 'FILE: strict: expected a boolean'],
  ['a value instead of a group', `grpc: ${CANARY}`, 'FILE: grpc: expected an object'],
  ['a group without a value', 'grpc:', 'FILE: grpc: expected an object'],
  ['an empty path', 'data: ""', 'FILE: data: expected at least 1 character'],
  [
    'a word that is not in the list',
    `log: { level: ${CANARY} }`,
    'FILE: log.level: expected one of `trace`, `debug`, `info`, `warn`, `error`, `fatal`, `silent`',
  ],
  [
    'half of a TLS identity',
    `grpc: {tls: {certificate: ${CANARY}, key: b}}`,
    'FILE: grpc.tls.client_ca: expected this field, it is missing',
  ],
  [
    'a certificate for https without its key',
    `http: {tls: {certificate: ${CANARY}}}`,
    'FILE: http.tls.key: expected this field, it is missing',
  ],
  ['a list', `- ${CANARY}`, 'FILE: expected an object'],
  ['a duplicate key', `data: a\ndata: ${CANARY}`, 'FILE: expected YAML or JSON; DUPLICATE_KEY at line 2'],
  [
    'a duplicate key in JSON',
    `{"data": "a", "data": "${CANARY}"}`,
    'FILE: expected YAML or JSON; DUPLICATE_KEY at line 1',
  ],
  ['two documents', `data: a\n---\ndata: ${CANARY}`, 'FILE: expected YAML or JSON; MULTIPLE_DOCS at line 2'],
  ['a string that never ends', `data: "${CANARY}`, 'FILE: expected YAML or JSON; MISSING_CHAR at line 1'],
  ['an alias', `data: &path ${CANARY}\nmatrix: *path`, 'FILE: expected YAML without aliases'],
  [
    'a bomb of aliases',
    `data: &a [x, x]\n${[...'bcdefgh'].map((name, index) => `${name}: &${name} [*${'abcdefg'[index]}, *${'abcdefg'[index]}]`).join('\n')}`,
    'FILE: expected YAML without aliases',
  ],
  [
    'bytes that are not UTF-8',
    Uint8Array.of(0x64, 0xff),
    'FILE: cannot be read (ERR_ENCODING_INVALID_ENCODED_DATA)',
  ],
  [
    'a password instead of its file',
    `profiles: {job: {account: "1", user_name: x, password_file: f, password: ${CANARY}}}`,
    'FILE: profiles.job.password: unknown field; expected one of upstream, account, user_name, password_file, password_env, password_command, application_credential_id, application_credential_name, application_credential_secret_file, application_credential_secret_env, application_credential_secret_command, static_token_file, projects',
  ],
  [
    'an account number that is a number',
    'profiles: {job: {account: 1, user_name: x, password_file: f}}',
    'FILE: profiles.job.account: expected a string',
  ],
  [
    'an invalid name of a profile',
    `profiles: {"A B": ${PROFILE}}`,
    'FILE: profiles["A B"]: expected a string that matches ^[a-z][a-z0-9]*([-_][a-z0-9]+)*$',
  ],
  [
    'a profile that is named twice in a caller',
    `callers: [{name: c, token_file: ${CANARY}, profiles: [a, a]}]`,
    'FILE: callers[0].profiles[1]: expected no repetition of an earlier item',
  ],
  [
    'every fault together',
    `strict: ${CANARY}\ndrain_ms: ${CANARY}\n`,
    'FILE: strict: expected a boolean\nFILE: drain_ms: expected an integer',
  ],
])('a file with %s is refused', (_claim, text, message) => {
  const found = refusal(text).split('\n').sort()
  expect(found).toEqual(message.split('\n').sort())
})

test.each([
  ['that does not exist', join(newFolder(), 'nothing.yaml'), 'the file does not exist'],
  ['that is a folder', newFolder(), 'cannot be read (EISDIR)'],
])('a file %s is refused', (_claim, path, expected) => {
  expect(() => readConfig({ file: path })).toThrow(new ConfigError(`${path}: ${expected}`))
})

test.each([
  ['PORTCULLIS_STRICT', 'yes', 'expected true or false'],
  ['PORTCULLIS_STRICT', 'TRUE', 'expected true or false'],
  ['PORTCULLIS_STRICT', '', 'expected true or false'],
  ['PORTCULLIS_DRAIN_MS', '1e3', 'expected a whole number'],
  ['PORTCULLIS_DRAIN_MS', ' 1', 'expected a whole number'],
  ['PORTCULLIS_DRAIN_MS', '-1', 'expected a whole number'],
  ['PORTCULLIS_DRAIN_MS', '600001', 'expected a number <= 600000'],
  ['PORTCULLIS_DATA', '', 'expected at least 1 character'],
  [
    'PORTCULLIS_LOG_LEVEL',
    CANARY,
    'expected one of `trace`, `debug`, `info`, `warn`, `error`, `fatal`, `silent`',
  ],
])('the variable %s=%s is refused, and the error names the variable', (name, value, expected) => {
  expect(refusal(undefined, { [name]: value })).toBe(`${name}: ${expected}`)
})

test.each([
  ['PORTCULLIS_STRCT', 'PORTCULLIS_STRICT'],
  ['PORTCULLIS_GRPC_ADRESS', 'PORTCULLIS_GRPC_ADDRESS'],
  ['Portcullis_Strict', 'PORTCULLIS_STRICT'],
])('a misspelled variable is refused: %s', (name, meant) => {
  expect(() => readConfig({ environment: { [name]: 'canary' } })).toThrow(
    new ConfigError(`${name}: there is no such variable; did you mean ${meant}?`),
  )
})

// Kubernetes sets these for a service with the name portcullis.
test.each(['PORTCULLIS_PORT', 'PORTCULLIS_SERVICE_HOST', 'PORTCULLIS_PORT_50051_TCP_ADDR', 'OTHER_STRICT'])(
  'an unrelated variable is ignored: %s',
  (name) => {
    expect(readConfig({ environment: { [name]: 'tcp://10.0.0.1:50051' } })).toEqual(readConfig())
  },
)

test('an invalid variable is refused even if a flag overrides it', () => {
  expect(refusal(undefined, { PORTCULLIS_STRICT: CANARY }, { strict: true })).toBe(
    'PORTCULLIS_STRICT: expected true or false',
  )
})

describe('secrets of the configuration', () => {
  const folder = newFolder()
  const missing = join(folder, 'missing')
  const empty = newFile('')
  const blank = newFile(`\n${CANARY}\n`)
  const short = newFile(`${CANARY}\n`)
  const secret = newFile(CANARY.repeat(4))
  const profile = (password: string, more = '') =>
    `profiles: {job: {account: "1", user_name: x, password_file: ${password}${more}}}\n`
  const caller = (token: string, more = '') => `callers: [{name: c, token_file: ${token}${more}}]\n`

  test.each<[claim: string, text: string, message: string]>([
    [
      'a password file that is missing',
      profile(missing),
      `profiles.job.password_file: ${missing} cannot be read (ENOENT)`,
    ],
    [
      'a password file that is a folder',
      profile(folder),
      `profiles.job.password_file: ${folder} cannot be read (EISDIR)`,
    ],
    [
      'a password file that is empty',
      profile(empty),
      `profiles.job.password_file: expected a secret in the first line of ${empty}`,
    ],
    [
      'a password file with an empty first line',
      profile(blank),
      `profiles.job.password_file: expected a secret in the first line of ${blank}`,
    ],
    [
      'a static token file that is missing',
      profile(secret, `, static_token_file: ${missing}`),
      `profiles.job.static_token_file: ${missing} cannot be read (ENOENT)`,
    ],
    [
      'a caller token file that is missing',
      caller(missing),
      `callers[0].token_file: ${missing} cannot be read (ENOENT)`,
    ],
    [
      'a caller token that can be guessed',
      caller(short),
      'callers[0].token_file: expected a token of 32 characters or more',
    ],
    [
      'a caller with an unknown profile',
      profile(secret) + caller(secret, ', profiles: [job, jbo]'),
      'callers[0].profiles[1]: expected the name of a profile',
    ],
  ])('%s prevents the start, and no file is created', async (_claim, text, message) => {
    const data = join(newFolder(), 'data')
    const config = join(folder, 'portcullis.yaml')
    writeFileSync(config, text)
    const starting = runSidecar({ config, folder: data })
    await expect(starting).rejects.toMatchObject({ name: 'ConfigError', message })
    await expect(starting).rejects.not.toThrow(CANARY)
    expect(existsSync(data)).toBe(false)
  })
})

/** Every part of a schema that is a whole number. */
function wholeNumbers(part: unknown): object[] {
  if (typeof part !== 'object' || part === null) return []
  const found = Object.values(part).flatMap(wholeNumbers)
  return 'type' in part && part.type === 'integer' ? [part, ...found] : found
}

test.each([schema, agent])('every whole number of $title has a range', (file) => {
  expect(wholeNumbers(file).length).toBeGreaterThan(2)
  for (const number of wholeNumbers(file))
    expect(number).toEqual(
      expect.objectContaining({ minimum: expect.any(Number), maximum: expect.any(Number) }),
    )
})
