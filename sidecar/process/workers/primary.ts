/**
 * `serve --workers N`: several sidecars in separate processes, on the same addresses. This process, the
 * primary, owns the listening sockets and gives each connection to the next worker (`SharedListener`). It
 * replaces workers that end or hang, and answers no call itself.
 */
import { extname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { FailedLogins } from '../../authority/throttle.ts'
import { expectDescriptors } from '../../base/net/descriptors.ts'
import { isExecutable } from '../../base/package.ts'
import { type Config, throttleLimitsOf } from '../../config/config.ts'
import { socketAccessOf } from '../../config/socket-access.ts'
import type { HealthServer } from '../../signals/health/health-server.ts'
import type { HealthSource } from '../../signals/health/source.ts'
import { newLog } from '../../signals/log/log.ts'
import { checkHealthAddress, openHealth } from '../open/open-health.ts'
import { hasMetrics } from '../open/open-metrics.ts'
import type { Serving } from '../serving.ts'
import { GroupHealth } from './group-health.ts'
import { SharedListener } from './shared-listener.ts'
import {
  type ListenRequest,
  sentConfig,
  WORKER_WORD,
  type WorkerChange,
  type WorkerServing,
} from './worker-messages.ts'
import { PROBE_INTERVALS, WorkerProcess } from './worker-process.ts'

/** A worker that ends within this time ended too early, in milliseconds. */
const SHORT_LIFE_MS = 10_000

/** After this many ends in a row before the worker was ready, the primary gives up. */
const FAILED_STARTS_MAX = 5

/**
 * The pause before a worker is started again after its second early end in a row, in milliseconds. It doubles
 * each time.
 */
const BACK_OFF_MS = 100
const BACK_OFF_MS_MAX = 1_000

/** How long a worker may take to forget a token that was revoked at an upstream, in milliseconds. */
const TOKEN_FORGOTTEN_MS_MAX = 5_000

/** The program is in the same folder as this file, compiled or not. The executable starts itself. */
const PROGRAM = isExecutable
  ? WORKER_WORD
  : join(import.meta.dirname, `worker${extname(import.meta.filename)}`)

/** How long a worker may take to end after the time limit for its calls, in milliseconds. */
const CLOSING_MS_MAX = 5_000

/**
 * Starts `config.workers` workers. Resolves when all of them serve.
 *
 * @param onFailed called once, when workers ended too early too often and everything is closed
 * @throws Error that says why a worker cannot serve
 */
export async function startWorkers(config: Config, onFailed: (error: Error) => void): Promise<Serving> {
  const pool = new Pool(config, onFailed)
  // If this process exits without closing the pool, the workers must not outlive it.
  process.once('exit', () => pool.kill())
  try {
    const serving = await pool.start()
    return {
      grpcAddress: serving.grpcAddress,
      httpAddress: serving.httpAddress,
      egressAddress: serving.egressAddress,
      healthAddress: pool.healthAddress,
      matrixDigest: serving.matrixDigest,
      rulesDigest: serving.rulesDigest,
      shadowDigest: serving.shadowDigest,
      reload: () => pool.reload(),
      diagnose: () => pool.diagnose(),
      close: () => pool.close(),
    }
  } catch (error) {
    await pool.close()
    throw error
  }
}

class Pool {
  readonly #config: Config
  readonly #log: Logger
  readonly #failedLogins: FailedLogins
  readonly #onFailed: (error: Error) => void
  readonly #workers = new Set<WorkerProcess>()
  /** The shared listeners, each from the first request for it. */
  readonly #listeners = new Map<string, Promise<SharedListener>>()
  readonly #health: GroupHealth
  #healthServer: HealthServer | undefined
  /** Whether a worker has served with this configuration. */
  #served = false
  #probing: NodeJS.Timeout | undefined
  #closing: Promise<void> | undefined

  constructor(config: Config, onFailed: (error: Error) => void) {
    this.#config = config
    this.#log = newLog(config.log, { pid: process.pid })
    this.#failedLogins = new FailedLogins(throttleLimitsOf(config), Date.now)
    this.#onFailed = onFailed
    this.#health = new GroupHealth(config.workers)
  }

  get healthAddress(): string | undefined {
    return this.#healthServer?.address
  }

  async start(): Promise<WorkerServing> {
    checkHealthAddress(this.#config)
    this.#healthServer = await openHealth(this.#config, this.#healthSource())
    // The first worker starts alone. So an error in the configuration is reported once, and a free port is
    // chosen once.
    this.#probing = setInterval(
      () => this.#probe(),
      this.#config.worker_heartbeat_timeout_ms / PROBE_INTERVALS,
    )
    const first = this.#fork()
    const serving = await first.ready
    this.#served = true
    const others = Array.from({ length: this.#config.workers - 1 }, () => this.#fork())
    await Promise.all(others.map((worker) => worker.ready))
    expectDescriptors()
    for (const worker of [first, ...others]) void this.#keep(worker)
    return serving
  }

  #healthSource(): HealthSource {
    const health = this.#health
    return {
      log: this.#log,
      get state() {
        return health.state
      },
      metrics: hasMetrics(this.#config) ? () => health.metrics() : undefined,
    }
  }

  reload(): void {
    for (const worker of this.#workers) worker.send({ type: 'reload' })
  }

  diagnose(): void {
    for (const worker of this.#workers) worker.send({ type: 'diagnose' })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  kill(): void {
    for (const worker of this.#workers) worker.kill()
  }

  #probe(): void {
    const responding = [...this.#workers].filter(({ responds }) => responds)
    // The last one while they stop: the others had the time to end.
    const isLast = this.#closing !== undefined && this.#workers.size === 1
    for (const worker of this.#workers) {
      const isLonely = !responding.some((other) => other !== worker) && !isLast
      worker.probe(isLonely)
    }
  }

  async #close(): Promise<void> {
    this.#health.stop()
    for (const listener of this.#listeners.values())
      void listener.then(
        (opened) => opened.closeWhenUnused(),
        () => {},
      )
    for (const worker of this.#workers) worker.send({ type: 'stop' })
    const timer = setTimeout(() => this.kill(), this.#config.drain_ms + CLOSING_MS_MAX)
    await Promise.all([...this.#workers].map((worker) => worker.ended))
    clearTimeout(timer)
    clearInterval(this.#probing)
    this.#healthServer?.close()
  }

  /**
   * Replaces the worker each time that it ends, until the pool closes. A worker that has served is always
   * replaced, because giving up would be the outage that supervision prevents. Workers that cannot even start
   * are an error of their installation.
   */
  async #keep(worker: WorkerProcess): Promise<void> {
    for (let [shortLives, failedStarts] = [0, 0]; ; worker = this.#fork()) {
      const ended = await worker.ended
      if (this.#closing !== undefined) return
      shortLives = worker.ageMs < SHORT_LIFE_MS ? shortLives + 1 : 0
      failedStarts = worker.served ? 0 : failedStarts + 1
      this.#log.warn({ worker: worker.pid, ended }, 'a worker ended; another one takes its place')
      if (failedStarts === FAILED_STARTS_MAX)
        return this.#fail(new Error(`workers end right after they start; the last one: ${ended}`))
      if (shortLives > 1) await sleep(Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS * 2 ** (shortLives - 2)))
      if (this.#closing !== undefined) return
    }
  }

  async #fail(error: Error): Promise<void> {
    if (this.#closing !== undefined) return
    await this.close()
    this.#onFailed(error)
  }

  #fork(): WorkerProcess {
    const config = sentConfig(shareOf(this.#config))
    const worker = new WorkerProcess(
      PROGRAM,
      { type: 'start', config, again: this.#served },
      {
        failedLogins: this.#failedLogins,
        tellOthers: (changer, change) => this.#tellOthers(changer, change),
        listen: (request) => this.#listen(request),
        health: (reporter, state) => this.#health.report(reporter, state),
      },
    )
    this.#workers.add(worker)
    void worker.ended.then(() => {
      this.#workers.delete(worker)
      this.#health.remove(worker)
    })
    worker.ready.then(
      () => this.#log.info({ worker: worker.pid }, 'a worker is ready'),
      // The worker ends now, and `#keep` reports that.
      () => {},
    )
    return worker
  }

  /**
   * Waits for each worker until it has ended if it does not answer. For a change of the directory it waits at
   * most the staleness bound: after it, nothing that is remembered is older than the change.
   */
  async #tellOthers(changer: WorkerProcess, change: WorkerChange): Promise<void> {
    const others = [...this.#workers].filter((worker) => worker !== changer)
    const { staleness_ms } = this.#config.directory
    await Promise.all(
      others.map((worker) =>
        'records' in change
          ? worker.hear(staleness_ms, change)
          : worker.forgetToken(TOKEN_FORGOTTEN_MS_MAX, change.token),
      ),
    )
  }

  /** Listens when the first worker asks for it. A worker that asks later shares that listener. */
  #listen({ listener, address }: ListenRequest): Promise<SharedListener> {
    let opened = this.#listeners.get(listener)
    if (opened === undefined) {
      const access = listener === 'grpc' ? socketAccessOf(this.#config) : undefined
      opened = SharedListener.open(listener, address, access)
      this.#listeners.set(listener, opened)
    }
    return opened
  }
}

/**
 * One worker's share of the limits that hold for all workers together: rounded up, and never less than a
 * worker needs.
 */
function shareOf(config: Config): Config {
  const share = (whole: number, least: number) => Math.max(least, Math.ceil(whole / config.workers))
  const { passwords, directory } = config
  return {
    ...config,
    // The primary has that listener, and answers for all workers.
    health: { address: 'off', metrics: hasMetrics(config) },
    passwords: {
      ...passwords,
      concurrent: share(passwords.concurrent, 1),
      waiting: share(passwords.waiting, 1),
    },
    directory: { ...directory, pool_size: share(directory.pool_size, 2) },
  }
}
