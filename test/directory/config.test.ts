/** The configuration of the directory: the URL is a secret from the moment it is read. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { type Config, readConfig, sharedDirectoryOf } from '../../sidecar/config/config.ts'
import { newFolder } from '../support/suite/resources.ts'

const CANARY = 'canary-password'
const URL = `postgres://portcullis:${CANARY}@db.example:5432/directory?sslmode=verify-full`
const folder = newFolder()

function fileWith(text: string): string {
  const path = join(folder, 'config.yaml')
  writeFileSync(path, text)
  return path
}

test('without a URL the directory is in the data folder', () => {
  expect(sharedDirectoryOf(readConfig())).toBeUndefined()
})

test.each<[from: string, config: () => Config]>([
  ['the file', () => readConfig({ file: fileWith(`directory: { url: '${URL}' }`) })],
  ['the environment', () => readConfig({ environment: { PORTCULLIS_DIRECTORY_URL: URL } })],
  ['a flag', () => readConfig({ flags: { 'directory.url': URL } })],
])('the URL from %s can be read, and is never printed', (_from, read) => {
  const config = read()
  const shared = sharedDirectoryOf(config)
  expect(shared?.url.reveal()).toBe(URL)
  expect(shared).toMatchObject({ stalenessMs: 5000, poolSize: 10, timeoutMs: 2000 })
  for (const printed of [
    inspect(config, { depth: 9, showHidden: true }),
    JSON.stringify(config),
    `${shared?.url}`,
  ])
    expect(printed).not.toContain(CANARY)
})

test('every key has a variable', () => {
  const config = readConfig({
    environment: {
      PORTCULLIS_DIRECTORY_URL: URL,
      PORTCULLIS_DIRECTORY_STALENESS_MS: '0',
      PORTCULLIS_DIRECTORY_POOL_SIZE: '2',
      PORTCULLIS_DIRECTORY_TIMEOUT_MS: '50',
    },
  })
  expect(sharedDirectoryOf(config)).toMatchObject({ stalenessMs: 0, poolSize: 2, timeoutMs: 50 })
})

test.each<[fault: string, yaml: string, variables: Record<string, string>, key: string]>([
  ['another database', `directory: { url: 'mysql://u:${CANARY}@h/d' }`, {}, 'directory.url'],
  ['a URL that is not a string', `directory: { url: ['${URL}'] }`, {}, 'directory.url'],
  [
    'another database in a variable',
    '',
    { PORTCULLIS_DIRECTORY_URL: `mysql://u:${CANARY}@h/d` },
    'PORTCULLIS_DIRECTORY_URL',
  ],
  ['one connection', '', { PORTCULLIS_DIRECTORY_POOL_SIZE: '1' }, 'PORTCULLIS_DIRECTORY_POOL_SIZE'],
  ['a negative bound', 'directory: { staleness_ms: -1 }', {}, 'directory.staleness_ms'],
])('%s is refused, and the error names the key', (_fault, yaml, variables, key) => {
  const read = () => readConfig({ file: fileWith(yaml), environment: variables })
  expect(read).toThrow(`${key}: expected`)
  expect(read).not.toThrow(CANARY)
})
