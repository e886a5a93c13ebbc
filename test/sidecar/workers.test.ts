/**
 * `serve --workers N`: several processes on the same addresses, which clients cannot tell from a single one.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connect } from '../../clients/typescript/index.ts'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { FailedLogins } from '../../sidecar/authority/throttle.ts'
import { WorkerLogins } from '../../sidecar/process/workers/logins.ts'
import { BlackBox, refusalOf, refused } from '../support/contract/black-box.ts'
import { askAt } from '../support/identity/identity.ts'
import { run, serve } from '../support/processes/processes.ts'
import { alive, workersOf } from '../support/processes/worker-storm.ts'
import { ACCOUNT, PEOPLE } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

type Pool = Awaited<ReturnType<typeof serve>>

const CLAIMS = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }

/** Opens several connections, which the workers get in turn. Each one has made a call. */
async function connections(address: string, count = 4): Promise<BlackBox[]> {
  const boxes: BlackBox[] = []
  for (let index = 0; index < count; index++) {
    const box = new BlackBox(address)
    await box.ask('Check', CLAIMS)
    boxes.push(box)
  }
  return boxes
}

describe('a worker that dies', () => {
  const attempt = { account: ACCOUNT, userName: 'account', source: '' }
  let throttle: FailedLogins
  beforeEach(() => {
    throttle = new FailedLogins({ failures: 1, pauseMs: 3_600_000 }, Date.now)
  })

  test('does not block others by its logins, neither admitted nor waiting ones', async () => {
    const [dying, other] = [new WorkerLogins(throttle), new WorkerLogins(throttle)]
    expect(await dying.admit({ type: 'login', id: 1, attempt })).toEqual({ type: 'login', id: 1 })
    const waiting = [dying, other].map((logins) => logins.admit({ type: 'login', id: 2, attempt }))
    dying.close()
    expect(await Promise.all(waiting)).toEqual(Array(2).fill({ type: 'login', id: 2 }))
    other.settle({ type: 'login_settled', id: 2, outcome: 'failed' })
    expect(await other.admit({ type: 'login', id: 3, attempt })).toMatchObject({
      refusal: { reason: 'LOGIN_THROTTLED' },
    })
  })

  test('has no effect by a message that arrives after its end', async () => {
    const dying = new WorkerLogins(throttle)
    await dying.admit({ type: 'login', id: 1, attempt })
    dying.close()
    dying.settle({ type: 'login_settled', id: 1, outcome: 'failed' })
    ;(await throttle.admit(attempt))('abandoned')
  })
})

describe('two workers', () => {
  const data = join(newFolder(), 'data')
  const matrix = newFile(JSON.stringify(supportMatrix))
  let pool: Pool
  let boxes: BlackBox[]
  let password: string
  beforeAll(async () => {
    const people = newFile(JSON.stringify(PEOPLE))
    const { stdout } = await run(['directory', 'apply', people, '--data', data, '--json'])
    const { secrets } = JSON.parse(stdout) as { secrets: { user: string; type: string; value: string }[] }
    password = secrets.find(({ user, type }) => user === 'account' && type === 'password')?.value ?? ''
    pool = await serve(['--workers', '2', '--data', data, '--matrix', matrix, '--http', '127.0.0.1:0'], {
      environment: {
        PORTCULLIS_LOGIN_THROTTLE_FAILURES: '3',
        PORTCULLIS_LOGIN_THROTTLE_PAUSE_MS: '3600000',
        PORTCULLIS_MATRIX_POLL_MS: '0',
        PORTCULLIS_HTTP_CONSOLE: 'true',
      },
    })
    boxes = await connections(pool.ready.grpc)
  })
  const login = (box: BlackBox | undefined, userName: string, secret: string) =>
    (box as BlackBox).ask('Issue', {
      password: { user_name: userName, account: ACCOUNT, password: secret },
      scope: { account: ACCOUNT },
    })

  test('are ready when both are ready', () => {
    expect(workersOf(pool)).toHaveLength(2)
    expect(pool.ready).toMatchObject({ event: 'ready', workers: 2 })
  })

  test('serve the same page and the same rules, whichever is asked', async () => {
    const port = Number(new URL(`http://${pool.ready.http}`).port)
    const answers = async (path: string) => {
      // Each on a connection of its own, which the workers get in turn.
      const each = await Promise.all(boxes.map(() => askAt(port, { path })))
      expect(each.map(({ status }) => status)).toEqual(boxes.map(() => 200))
      return new Set(each.map(({ text, headers }) => `${headers.etag} ${text}`)).size
    }
    expect([await answers('/console/'), await answers('/console/rules.json')]).toEqual([1, 1])
  })

  test('both answer, and a token that one revokes is denied by the other at the next check', async () => {
    for (const revoker of boxes) {
      const { value } = await login(boxes[0], 'account', password)
      const check = { api: 'balance', credentials: { headers: [{ name: 'X-Auth-Token', value }] } }
      // Each connection checks twice, so that each worker has cached the status.
      for (const box of [...boxes, ...boxes])
        expect(await box.ask('Check', check)).toMatchObject({ reason: 'REASON_ALLOWED' })
      await revoker.ask('Revoke', { value })
      for (const box of boxes)
        expect(await box.ask('Check', check)).toMatchObject({ reason: 'REASON_CREDENTIAL_REVOKED' })
    }
  })

  test('count failed logins together, so a guesser gains nothing by using both', async () => {
    const reasons: string[] = []
    for (const box of [...boxes, ...boxes])
      reasons.push((await refused(login(box, 'nothing', 'wrong'))).reason)
    expect(reasons).toEqual([...Array(3).fill('LOGIN_FAILED'), ...Array(5).fill('LOGIN_THROTTLED')])
    expect(await refused(login(boxes[1], 'nothing', 'wrong'))).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      metadata: { retry_after_seconds: expect.stringMatching(/^3[56]\d\d$/) },
    })
    // Other users are not throttled.
    await login(boxes[1], 'account', password)
  })

  /**
   * Makes that many logins at the same time over all connections. Returns the reasons of the refused ones.
   */
  const burst = async (count: number, userName: string, secret: string) => {
    const asked = Array.from({ length: count }, (_, index) =>
      login(boxes[index % boxes.length], userName, secret),
    )
    const outcomes = await Promise.allSettled(asked)
    return outcomes.flatMap((each) => (each.status === 'rejected' ? [refusalOf(each.reason).reason] : []))
  }

  test('50 parallel guesses through both are counted as if they were sequential', async () => {
    expect((await burst(50, 'nobody', 'wrong')).toSorted()).toEqual([
      ...Array(3).fill('LOGIN_FAILED'),
      ...Array(47).fill('LOGIN_THROTTLED'),
    ])
  })

  test('20 parallel logins with the right password all succeed', async () => {
    expect(await burst(20, 'account', password)).toEqual([])
  })

  test('answer HTTP on one port too', async () => {
    const asked = Array.from({ length: 4 }, () =>
      fetch(`http://${pool.ready.http}/readyz`, { headers: { connection: 'close' } }),
    )
    for (const answer of await Promise.all(asked)) expect(answer.status).toBe(200)
  })

  test('both read the matrix again on SIGHUP', async () => {
    const changed = { ...supportMatrix, title: 'changed' }
    writeFileSync(matrix, JSON.stringify(changed))
    const digests = async () => {
      const answers = await Promise.all(boxes.map((box) => box.ask('GetMatrix', {})))
      return answers.map(({ matrix: answered }) => (answered as { digest: string }).digest)
    }
    expect(await digests()).toEqual(Array(4).fill(pool.ready.matrix_digest))
    pool.signal('SIGHUP')
    const { digest } = compile(changed)
    await eventually(async () => (await digests()).every((each) => each === digest))
  })

  test('if one is killed, only its own connections break, and it is replaced', async () => {
    const ended: number[] = []
    const watches = boxes.map((box, index) => box.follow('WatchMatrix').on('error', () => ended.push(index)))
    for (const watch of watches) await new Promise((resolve) => watch.once('data', resolve))
    const [killed = 0, other] = workersOf(pool)
    process.kill(killed, 'SIGKILL')
    await eventually(() => ended.length === 2)
    const survivors = boxes.filter((_, index) => !ended.includes(index))
    // Calls continue while only one worker runs, and new connections reach it.
    await connections(pool.ready.grpc, 2)
    await eventually(async () => {
      for (const box of survivors)
        expect(await box.ask('Check', CLAIMS)).toMatchObject({ reason: 'REASON_ALLOWED' })
      return workersOf(pool).length === 2
    })
    expect(workersOf(pool)).toContain(other)
    expect(ended).toHaveLength(2)
    for (const watch of watches) watch.cancel()
    expect(pool.stderr()).toContain(`"worker":${killed},"ended":"SIGKILL"`)
    // The primary counts failed logins, so the end of a worker does not reset them.
    expect((await refused(login(survivors[0], 'nothing', 'wrong'))).reason).toBe('LOGIN_THROTTLED')
  })

  test('a second sidecar on their port is refused', async () => {
    const args = ['--workers', '2', '--grpc', pool.ready.grpc, '--http', 'off', '--data', data]
    expect(await run(['serve', ...args], { environment: { PORTCULLIS_LOG_LEVEL: 'warn' } })).toEqual({
      code: 2,
      stdout: '',
      stderr: `portcullis: grpc address ${pool.ready.grpc} is in use; choose another with --grpc HOST:PORT (or unix:PATH)\n`,
    })
  })

  test('on SIGTERM calls in progress are answered, and no process keeps running', async () => {
    const [one, other] = await connections(pool.ready.grpc, 2)
    const workers = workersOf(pool)
    const issuing = Array.from({ length: 8 }, (_, index) =>
      login(index % 2 === 0 ? one : other, 'account', password),
    )
    await issuing[0]
    pool.signal('SIGTERM')
    const outcomes = await Promise.allSettled(issuing)
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([])
    expect(await pool.ended).toMatchObject({ code: 0 })
    expect(workers.filter(alive)).toEqual([])
  })
})

test.concurrent('on a Unix socket: both answer, a second sidecar is refused, and the workers end when the primary is killed', async () => {
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
  const next = await serve(args)
  await connections(`unix:${path}`)
  next.signal('SIGTERM')
  expect(await next.ended).toMatchObject({ code: 0 })
  expect(existsSync(path)).toBe(false)
})

test.concurrent('all workers that were killed together are replaced on the same port; if they cannot start, the primary gives up', async () => {
  const data = join(newFolder(), 'data')
  const pool = await serve(['--workers', '2', '--data', data])
  const killAll = () => {
    const killed = workersOf(pool)
    for (const pid of killed) process.kill(pid, 'SIGKILL')
    return killed
  }
  const killed = killAll()
  await eventually(() => workersOf(pool).filter((pid) => !killed.includes(pid)).length === 2)
  await connections(pool.ready.grpc)
  const keys = join(data, 'signing-keys.json')
  writeFileSync(keys, '{}')
  killAll()
  const { code, stderr } = await pool.ended
  expect(code).toBe(2)
  // After the lines of the log, which are JSON too.
  const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '')
  expect(error.message).toMatch(`workers end right after they start; the last one: ${keys}: expected `)
})

test.concurrent('a worker that hangs is replaced while another one answers, and new connections are served', async () => {
  const pool = await serve(['--workers', '2', '--data', join(newFolder(), 'data')])
  const [hanging = 0, other = 0] = workersOf(pool)
  process.kill(hanging, 'SIGSTOP')
  await connections(pool.ready.grpc)
  await eventually(() => workersOf(pool).length === 2 && !workersOf(pool).includes(hanging))
  expect(workersOf(pool)).toContain(other)
  expect(pool.stderr()).toContain(`"worker":${hanging},"ended":"it did not answer 4 probes"`)
})

test.concurrent('workers that are all silent get ten times as long, because the machine may be slow', async () => {
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
  expect(Math.min(...probes)).toBeGreaterThanOrEqual(40)
})

test.concurrent('SIGTERM does not wait for a worker that hangs as long as for calls in progress', async () => {
  const pool = await serve(['--workers', '2', '--data', join(newFolder(), 'data')], {
    // Far longer than a test may take.
    environment: { PORTCULLIS_DRAIN_MS: '600000' },
  })
  const workers = workersOf(pool)
  process.kill(workers[0] ?? 0, 'SIGSTOP')
  pool.signal('SIGTERM')
  expect(await pool.ended).toMatchObject({ code: 0 })
  expect(workers.filter(alive)).toEqual([])
})

test.concurrent('the reason why workers cannot start is printed once, and the exit code is 2', async () => {
  const secret = join(newFolder(), 'no-such-file')
  const config = newFile(
    JSON.stringify({ callers: [{ name: 'job', token_file: secret }], workers: 3, data: newFolder() }),
  )
  expect(await run(['serve', '--config', config, '--grpc', '127.0.0.1:0', '--http', 'off'])).toEqual({
    code: 2,
    stdout: '',
    stderr: `portcullis: callers[0].token_file: ${secret} cannot be read (ENOENT)\n`,
  })
})

test.concurrent('a development sidecar can have workers, which share one demo account', async () => {
  const temporary = newFolder()
  const child = await serve(['--dev', '--workers', '2'], { environment: { TMPDIR: temporary } })
  const { account = '', service_user: user } = child.ready.demo ?? {}
  const client = connect(child.ready.grpc)
  whenTheFileEnds(() => client.close())
  const password = { userName: user?.name ?? '', account, password: user?.password ?? '' }
  expect(await client.issue({ password, scope: { account } })).toMatchObject({ scope: { account } })
  child.signal('SIGINT')
  expect(await child.ended).toMatchObject({ code: 0, stderr: '' })
  expect(readdirSync(temporary)).toEqual([])
})

test.concurrent.each<[args: string[], variable: string | undefined, complaint: string]>([
  [['--workers', '0'], undefined, 'configuration: workers: expected a number >= 1'],
  [['--workers', 'two'], undefined, '--workers: expected a whole number'],
  [[], '257', 'PORTCULLIS_WORKERS: expected a number <= 256'],
  [[], 'many', 'PORTCULLIS_WORKERS: expected a whole number'],
])('these numbers of workers are refused: %j, %j', async (args, variable, complaint) => {
  const environment = variable === undefined ? {} : { PORTCULLIS_WORKERS: variable }
  expect(await run(['serve', ...args], { environment })).toEqual({
    code: 2,
    stdout: '',
    stderr: `portcullis: ${complaint}\n`,
  })
})
