/**
 * A real Keystone from the Python package index: on SQLite, served by one process of uWSGI on this machine.
 * The benchmarks use the same one. Accounts are its domains.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { run } from '../interop/command.ts'
import { installedFromPython } from '../interop/python-packages.ts'
import { type RunningProcess, startProcess } from '../processes/processes.ts'
import { eventually, freePort, newFolder } from '../suite/resources.ts'

const PACKAGES = ['keystone==30.0.0', 'uwsgi==2.0.31']

/**
 * Makes a virtual environment and compiles uWSGI there.
 *
 * @returns its folder of programs
 * @throws CommandFailed if it cannot be installed
 */
export function installKeystone(): Promise<string> {
  const options = ['--only-binary', ':all:', '--no-binary', 'uwsgi']
  return installedFromPython('keystone-server', PACKAGES, options)
}

export interface KeystoneSettings {
  /** Lifetime of its tokens, in seconds. */
  readonly expiration: number
  /** How long an expired token can still be asked about with `allow_expired=1`, in seconds. */
  readonly allowExpiredWindow?: number
  /** Whether it caches in memory, as it would for the benchmarks. */
  readonly caching: boolean
}

/** How a prepared Keystone is started. */
export interface KeystoneCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Of the user `admin` of the domain `Default`, with the role `admin` in the project `admin`. */
  readonly password: string
}

/**
 * Makes the database, the keys and the configuration.
 *
 * @param programs what `installKeystone` returned
 * @param folder for all of it
 * @param address HOST:PORT to listen on
 */
export async function prepareKeystone(
  programs: string,
  folder: string,
  address: string,
  settings: KeystoneSettings,
): Promise<KeystoneCommand> {
  const url = `http://${address}/identity`
  // Hexadecimal, because a password that begins with a hyphen would be read as an option.
  const password = randomBytes(18).toString('hex')
  for (const keys of ['tokens', 'receipts', 'credentials']) mkdirSync(join(folder, keys), { mode: 0o700 })
  const configuration = join(folder, 'keystone.conf')
  const database = join(folder, 'keystone.db')
  writeFileSync(configuration, configurationOf(folder, database, url, settings))
  const env = { PYTHONWARNINGS: 'ignore' }
  const manage = (...args: string[]) =>
    run(join(programs, 'keystone-manage'), ['--config-file', configuration, ...args], { env })
  await manage('db_sync')
  const sqlite = new DatabaseSync(database)
  sqlite.exec('PRAGMA journal_mode = WAL')
  sqlite.close()
  const [user, group] = await Promise.all([run('id', ['-un']), run('id', ['-gn'])])
  const owner = ['--keystone-user', user.trim(), '--keystone-group', group.trim()]
  for (const setUp of ['fernet_setup', 'receipt_setup', 'credential_setup']) await manage(setUp, ...owner)
  await manage(
    ...['bootstrap', '--bootstrap-username', 'admin', '--bootstrap-password', password],
    ...['--bootstrap-project-name', 'admin', '--bootstrap-role-name', 'admin'],
    ...['--bootstrap-service-name', 'keystone', '--bootstrap-region-id', 'RegionOne'],
    ...['--bootstrap-public-url', `${url}/v3`, '--bootstrap-internal-url', `${url}/v3`],
  )
  return {
    command: join(programs, 'uwsgi'),
    args: [
      ...['--http-socket', address, '--processes', '1', '--need-app', '--die-on-term', '--disable-logging'],
      // It closes each connection after one answer. Without this header, a client may send its next request
      // into it.
      ...['--add-header', 'Connection: close'],
      // Tokens travel in headers, which may be long.
      ...['--buffer-size', '65535'],
      ...['--manage-script-name', '--mount', '/identity=keystone.wsgi.api:application'],
    ],
    env: { ...env, OS_KEYSTONE_CONFIG_DIR: folder },
    password,
  }
}

function configurationOf(
  folder: string,
  database: string,
  url: string,
  { expiration, allowExpiredWindow = 172_800, caching }: KeystoneSettings,
): string {
  return `[DEFAULT]
public_endpoint = ${url}
[database]
connection = sqlite:///${database}
[token]
provider = fernet
expiration = ${expiration}
allow_expired_window = ${allowExpiredWindow}
[fernet_tokens]
key_repository = ${join(folder, 'tokens')}
[fernet_receipts]
key_repository = ${join(folder, 'receipts')}
[credential]
key_repository = ${join(folder, 'credentials')}
[cache]
enabled = ${caching}
backend = dogpile.cache.memory
`
}

/** The user who asks a Keystone, and the project. */
export interface KeystoneUser {
  /** Name of their domain. */
  readonly account: string
  readonly user: string
  readonly password: string
}

/** A user to create, with roles on the account and on projects of it. */
export interface NewKeystoneUser extends KeystoneUser {
  readonly accountRoles?: readonly string[]
  readonly projectRoles?: Readonly<Record<string, readonly string[]>>
}

/** A Keystone that a test runs. It is stopped when the test file ends. */
export class Keystone {
  /** `{auth_url}/identity`. */
  readonly identityUrl: string
  /** Has the role `admin` in the project `admin`. */
  readonly administrator: KeystoneUser
  readonly #start: KeystoneCommand
  #process: RunningProcess | undefined

  private constructor(address: string, start: KeystoneCommand) {
    this.identityUrl = `http://${address}/identity`
    this.administrator = { account: 'Default', user: 'admin', password: start.password }
    this.#start = start
  }

  /**
   * Starts one whose only user is its administrator.
   *
   * @param programs what `installKeystone` returned
   */
  static async run(programs: string, settings: Partial<KeystoneSettings> = {}): Promise<Keystone> {
    const address = `127.0.0.1:${await freePort()}`
    const prepared = await prepareKeystone(programs, newFolder(), address, {
      expiration: 86_400,
      caching: false,
      ...settings,
    })
    const keystone = new Keystone(address, prepared)
    await keystone.start()
    return keystone
  }

  /** Starts it at the same address and with the same records as before. */
  async start(): Promise<void> {
    const { command, args, env } = this.#start
    const running = startProcess([command, ...args], { environment: env })
    this.#process = running
    const ended = running.ended.then(({ stderr }) => Promise.reject(new Error(`Keystone ended: ${stderr}`)))
    ended.catch(() => {})
    await Promise.race([ended, eventually(() => answers(`${this.identityUrl}/v3`))])
  }

  async stop(): Promise<void> {
    await this.#process?.stop()
  }

  /** Stops it from answering: connections are accepted and wait. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process?.signal(name)
  }

  /** @returns the token, which is scoped to a project, or without one to the account */
  async tokenFor({ account, user, password }: KeystoneUser, project?: string): Promise<string> {
    const domain = { name: account }
    const identity = { methods: ['password'], password: { user: { name: user, domain, password } } }
    const scope = project === undefined ? { domain } : { project: { name: project, domain } }
    const response = await fetch(`${this.identityUrl}/v3/auth/tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ auth: { identity, scope } }),
    })
    const token = response.headers.get('x-subject-token')
    if (response.status !== 201 || token === null)
      throw new Error(`Keystone gave no token: ${response.status} ${await response.text()}`)
    return token
  }

  /** Asks as the administrator. @throws Error if the answer is not a success */
  async ask(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.identityUrl}/v3${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        'x-auth-token': await this.tokenFor(this.administrator, 'admin'),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text === '' ? {} : JSON.parse(text)
  }

  /** Creates a domain with projects. */
  async createAccount(name: string, projects: readonly string[] = []): Promise<void> {
    const { domain } = (await this.ask('POST', '/domains', { domain: { name } })) as { domain: Identified }
    for (const project of projects)
      await this.ask('POST', '/projects', { project: { name: project, domain_id: domain.id } })
  }

  /** Creates a user of a domain, and the roles that do not exist. */
  async createUser(wanted: NewKeystoneUser): Promise<KeystoneUser> {
    const { account, user: name, password, accountRoles = [], projectRoles = {} } = wanted
    const domain = await this.#idOf('domains', account)
    const created = await this.ask('POST', '/users', { user: { name, password, domain_id: domain } })
    const { id } = created.user as Identified
    for (const role of accountRoles) await this.#assign(`/domains/${domain}`, id, role)
    for (const [project, roles] of Object.entries(projectRoles)) {
      const projectId = await this.#idOf('projects', project, domain)
      for (const role of roles) await this.#assign(`/projects/${projectId}`, id, role)
    }
    return { account, user: name, password }
  }

  /** Makes an application credential of a user for a project. */
  async createApplicationCredential(
    user: KeystoneUser,
    project: string,
    wanted: { readonly name: string; readonly secret?: string; readonly access_rules?: readonly object[] },
  ): Promise<{ readonly id: string; readonly secret: string }> {
    const token = await this.tokenFor(user, project)
    const asked = await fetch(`${this.identityUrl}/v3/auth/tokens?nocatalog`, {
      headers: { 'x-auth-token': token, 'x-subject-token': token },
    })
    const described = (await asked.json()) as { token: { user: Identified } }
    const response = await fetch(
      `${this.identityUrl}/v3/users/${described.token.user.id}/application_credentials`,
      {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-auth-token': token },
        body: JSON.stringify({ application_credential: wanted }),
      },
    )
    if (response.status !== 201) throw new Error(`Keystone made no credential: ${await response.text()}`)
    const { application_credential: made } = (await response.json()) as {
      application_credential: { id: string; secret: string }
    }
    return made
  }

  async #assign(where: string, user: string, role: string): Promise<void> {
    const known = (await this.ask('GET', `/roles?name=${encodeURIComponent(role)}`)).roles as Identified[]
    const { id } =
      known[0] ?? ((await this.ask('POST', '/roles', { role: { name: role } })).role as Identified)
    await this.ask('PUT', `${where}/users/${user}/roles/${id}`)
  }

  async #idOf(collection: 'domains' | 'projects', name: string, domain?: string): Promise<string> {
    const query = new URLSearchParams({ name, ...(domain !== undefined && { domain_id: domain }) })
    const [found] = (await this.ask('GET', `/${collection}?${query}`))[collection] as Identified[]
    if (found === undefined) throw new Error(`Keystone has no ${name} among its ${collection}`)
    return found.id
  }
}

interface Identified {
  readonly id: string
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  )
}
