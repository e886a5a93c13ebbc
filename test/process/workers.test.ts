/** `serve --workers N`: several processes on the same addresses, which look like a single one to clients. */
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { FailedLogins } from '../../sidecar/authority/throttle.ts'
import { WorkerLogins } from '../../sidecar/process/workers/logins.ts'
import { BlackBox, refusalOf, refused } from '../support/contract/black-box.ts'
import { askAt } from '../support/identity/identity.ts'
import { command } from '../support/processes/command-line.ts'
import { run, serve, serveDemo } from '../support/processes/processes.ts'
import { alive, CLAIMS, connections, workersOf } from '../support/processes/worker-storm.ts'
import { youngGenerations } from '../support/processes/young-generations.ts'
import { connect } from '../support/sidecar/client.ts'
import { ACCOUNT, PEOPLE } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

type Pool = Awaited<ReturnType<typeof serve>>

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
  const programs = newFolder()
  const told = join(programs, 'told')
  let pool: Pool
  let boxes: BlackBox[]
  let password: string
  beforeAll(async () => {
    const people = newFile(JSON.stringify(PEOPLE))
    const { stdout } = await run(['directory', 'apply', people, '--data', data, '--json'])
    const { secrets } = JSON.parse(stdout) as { secrets: { user: string; type: string; value: string }[] }
    // The notifications of a sidecar to systemd.
    const notify = join(programs, 'systemd-notify')
    writeFileSync(notify, `#!/bin/sh\necho "$@ $NOTIFY_SOCKET" >> ${told}\n`)
    chmodSync(notify, 0o755)
    password = secrets.find(({ user, type }) => user === 'account' && type === 'password')?.value ?? ''
    pool = await serve(['--workers', '2', '--data', data, '--matrix', matrix, '--http', '127.0.0.1:0'], {
      environment: {
        PORTCULLIS_LOGIN_THROTTLE_FAILURES: '3',
        PORTCULLIS_LOGIN_THROTTLE_PAUSE_MS: '3600000',
        PORTCULLIS_MATRIX_POLL_MS: '0',
        PORTCULLIS_HTTP_CONSOLE: 'true',
        // On a machine that is busy no worker is taken for one that hangs.
        PORTCULLIS_WORKER_HEARTBEAT_TIMEOUT_MS: '600000',
        // Port 0: if an inspector opens, it finds a port.
        NODE_OPTIONS: '--inspect-port=0',
        NOTIFY_SOCKET: '/run/systemd/notify',
        PATH: `${programs}:${process.env.PATH}`,
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

  test('are ready for systemd once', async () => {
    await eventually(() => existsSync(told) && readFileSync(told, 'utf8').includes('\n'))
    expect(readFileSync(told, 'utf8')).toBe('--ready /run/systemd/notify\n')
  })

  test('open no inspector on SIGUSR1, and neither does the primary', async () => {
    const processes = [pool.pid, ...workersOf(pool)]
    for (const pid of processes) process.kill(pid, 'SIGUSR1')
    // Every process answers again after the signal. The message of an inspector is looked for at the end.
    await Promise.all(boxes.map((box) => box.ask('Check', CLAIMS)))
    expect(processes.filter(alive)).toEqual(processes)
  })

  test('write a snapshot each on SIGUSR2, and the primary writes none', async () => {
    const writers = workersOf(pool).map((pid) => `diagnostics-${pid}.json`)
    const written = () => readdirSync(data).filter((name) => /^diagnostics-\d+\.json$/.test(name))
    pool.signal('SIGUSR2')
    await eventually(() => written().length >= writers.length)
    expect(written().toSorted()).toEqual(writers.toSorted())
  })

  test('serve the same page and the same rules, whichever is asked', async () => {
    const port = Number(new URL(`http://${pool.ready.http}`).port)
    const answers = async (path: string) => {
      // Each comes on another connection, and the workers get these in turn.
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
    const [killed, other] = workersOf(pool) as [number, number]
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

  test('connections on their way to one that dies are answered by the other', async () => {
    const [dying] = workersOf(pool) as [number, number]
    process.kill(dying, 'SIGSTOP')
    // Some of the four are in the channel of the worker that is stopped.
    const asked = Array.from({ length: 4 }, () => new BlackBox(pool.ready.grpc).ask('Check', CLAIMS))
    await Promise.any(asked)
    process.kill(dying, 'SIGKILL')
    for (const answer of await Promise.all(asked)) expect(answer).toMatchObject({ reason: 'REASON_ALLOWED' })
    await eventually(() => workersOf(pool).length === 2)
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
    const { code, stderr } = await pool.ended
    expect({ code, inspectors: stderr.match(/debugger.*/i) }).toEqual({ code: 0, inspectors: null })
    expect(workers.filter(alive)).toEqual([])
  })
})

test('the reason why workers cannot start is printed once, and the exit code is 2', async () => {
  const secret = join(newFolder(), 'no-such-file')
  const config = newFile(
    JSON.stringify({ callers: [{ name: 'job', token_file: secret }], workers: 2, data: newFolder() }),
  )
  expect(await run(['serve', '--config', config, '--grpc', '127.0.0.1:0', '--http', 'off'])).toEqual({
    code: 2,
    stdout: '',
    stderr: `portcullis: callers[0].token_file: ${secret} cannot be read (ENOENT)\n`,
  })
})

test('a development sidecar has workers that share a demo account and keep their young generation small', async () => {
  const temporary = newFolder()
  const young = youngGenerations()
  const child = await serveDemo(['--workers', '2'], {
    environment: {
      ...young.environment(),
      TMPDIR: temporary,
      PORTCULLIS_WORKER_HEARTBEAT_TIMEOUT_MS: '600000',
    },
  })
  const { account, service_user: user } = child.demo
  const client = connect(child.ready.grpc)
  whenTheFileEnds(() => client.close())
  const password = { userName: user.name, account, password: user.password }
  expect(await client.issue({ password, scope: { account } })).toMatchObject({ scope: { account } })
  child.signal('SIGINT')
  expect(await child.ended).toMatchObject({ code: 0, stderr: '' })
  expect(readdirSync(temporary)).toEqual([])
  // Workers start with that as their largest size.
  const sizes = young.megabytes()
  expect([sizes.length, Math.max(...sizes)]).toEqual([3, 4])
})

test.each<[args: string[], variable: string | undefined, complaint: string]>([
  [['--workers', '0'], undefined, 'configuration: workers: expected a number >= 1'],
  [['--workers', 'two'], undefined, '--workers: expected a whole number'],
  [[], '257', 'PORTCULLIS_WORKERS: expected a number <= 256'],
  [[], 'many', 'PORTCULLIS_WORKERS: expected a whole number'],
])('these numbers of workers are refused: %j, %j', async (args, variable, complaint) => {
  vi.stubEnv('PORTCULLIS_WORKERS', variable)
  expect(await command(['serve', ...args])).toEqual({
    code: 2,
    stdout: '',
    stderr: `portcullis: ${complaint}\n`,
  })
  vi.unstubAllEnvs()
})
