/** Files and words of operators: configuration, backups, directories, the command line. */
import { createHash, generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { publicKeysOf } from '../../../sidecar/authority/keys.ts'
import { readBackedUpKeys } from '../../../sidecar/authority/keys-backup.ts'
import { readTestFiles } from '../../../sidecar/cli/commands/matrix/policy-tests/test-files.ts'
import { readAllowedFlips } from '../../../sidecar/cli/commands/matrix/read-allowed-flips.ts'
import { readHeaders, readTokenLine } from '../../../sidecar/cli/sidecar-connection.ts'
import { CommandError } from '../../../sidecar/cli/terminal/errors.ts'
import { timeFor } from '../../../sidecar/cli/terminal/times.ts'
import { readAgentConfig } from '../../../sidecar/config/agent-config.ts'
import { ConfigError, configVariables, readConfig } from '../../../sidecar/config/config.ts'
import { momentOf } from '../../../sidecar/config/moment.ts'
import { readBackup } from '../../../sidecar/directory/backup/restore.ts'
import { Scratch } from '../../../sidecar/directory/backup/scratch.ts'
import { backUpDirectory } from '../../../sidecar/directory/backup/write.ts'
import { inspectDirectory } from '../../../sidecar/directory/inspect.ts'
import { DamagedDirectory } from '../../../sidecar/directory/snapshot.ts'
import { openSqlite } from '../../../sidecar/directory/sqlite.ts'
import { Parts, promised, type Target } from '../target.ts'

// In memory where there is such a place: most of the time would go to the disk.
const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'fuzz-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const pathOf = (name: string) => join(folder, name)
const file = pathOf('input.yaml')

/** The result of a reader for a file. No message quotes it. */
function refused<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof ConfigError) && !(error instanceof CommandError)) throw error
    // A path has names of fields, in quotation marks where they are not words.
    const said = error.message.replaceAll(/(?:"(?:[^"\\\n]|\\.)*"|\S)+: (?=unknown field|expected)/g, '')
    promised(!said.includes('canary') && error.message.length < 100_000, 'an error quotes no value')
    return undefined
  }
}

/** As a command refuses a file: with its path, and with no error of the program. */
async function refusedFile<T>(path: string, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    const isOfFile = error instanceof DamagedDirectory || (error as Error).constructor === Error
    if (!(error instanceof Error && isOfFile)) throw error
    promised(error.message.startsWith(path), `an error names the file: ${error.message}`)
    promised(!error.message.includes('canary'), 'an error quotes no value')
    return undefined
  }
}

/** The lines behind the header of a backup, with a header whose digest is right. */
function sealed(kind: 'directory' | 'keys', lines: Buffer): Buffer {
  const sha256 = createHash('sha256').update(lines).digest('hex')
  return Buffer.concat([
    Buffer.from(`${JSON.stringify({ portcullis_backup: kind, format: 1, sha256 })}\n`),
    lines,
  ])
}

const template = pathOf('template.db')
const place = { file: template, shared: undefined }
await openSqlite(template, {}).close()
const filling = new DatabaseSync(template)
filling.exec(`
  INSERT INTO accounts (id, account, created_at_ms) VALUES ('a1', '123456', 1);
  INSERT INTO projects (id, account_id, name, created_at_ms) VALUES ('p1', 'a1', 'alpha', 1);
  INSERT INTO users (id, account_id, name, type, password_hash, created_at_ms) VALUES ('u1', 'a1', 'alice', 'service_user', 'x', 1);
  INSERT INTO project_permissions (user_id, project_id) VALUES ('u1', 'p1');
  INSERT INTO static_tokens (hash, id, user_id, kind, name, created_at_ms) VALUES (x'00', 't1', 'u1', 'static_token', 'key', 1);
  INSERT INTO audit (at_ms, actor, action, account, subject, details) VALUES (1, 'a', 'account_created', '123456', '123456', '{}');
  PRAGMA wal_checkpoint(TRUNCATE)`)
filling.close()
const image = readFileSync(template)
await backUpDirectory({ path: pathOf('seed.backup'), place, version: '0.0.0', nowMs: 1 })
const backedUp = readFileSync(pathOf('seed.backup'))
const backedUpLines = backedUp.subarray(backedUp.indexOf('\n') + 1)

const publicKey = publicKeysOf([
  { keyId: '0123456789abcdef', state: 'active', sinceMs: 0, ...generateKeyPairSync('ed25519') },
])
const keysLine = `${JSON.stringify({ created_at: '2027-01-31T00:00:00Z', version: '0', signing_keys: publicKey, pepper: '0'.repeat(64) })}\n`

const CONFIG =
  'grpc:\n  address: 127.0.0.1:0\ncallers:\n  web: { token_file: /x }\nroutes:\n  - { path: /iam/, api: iam }\n'
const AGENT = 'tokens:\n  - profile: web\n    file: token\n    apis: [iam]\n    signal: { pid_file: x }\n'
const TESTS =
  'title: t\ntests:\n  - { api: iam, kind: static_token, allowed: true }\n  - { request: GET /x, headers: { x-token: a }, reason: ALLOWED }\n'
const FLIPS = 'flips:\n  - { api: iam, kind: static_token, until: 2027-01-31, reason: x }\n'
const FILE_READERS = [
  (path: string) => readConfig({ file: path }),
  readAgentConfig,
  (path: string) => readTestFiles([path]),
  readAllowedFlips,
]
const YAML_SIGNS = [
  '\n- ',
  '\n  ',
  ': ',
  '{',
  '}',
  '[',
  ']',
  ',',
  '"',
  '&a',
  '*a',
  '!!',
  '<<: ',
  '---',
  '|',
  '>',
  '? ',
  '#',
  '__proto__',
  'canary',
  'null',
]

export const targets: readonly Target[] = [
  {
    name: 'config-files',
    runsInTests: 100,
    seeds: [CONFIG, AGENT, TESTS, FLIPS].flatMap((text, index) => [`${String.fromCharCode(index)}${text}`]),
    words: [...YAML_SIGNS, ...configVariables().flatMap((name) => name.toLowerCase().split('_').slice(1))],
    bytesMax: 512,
    stepsMax: (bytes) => 100_000 + 4_000 * bytes,
    run: (bytes) => {
      const parts = new Parts(bytes)
      const read = FILE_READERS[parts.choice(FILE_READERS.length)] as (path: string) => unknown
      writeFileSync(file, parts.rest())
      const found = refused(() => read(file))
      promised(
        ({} as { polluted?: unknown }).polluted === undefined && Object.keys(Object.prototype).length === 0,
        'no file changes all objects',
      )
      if (found !== undefined)
        promised(
          JSON.stringify(refused(() => read(file))) === JSON.stringify(found),
          'a file is read as the same again',
        )
    },
  },
  {
    name: 'environment',
    runsInTests: 100,
    seeds: [
      'PORTCULLIS_GRPC_ADDRESS=127.0.0.1:1\nPORTCULLIS_STRICT=true',
      'PORTCULLIS_GRPC_ADRESS=x',
      'PORTCULLIS_LOG_LEVEL=info',
    ],
    words: configVariables().map((name) => `\n${name}=`),
    bytesMax: 256,
    // A name that is near to a variable is compared with each of them.
    stepsMax: (bytes) => 200_000 + 20_000 * bytes,
    run: (bytes) => {
      const environment = Object.fromEntries(
        bytes
          .toString()
          .split('\n')
          .map((each) => [each.split('=', 1)[0] ?? '', each.slice(each.indexOf('=') + 1)]),
      )
      const config = refused(() => readConfig({ environment }))
      if (config === undefined) return
      promised(
        JSON.stringify(readConfig({ environment })) === JSON.stringify(config),
        'variables are read as the same again',
      )
    },
  },
  {
    name: 'cli-words',
    runsInTests: 100,
    seeds: [
      '2026-11-22T10:00Z',
      '2d',
      '2027-02-30T00:00:00Z',
      'X-Auth-Token: eyJ.eyJ.x',
      'x-token:Bearer  a',
    ],
    words: ['T00:00', 'Z', '+01:00', '-', ':', '.123', '24:00', ': ', 'Bearer '],
    bytesMax: 128,
    run: (bytes) => {
      const text = bytes.toString()
      const time = refused(() => timeFor('--since', () => 1_800_000_000_000)(text))
      if (time !== undefined) {
        promised(!Number.isNaN(time.getTime()), 'a time is one')
        const day = /^\d{4}-\d\d-\d\d$/.test(text) ? text : undefined
        if (day !== undefined)
          promised(time.toISOString().startsWith(day), 'a day is the one that is written')
      }
      const moment = refused(() => momentOf('key', text))
      if (moment !== undefined)
        promised(Math.abs(moment - Date.parse(text)) < 1, 'a moment is the one that is written')
      if (!text.startsWith('@') && !text.startsWith('-')) {
        const [header] = refused(() => readHeaders([text])) ?? []
        if (header !== undefined)
          promised(
            `${header[0]}:${header[1]}` === text && header[0] !== '',
            'a header is its name and its value',
          )
      }
      writeFileSync(file, bytes)
      const token = refused(() => readTokenLine('--iam-token-file', file))
      if (token !== undefined)
        promised(/^[\x21-\x7e]+$/.test(token) && text.includes(token), 'a token is visible ASCII')
    },
  },
  {
    name: 'backup',
    runsInTests: 20,
    seeds: [backedUpLines],
    words: [
      '{"base64":"',
      '["users",{',
      '"schema_version":',
      '"rows":{',
      '\n',
      'null',
      '1e999',
      'DROP',
      '__proto__',
    ],
    bytesMax: 3_000,
    stepsMax: (bytes) => 200_000 + 4_000 * bytes,
    run: async (bytes) => {
      const path = pathOf('input.backup')
      writeFileSync(path, sealed('directory', bytes))
      const details = await refusedFile(path, () => readBackup(path))
      const scratch = await refusedFile(path, () => Scratch.load(path, folder))
      promised(scratch === undefined || details !== undefined, 'a file that is loaded is a backup')
      scratch?.[Symbol.dispose]()
      promised(
        readdirSync(folder).every((name) => /^(input|template|seed)\./.test(name)),
        'nothing is left behind',
      )
    },
  },
  {
    name: 'damaged-backup',
    runsInTests: 60,
    seeds: [
      sealed('directory', Buffer.from('{}\n')),
      sealed('keys', Buffer.from(keysLine)),
      '{"portcullis_backup":"directory","format":9,',
    ],
    words: ['"format":', '"sha256":"', '{"portcullis_backup":"', 'keys', 'directory'],
    bytesMax: 512,
    run: async (bytes) => {
      const path = pathOf('input.backup')
      writeFileSync(path, bytes)
      const details = await refusedFile(path, () => readBackup(path))
      const keys = await refusedFile(path, () => readBackedUpKeys(path))
      if (details === undefined && keys === undefined) return
      const body = bytes.subarray(bytes.indexOf('\n') + 1)
      promised(
        bytes.equals(sealed(details === undefined ? 'keys' : 'directory', body)),
        'a file that is read has its digest',
      )
    },
  },
  {
    name: 'keys-backup',
    runsInTests: 20,
    seeds: [keysLine, '{}\n', '[]\n'],
    bytesMax: 512,
    run: async (bytes) => {
      const path = pathOf('input.backup')
      writeFileSync(path, sealed('keys', bytes))
      await refusedFile(path, () => readBackedUpKeys(path))
    },
  },
  {
    name: 'directory-file',
    runsInTests: 20,
    // Three bytes say where, and those behind them what is written there.
    seeds: ['\0\0\0', '\0\0\u0010\0\0', '\0\0\u003c\u00ff\u00ff', '\0\u0010\0\0\0\0\0\0'],
    bytesMax: 96,
    stepsMax: () => 2_000_000,
    run: async (bytes) => {
      const path = pathOf('input.db')
      const damaged = Buffer.from(image)
      if (bytes.length > 3) bytes.copy(damaged, bytes.readUIntBE(0, 3) % damaged.length, 3)
      for (const name of readdirSync(folder)) if (name.startsWith('input.db')) rmSync(join(folder, name))
      writeFileSync(path, bytes.length === 3 ? damaged.subarray(0, bytes.readUIntBE(0, 3)) : damaged)
      const state = await refusedFile(path, () =>
        inspectDirectory({ file: path, shared: undefined }, { whole: true, pepper: 'x' }),
      )
      const database = await refusedFile(path, async () => openSqlite(path, {}))
      if (database === undefined) return
      promised(state !== undefined, 'a directory that is opened can be inspected')
      database.all('SELECT id FROM users')
      await database.close()
    },
  },
]
