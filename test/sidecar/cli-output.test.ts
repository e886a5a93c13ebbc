/** Standard output that cannot be written: nobody is shown a stack, and no failure looks like a denial. */
import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { newFolder } from '../helpers/sidecar.ts'
import { run } from './support/processes.ts'

const CONTESTED = ['explain', 'audit-logs', 'iam_token_account_scoped', '--strict']
const FULL = 'portcullis: standard output cannot be written (ENOSPC)\n'

test.each<[claim: string, stdout: 'full' | 'unread', args: string[], code: number, stderr: string]>([
  ['nobody reads, and the answer is yes', 'unread', ['matrix'], 0, ''],
  ['nobody reads, and the answer is no', 'unread', CONTESTED, 1, ''],
  ['nobody reads the help', 'unread', ['--help'], 0, ''],
  ['the disk is full, and the answer is yes', 'full', ['matrix', '--json'], 2, FULL],
  ['the disk is full, and the answer is no', 'full', CONTESTED, 2, FULL],
  ['the disk is full, and help was asked for', 'full', ['--help'], 2, FULL],
])('%s', async (_claim, stdout, args, code, stderr) => {
  expect(await run(args, { stdout })).toEqual({ code, stdout: '', stderr })
})

describe('a development sidecar that cannot say what its secrets are stops, and leaves nothing behind', () => {
  test.each<[stdout: 'full' | 'unread', code: number, stderr: string]>([
    ['unread', 0, ''],
    ['full', 2, FULL],
  ])('%s', async (stdout, code, stderr) => {
    const TMPDIR = newFolder()
    const args = ['serve', '--dev', '--grpc', '127.0.0.1:0', '--http', 'off']
    expect(await run(args, { stdout, environment: { TMPDIR } })).toEqual({ code, stdout: '', stderr })
    expect(readdirSync(TMPDIR)).toEqual([])
  })
})
