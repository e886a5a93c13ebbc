/** A real sidecar with its identity endpoint, the foreign clients that ask it, and how they are run. */
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { type Ended, run as runCommand, startProcess } from '../processes/processes.ts'
import { newFile, newFolder } from '../suite/resources.ts'
import { makeAuthority, makeCertificate } from './certificates.ts'
import { interopFolder, run } from './command.ts'
import { ownAddress } from './own-address.ts'
import { installedFromPython } from './python-packages.ts'
import { startSidecar } from './sidecar.ts'

export { obtained } from './obtain.ts'

const programs = join(interopFolder, 'identity')

/** A virtual environment with Keystone's clients. @returns its folder of programs */
export function installKeystoneClients(): Promise<string> {
  return installedFromPython('keystone', { files: [join(programs, 'python', 'requirements.txt')] })
}

/** Path of a program of `test/interop/identity/python`. */
export function pythonProgram(name: string): string {
  return join(programs, 'python', name)
}

const GO = { GOFLAGS: '-mod=readonly', GOWORK: 'off', CGO_ENABLED: '0' }

/** The modules of the Go client, from the module proxy. @returns the version of Go */
export async function downloadGophercloud(): Promise<string> {
  const cwd = join(programs, 'go')
  await run('go', ['mod', 'download'], { cwd, env: GO })
  return run('go', ['version'], { cwd, env: GO })
}

/** Compiles the Go client into a folder. @returns its path */
export async function buildGophercloud(folder: string): Promise<string> {
  cpSync(join(programs, 'go'), folder, { recursive: true })
  // Without the module proxy: from here on a failure is ours.
  await run('go', ['build', '-trimpath', '-o', 'client', '.'], {
    cwd: folder,
    env: { ...GO, GOPROXY: 'off' },
  })
  return join(folder, 'client')
}

/** Runs a program to its end, whatever that is. */
export function runToEnd(
  command: readonly string[],
  { input = '', env = {} }: { readonly input?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Ended> {
  const environment = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...env }
  return startProcess(command, { environment, input }).ended
}

/** Runs a program that takes its wishes as JSON and prints what came of them. @throws Error where it fails */
export async function drive(
  command: readonly string[],
  wishes: object,
  env: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const { code, stdout, stderr } = await runToEnd(command, { input: JSON.stringify(wishes), env })
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}

/** The requester: a service user of the demo account. */
export interface Login {
  readonly account: string
  readonly user: string
  readonly password: string
}

export interface IdentitySidecar {
  /** `{auth_url}/identity`. */
  readonly identityUrl: string
  /** Path of the certificate that clients of https must trust. */
  readonly authority: string | undefined
  readonly project: string
  /** With a permission whose scope is Account. */
  readonly user: Login
  /** The same, with the role `iam.admin` besides. */
  readonly administrator: Login
  /** With a permission for nothing. */
  readonly nobody: Login
  /** With a permission for one of the projects, `batch`. */
  readonly worker: Login
  /** With a permission for the other one, `project`. */
  readonly member: Login
  /** A validator, who has no role. */
  readonly validator: Login
  /** Of another account, which has a project `web`. */
  readonly stranger: Login
  stop(): Promise<void>
}

/** Of `stranger`. */
export const OTHER_ACCOUNT = '555000'

/**
 * Starts a development sidecar and puts further service users into its directory, as a person would.
 *
 * @param scheme with `https` it listens on an address that other machines can reach
 * @param http keys of `http` in its configuration
 */
export async function startIdentitySidecar(
  scheme: Scheme = 'http',
  http: object = {},
): Promise<IdentitySidecar> {
  const tls = scheme === 'https' ? await newTls() : undefined
  const config = newFile(JSON.stringify({ http: { ...(tls && { tls: tls.files }), ...http } }), 'config.json')
  const address = tls ? `${ownAddress}:0` : '127.0.0.1:0'
  const { ready, demo, data, log, stop } = await startSidecar('--config', config, '--http', address)
  const { account, project } = demo
  const everything = [{ scope: 'account' }]
  const serviceUsers = [
    { name: 'guard', permissions: everything, roles: ['iam.admin'] },
    { name: 'nobody', permissions: [] },
    { name: 'worker', permissions: [{ scope: 'projects', projects: ['batch'] }] },
    { name: 'member', permissions: [{ scope: 'projects', projects: [project] }] },
    { name: 'validator', permissions: everything, validator: true },
  ]
  const strangers = [{ name: 'stranger', permissions: everything }]
  const file = newFile(
    JSON.stringify({
      accounts: [
        { account, projects: ['batch'], service_users: serviceUsers },
        { account: OTHER_ACCOUNT, projects: ['web'], service_users: strangers },
      ],
    }),
  )
  const applied = await runCommand(['directory', 'apply', file, '--data', data, '--json'])
  const { secrets } = JSON.parse(applied.stdout) as { secrets: { user: string; value: string }[] }
  const login = (user: string, of = account): Login => ({
    account: of,
    user,
    password: secrets.find((secret) => secret.user === user)?.value ?? '',
  })
  return {
    identityUrl: `${scheme}://${ready.http}/identity`,
    authority: tls?.authority,
    project,
    user: { account, user: demo.service_user.name, password: demo.service_user.password },
    administrator: login('guard'),
    nobody: login('nobody'),
    worker: login('worker'),
    member: login('member'),
    validator: login('validator'),
    stranger: login('stranger', OTHER_ACCOUNT),
    stop: async () => {
      await stop()
      const complaints = log()
        .split('\n')
        .filter((line) => line !== '' && !isTrace(line))
      if (complaints.length > 0) throw new Error(`the sidecar complained: ${complaints.join('\n')}`)
    },
  }
}

/** Attempts that are refused leave a trace in the log, with the protocol, and tests make such attempts. */
function isTrace(line: string): boolean {
  return Object.hasOwn(JSON.parse(line) as object, 'protocol')
}

export type Scheme = 'http' | 'https'

/**
 * A certificate for https, as the configuration names its files. From now on this process trusts the
 * authority that signed it.
 */
async function newTls(): Promise<{ readonly files: object; readonly authority: string }> {
  const folder = newFolder()
  const authority = await makeAuthority(folder, 'authority')
  const tls = await makeCertificate(folder, 'server', authority)
  const trusted = readFileSync(authority.certificate, 'utf8')
  setDefaultCACertificates([...getCACertificates('default'), trusted])
  return { files: tls, authority: authority.certificate }
}

/** Logs in without any foreign client. @returns the token, or the status of the refusal */
export async function tokenFor(
  identityUrl: string,
  { account, user, password }: Login,
  project?: string,
): Promise<string> {
  const domain = { name: account }
  const response = await fetch(`${identityUrl}/v3/auth/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      auth: {
        identity: { methods: ['password'], password: { user: { name: user, domain, password } } },
        scope: project === undefined ? { domain } : { project: { name: project, domain } },
      },
    }),
  })
  return response.headers.get('x-subject-token') ?? String(response.status)
}

/** Revokes a token with itself. @returns the status */
export async function revoke(identityUrl: string, token: string): Promise<number> {
  const headers = { 'x-auth-token': token, 'x-subject-token': token }
  return (await fetch(`${identityUrl}/v3/auth/tokens`, { method: 'DELETE', headers })).status
}
