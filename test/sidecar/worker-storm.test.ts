/**
 * Workers that die or hang while connections arrive. `npm run test:interop` does the same a hundred times.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { BlackBox } from '../support/contract/black-box.ts'
import { serve } from '../support/processes/processes.ts'
import { type Blow, storm, workersOf } from '../support/processes/worker-storm.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { newFolder } from '../support/suite/resources.ts'

const BLOWS: readonly Blow[] = [
  { victims: 'all', signal: 'SIGKILL' },
  { victims: 'one', signal: 'SIGKILL' },
  { victims: 'one', signal: 'SIGSTOP' },
  { victims: 'all', signal: 'SIGSTOP' },
  { victims: 'all', signal: 'SIGKILL' },
]

test('workers that die or hang while connections arrive are replaced, and no call hangs', () => storm(BLOWS))

test('connections on their way to a worker that dies are answered by the others', async () => {
  const pool = await serve(['--workers', '2', '--data', join(newFolder(), 'data')])
  const [dying = 0] = workersOf(pool)
  process.kill(dying, 'SIGSTOP')
  const check = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }
  const boxes = Array.from({ length: 4 }, () => new BlackBox(pool.ready.grpc))
  const asked = boxes.map((box) => box.ask('Check', check))
  // One of the four is in the channel of the worker that is stopped.
  await Promise.any(asked)
  process.kill(dying, 'SIGKILL')
  for (const answer of await Promise.all(asked)) expect(answer).toMatchObject({ reason: 'REASON_ALLOWED' })
})
