/** `serve --workers N` at length: workers that end or hang together, and the end of their primary. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { refused } from '../../support/contract/black-box.ts'
import { run, serve } from '../../support/processes/processes.ts'
import { alive, connections, workersOf } from '../../support/processes/worker-storm.ts'
import { issued, populate, runSidecar } from '../../support/sidecar/sidecar.ts'
import { eventually, newFolder } from '../../support/suite/resources.ts'

describe('all workers', () => {
  const data = join(newFolder(), 'data')
  let pool: Awaited<ReturnType<typeof serve>>
  let value: string
  beforeAll(async () => {
    const base = await runSidecar({ folder: data })
    value = (await issued(base, await populate(base))).value
    await base.sidecar.close()
    pool = await serve(['--workers', '2', '--data', data, '--http', '127.0.0.1:0'], {
      environment: {
        PORTCULLIS_HEALTH_ADDRESS: '127.0.0.1:0',
        // On a machine that is busy no worker is taken for one that hangs.
        PORTCULLIS_WORKER_HEARTBEAT_TIMEOUT_MS: '600000',
      },
    })
  })
  const killAll = () => {
    const killed = workersOf(pool)
    for (const pid of killed) process.kill(pid, 'SIGKILL')
    return killed
  }

  test('that were killed together are replaced on the same port', async () => {
    const killed = killAll()
    await eventually(() => workersOf(pool).filter((pid) => !killed.includes(pid)).length === 2)
    await connections(pool.ready.grpc)
  })

  test('stop answering where the directory file is exchanged, are not ready, and acknowledge no revocation', async () => {
    const readiness = async (address: string | undefined) => {
      const answer = await fetch(`http://${address}/readyz`, { headers: { connection: 'close' } })
      return [answer.status, await answer.json()]
    }
    // A worker that is ready may not have notified the primary yet.
    await eventually(async () => (await readiness(pool.ready.health))[0] === 200)
    const boxes = await connections(pool.ready.grpc)
    const question = { api: 'balance', credentials: { headers: [{ name: 'X-Auth-Token', value }] } }
    for (const box of boxes) expect(await box.ask('Check', question)).toMatchObject({ allowed: true })
    const file = join(data, 'directory.sqlite')
    renameSync(file, `${file}.away`)
    // A worker may rely on its last look for some milliseconds.
    await new Promise((resolve) => setTimeout(resolve, 50))
    const reason = { code: 'UNAVAILABLE', reason: 'DIRECTORY_REPLACED' }
    for (const box of boxes) {
      expect(await refused(box.ask('Check', question))).toMatchObject(reason)
      expect(await refused(box.ask('Revoke', { value }))).toMatchObject(reason)
    }
    // A worker looks once a second by itself. The primary answers for both, and HTTP for the one that has the
    // connection.
    for (const address of [pool.ready.http, pool.ready.health]) {
      const found = await eventually(async () => {
        const answer = await readiness(address)
        return answer[0] === 503 && answer
      })
      expect(found).toEqual([503, { status: 'not ready', problems: ['directory_replaced'] }])
    }
    expect(pool.stderr()).toContain('the directory file was replaced while it was open')
    renameSync(`${file}.away`, file)
  })

  test('that cannot start end the primary', async () => {
    const keys = join(data, 'signing-keys.json')
    writeFileSync(keys, '{}')
    killAll()
    const { code, stderr } = await pool.ended
    expect(code).toBe(2)
    // After the lines of the log, which are JSON too.
    const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '')
    expect(error.message).toMatch(`workers end right after they start; the last one: ${keys}: expected `)
  })
})

const BLOCKED_BY_SIGNALS = new URL('../../support/processes/blocked-worker.ts', import.meta.url).href
/** Stopped, or in code that does not end. */
const HANGS = ['SIGSTOP', 'SIGURG'] as const

test('one that hangs is replaced while others answer, and one in a long statement only after ten times as long', async () => {
  const pool = await serve(['--workers', '3', '--data', join(newFolder(), 'data')], {
    environment: {
      PORTCULLIS_WORKER_HEARTBEAT_TIMEOUT_MS: '2000',
      NODE_OPTIONS: `--import=${BLOCKED_BY_SIGNALS}`,
      TMPDIR: newFolder(),
    },
  })
  const ended = (pid: number) => pool.stderr().includes(`"worker":${pid},"ended":"it did not answer`)
  const [querying, ...others] = workersOf(pool) as [number, number, number]
  process.kill(querying, 'SIGWINCH')
  for (const [index, signal] of HANGS.entries()) {
    const hanging = others[index] as number
    const before = performance.now()
    process.kill(hanging, signal)
    await eventually(() => ended(hanging))
    const tookMs = Math.round(performance.now() - before)
    process.stderr.write(`nightly: a worker that hangs (${signal}) was ended after ${tookMs} ms\n`)
    expect(pool.stderr()).toContain(`"worker":${hanging},"ended":"it did not answer 4 probes"`)
    await eventually(() => workersOf(pool).length === 3)
    expect(ended(querying)).toBe(false)
  }
  expect(workersOf(pool)).toContain(querying)
  await connections(pool.ready.grpc)
  await eventually(() => ended(querying))
  expect(pool.stderr()).toContain(`"worker":${querying},"ended":"it did not answer 49 probes"`)
})

test('workers that are all silent get ten times as long, because the machine may be slow', async () => {
  const pool = await serve(['--workers', '2', '--data', join(newFolder(), 'data')], {
    environment: { PORTCULLIS_WORKER_HEARTBEAT_TIMEOUT_MS: '400' },
  })
  const silent = workersOf(pool)
  for (const pid of silent) process.kill(pid, 'SIGSTOP')
  await eventually(() => workersOf(pool).filter((pid) => !silent.includes(pid)).length === 2)
  const probes = Array.from(pool.stderr().matchAll(/"ended":"it did not answer (\d+) probes"/g), (found) =>
    Number(found[1]),
  )
  expect(probes).toHaveLength(2)
  expect(Math.min(...probes)).toBeGreaterThanOrEqual(49)
})

test('on a Unix socket: both answer, a second sidecar is refused, the workers end when the primary is killed, and SIGTERM does not wait for one that hangs as long as for calls in progress', async () => {
  const path = join(newFolder(), 'sidecar.sock')
  const args = ['--workers', '2', '--grpc', `unix:${path}`, '--data', join(newFolder(), 'data')]
  const pool = await serve(args)
  const workers = workersOf(pool)
  expect(workers).toHaveLength(2)
  // Other users may not connect, not even between bind and chmod.
  if (process.platform === 'linux')
    for (const pid of [pool.pid, ...workers])
      expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/^Umask:\t\d\d\d7$/m)
  await connections(`unix:${path}`)
  expect(await run(['serve', '--http', 'off', ...args])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      `portcullis: grpc address unix:${path} is in use; choose another with --grpc HOST:PORT (or unix:PATH)\n`,
    ),
  })
  pool.signal('SIGKILL')
  // The workers share its output, which closes when the last of them has ended.
  await pool.ended
  // Far longer than a test may take.
  const next = await serve(args, {
    environment: { PORTCULLIS_DRAIN_MS: '600000', PORTCULLIS_WORKER_HEARTBEAT_TIMEOUT_MS: '2000' },
  })
  await connections(`unix:${path}`)
  const [hanging, other] = workersOf(next) as [number, number]
  process.kill(hanging, 'SIGSTOP')
  next.signal('SIGTERM')
  expect(await next.ended).toMatchObject({ code: 0 })
  expect([hanging, other].filter(alive)).toEqual([])
  expect(existsSync(path)).toBe(false)
})
