/**
 * A fleet on the simulated network. Two hosts share a directory on PostgreSQL, one of them with two workers,
 * or one host with two workers has a file. All of these processes are behind one address. A sidecar without a
 * directory follows them as hubs. Programs ask them, and three of the programs decide in their own memory.
 * All of it is the product's own code, started as the product starts it.
 */
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { type Client, connect } from '../../clients/typescript/index.ts'
import { compile } from '../../engine/index.ts'
import { createKeys } from '../../sidecar/authority/keys.ts'
import { PEPPER_FILE, SIGNING_KEYS_FILE } from '../../sidecar/base/data-folder.ts'
import { readConfig } from '../../sidecar/config/config.ts'
import { startSidecar } from '../../sidecar/index.ts'
import { OtherWorkers } from '../../sidecar/process/workers/worker-changes.ts'
import type { FromWorker } from '../../sidecar/process/workers/worker-messages.ts'
import { matrix as configured, matrixWith } from './truth.ts'
import { network } from './world/network.ts'
import { Machine, time } from './world/time.ts'
import { world } from './world/world.ts'

type Sidecar = Awaited<ReturnType<typeof startSidecar>>

/** The staleness bound of every host, in milliseconds. */
export const BOUND_MS = 1_000
/** How much faster or slower a clock runs at most. */
export const DRIFT_MAX = 0.0005
/** Time between two looks at a host's signing keys, in milliseconds. */
export const KEY_POLL_MS = 500

/** How old the staged key is at the beginning, in milliseconds. */
const STAGED_MS = 3_600_000

/** Behind it are the processes of both hosts, as behind a load balancer. */
const SHARED = '127.0.0.1:7000'

const FOLLOWER_TOKEN = 'fo'.repeat(20)

/** A process of a host. */
export interface Worker {
  machine: Machine
  readonly address: string
  /** Of its control panel; `undefined`: it has none. */
  readonly panel: string | undefined
  readonly config: string
  readonly folder: string
  /** Those of its host, this one among them. */
  readonly host: Host
  sidecar: Sidecar | undefined
  siblings: OtherWorkers | undefined
  log: string[]
}

export interface Host {
  readonly name: string
  /** The kind of token that opens one more API in its shadow, and the digest of that. */
  readonly kind: string | undefined
  readonly shadowDigest: string | undefined
  readonly folder: string
  readonly workers: Worker[]
}

/** A program that asks a sidecar. */
export interface Program {
  readonly name: string
  readonly machine: Machine
  readonly worker: Worker
  readonly local: boolean
  readonly client: Client
}

/** The name of the operator of a worker, as the audit trail has it. */
export function operatorOf(worker: string): string {
  return `operator-${worker}`
}

function operatorToken(worker: string): string {
  return worker.padEnd(40, 'o')
}

function callerOf(name: string, token: string, right: string) {
  return { name, token_sha256: createHash('sha256').update(token).digest('hex'), rights: [right] }
}

export class Fleet {
  readonly hosts: readonly Host[]
  readonly follower: Worker
  readonly programs: Program[] = []
  readonly operators = new Map<Worker, Client>()
  readonly #random: () => number
  readonly #folder: string
  #ports = 7000

  /** @param shared whether the directory is shared, or else a file */
  constructor(folder: string, random: () => number, shared = true) {
    this.#folder = folder
    this.#random = random
    writeFileSync(join(folder, 'matrix.json'), JSON.stringify(configured))
    const directory = shared ? { url: 'postgres://127.0.0.1/fleet' } : {}
    const a = this.#host('a', 2, directory, 'iam_token_account_scoped')
    this.hosts = shared ? [a, this.#host('b', 1, directory, 'static_token')] : [a]
    const token = join(folder, 'follower.token')
    writeFileSync(token, FOLLOWER_TOKEN, { mode: 0o600 })
    const hubs = this.hosts.flatMap(({ workers }) => workers)
    network.share(SHARED, () => (hubs[Math.floor(this.#random() * hubs.length)] as Worker).address)
    const addresses = [SHARED, (hubs.at(-1) as Worker).address]
    const follower = this.#host('f', 1, { hub: { addresses, token_file: token } }, undefined)
    this.follower = follower.workers[0] as Worker
  }

  /** Puts the last host so far from the others and from their directory, in milliseconds of a message. */
  placeApart(ms: number): void {
    const far = this.hosts.at(-1)?.workers ?? []
    for (const { machine } of far)
      for (const name of ['postgres', ...this.workers.map((other) => other.machine.name)])
        if (!far.some((each) => each.machine.name === name)) network.placeApart(machine.name, name, ms)
  }

  get workers(): readonly Worker[] {
    return [...this.hosts.flatMap(({ workers }) => workers), this.follower]
  }

  /** @param kind opens the API that its shadow has more; `undefined`: it has none */
  #host(name: string, workers: number, directory: object, kind: string | undefined): Host {
    const folder = join(this.#folder, name)
    mkdirSync(folder, { mode: 0o700 })
    const matrix = kind === undefined ? undefined : matrixWith(kind)
    const shadow = join(this.#folder, `${name}-shadow.json`)
    if (matrix !== undefined) writeFileSync(shadow, JSON.stringify(matrix))
    const host: Host = { name, folder, workers: [], kind, shadowDigest: matrix && compile(matrix).digest }
    for (let index = 0; index < workers; index++) {
      const address = `127.0.0.1:${++this.#ports}`
      const panel = kind && `127.0.0.1:${this.#ports + 1_000}`
      const http = { address: panel, console: true, connect: true, control_panel: {} }
      const config = join(this.#folder, `${name}${index}.json`)
      writeFileSync(
        config,
        JSON.stringify({
          ...{ data: folder, grpc: { address }, http: panel === undefined ? { address: 'off' } : http },
          login_throttle: { failures: 1_000 },
          directory: { staleness_ms: BOUND_MS, ...directory },
          ...{ matrix: join(this.#folder, 'matrix.json'), ...(matrix && { matrix_shadow: shadow }) },
          callers: [
            callerOf('follower', FOLLOWER_TOKEN, 'follow'),
            callerOf(operatorOf(`${name}${index}`), operatorToken(`${name}${index}`), 'everything'),
          ],
        }),
        { mode: 0o600 },
      )
      host.workers.push({
        ...{ machine: this.#machine(`${name}${index}`), address, panel, config, folder, host },
        ...{ sidecar: undefined, siblings: undefined, log: [] },
      })
    }
    return host
  }

  #machine(name: string): Machine {
    const between = (size: number) => (2 * this.#random() - 1) * size
    return new Machine(name, { rate: 1 + between(DRIFT_MAX), wallAheadMs: Math.round(between(200)) })
  }

  /**
   * Starts everything. The keys of the hosts are those of the first one.
   *
   * @param pepper that of the static tokens; default: a new one
   */
  async start(pepper?: Buffer): Promise<void> {
    const [a, ...others] = this.hosts as [Host, ...Host[]]
    if (pepper !== undefined) writeFileSync(join(a.folder, PEPPER_FILE), pepper, { mode: 0o600 })
    // Keys are changed only after every process has had time to read the staged one.
    createKeys(join(a.folder, SIGNING_KEYS_FILE), Date.now() - STAGED_MS)
    for (const worker of a.workers) await time.until(this.startWorker(worker), 60_000)
    for (const { folder } of others)
      for (const file of [SIGNING_KEYS_FILE, PEPPER_FILE])
        copyFileSync(join(a.folder, file), join(folder, file))
    for (const worker of [...others.flatMap(({ workers }) => workers), this.follower])
      await time.until(this.startWorker(worker), 60_000)
    for (const worker of this.workers) this.#program(worker, false)
    const last = this.hosts.at(-1)?.workers.at(-1)
    for (const worker of [last, this.follower]) this.#program(worker as Worker, true)
    this.#program(a.workers[0] as Worker, true, SHARED)
    for (const { workers } of this.hosts)
      for (const worker of workers) {
        const machine = this.#machine(`operator-${worker.machine.name}`)
        const callerToken = operatorToken(worker.machine.name)
        this.operators.set(
          worker,
          machine.run(() => connect(worker.address, { callerToken })),
        )
      }
  }

  #program(worker: Worker, local: boolean, address = worker.address): void {
    const name = `program-${worker.machine.name}${local ? '-local' : ''}`
    const machine = this.#machine(name)
    const options = { callerToken: FOLLOWER_TOKEN, local: local && { onFailure: () => {} } }
    const client = machine.run(() => connect(address, options))
    this.programs.push({ name, machine, worker, local, client })
  }

  async startWorker(worker: Worker): Promise<void> {
    const { name, rate, wallAheadMs, disturbedUntilMs } = worker.machine
    worker.machine = new Machine(name, { rate, wallAheadMs })
    worker.machine.disturbedUntilMs = disturbedUntilMs
    worker.log = []
    const { machine, host } = worker
    const siblings =
      host.workers.length > 1 ? new OtherWorkers((message) => this.#toPrimary(worker, message)) : undefined
    worker.siblings = siblings
    await machine.run(async () => {
      const log = pino({ level: 'debug' }, { write: (line: string) => void worker.log.push(line) })
      const sidecar = await startSidecar(readConfig({ file: worker.config }), {
        ...{ log, now: Date.now, times: { keyPollMs: KEY_POLL_MS }, metrics: true },
        ...(siblings && { siblings }),
      })
      if (machine.alive) worker.sidecar = sidecar
    })
  }

  /** The primary forwards to the other workers what one has changed, and answers when all know of it. */
  #toPrimary(worker: Worker, message: FromWorker): void {
    if (message.type === 'changed') {
      const others = worker.host.workers.filter(
        (each) => each !== worker && each.machine.alive && each.siblings,
      )
      const waiting = new Set(others)
      const acknowledge = () => {
        if (waiting.size === 0) this.#channel(worker, () => worker.siblings?.acknowledge(message.id))
      }
      for (const other of others) {
        const { machine } = other
        const heard = () => {
          if (waiting.delete(other)) acknowledge()
        }
        this.#hears.set(`${machine.name} ${++this.#messages}`, heard)
        const id = this.#messages
        this.#channel(other, () => other.siblings?.hear(id, message.change))
        // Nothing waits for a worker that has ended.
        this.#whenEnded.push({ machine, run: heard })
      }
      acknowledge()
    } else if (message.type === 'change_heard') {
      const key = `${worker.machine.name} ${message.id}`
      this.#hears.get(key)?.()
      this.#hears.delete(key)
    }
  }

  #messages = 0
  readonly #hears = new Map<string, () => void>()
  #whenEnded: { readonly machine: Machine; readonly run: () => void }[] = []

  #channel(worker: Worker, arrive: () => void): void {
    const { machine } = worker
    // Mostly at once; a worker that is busy reads it later.
    time.afterOn(machine, 0.2 + this.#random() * (this.#random() < 0.9 ? 2 : 40), arrive)
  }

  /** Ends a process at once, as SIGKILL does. */
  kill(worker: Worker): void {
    const { machine } = worker
    machine.end()
    worker.sidecar = undefined
    worker.siblings = undefined
    network.ended(machine)
    if (world.file === undefined) time.after(network.delayMs(), () => world.postgres.ended(machine))
    for (const { machine: ended, run } of this.#whenEnded) if (ended === machine) run()
    this.#whenEnded = this.#whenEnded.filter((each) => each.machine !== machine)
  }

  /** Ends everything. Nothing of it goes on. */
  close(): void {
    for (const { machine } of [...this.workers, ...this.programs]) machine.end()
  }
}
