/**
 * A real PostgreSQL server of one test file: in a separate folder, as a user who is not root, durable as in
 * production.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import type { Certificate } from '../interop/certificates.ts'
import { type RunningProcess, startProcess } from '../processes/processes.ts'
import { freePort } from '../suite/resources.ts'

/** TLS of a server. */
export interface ServerTls {
  /** The certificate that it shows to clients. */
  readonly certificate: Certificate
  /**
   * PEM file of the authority that must have signed a client's certificate for its user; default: clients
   * need none.
   */
  readonly clientAuthority?: string
}

/** Part of every password that reaches the product here, so that outputs can be searched for it. */
export const CANARY = 'canary-of-the-directory'
const PASSWORD = `${CANARY}-${randomBytes(8).toString('hex')}`

export class PostgresServer {
  readonly port: number
  protected readonly programs: string
  protected readonly folder: string
  protected readonly user: { uid: number; gid: number } | undefined
  #process: RunningProcess | undefined
  #databases = 0

  protected constructor(programs: string, port: number) {
    this.port = port
    this.programs = programs
    this.folder = mkdtempSync(join(tmpdir(), 'portcullis-postgres-'))
    this.user = userForServers()
    this.own(this.folder)
  }

  /**
   * @param programs folder of PostgreSQL's programs
   * @param tls without it, it speaks none
   */
  static async start(programs: string, tls?: ServerTls): Promise<PostgresServer> {
    const server = new PostgresServer(programs, await freePort())
    server.#initialise(tls)
    await server.start()
    return server
  }

  /** A standby of this server, which receives its changes as they are made. */
  async startStandby(name = 'standby'): Promise<PostgresServer> {
    const standby = new PostgresServer(this.programs, await freePort())
    const data = join(standby.folder, 'data')
    const from = ['--dbname', this.url('postgres'), '--write-recovery-conf', '--checkpoint=fast']
    execFileSync(join(this.programs, 'pg_basebackup'), ['--pgdata', data, ...from, '--no-sync'], {
      ...this.user,
      cwd: standby.folder,
      stdio: 'pipe',
    })
    // The last value of a setting counts. The name is what the primary knows the standby by.
    standby.#configure([`cluster_name = '${name}'`])
    await standby.start()
    await waitFor(async () => {
      const [row] = await this.query('postgres', 'SELECT COUNT(*)::int AS count FROM pg_stat_replication')
      return row?.count === 1
    })
    return standby
  }

  /** A standby that is cut off from its primary. Changes of the primary do not reach it any more. */
  async cutOff(): Promise<void> {
    await this.query('postgres', "ALTER SYSTEM SET primary_conninfo = ''")
    await this.query('postgres', 'SELECT pg_reload_conf()')
    await waitFor(async () => {
      const [row] = await this.query('postgres', 'SELECT COUNT(*)::int AS count FROM pg_stat_wal_receiver')
      return row?.count === 0
    })
  }

  /** Waits until the standby has every change that this server has. */
  async replicatedTo(standby: PostgresServer): Promise<void> {
    const [row] = await this.query('postgres', 'SELECT pg_current_wal_lsn()::text AS lsn')
    await waitFor(async () => {
      const [there] = await standby.query(
        'postgres',
        `SELECT pg_last_wal_replay_lsn() >= '${row?.lsn}'::pg_lsn AS all`,
      )
      return there?.all === true
    })
  }

  /** Makes a standby the primary. */
  async promote(): Promise<void> {
    await this.query('postgres', 'SELECT pg_promote()')
  }

  /** Changes a setting of the running server. */
  async set(setting: string, value: string): Promise<void> {
    await this.query('postgres', `ALTER SYSTEM SET ${setting} = '${value}'`)
    await this.query('postgres', 'SELECT pg_reload_conf()')
  }

  /** Of its first process, with which all of it ends. */
  get pid(): number {
    return this.#process?.pid ?? 0
  }

  /** An empty database of this name, or of a new one. */
  async newDatabase(): Promise<string> {
    const database = `directory_${this.#databases++}`
    await this.query('postgres', `CREATE DATABASE ${database}`)
    return this.url(database)
  }

  /** @param port of something that stands between */
  url(
    database: string,
    { user = 'owner', password = PASSWORD, host = '127.0.0.1', port = this.port } = {},
  ): string {
    return `postgres://${user}:${encodeURIComponent(password)}@${host}:${port}/${database}`
  }

  /** As the superuser. */
  async query(database: string, sql: string): Promise<Record<string, unknown>[]> {
    const client = new Client({ connectionString: this.url(database), connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows
    } finally {
      await client.end()
    }
  }

  /** Starts the server again, after `kill` or `stop`. */
  async start(): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const server = startProcess([join(this.programs, 'postgres'), '-D', join(this.folder, 'data')], {
        cwd: this.folder,
        ...(this.user && { user: this.user }),
      })
      this.#process = server
      try {
        await server.until(() => /ready to accept (read-only )?connections/.test(server.stderr()))
        return
      } catch (error) {
        // Processes of a server that was killed take a moment to see it, and keep its memory until then.
        if (attempt === 20) throw error
        await delay(500)
      }
    }
  }

  /** As a power cut does. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  async stop(): Promise<void> {
    await this.#end('SIGINT')
  }

  /** At once, so that it recovers when it starts again (`pg_ctl stop -m immediate`). */
  async stopImmediately(): Promise<void> {
    await this.#end('SIGQUIT')
  }

  async remove(): Promise<void> {
    await this.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }

  #initialise(tls: ServerTls | undefined): void {
    const data = join(this.folder, 'data')
    const passwordFile = join(this.folder, 'password')
    writeFileSync(passwordFile, PASSWORD)
    this.own(passwordFile)
    const options = {
      '--pgdata': data,
      '--username': 'owner',
      '--auth': 'scram-sha-256',
      '--pwfile': passwordFile,
      '--encoding': 'UTF8',
      '--locale': 'C.UTF-8',
      // Another order than that of bytes, from the first version that can have it everywhere.
      ...(this.#version() >= 15 && { '--locale-provider': 'icu', '--icu-locale': 'en-US' }),
    }
    execFileSync(
      join(this.programs, 'initdb'),
      [...Object.entries(options).map(([name, value]) => `${name}=${value}`), '--no-sync'],
      { ...this.user, cwd: this.folder, stdio: 'pipe' },
    )
    this.#configure([
      "listen_addresses = '127.0.0.1'",
      'fsync = on',
      'synchronous_commit = on',
      'max_connections = 60',
      'shared_buffers = 32MB',
      ...(tls === undefined ? [] : this.#tls(tls)),
    ])
    if (tls?.clientAuthority !== undefined)
      writeFileSync(join(data, 'pg_hba.conf'), 'hostssl all all all scram-sha-256 clientcert=verify-full\n')
  }

  #configure(lines: readonly string[]): void {
    const sockets = join(this.folder, 'sockets')
    mkdirSync(sockets)
    this.own(sockets)
    const own = [`port = ${this.port}`, `unix_socket_directories = '${sockets}'`]
    appendFileSync(join(this.folder, 'data', 'postgresql.conf'), ['', ...own, ...lines, ''].join('\n'))
  }

  /** The server reads a key only if it is its own, and no other user can read it. */
  #tls({ certificate: { certificate, key }, clientAuthority }: ServerTls): string[] {
    const files = {
      ssl_cert_file: certificate,
      ssl_key_file: key,
      ...(clientAuthority !== undefined && { ssl_ca_file: clientAuthority }),
    }
    const settings = Object.entries(files).map(([setting, file]) => {
      const copy = join(this.folder, `${setting}.pem`)
      copyFileSync(file, copy)
      chmodSync(copy, 0o600)
      this.own(copy)
      return `${setting} = '${copy}'`
    })
    return ['ssl = on', ...settings]
  }

  #version(): number {
    const said = execFileSync(join(this.programs, 'initdb'), ['--version'], { encoding: 'utf8' })
    return Number(/ (\d+)/.exec(said)?.[1])
  }

  protected own(path: string): void {
    if (this.user !== undefined) chownSync(path, this.user.uid, this.user.gid)
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#process?.signal(signal)
    await this.#process?.ended
  }
}

/** PostgreSQL refuses to run as root: Debian's package brings a user. */
export function userForServers(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

async function waitFor(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(50)
}
