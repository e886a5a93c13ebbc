/** A real PgBouncer of one test file, in front of a PostgreSQL server. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunningProcess, startProcess } from '../processes/processes.ts'
import { freePort, newFolder } from '../suite/resources.ts'
import { type PostgresServer, userForServers } from './server.ts'

/** After what a session of the server may go to another connection. */
export type PoolMode = 'session' | 'transaction' | 'statement'

export class PgBouncer {
  readonly port: number
  readonly #program: string
  readonly #folder = newFolder()
  #process: RunningProcess | undefined

  private constructor(programs: string, port: number) {
    this.#program = join(programs, 'pgbouncer')
    this.port = port
    chmodSync(this.#folder, 0o755)
  }

  /** @param programs folder of the program */
  static async start(programs: string, server: PostgresServer, mode: PoolMode): Promise<PgBouncer> {
    const bouncer = new PgBouncer(programs, await freePort())
    await bouncer.start(server, mode)
    return bouncer
  }

  /** Starts it, again after `stop`, in front of that server. */
  async start(server: PostgresServer, mode: PoolMode): Promise<void> {
    const { username, password } = new URL(server.url('postgres'))
    const users = join(this.#folder, 'users.txt')
    const settings = join(this.#folder, 'pgbouncer.ini')
    writeFileSync(users, `"${username}" "${decodeURIComponent(password)}"\n`)
    writeFileSync(
      settings,
      [
        '[databases]',
        `* = host=127.0.0.1 port=${server.port}`,
        '[pgbouncer]',
        'listen_addr = 127.0.0.1',
        `listen_port = ${this.port}`,
        'unix_socket_dir =',
        'auth_type = scram-sha-256',
        `auth_file = ${users}`,
        `pool_mode = ${mode}`,
        'default_pool_size = 20',
        '',
      ].join('\n'),
    )
    const user = userForServers()
    const bouncer = startProcess([this.#program, settings], { ...(user && { user }) })
    this.#process = bouncer
    await bouncer.until(() => bouncer.stderr().includes('process up'))
  }

  async stop(): Promise<void> {
    this.#process?.signal('SIGTERM')
    await this.#process?.ended
  }
}
