/**
 * Two real hosts on one real PostgreSQL, which failures befall: `a` has two workers and asks PostgreSQL
 * directly, `b` is one process behind a network that fails. Each keeps its address when it is started again.
 */
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { applyFile, type DirectoryFile } from '../../../sidecar/authority/administration/directory-file.ts'
import type { OpenedAuthority } from '../../../sidecar/authority/open-authority.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import { run } from '../../../sidecar/usecases/administration/run.ts'
import type { Caller } from '../../world/operations.ts'
import { BlackBox, contractService, directoryService, type Message } from '../contract/black-box.ts'
import { openAuthority } from '../directory/scene.ts'
import { PostgresProxy } from '../postgres/proxy.ts'
import { PostgresServer } from '../postgres/server.ts'
import { type RunningProcess, serve } from '../processes/processes.ts'
import { workersOf } from '../processes/worker-storm.ts'
import { TESTER } from '../sidecar/actor.ts'
import { eventually, freePort, newFolder } from '../suite/resources.ts'

/** How many connections clients share to each host. The workers of a host get them in turn. */
const CONNECTIONS = 6
/** Few, so that they are soon there again when PostgreSQL is. */
const POOL_SIZE = { a: 6, b: 4 }
/** How long a client waits for an answer. */
const DEADLINE_MS = 2_000
const CHEAP_PASSWORDS = new URL('./cheap-passwords.ts', import.meta.url).href

/** Names of the hosts. */
export type HostName = 'a' | 'b'

/** A host that is there again is asked again at once. */
const RECONNECTING = { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 200 }

/** A connection of clients to a host. */
export class Line {
  readonly #calls: { readonly check: BlackBox; readonly directory: BlackBox }
  readonly #callerToken: string
  readonly #process: () => string

  /** @param process which process answers the checks now; empty: it is not known */
  constructor(address: string, callerToken: string, process: () => string) {
    this.#calls = {
      check: new BlackBox(address, contractService, RECONNECTING),
      directory: new BlackBox(address, directoryService, RECONNECTING),
    }
    this.#callerToken = callerToken
    this.#process = process
  }

  get process(): string {
    return this.#process()
  }

  ask(service: 'check' | 'directory', method: string, request: Message): Promise<Message> {
    return this.#calls[service].ask(method, request, this.#wishes())
  }

  /** The same as a client of TypeScript: its names are those of the proto in another writing. */
  get caller(): Caller {
    const asking = (service: 'check' | 'directory') =>
      new Proxy(
        {},
        {
          get: (_, method: string) => (request: Message) =>
            this.ask(
              service,
              method.replace(/^./, (first) => first.toUpperCase()),
              asInProto(request),
            ),
        },
      )
    const { issue, revoke } = asking('check') as Caller
    return { issue, revoke, directory: asking('directory') as Caller['directory'] }
  }

  #wishes() {
    return { callerToken: this.#callerToken, deadline: Date.now() + DEADLINE_MS }
  }
}

function asInProto<T>(value: T): T {
  if (Array.isArray(value)) return value.map(asInProto) as T
  if (typeof value !== 'object' || value === null) return value
  const renamed = Object.entries(value).map(([name, each]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    asInProto(each),
  ])
  return Object.fromEntries(renamed)
}

/** A host that can be killed, and started again at the same address. */
export class FailingHost {
  readonly #serve: () => Promise<RunningProcess>
  readonly #ofWorkers: boolean
  readonly lines: readonly Line[]
  #process: RunningProcess
  /** Rises with each end of a process: then a connection may lead to another one. */
  #epoch = 0

  private constructor(
    name: HostName,
    address: string,
    data: string,
    {
      run,
      process,
      workers,
    }: { run: () => Promise<RunningProcess>; process: RunningProcess; workers: number },
  ) {
    this.#serve = run
    this.#process = process
    this.#ofWorkers = workers > 1
    const token = readFileSync(join(data, 'administrator-token'), 'utf8').trim()
    this.lines = Array.from(
      { length: CONNECTIONS },
      (_, line) =>
        new Line(address, token, () => (this.#ofWorkers ? `${name} ${line} ${this.#epoch}` : name)),
    )
  }

  static async start(
    name: HostName,
    data: string,
    workers: number,
    variables: Readonly<Record<string, string>>,
  ): Promise<FailingHost> {
    const address = `127.0.0.1:${await freePort()}`
    const environment = { PORTCULLIS_WORKERS: String(workers), ...variables }
    const run = () => serve(['--data', data, '--grpc', address], { environment })
    return new FailingHost(name, address, data, { run, process: await run(), workers })
  }

  /** All of its processes; the first one starts the others. */
  get pids(): readonly number[] {
    return [this.#process.pid, ...this.workers]
  }

  get workers(): readonly number[] {
    return this.#ofWorkers ? workersOf(this.#process) : []
  }

  async killAndStart(): Promise<void> {
    this.#epoch++
    this.#process.signal('SIGKILL')
    await this.#process.ended
    // One that does not reach PostgreSQL in time does not start, and is started again, as by a supervisor.
    this.#process = await eventually(() =>
      this.#serve().catch((error: Error) => {
        if (!/a directory that can be opened|DIRECTORY_UNAVAILABLE/.test(error.message)) throw error
        return undefined
      }),
    )
    this.#epoch++
  }

  /** The host starts another one in its place. */
  killWorker(): void {
    const [worker] = this.workers
    this.#epoch++
    if (worker !== undefined) process.kill(worker, 'SIGKILL')
  }

  async stop(): Promise<number | NodeJS.Signals> {
    return (await this.#process.stop()).code
  }
}

/** What the clients of a history know when it begins. */
export interface Scene {
  readonly account: string
  readonly password: string
  readonly staticToken: string
}

export interface Stage {
  readonly server: PostgresServer
  readonly database: string
  /** Between `b` and PostgreSQL. */
  readonly proxy: PostgresProxy
  readonly hosts: Readonly<Record<HostName, FailingHost>>
  /** Of a third host, which no failure befalls but those of PostgreSQL. */
  readonly operator: Caller
  /** New accounts, each with a project, a service user with a permission, and a panel user with a token. */
  newScenes(count: number): Promise<readonly Scene[]>
  close(): Promise<void>
}

/**
 * @param programs folder of PostgreSQL's programs
 * @param stalenessMs the bound that each host is configured with
 */
export async function openStage(
  programs: string,
  stalenessMs: Readonly<Record<HostName, number>>,
): Promise<Stage> {
  const server = await PostgresServer.start(programs)
  const proxy = await PostgresProxy.start(server.port)
  const url = await server.newDatabase()
  const database = new URL(url).pathname.slice(1)
  const folders = { a: newFolder(), b: newFolder() }
  const authority = await openAuthority(folders.a, {
    ...{ url: new Secret(url), stalenessMs: 0, poolSize: 2, timeoutMs: 5_000 },
  })
  for (const file of ['signing-keys.json', 'static-token-pepper'])
    copyFileSync(join(folders.a, file), join(folders.b, file))
  const start = (name: HostName, workers: number, directory: string) =>
    FailingHost.start(name, folders[name], workers, {
      PORTCULLIS_DIRECTORY_URL: directory,
      PORTCULLIS_DIRECTORY_STALENESS_MS: String(stalenessMs[name]),
      PORTCULLIS_DIRECTORY_POOL_SIZE: String(POOL_SIZE[name]),
      NODE_OPTIONS: `--import=${CHEAP_PASSWORDS}`,
    })
  const [a, b] = await Promise.all([
    start('a', 2, url),
    start('b', 1, server.url(database, { port: proxy.port })),
  ])
  return {
    ...{ server, database, proxy, hosts: { a, b } },
    operator: operatorOf(authority),
    newScenes: (count) => newScenes(authority, count),
    close: async () => {
      await Promise.all([a.stop(), b.stop()])
      await authority.close()
      await proxy.close()
      await server.remove()
    },
  }
}

/** Makes and deletes accounts, as `portcullis directory apply` and an operator do. */
function operatorOf({ administration }: OpenedAuthority): Caller {
  return {
    apply: (file) => applyFile(administration, TESTER, file as DirectoryFile),
    directory: {
      deleteAccount: ({ account = '' }) => run(administration, TESTER, 'deleteAccount', { account }),
    } as unknown as Caller['directory'],
  } as Caller
}

let scenes = 0

async function newScenes({ administration }: OpenedAuthority, count: number): Promise<Scene[]> {
  const accounts = Array.from({ length: count }, () => `${process.pid}-${scenes++}`)
  const { secrets } = await applyFile(administration, TESTER, {
    accounts: accounts.map((account) => ({
      account,
      projects: ['alpha'],
      service_users: [{ name: 'robot', permissions: [{ scope: 'account' }] }],
      control_panel_users: [{ name: 'person', static_tokens: ['key'] }],
    })),
  })
  const values = new Map(secrets.map(({ account, user, value }) => [`${account} ${user}`, value.reveal()]))
  const secret = (account: string, user: string) => values.get(`${account} ${user}`) ?? ''
  return accounts.map((account) => ({
    account,
    password: secret(account, 'robot'),
    staticToken: secret(account, 'person'),
  }))
}
