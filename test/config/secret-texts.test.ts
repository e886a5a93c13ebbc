/** Secrets of files, variables and programs are read by one rule, wherever one is needed. */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { PasswordCommand } from '../../sidecar/authority/upstream/password-source.ts'
import { readSecretLine, secretOfVariable } from '../../sidecar/cli/sidecar-connection.ts'
import { readConfig } from '../../sidecar/config/config.ts'
import { readCallers } from '../../sidecar/config/configured-callers.ts'
import { hubOf } from '../../sidecar/config/hub-config.ts'
import { otlpOptionsOf } from '../../sidecar/config/otlp.ts'
import { readProfiles } from '../../sidecar/config/profiles-config.ts'
import { readProxySecrets } from '../../sidecar/config/secret-files.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const SECRET = 'canary-0123456789abcdef0123456789abcdef'

afterEach(() => vi.unstubAllEnvs())

/** Reads the secret in a file as its place does. */
type Reader = (file: string, content: Buffer) => string | undefined | Promise<string | undefined>

function profileOf(source: object, environment: Record<string, string> = {}): string | undefined {
  const profile = { upstream: 'cloud', account: '1', user_name: 'x', ...source }
  const config = { upstreams: { cloud: { auth_url: 'https://cloud.example' } }, profiles: { job: profile } }
  const read = readConfig({ file: newFile(JSON.stringify(config)) })
  const password = readProfiles(read, environment).profiles.get('job')?.password
  return password?.type === 'value' ? password.value.reveal() : undefined
}

const FILES: Readonly<Record<string, Reader>> = {
  'a profile': (file) => profileOf({ password_file: file }),
  'a caller': (file) => {
    const [caller] = readCallers([{ name: 'job', token_file: file }], new Set())
    return caller?.tokenSha256 === createHash('sha256').update(SECRET).digest('hex') ? SECRET : 'another'
  },
  'a hub': (file) => {
    const hub = { addresses: ['127.0.0.1:1'], token_file: file }
    const config = readConfig({ file: newFile(JSON.stringify({ directory: { hub } })) })
    return hubOf(config)?.token()?.reveal()
  },
  'an OTLP endpoint': (file) =>
    otlpOptionsOf(
      'traces.otlp',
      'https://otlp.example',
      { authorization_file: file, timeout_ms: 60_000 },
      '',
    ).authorization?.reveal(),
  'a proxy': (file) => readProxySecrets(file)[0]?.reveal(),
  'a program': async (file) => (await new PasswordCommand('job', ['cat', file]).obtain()).value.reveal(),
  'a command line': (file) => readSecretLine('--password-file', file),
}

/** A variable has no bytes that are not UTF-8: Node has replaced them. */
const VARIABLES: Readonly<Record<string, Reader>> = {
  'a profile': (_file, content) => profileOf({ password_env: 'JOB' }, { JOB: content.toString() }),
  'a configuration': (_file, content) => {
    const url = content.toString().replace('canary', 'postgres://host/canary')
    const { directory } = readConfig({ environment: { PORTCULLIS_DIRECTORY_URL: url } })
    return directory.url?.reveal().replace('postgres://host/', '')
  },
  'a command line': (_file, content) => {
    vi.stubEnv('PORTCULLIS_PASSWORD', content.toString())
    return secretOfVariable('PORTCULLIS_PASSWORD')
  },
}

const READERS = [
  ...Object.entries(FILES).map(([place, read]) => [`a file for ${place}`, read] as const),
  ...Object.entries(VARIABLES).map(([place, read]) => [`a variable for ${place}`, read] as const),
]

describe.each(READERS)('%s', (what, read) => {
  const readFrom = async (content: Buffer) => {
    const file = join(newFolder(), 'secret')
    writeFileSync(file, content, { mode: 0o600 })
    return read(file, content)
  }

  test.each(['', '\n', '\r\n'])(
    'has the secret before %j, with a byte order mark and without',
    async (end) => {
      for (const mark of ['', '\ufeff'])
        expect(await readFrom(Buffer.from(`${mark}${SECRET}${end}`))).toBe(SECRET)
    },
  )

  test.each([
    ['a letter of Latin-1', Buffer.from(`${SECRET}é`, 'latin1')],
    ['UTF-16 with a mark', Buffer.from(`\ufeff${SECRET}`, 'utf16le')],
    ['UTF-16', Buffer.from(SECRET, 'utf16le')],
  ])('with %s is refused by name', async (_encoding, content) => {
    // No variable has a NUL.
    if (what.startsWith('a variable') && content.includes(0)) return
    const refusal = await readFrom(content).then(
      () => undefined,
      (error: Error) => error.message,
    )
    expect(refusal).toMatch(
      /(password|token|authorization|secret|PASSWORD|URL).* UTF-8 without NUL characters/,
    )
    expect(refusal).not.toContain('canary')
  })
})
