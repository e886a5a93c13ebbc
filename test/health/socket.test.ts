/**
 * A Unix socket for other users of the machine: who may connect, and that they can read nothing else.
 * Processes of other users can be started by root alone, so without root those tests are skipped.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { groupId } from '../../sidecar/base/group.ts'
import { LAUNCHER, startProcess } from '../support/processes/processes.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFolder } from '../support/suite/resources.ts'

/** A group that every Debian has, and numbers that no user has. */
const GROUP = 'users'
const GROUP_ID = 100
const [SIDECAR, NEIGHBOUR, STRANGER] = [64_101, 64_102, 64_103]

/** Why processes of other users cannot be started; `undefined`: they can. */
function hindrance(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can start processes of other users'
  try {
    // They need the checkout, and so do their imports.
    execFileSync('setpriv', [...as(NEIGHBOUR), process.execPath, LAUNCHER, '--version'], { stdio: 'ignore' })
    return undefined
  } catch {
    return 'setpriv is missing, or other users cannot read the checkout'
  }
}

function as(user: number, ...groups: number[]): string[] {
  const more = groups.length === 0 ? ['--clear-groups'] : [`--groups=${groups.join(',')}`]
  return [`--reuid=${user}`, `--regid=${user}`, ...more]
}

/** Runs a program as a user. */
const run = (user: readonly string[], ...program: string[]) =>
  startProcess(['setpriv', ...user, ...program], { environment: { NODE_COMPILE_CACHE: undefined } })
const portcullis = (user: readonly string[], ...args: string[]) =>
  run(user, process.execPath, LAUNCHER, ...args)

const why = hindrance()
if (why !== undefined) process.stderr.write(`test/health/socket.test.ts: two users are not tried: ${why}\n`)

test.skipIf(why !== undefined).each(['1', '2'])(
  'a member of the group may ask, and reads nothing else; others may not even ask; with %s workers',
  async (workers) => {
    const folder = newFolder()
    chmodSync(folder, 0o755)
    chownSync(folder, SIDECAR, SIDECAR)
    const [data, socket] = [join(folder, 'data'), join(folder, 'socket/grpc.sock')]
    const address = `unix:${socket}`
    const user = [...as(SIDECAR, GROUP_ID), 'env', `PORTCULLIS_GRPC_SOCKET_GROUP=${GROUP}`]
    const sidecar = portcullis(
      ...[user, 'serve', '--json', '--grpc', address, '--http', 'off', '--data', data, '--workers', workers],
    )
    await sidecar.until(() => sidecar.stdout().includes('"ready"'))
    expect(statSync(socket)).toMatchObject({ uid: SIDECAR, gid: GROUP_ID })
    expect((statSync(socket).mode & 0o777).toString(8)).toBe('660')
    expect((statSync(join(folder, 'socket')).mode & 0o777).toString(8)).toBe('750')

    const claims = ['--kind', 'static_token', '--account', '123456', '--address', address]
    const neighbour = as(NEIGHBOUR, GROUP_ID)
    expect(await portcullis(neighbour, 'check', 'balance', ...claims).ended).toMatchObject({ code: 0 })
    const administer = portcullis(neighbour, 'account', 'list', '--address', address, '--data', data)
    expect(await administer.ended).toMatchObject({ code: 2, stdout: '' })
    for (const program of [
      ['ls', data],
      ['cat', join(data, 'signing-keys.json')],
      ['cat', join(data, 'administrator-token')],
      ['cat', join(data, 'directory.sqlite')],
      ['rm', '-f', socket],
      ['touch', join(folder, 'socket/another')],
    ]) {
      const { code, stdout } = await run(neighbour, ...program).ended
      expect([program[0], code === 0, stdout]).toEqual([program[0], false, ''])
    }
    expect(await portcullis(as(STRANGER), 'check', 'balance', ...claims).ended).toMatchObject({ code: 2 })
    await sidecar.stop()
  },
)

test('groups are found by name and by number', () => {
  expect([groupId('root'), groupId('0'), groupId('no-such-group')]).toEqual([0, 0, undefined])
})

test.each<[claim: string, flags: Record<string, string>, problem: string]>([
  [
    'a group that does not exist',
    { 'grpc.socket.group': 'no-such-group', 'grpc.address': 'unix:/nowhere/grpc.sock' },
    'grpc.socket.group: there is no group no-such-group on this machine',
  ],
  [
    'a group without a socket',
    { 'grpc.socket.group': 'root' },
    'grpc.socket.group: expected unix:PATH in grpc.address',
  ],
  ['another mode', { 'grpc.socket.mode': '0777' }, 'grpc.socket.mode: expected one of'],
])('%s is refused', async (_claim, flags, problem) => {
  await expect(runSidecar({ flags })).rejects.toThrow(problem)
})

test.each(['sockets', 'grpc-js'])(
  'a folder that others may not enter, as the data folder, is refused on %s',
  async (transport) => {
    const folder = newFolder()
    const flags = { 'grpc.transport': transport, 'grpc.socket.mode': '0666' }
    const data = join(folder, 'data')
    await expect(
      runSidecar({ folder: data, flags: { ...flags, 'grpc.address': `unix:${data}/grpc.sock` } }),
    ).rejects.toThrow('expected a folder of its own that every user may enter, or none yet; found mode 0700')
    const open = join(folder, 'open')
    mkdirSync(open, { mode: 0o755 })
    const { sidecar } = await runSidecar({ flags: { ...flags, 'grpc.address': `unix:${open}/grpc.sock` } })
    expect((statSync(join(open, 'grpc.sock')).mode & 0o777).toString(8)).toBe('666')
    await sidecar.close()
  },
)
