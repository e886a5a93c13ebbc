/**
 * An attacked sidecar: a separate process, with a neighbour who checks tokens and an operator who takes
 * rights away. Their service is measured in quiet and under attack, in the same run, so that a slow machine
 * changes no ratio.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Client, connect } from '../../../clients/typescript/index.ts'
import { LAUNCHER, type Served, serve, startProcess } from '../processes/processes.ts'
import { ACCOUNT, OTHER_ACCOUNT, populate, runSidecar, type Secrets } from '../sidecar/sidecar.ts'
import { newFolder, whenTheFileEnds } from '../suite/resources.ts'
import type { Attack, Outcome } from './attacker.ts'
import type { Holding } from './holder.ts'
import type { Bodies } from './poster.ts'

const ATTACKER = fileURLToPath(new URL('./attacker.ts', import.meta.url))
const HOLDER = fileURLToPath(new URL('./holder.ts', import.meta.url))
const POSTER = fileURLToPath(new URL('./poster.ts', import.meta.url))
const SPINNER = fileURLToPath(new URL('./spinner.ts', import.meta.url))

/** To see a scenario fail: the launcher of a checkout without the fix. */
const ATTACKED = process.env.ATTACKED_LAUNCHER ?? LAUNCHER

/** Bound of times that `goals.ts` has not, as a multiple of those in quiet. It holds on a shared machine. */
export const RATIO_MAX = 30

/** Times of calls, in milliseconds. */
export interface Times {
  readonly p50: number
  readonly p99: number
  readonly longest: number
  readonly count: number
  /** Messages of the calls that failed. */
  readonly failures: readonly string[]
}

export interface Scene {
  readonly served: Served
  readonly secrets: Secrets
  /** The data folder. */
  readonly data: string
  /** The token that the neighbour checks. */
  readonly token: string
  /** The account that is attacked. */
  readonly account: string
  readonly operator: Client
  /** A caller with the profile `job`. */
  readonly job: Client
  /** Any client on this machine. */
  readonly anybody: Client
  /** Peak of the resident memory of the sidecar so far, in megabytes. */
  peakMegabytes(): number
  /** Lines of the log so far. */
  log(): readonly Record<string, unknown>[]
  /** Checks of a token by a neighbour, one after the other, for a time. */
  neighbour(forMs: number): Promise<Times>
  /** Changes by an operator that take rights away, one after the other. */
  revocations(count: number): Promise<Times>
}

/**
 * Starts a sidecar with users, a profile and its caller.
 *
 * @param descriptors how many files and connections it may open
 */
export async function attackedSidecar(settings: object = {}, descriptors?: number): Promise<Scene> {
  const folder = newFolder()
  const data = join(folder, 'data')
  const preparing = await runSidecar({ folder: data })
  const secrets = await populate(preparing)
  await preparing.sidecar.close()
  const config = writeConfig(folder, data, settings, secrets.passwordOf('alpha'))
  const served = await serve(['--http', '127.0.0.1:0', '--config', config], {
    launcher: ATTACKED,
    descriptors,
  })
  const administrator = readFileSync(join(data, 'administrator-token'), 'utf8').trim()
  const open = (options = {}) => {
    const client = connect(served.ready.grpc, { deadlineMs: 60_000, ...options })
    whenTheFileEnds(() => client.close())
    return client
  }
  const anybody = open()
  const operator = open({ callerToken: administrator })
  const password = { userName: 'account', account: ACCOUNT, password: secrets.passwordOf('account') }
  const { value } = await anybody.issue({ password, scope: { account: ACCOUNT } })
  await operator.directory.createServiceUser({ account: OTHER_ACCOUNT, name: 'withdrawn', permissions: [] })
  return {
    served,
    secrets,
    data,
    token: value,
    account: ACCOUNT,
    operator,
    anybody,
    job: open({ callerToken: CALLER_TOKEN }),
    peakMegabytes: () => {
      const status = readFileSync(`/proc/${served.pid}/status`, 'utf8')
      return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024)
    },
    log: () => logOf(served),
    neighbour: (forMs) => {
      const end = performance.now() + forMs
      return timesOf(
        () => performance.now() < end,
        async () => {
          await anybody.check({ api: 'dedicated-servers', credentials: [['X-Auth-Token', value]] })
        },
        2,
      )
    },
    revocations: (count) => {
      let left = count
      return timesOf(
        () => left-- > 0,
        async () => {
          const about = { account: OTHER_ACCOUNT, name: 'withdrawn' }
          await operator.directory.updateServiceUser({ ...about, enabled: left % 2 === 0 })
        },
      )
    },
  }
}

const CALLER_TOKEN = 'a-caller-token-of-more-than-32-characters'

/** Writes a configuration with a profile and its caller. @returns its path */
function writeConfig(folder: string, data: string, settings: object, password: string): string {
  const [passwordFile, tokenFile] = [join(folder, 'job.password'), join(folder, 'caller.token')]
  writeFileSync(passwordFile, password, { mode: 0o600 })
  writeFileSync(tokenFile, CALLER_TOKEN, { mode: 0o600 })
  const path = join(folder, 'portcullis.json')
  const config = {
    ...settings,
    data,
    profiles: { job: { account: ACCOUNT, user_name: 'alpha', password_file: passwordFile } },
    callers: [{ name: 'jobs', token_file: tokenFile, profiles: ['job'] }],
  }
  writeFileSync(path, JSON.stringify(config))
  return path
}

function logOf({ stderr }: Served): Record<string, unknown>[] {
  return stderr()
    .split('\n')
    .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Record<string, unknown>] : []))
}

/** Makes calls one after the other, and says how long they took. */
export async function timesOf(
  more: () => boolean,
  call: () => Promise<unknown>,
  pauseMs = 0,
): Promise<Times> {
  const times: number[] = []
  const failures: string[] = []
  while (more()) {
    const start = performance.now()
    try {
      await call()
    } catch (error) {
      failures.push((error as Error).message)
    }
    times.push(performance.now() - start)
    if (pauseMs > 0) await sleep(pauseMs)
  }
  const sorted = times.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
  return { p50: at(0.5), p99: at(0.99), longest: sorted.at(-1) ?? 0, count: times.length, failures }
}

/** So many calls at the same time. Returns the messages of those that failed. */
export async function refusals(count: number, call: () => Promise<unknown>): Promise<string[]> {
  const outcomes = await Promise.allSettled(Array.from({ length: count }, call))
  return outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []))
}

/**
 * Begins an attack, and resolves when it is at its full strength.
 *
 * @returns what ends it, and says what came of it
 */
export type StartAttack = (scene: Scene) => Promise<() => Promise<Outcome>>

/** Attacks, works meanwhile, ends the attack, and says what came of both. */
export async function under<T>(
  scene: Scene,
  attack: Attack | StartAttack,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly outcome: Outcome }> {
  const end = await (typeof attack === 'function' ? attack(scene) : startAttacker(scene, attack))
  const result = await work()
  return { result, outcome: await end() }
}

/** An attack of those who hold much. */
export function holding(what: Holding): StartAttack {
  return ({ served: { ready } }) =>
    startProgram(HOLDER, { grpc: ready.grpc, http: ready.http, holding: what })
}

/** An attack with bodies of HTTP. */
/** @param http what is attacked; left out: the sidecar */
export function posting(bodies: Bodies, http?: string): StartAttack {
  return ({ served: { ready } }) => startProgram(POSTER, { http: http ?? ready.http, bodies })
}

/** Starts a bare server of Node in a separate process, which refuses each request. @returns its address */
export async function bareServer(): Promise<string> {
  const program = `require('node:http').createServer((request, response) => {
    response.writeHead(401, { connection: 'close' }).end()
  }).listen(0, '127.0.0.1', function () { console.log('listening ' + this.address().port) })
  process.stdin.resume().on('end', () => process.exit())`
  const server = startProcess([process.execPath, '-e', program], { input: 'open' })
  whenTheFileEnds(() => server.stop())
  await server.until(() => server.stdout().includes('listening'))
  return `127.0.0.1:${/\d+/.exec(server.stdout())?.[0]}`
}

/** No attack: a program as busy as an attacked sidecar, and one as busy as its attacker. */
export function computing(): StartAttack {
  return async () => {
    const ends = [await startProgram(SPINNER, { priority: 0 }), await startProgram(SPINNER, { priority: 5 })]
    return async () => {
      for (const end of ends) await end()
      return {}
    }
  }
}

function startAttacker({ served }: Scene, attack: Attack): Promise<() => Promise<Outcome>> {
  return startProgram(ATTACKER, { address: served.ready.grpc, attack })
}

async function startProgram(program: string, argument: object): Promise<() => Promise<Outcome>> {
  const attacker = startProcess([process.execPath, program, JSON.stringify(argument)], { input: 'open' })
  await attacker.until(() => attacker.stdout().includes('attacking'))
  // It must reach its full strength.
  await sleep(1_000)
  return async () => {
    const { stdout } = await attacker.stop()
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}') as Outcome
  }
}

/** Prints what was measured, in one line. */
export function report(scenario: string, measures: Readonly<Record<string, string | number>>): void {
  const parts = Object.entries(measures).map(([name, value]) => `${name} ${value}`)
  console.log(`${scenario}: ${parts.join(', ')}`)
}

/** A time under attack with its ratio to the same in quiet. */
export function ratio(attacked: number, quiet: number): string {
  return `${attacked.toFixed(1)} ms (${(attacked / quiet).toFixed(1)} × quiet)`
}
