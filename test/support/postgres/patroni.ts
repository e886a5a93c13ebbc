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

/** The shortest times that Patroni takes. */
const SHORTEST: object = { ttl: 20, loop_wait: 1, retry_timeout: 3 }

/** One of several servers: a machine with PostgreSQL and Patroni. */
export class PatroniServer extends PostgresServer {
  #patroni: RunningProcess | undefined
  /** The proxy through which the other server reaches this one. */
  #link: PostgresProxy | undefined
  /** The same of the other one. */
  #source: PostgresProxy | undefined

  /** As of `startAll`. @returns the primary and its standby */
  static async startTwo(
    programs: string,
    patroni: Patroni,
    dcs = SHORTEST,
  ): Promise<[PatroniServer, PatroniServer]> {
    const [primary, standby] = await PatroniServer.startAll(programs, patroni, ['one', 'two'], dcs)
    return [primary as PatroniServer, standby as PatroniServer]
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
      const server = new PatroniServer(programs, await freePort())
      await server.#run(patroni, name, `127.0.0.1:${store}`, dcs)
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
    const [pid] = readFileSync(join(this.folder, 'data/postmaster.pid'), 'utf8').split('\n')
    process.kill(Number(pid), 'SIGKILL')
    // PostgreSQL writes where Patroni does.
    await this.#patroni?.ended
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

  async #run(patroni: string, name: string, etcd: string, dcs: object): Promise<void> {
    const link = await PostgresProxy.start(this.port)
    whenTheFileEnds(() => link.close())
    this.#link = link
    const { username, password: encoded } = new URL(this.url('postgres'))
    const login = { username, password: decodeURIComponent(encoded) }
    const api = `127.0.0.1:${await freePort()}`
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
    const running = startProcess([...(as ?? []), patroni, file], { cwd: this.folder })
    this.#patroni = running
    whenTheFileEnds(() => this.stop())
    await running.until(() => /I am \(\w+\), (the leader|a secondary)/.test(running.stderr()))
  }
}
