/**
 * The parts of a day: a host with two workers, a sidecar that follows it, and the commands of their operator.
 * All of them live by the clock of the day.
 */
import { readdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '../../clients/typescript/index.ts'
import { CHEAP_PASSWORDS } from '../kills/stage.ts'
import { everyProtocol } from '../parity/people.ts'
import { type Certificate, makeAuthority, makeCertificate } from '../support/interop/certificates.ts'
import { residentMb, run, type Served, serve } from '../support/processes/processes.ts'
import { connect } from '../support/sidecar/client.ts'
import { fileOf, NEXT, ROWS } from '../support/sidecar/shadowed.ts'
import { freePort, newFile, newFolder } from '../support/suite/resources.ts'
import { Violation } from '../world/truth.ts'
import { type Clock, forget } from './clock.ts'

/** The staleness bound of the follower, by the clock of the day. */
export const STALENESS_MS = 30_000
/** Of the decision log. */
const [LOG_BYTES, LOG_FILES] = [1_048_576, 5]

const FOLLOWER = 'follower-caller-token-0123456789abcdef'

/** Long by any clock: a machine with other work must not look like a process that hangs. */
const PATIENT = {
  ...{ worker_heartbeat_timeout_ms: 3_600_000, drain_ms: 240_000, log: { level: 'warn' } },
  ...{ grpc: { request_timeout_ms: 3_600_000, reader_timeout_ms: 3_600_000 } },
}

/** The resources of a sidecar, at one moment. */
export interface Measures {
  readonly memoryMb: number
  readonly files: number
}

/** A sidecar at an address that stays the same. */
export class Member {
  readonly grpc: string
  readonly http: string
  readonly folder: string
  /** Its standard error, over all its lives. */
  log = ''
  readonly #config: string
  readonly #inside: Inside
  #served: Served | undefined
  #client: Client | undefined

  constructor(inside: Inside, { grpc, http, folder, config }: MemberOptions) {
    this.#inside = inside
    this.grpc = grpc
    this.http = http
    this.folder = folder
    this.#config = newFile(JSON.stringify(config), 'portcullis.json')
  }

  get config(): string {
    return this.#config
  }

  async start(): Promise<void> {
    const args = ['--config', this.#config, '--grpc', this.grpc, '--http', this.http]
    this.#served = await serve(args, { environment: environmentOf(this.#inside) })
  }

  /** Its calls are answered with every right. */
  get client(): Client {
    this.#client ??= connect(this.grpc, {
      callerToken: this.token,
    })
    return this.#client
  }

  get token(): string {
    return readFileSync(join(this.folder, 'administrator-token'), 'utf8').trim()
  }

  /** The first process, and those that it has started. */
  get pids(): readonly number[] {
    const pid = this.#served?.pid ?? 0
    return [pid, ...childrenOf(pid)]
  }

  /** Kills one of its workers; another one takes its place. */
  killWorker(): void {
    const [worker] = childrenOf(this.#served?.pid ?? 0)
    if (worker === undefined) throw new Violation('it has no worker')
    process.kill(worker, 'SIGKILL')
  }

  /** @throws Violation if it does not end as the signal asks */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const workers = this.pids.slice(1)
    this.#served?.signal(signal)
    const ended = await this.#served?.ended
    this.log += ended?.stderr ?? ''
    if (signal === 'SIGTERM' && ended?.code !== 0) throw new Violation(`it ended with ${ended?.code}`)
    while (workers.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, 10))
    forget(this.#served?.pid ?? 0)
    this.#client?.close()
    this.#client = undefined
  }

  /** The sums over its processes; `undefined`: one of them has ended. */
  measures(): Measures | undefined {
    const pids = this.pids
    try {
      return {
        memoryMb: pids.reduce((sum, pid) => sum + residentMb(pid), 0),
        files: pids.reduce((sum, pid) => sum + readdirSync(`/proc/${pid}/fd`).length, 0),
      }
    } catch {
      return undefined
    }
  }
}

interface MemberOptions {
  readonly grpc: string
  readonly http: string
  readonly folder: string
  readonly config: object
}

function environmentOf({ clock, planted }: Inside): Record<string, string> {
  const loaded = [CHEAP_PASSWORDS, ...planted].map((module) => `--import=${module}`)
  // V8 would rather grow than collect garbage, which would look like a leak.
  return { ...clock.environment, NODE_OPTIONS: [...loaded, '--max-semi-space-size=4'].join(' ') }
}

/** The settings of every process. */
interface Inside {
  readonly clock: Clock
  /** Loaded into each: what is wrong on purpose. */
  readonly planted: readonly string[]
}

function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    return text === '' ? [] : text.split(' ').map(Number)
  } catch {
    return []
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

export class Fleet {
  readonly clock: Clock
  readonly host: Member
  readonly follower: Member
  /** Of the follower: PEM of the authority, and what is shown now. */
  readonly authority: Certificate
  readonly decisionLog: string
  readonly #inside: Inside
  readonly #shown: Certificate
  readonly #certificates: string
  #made = 0

  private constructor(inside: Inside, members: [Member, Member], files: FleetFiles) {
    this.clock = inside.clock
    this.#inside = inside
    this.host = members[0]
    this.follower = members[1]
    this.authority = files.authority
    this.decisionLog = files.decisionLog
    this.#shown = files.shown
    this.#certificates = files.certificates
  }

  static async make(inside: Inside): Promise<Fleet> {
    const certificates = newFolder()
    const authority = await makeAuthority(certificates, 'authority')
    const shown = await makeCertificate(certificates, 'shown', authority)
    const decisionLog = join(newFolder(), 'decisions.log')
    const address = async () => `127.0.0.1:${await freePort()}`
    const host = {
      ...{ grpc: await address(), http: await address(), folder: join(newFolder(), 'data') },
      config: {},
    }
    const { http } = JSON.parse(readFileSync(everyProtocol().config, 'utf8')) as { http: object }
    const { routes } = JSON.parse(readFileSync(everyProtocol().config, 'utf8')) as { routes: object }
    host.config = {
      ...{ ...PATIENT, data: host.folder, workers: 2, http, routes },
      ...{ matrix: fileOf(ROWS), matrix_shadow: fileOf(NEXT), audit: { keep_days: 1 } },
      decision_log: { file: { path: decisionLog, max_bytes: LOG_BYTES, keep: LOG_FILES } },
      callers: [{ name: 'follower', token_file: newFile(FOLLOWER), rights: ['follow'] }],
    }
    const follower = { grpc: await address(), http: await address(), folder: join(newFolder(), 'data') }
    const config = {
      ...{ ...PATIENT, data: follower.folder, matrix: fileOf(ROWS) },
      http: { connect: true, tls: { certificate: shown.certificate, key: shown.key } },
      directory: {
        ...{ staleness_ms: STALENESS_MS, timeout_ms: 48_000 },
        hub: { addresses: [host.grpc], token_file: newFile(FOLLOWER) },
      },
    }
    const members: [Member, Member] = [new Member(inside, host), new Member(inside, { ...follower, config })]
    return new Fleet(inside, members, { authority, shown, certificates, decisionLog })
  }

  /** Runs a command of the operator. @throws Error if it fails */
  async command(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await run(args, { environment: environmentOf(this.#inside) })
    if (code !== 0) throw new Error(`portcullis ${args.join(' ')} ended with ${code}: ${stderr}`)
    return stdout
  }

  /** Puts another certificate in the place of the one that the follower shows. */
  async renewCertificate(): Promise<void> {
    const name = `renewed-${this.#made++}`
    const made = await makeCertificate(this.#certificates, name, this.authority)
    renameSync(made.key, this.#shown.key)
    renameSync(made.certificate, this.#shown.certificate)
  }

  /** The sizes of the files on the disk, in bytes. */
  get sizes(): { readonly data: number; readonly log: number } {
    return { data: sizeOf(this.host.folder), log: sizeOf(join(this.decisionLog, '..')) }
  }

  /** The most that the decision log may have: replaced files, and two workers that write meanwhile. */
  static readonly logBytesMax = (LOG_FILES + 3) * LOG_BYTES
}

interface FleetFiles {
  readonly authority: Certificate
  readonly shown: Certificate
  readonly certificates: string
  readonly decisionLog: string
}

/** A file that is deleted meanwhile counts as empty. */
function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce(
      (sum, { parentPath, name }) =>
        sum + (statSync(join(parentPath, name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    )
}
