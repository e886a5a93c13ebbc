/** Files without a size, as devices and pipes are: no more than the limit is read of one. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readSecretLine } from '../../sidecar/cli/sidecar-connection.ts'
import { readCallers } from '../../sidecar/config/configured-callers.ts'
import { readCertificates } from '../../sidecar/config/profiles-config.ts'
import { readTextFile } from '../../sidecar/config/text-file.ts'
import { readMatrix } from '../../sidecar/rules/matrix-file/read.ts'
import { command } from '../support/processes/command-line.ts'
import { eventually, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const MEBIBYTE = 1_048_576

/** A pipe that has this many bytes. */
function newPipe(bytes: number, name: string): string {
  const path = join(newFolder(), name)
  const script = `mkfifo "$0" && exec head -c ${bytes} /dev/zero > "$0"`
  const writer = spawn('sh', ['-c', script, path], { stdio: 'ignore' })
  whenTheFileEnds(() => void writer.kill())
  return path
}

const TOO_LONG = /expected at most \d+ bytes|EFBIG/

test.each<[what: string, name: string, mebibytes: number, read: (path: string) => unknown]>([
  [
    'a configuration',
    'config.yaml',
    32,
    (path) => {
      const reading = readTextFile(path)
      throw new Error(reading.ok ? 'it was read' : reading.problems.map(({ expected }) => expected).join())
    },
  ],
  ['a matrix', 'matrix.json', 32, readMatrix],
  ['a caller token', 'token', 4, (path) => readCallers([{ name: 'job', token_file: path }], new Set())],
  ['certificates', 'ca.pem', 4, (path) => readCertificates('upstreams.cloud.ca', path)],
  ['a secret of a command', 'secret', 16, (path) => readSecretLine('--password-file', path)],
])('%s is read to its limit', async (_what, name, mebibytes, read) => {
  const path = newPipe((mebibytes + 1) * MEBIBYTE, name)
  await eventually(() => existsSync(path))
  expect(() => read(path)).toThrow(TOO_LONG)
})

test('a command that reads one ends with its limit, and restoring one ends, too', async () => {
  expect(await command(['matrix', 'lint', '/dev/zero'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(TOO_LONG),
  })
  expect(
    await command(['restore', '/dev/zero', '--data', join(newFolder(), 'data'), '--new-keys']),
  ).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('expected a backup that `portcullis backup` wrote'),
  })
})
