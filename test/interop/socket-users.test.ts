/**
 * A Unix socket for other users of the machine: who may connect, and that they can read nothing else.
 * Processes of other users can be started by root alone, so without root those tests are skipped.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { missing } from '../support/interop/obtain.ts'
import { LAUNCHER, startProcess } from '../support/processes/processes.ts'
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
    const command = [...as(NEIGHBOUR), process.execPath, '--check', LAUNCHER]
    execFileSync('setpriv', command, { stdio: 'ignore' })
    return undefined
  } catch {
    return 'setpriv (Debian: util-linux) is missing, or other users cannot read the checkout'
  }
}

function as(user: number, ...groups: number[]): string[] {
  const more = groups.length === 0 ? ['--clear-groups'] : [`--groups=${groups.join(',')}`]
  return [`--reuid=${user}`, `--regid=${user}`, ...more]
}

/** Where each user keeps what is compiled. */
const compiled = newFolder()
chmodSync(compiled, 0o777)

/** Runs a program as a user. */
const run = (user: readonly string[], ...program: string[]) =>
  startProcess(['setpriv', ...user, ...program], { environment: { NODE_COMPILE_CACHE: compiled } })
const portcullis = (user: readonly string[], ...args: string[]) =>
  run(user, process.execPath, LAUNCHER, ...args)

const why = hindrance()
if (why !== undefined) missing('processes of other users', why)

test.skipIf(why !== undefined).each(['1', '2'])(
  'a member of the group may ask, and reads nothing else; others may not even ask; with %s workers',
  async (workers) => {
    const folder = newFolder()
    chmodSync(folder, 0o755)
    chownSync(folder, SIDECAR, SIDECAR)
    const [data, socket] = [join(folder, 'data'), join(folder, 'socket/grpc.sock')]
    const address = `unix:${socket}`
    const user = [...[...as(SIDECAR, GROUP_ID), 'env', `PORTCULLIS_GRPC_SOCKET_GROUP=${GROUP}`]]
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
    const connecting = `require('net').connect(${JSON.stringify(socket)}).on('error', ({ code }) => console.log(code))`
    const { stdout } = await run(as(STRANGER), process.execPath, '-e', connecting).ended
    expect(stdout).toBe('EACCES\n')
    await sidecar.stop()
  },
)
