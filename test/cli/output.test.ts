/**
 * Standard output that cannot be written: the error has no stack trace, and its exit code is not that of a
 * denial.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { run, start } from '../support/processes/processes.ts'
import { connect } from '../support/sidecar/client.ts'
import { eventually, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const CONTESTED = ['explain', 'audit-logs', 'iam_token_account_scoped', '--strict']
const FULL = 'portcullis: standard output cannot be written (ENOSPC)\n'
const FULL_JSON = `${JSON.stringify({
  error: {
    code: 'FAILED_PRECONDITION',
    reason: 'OUTPUT_FAILED',
    message: 'standard output cannot be written (ENOSPC)',
    violations: [],
  },
})}\n`

test.each<[claim: string, stdout: 'full' | 'unread', args: string[], code: number, stderr: string]>([
  ['no process reads, and the answer is no', 'unread', CONTESTED, 1, ''],
  ['no process reads the help', 'unread', ['--help'], 0, ''],
  ['the disk is full, the answer is yes, and JSON was asked for', 'full', ['matrix', '--json'], 2, FULL_JSON],
  ['the disk is full, and the answer is no', 'full', CONTESTED, 2, FULL],
  ['the disk is full, and help was asked for', 'full', ['--help'], 2, FULL],
])('%s', async (_claim, stdout, args, code, stderr) => {
  expect(await run(args, { stdout })).toEqual({ code, stdout: '', stderr })
})

test('a long search ends when its reader has left, although there is more to read', async () => {
  const line = {
    ...{ time: '2026-11-22T09:44:34.123Z', api: 'cdn', allowed: true, reason: 'ALLOWED', conflicts: [] },
  }
  const args = ['decisions', '-', '--oldest-first', '--limit', '100000', '--json']
  const { ended, write } = start(args, { stdout: 'unread', input: 'open' })
  write(`${JSON.stringify(line)}\n`.repeat(5_000))
  expect(await ended).toMatchObject({ code: 0, stdout: '' })
})

describe('a development sidecar that cannot print its secrets stops, and leaves nothing behind', () => {
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

test('a sidecar serves even if its ready line is not read', async () => {
  const folder = newFolder()
  const address = `unix:${folder}/sidecar.sock`
  const args = ['serve', '--grpc', address, '--http', 'off', '--data', join(folder, 'data')]
  const { ended, signal } = start(args, { stdout: 'unread' })
  const client = connect(address)
  whenTheFileEnds(() => client.close())
  await eventually(() => client.getMatrix().catch(() => undefined))
  signal('SIGTERM')
  expect(await ended).toMatchObject({ code: 0 })
})
