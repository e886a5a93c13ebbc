/** Ends workers by signals while connections arrive. */
import { join } from 'node:path'
import { expect } from 'vitest'
import { BlackBox, type Message, refusalOf } from '../contract/black-box.ts'
import { ACCOUNT, PEOPLE } from '../sidecar/sidecar.ts'
import { eventually, HANGS_MS, newFile, newFolder, passing } from '../suite/resources.ts'
import { type RunningProcess, run, serve } from './processes.ts'

/** A check that every worker answers. */
export const CLAIMS = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }

/** Connections that are opened at the same time. */
const PARALLEL = 8

/** Whether the process still runs. */
export function alive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Opens several connections, which the workers get in turn. Each one has made a call. */
export async function connections(address: string, count = 4): Promise<BlackBox[]> {
  const boxes: BlackBox[] = []
  for (let index = 0; index < count; index++) {
    const box = new BlackBox(address)
    await box.ask('Check', CLAIMS)
    boxes.push(box)
  }
  return boxes
}

/** The workers that have ever been ready, from the log. */
export function workersEverOf(pool: RunningProcess): number[] {
  return Array.from(pool.stderr().matchAll(/"worker":(\d+),"msg":"a worker is ready"/g), ([, pid]) =>
    Number(pid),
  )
}

/** The running workers, from the log. */
export function workersOf(pool: RunningProcess): number[] {
  return workersEverOf(pool).filter(alive)
}

/** How a worker is ended: which of them, and by which signal. */
export interface Blow {
  readonly victims: 'one' | 'all'
  readonly signal: 'SIGKILL' | 'SIGSTOP'
}

/** Sends the signal, and waits until other workers have taken the places of the victims. */
export async function strike(pool: RunningProcess, { victims, signal }: Blow): Promise<number[]> {
  const before = workersOf(pool)
  expect(before).toHaveLength(2)
  const struck = victims === 'all' ? before : before.slice(0, 1)
  for (const pid of struck) process.kill(pid, signal)
  await eventually(() => workersOf(pool).filter((pid) => !struck.includes(pid)).length === before.length)
  return struck
}

/** Opens connection after connection, each with one call: most of them checks, some logins. */
export class Arrivals {
  readonly #address: string
  readonly #login: Message
  readonly #outcomes = new Map<string, number>()
  readonly #loops: Promise<void>[]
  #stopping = false

  /** @param login an `IssueRequest` with the right password */
  constructor(address: string, login: Message) {
    this.#address = address
    this.#login = login
    this.#loops = Array.from({ length: PARALLEL }, (_, index) => this.#loop(index === 0))
  }

  /**
   * Opens no more. Resolves with how many calls had which outcome: the reason of an answer, or the status of
   * an error.
   */
  async stop(): Promise<Record<string, number>> {
    this.#stopping = true
    await Promise.all(this.#loops)
    return Object.fromEntries(this.#outcomes)
  }

  async #loop(logsIn: boolean): Promise<void> {
    while (!this.#stopping) {
      const outcome = await this.#call(logsIn)
      this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1)
      // A refused connection must not make this a busy loop.
      await passing(5)
    }
  }

  async #call(logsIn: boolean): Promise<string> {
    const box = new BlackBox(this.#address)
    const deadline = Date.now() + HANGS_MS
    try {
      if (logsIn) return `issued ${(await box.ask('Issue', this.#login, { deadline })).kind}`
      return String((await box.ask('Check', CLAIMS, { deadline })).reason)
    } catch (error) {
      return refusalOf(error).code
    } finally {
      box.close()
    }
  }
}

/**
 * The calls of a storm may have these outcomes and no other: an answer, or the error of a connection that
 * broke.
 */
const OUTCOMES = ['REASON_ALLOWED', 'UNAVAILABLE', 'issued iam_token_account_scoped']

/**
 * Strikes while connections arrive. Then checks that no call hung, that each end was logged, that logins have
 * their places back, and that no process is left after SIGTERM.
 */
export async function storm(blows: readonly Blow[]): Promise<void> {
  const data = join(newFolder(), 'data')
  const applied = await run(['directory', 'apply', newFile(JSON.stringify(PEOPLE)), '--data', data, '--json'])
  const { secrets } = JSON.parse(applied.stdout) as { secrets: Record<'user' | 'type' | 'value', string>[] }
  const password = secrets.find(({ user, type }) => user === 'account' && type === 'password')?.value
  const pool = await serve(['--workers', '2', '--data', data], {
    environment: {
      PORTCULLIS_WORKER_HEARTBEAT_TIMEOUT_MS: '1500',
      // A single place that is not given back would lock the user out for an hour.
      PORTCULLIS_LOGIN_THROTTLE_FAILURES: '1',
      PORTCULLIS_LOGIN_THROTTLE_PAUSE_MS: '3600000',
    },
  })
  const login = {
    password: { user_name: 'account', account: ACCOUNT, password },
    scope: { account: ACCOUNT },
  }
  const arrivals = new Arrivals(pool.ready.grpc, login)
  const struck: number[] = []
  for (const blow of blows) struck.push(...(await strike(pool, blow)))
  const outcomes = await arrivals.stop()
  expect(outcomes).toMatchObject({ REASON_ALLOWED: expect.any(Number) })
  expect(Object.keys(outcomes).filter((outcome) => !OUTCOMES.includes(outcome))).toEqual([])
  for (const pid of struck) expect(pool.stderr()).toContain(`"worker":${pid},"ended":`)
  // One call to each worker, and a login.
  const last = Array.from({ length: 2 }, () => new BlackBox(pool.ready.grpc))
  for (const box of last) expect(await box.ask('Check', CLAIMS)).toMatchObject({ reason: 'REASON_ALLOWED' })
  expect(await last[0]?.ask('Issue', login)).toMatchObject({ kind: 'iam_token_account_scoped' })
  expect(workersOf(pool), pool.stderr()).toHaveLength(2)
  pool.signal('SIGTERM')
  expect(await pool.ended).toMatchObject({ code: 0 })
  expect(workersEverOf(pool).filter(alive)).toEqual([])
}
