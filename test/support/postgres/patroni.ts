/** PostgreSQL servers that Patroni runs, which decides by itself who is the primary, by a real etcd. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unpacked } from '../interop/debian.ts'
import { obtained } from '../interop/obtain.ts'
import { installedFromPython } from '../interop/python-packages.ts'
import { type RunningProcess, startProcess } from '../processes/processes.ts'
import { eventually, freePort, newFolder, whenTheFileEnds } from '../suite/resources.ts'
import { PostgresProxy } from './proxy.ts'
import { PostgresServer } from './server.ts'

export interface Patroni {
  /** The programs. */
  readonly etcd: string
  readonly patroni: string
}

export function obtainPatroni() {
  return obtained('Patroni', async (): Promise<Patroni> => {
    const packages = ['patroni[etcd3]==4.1.5', 'psycopg[binary]==3.3.7']
    // One of the packages that it needs is there as sources only, and they compile nothing.
    const programs = await installedFromPython('patroni', packages, ['--prefer-binary'])
    const etcd = join(await unpacked('etcd', ['etcd-server']), 'usr/bin/etcd')
    return { etcd, patroni: join(programs, 'patroni') }
  })
}

/** A server, as Patroni describes it. */
export interface Member {
  readonly name: string
  readonly role: 'leader' | 'sync_standby' | 'replica'
  readonly state: string
  readonly timeline?: number
}

/** One of several servers: a machine with PostgreSQL and Patroni. */
export class PatroniServer extends PostgresServer {
  readonly name: string
  /** Address of Patroni's REST API. */
  readonly api: string
  #patroni: RunningProcess | undefined
  #command: readonly string[] = []
  /** Of what `freeze` has stopped. */
  #frozen: readonly number[] = []
  /** The proxy through which the other servers reach this one. */
  #link: PostgresProxy | undefined
  /** The same of the primary. */
  #source: PostgresProxy | undefined

  private constructor(programs: string, port: number, name: string, api: string) {
    super(programs, port)
    this.name = name
    this.api = api
  }

  /**
   * @param programs folder of PostgreSQL's programs
   * @param dcs settings of the cluster
   * @returns the primary, and then its standbys
   */
  static async startAll(
    programs: string,
    { etcd, patroni }: Patroni,
    names: readonly string[],
    dcs: object,
  ): Promise<PatroniServer[]> {
    const [store, peer] = [await freePort(), await freePort()]
    const flags = [
      ...['listen-client-urls', 'advertise-client-urls'].map((flag) => `--${flag}=http://127.0.0.1:${store}`),
      ...['listen-peer-urls', 'initial-advertise-peer-urls'].map(
        (flag) => `--${flag}=http://127.0.0.1:${peer}`,
      ),
      `--initial-cluster=default=http://127.0.0.1:${peer}`,
    ]
    const keeper = startProcess([etcd, '--data-dir', newFolder(), ...flags])
    await keeper.until(() => keeper.stderr().includes('ready to serve client requests'))
    const start = async (name: string) => {
      const server = new PatroniServer(programs, await freePort(), name, `127.0.0.1:${await freePort()}`)
      await server.#configure(patroni, `127.0.0.1:${store}`, dcs)
      await server.start()
      return server
    }
    const servers: PatroniServer[] = []
    for (const name of names) servers.push(await start(name))
    const [primary, ...standbys] = servers as [PatroniServer, ...PatroniServer[]]
    for (const standby of standbys) standby.#source = primary.#link
    const streams = `SELECT count(*) = ${standbys.length} AS yes FROM pg_stat_replication WHERE state = 'streaming'`
    await eventually(() => primary.#says(streams))
    return servers
  }

  override async cutOff(): Promise<void> {
    this.#source?.goSilent(true)
  }

  override async kill(): Promise<void> {
    this.#patroni?.signal('SIGKILL')
    process.kill(this.#postmaster, 'SIGKILL')
    // PostgreSQL writes where Patroni does.
    await this.#patroni?.ended
  }

  /** Stops every process of it where it is, as a machine that hangs does. */
  freeze(): void {
    this.#frozen = [this.#patroni?.pid ?? 0, this.#postmaster].flatMap((pid) => [pid, ...childrenOf(pid)])
    for (const pid of this.#frozen) process.kill(pid, 'SIGSTOP')
  }

  /** All that `freeze` stopped goes on. */
  thaw(): void {
    for (const pid of this.#frozen)
      try {
        process.kill(pid, 'SIGCONT')
      } catch (error) {
        // One that was about to end has ended.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
    this.#frozen = []
  }

  /** Stops what receives the changes of the primary. Returns what lets it go on. */
  async freezeReceiver(): Promise<() => void> {
    const [row] = await this.query('postgres', 'SELECT pid FROM pg_stat_wal_receiver')
    const pid = Number(row?.pid)
    process.kill(pid, 'SIGSTOP')
    this.#frozen = [pid]
    return () => this.thaw()
  }

  /** The servers, as this one's Patroni knows them. */
  async members(): Promise<readonly Member[]> {
    const answer = await fetch(`http://${this.api}/cluster`)
    return ((await answer.json()) as { members: Member[] }).members
  }

  /** Makes another server the leader; this one is the leader now. */
  async switchOver(candidate: PatroniServer): Promise<void> {
    const body = JSON.stringify({ leader: this.name, candidate: candidate.name })
    const answer = await fetch(`http://${this.api}/switchover`, { method: 'POST', body })
    if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`)
  }

  get #postmaster(): number {
    return Number(readFileSync(join(this.folder, 'data/postmaster.pid'), 'utf8').split('\n')[0])
  }

  /** Whether Patroni has made it the primary. */
  async isPrimary(): Promise<boolean> {
    return this.#says('SELECT NOT pg_is_in_recovery() AS yes').catch(() => false)
  }

  /** Waits until Patroni has made it the primary. */
  override async promote(): Promise<void> {
    await eventually(() => this.isPrimary())
  }

  /** Patroni stops PostgreSQL before it ends. */
  override async stop(): Promise<void> {
    await this.#patroni?.stop()
  }

  async #says(sql: string): Promise<boolean> {
    const [row] = await this.query('postgres', sql)
    return row?.yes === true
  }

  /** Starts Patroni, which starts PostgreSQL; again after `kill` or `stop`. */
  override async start(): Promise<void> {
    const running = startProcess(this.#command, { cwd: this.folder })
    this.#patroni = running
    await running.until(() => /I am \(\w+\), (the leader|a secondary)/.test(running.stderr()))
  }

  async #configure(patroni: string, etcd: string, dcs: object): Promise<void> {
    const link = await PostgresProxy.start(this.port)
    whenTheFileEnds(() => link.close())
    this.#link = link
    const { username, password: encoded } = new URL(this.url('postgres'))
    const login = { username, password: decodeURIComponent(encoded) }
    const { api, name } = this
    const file = join(this.folder, 'patroni.json')
    const configuration = {
      ...{ name, scope: 'portcullis', etcd3: { hosts: etcd } },
      restapi: { listen: api, connect_address: api },
      bootstrap: {
        dcs,
        initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, { 'auth-host': 'scram-sha-256' }],
      },
      postgresql: {
        listen: `127.0.0.1:${this.port}`,
        // Where the other one gets its changes.
        connect_address: `127.0.0.1:${link.port}`,
        bin_dir: this.programs,
        data_dir: join(this.folder, 'data'),
        pgpass: join(this.folder, 'pgpass'),
        // A primary that was away comes back as a standby.
        use_pg_rewind: true,
        authentication: { superuser: login, replication: login },
        parameters: { unix_socket_directories: this.folder, shared_buffers: '32MB' },
        pg_hba: ['all', 'replication'].map((what) => `host ${what} all 127.0.0.1/32 scram-sha-256`),
      },
    }
    writeFileSync(file, JSON.stringify(configuration), { mode: 0o600 })
    this.own(file)
    const { uid, gid } = this.user ?? {}
    // PostgreSQL must not be root, and only root may be able to read what is installed for it.
    const as = this.user && [
      ...['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'],
      ...['--inh-caps=+dac_override', '--ambient-caps=+dac_override'],
    ]
    this.#command = [...(as ?? []), patroni, file]
    whenTheFileEnds(() => {
      this.thaw()
      return this.stop()
    })
  }
}

/** The processes that a process has started, and those that these have. */
function childrenOf(pid: number): number[] {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').map(Number)
  return list.filter((child) => child > 0).flatMap((child) => [child, ...childrenOf(child)])
}
