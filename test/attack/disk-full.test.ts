/**
 * A full disk: acknowledged changes are kept, checks are answered, and with space there is no need for a
 * restart. Linux, with namespaces of users.
 */
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { connect } from '../../clients/typescript/index.ts'
import { PermissionScope } from '../../proto/gen/portcullis/v1/directory.ts'
import { report } from '../support/attack/attack-scene.ts'
import { LAUNCHER, type Ready, startProcess } from '../support/processes/processes.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

/** The sidecar has its own disk, so small that it can be filled. */
const DISK = 'mount -t tmpfs -o size=8m,mode=700 tmpfs "$0" && exec "$@"'
const TOKENS = 200

const REVOKED = 'CREDENTIAL_REVOKED'

function hasNamespaces(): boolean {
  try {
    execFileSync('unshare', ['-rm', 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

test.skipIf(!hasNamespaces())(`${TOKENS} revocations while the disk is full`, async () => {
  const disk = newFolder()
  const data = join(disk, 'data')
  const flags = ['--json', '--grpc', '127.0.0.1:0', '--http', 'off', '--data', data]
  const sidecar = startProcess([
    'unshare',
    '-rm',
    'sh',
    '-c',
    DISK,
    disk,
    process.execPath,
    LAUNCHER,
    'serve',
    ...flags,
  ])
  const line = await sidecar.until(() => /^.*\n/.exec(sidecar.stdout())?.[0])
  const { grpc } = JSON.parse(line) as Ready
  /** A path on that disk, as others see it. */
  const seen = (path: string) => `/proc/${sidecar.pid}/root${path}`
  const open = (options = {}) => {
    const client = connect(grpc, { deadlineMs: 60_000, ...options })
    whenTheFileEnds(() => client.close())
    return client
  }
  const anybody = open()
  const operator = open({ callerToken: readFileSync(seen(join(data, 'administrator-token')), 'utf8').trim() })
  await operator.directory.createAccount({ account: ACCOUNT })
  const { password } = await operator.directory.createServiceUser({
    account: ACCOUNT,
    name: 'job',
    permissions: [{ scope: PermissionScope.PERMISSION_SCOPE_ACCOUNT, projects: [] }],
  })
  const login = { password: { userName: 'job', account: ACCOUNT, password }, scope: { account: ACCOUNT } }
  const tokens: string[] = []
  while (tokens.length < TOKENS) tokens.push((await anybody.issue(login)).value)
  const reasonsOf = async (values: readonly string[]) => {
    const checks = values.map((value) => ({ api: 'iam', credentials: [['X-Auth-Token', value]] as const }))
    return (await anybody.checkBatch(checks)).map(({ reason }) => reason)
  }
  const revoke = (value: string) =>
    operator.revoke({ value }).then(
      () => 'acknowledged',
      ({ reason }: { reason: string }) => reason,
    )

  const filler = seen(join(disk, 'filler'))
  fill(filler)
  const outcomes: string[] = []
  for (const token of tokens) {
    outcomes.push(await revoke(token))
    // Checks are answered all the time, those of a new token too.
    expect(await reasonsOf([token])).toEqual([outcomes.at(-1) === 'acknowledged' ? REVOKED : 'ALLOWED'])
  }
  report('a full disk', {
    acknowledged: outcomes.filter((outcome) => outcome === 'acknowledged').length,
    refused: outcomes.filter((outcome) => outcome === 'DIRECTORY_FULL').length,
  })
  expect(outcomes).toContain('DIRECTORY_FULL')
  expect(outcomes.filter((outcome) => outcome !== 'acknowledged' && outcome !== 'DIRECTORY_FULL')).toEqual([])

  rmSync(filler)
  for (const token of tokens) expect(await revoke(token)).toBe('acknowledged')
  expect(new Set(await reasonsOf(tokens))).toEqual(new Set([REVOKED]))
  await anybody.issue(login)
  // One line says what to do, however many calls failed, and blames no client.
  const lines = sidecar.stderr().split('\n')
  expect(lines.filter((each) => each.includes('DIRECTORY_FULL'))).toEqual([
    expect.stringContaining('"problem":"the directory has no space left"'),
  ])
})

/** Writes until nothing more fits. */
function fill(path: string): void {
  const file = openSync(path, 'w')
  try {
    for (const block of [65_536, 512, 1].map((bytes) => Buffer.alloc(bytes)))
      try {
        for (;;) writeSync(file, block)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
  } finally {
    closeSync(file)
  }
}
