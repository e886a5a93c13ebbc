/** A real PostgreSQL server of one test file: in a folder of its own, as a user who is not root, durable as in production. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import type { Certificate } from '../interop/certificates.ts'
import { type RunningProcess, startProcess } from '../processes.ts'

/** Part of every password that reaches the product here, so that outputs can be searched for it. */
export const CANARY = 'canary-of-the-directory'
const PASSWORD = `${CANARY}-${randomBytes(8).toString('hex')}`

export class PostgresServer {
  readonly port: number
  readonly #programs: string
  readonly #folder: string
  readonly #user: { uid: number; gid: number } | undefined
  #process: RunningProcess | undefined
  #databases = 0

  private constructor(programs: string, port: number) {
    this.port = port
    this.#programs = programs
    this.#folder = mkdtempSync(join(tmpdir(), 'portcullis-postgres-'))
    this.#user = userForServers()
    this.#own(this.#folder)
  }

  /**
   * @param programs folder of PostgreSQL's programs
   * @param certificate what it shows to clients that want TLS; without one it speaks none
   */
  static async start(programs: string, certificate?: Certificate): Promise<PostgresServer> {
    const server = new PostgresServer(programs, await freePort())
    server.#initialise(certificate)
    await server.start()
    return server
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
      const server = startProcess([join(this.#programs, 'postgres'), '-D', join(this.#folder, 'data')], {
        cwd: this.#folder,
        ...(this.#user && { user: this.#user }),
      })
      this.#process = server
      try {
        await server.until(() => server.stderr().includes('ready to accept connections'))
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

  async remove(): Promise<void> {
    await this.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #initialise(certificate: Certificate | undefined): void {
    const data = join(this.#folder, 'data')
    const passwordFile = join(this.#folder, 'password')
    const sockets = join(this.#folder, 'sockets')
    mkdirSync(sockets)
    writeFileSync(passwordFile, PASSWORD)
    for (const path of [sockets, passwordFile]) this.#own(path)
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
      join(this.#programs, 'initdb'),
      [...Object.entries(options).map(([name, value]) => `${name}=${value}`), '--no-sync'],
      { ...this.#user, cwd: this.#folder, stdio: 'pipe' },
    )
    writeFileSync(
      join(data, 'postgresql.conf'),
      [
        `port = ${this.port}`,
        "listen_addresses = '127.0.0.1'",
        `unix_socket_directories = '${sockets}'`,
        'fsync = on',
        'synchronous_commit = on',
        'max_connections = 60',
        'shared_buffers = 32MB',
        ...(certificate === undefined ? [] : this.#tls(certificate)),
      ].join('\n'),
    )
  }

  /** The server reads a key only if it is its own, and nobody else can. */
  #tls({ certificate, key }: Certificate): string[] {
    const files = { ssl_cert_file: certificate, ssl_key_file: key }
    const settings = Object.entries(files).map(([setting, file]) => {
      const copy = join(this.#folder, `${setting}.pem`)
      copyFileSync(file, copy)
      chmodSync(copy, 0o600)
      this.#own(copy)
      return `${setting} = '${copy}'`
    })
    return ['ssl = on', ...settings]
  }

  #version(): number {
    const said = execFileSync(join(this.#programs, 'initdb'), ['--version'], { encoding: 'utf8' })
    return Number(/ (\d+)/.exec(said)?.[1])
  }

  #own(path: string): void {
    if (this.#user !== undefined) chownSync(path, this.#user.uid, this.#user.gid)
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#process?.signal(signal)
    await this.#process?.ended
  }
}

/** PostgreSQL refuses to run as root: Debian's package brings a user. */
function userForServers(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
