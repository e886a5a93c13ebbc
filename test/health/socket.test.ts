/** A Unix socket that a sidecar shares with a group of the machine, or with every user. */
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { groupId } from '../../sidecar/base/group.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFolder } from '../support/suite/resources.ts'

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

test('a folder that others may not enter, as the data folder, is refused', async () => {
  const folder = newFolder()
  const flags = { 'grpc.socket.mode': '0666' }
  const data = join(folder, 'data')
  await expect(
    runSidecar({ folder: data, flags: { ...flags, 'grpc.address': `unix:${data}/grpc.sock` } }),
  ).rejects.toThrow('expected a separate folder that every user may enter, or none yet; found mode 0700')
  const open = join(folder, 'open')
  mkdirSync(open, { mode: 0o755 })
  const { sidecar } = await runSidecar({ flags: { ...flags, 'grpc.address': `unix:${open}/grpc.sock` } })
  expect((statSync(join(open, 'grpc.sock')).mode & 0o777).toString(8)).toBe('666')
  await sidecar.close()
})
