/** A real Keystone from the Python package index, on SQLite, served by one process of uWSGI. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { installed, run } from '../harness/command.ts'
import { ForeignServer, freeAddress } from '../harness/foreign.ts'

const PACKAGES = ['keystone==30.0.0', 'uwsgi==2.0.31']

export const KEYSTONE_CONFIGURED =
  'Keystone: Fernet tokens; SQLite with a write-ahead log; caching on, as its documentation recommends, but in memory, which is faster than memcached; uWSGI with one process, without request logs.'

export interface Keystone {
  readonly server: ForeignServer
  /** `{auth_url}/identity`. */
  readonly identityUrl: string
  readonly login: { readonly account: string; readonly user: string; readonly password: string }
  readonly project: string
}

/**
 * Makes a virtual environment and compiles uWSGI there.
 *
 * @returns its folder of programs
 * @throws CommandFailed if it cannot be installed
 */
export async function installKeystone(): Promise<string> {
  const version = await run('python3', ['--version'])
  const folder = await installed('keystone-server', [version, ...PACKAGES], async (folder) => {
    await run('python3', ['-m', 'venv', folder])
    const options = ['--no-input', '--only-binary', ':all:', '--no-binary', 'uwsgi']
    await run(join(folder, 'bin', 'python'), ['-m', 'pip', 'install', ...options, ...PACKAGES])
  })
  return join(folder, 'bin')
}

/**
 * @param programs what `installKeystone` returned
 * @param folder for its database, keys and configuration
 */
export async function startKeystone(programs: string, folder: string): Promise<Keystone> {
  const address = await freeAddress()
  const identityUrl = `http://${address}/identity`
  // Hexadecimal, because a password that begins with a hyphen would be read as an option.
  const password = randomBytes(18).toString('hex')
  await prepare(programs, folder, identityUrl, password)
  const server = await ForeignServer.start({
    command: join(programs, 'uwsgi'),
    args: [
      ...['--http-socket', address, '--processes', '1', '--need-app', '--die-on-term', '--disable-logging'],
      // Tokens travel in headers, which may be long.
      ...['--buffer-size', '65535'],
      ...['--manage-script-name', '--mount', '/identity=keystone.wsgi.api:application'],
    ],
    env: { OS_KEYSTONE_CONFIG_DIR: folder, PYTHONWARNINGS: 'ignore' },
    ready: async () => (await fetch(`${identityUrl}/v3`)).ok,
  })
  const login = { account: 'Default', user: 'admin', password }
  return { server, identityUrl, login, project: 'admin' }
}

async function prepare(programs: string, folder: string, url: string, password: string): Promise<void> {
  for (const keys of ['tokens', 'receipts', 'credentials']) mkdirSync(join(folder, keys), { mode: 0o700 })
  const configuration = join(folder, 'keystone.conf')
  const database = join(folder, 'keystone.db')
  writeFileSync(
    configuration,
    `[DEFAULT]
public_endpoint = ${url}
[database]
connection = sqlite:///${database}
[token]
provider = fernet
expiration = 86400
[fernet_tokens]
key_repository = ${join(folder, 'tokens')}
[fernet_receipts]
key_repository = ${join(folder, 'receipts')}
[credential]
key_repository = ${join(folder, 'credentials')}
[cache]
enabled = true
backend = dogpile.cache.memory
`,
  )
  const manage = (...args: string[]) =>
    run(join(programs, 'keystone-manage'), ['--config-file', configuration, ...args], {
      env: { PYTHONWARNINGS: 'ignore' },
    })
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
}
