/** A real sidecar with its identity endpoint, the foreign clients that ask it, and how they are run. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { CommandFailed, installed, interopFolder, repository, run } from './command.ts'

const programs = join(interopFolder, 'identity')

/** Something that was obtained, or the reason why there is none. */
export type Obtained<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly why: string }

/** Obtains foreign software. Where that fails, what needs it is skipped, and a printed line says so. */
export async function obtained<T>(name: string, obtain: () => Promise<T>): Promise<Obtained<T>> {
  try {
    return { ok: true, value: await obtain() }
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
    process.stderr.write(`interop: every test that needs ${name} is skipped: ${error.message}\n`)
    return { ok: false, why: error.message }
  }
}

/** A virtual environment with Keystone's clients. @returns its folder of programs */
export async function installKeystoneClients(): Promise<string> {
  const requirements = join(programs, 'python', 'requirements.txt')
  const version = await run('python3', ['--version'])
  const folder = await installed(
    'keystone',
    [version, readFileSync(requirements, 'utf8')],
    async (folder) => {
      await run('python3', ['-m', 'venv', folder])
      const options = ['--no-input', '--only-binary', ':all:', '--requirement', requirements]
      await run(join(folder, 'bin', 'python'), ['-m', 'pip', 'install', ...options])
    },
  )
  return join(folder, 'bin')
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

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end, whatever that is. */
export function runToEnd(
  command: string,
  args: readonly string[],
  { input = '', env = {} }: { readonly input?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(
      command,
      args,
      { env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...env }, timeout: 60_000 },
      (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr }),
    )
    child.stdin?.end(input)
  })
}

/** Runs a program that takes its wishes as JSON and prints what came of them. @throws Error where it fails */
export async function drive(command: readonly string[], wishes: object): Promise<unknown> {
  const [program = '', ...args] = command
  const { code, stdout, stderr } = await runToEnd(program, args, { input: JSON.stringify(wishes) })
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}

/** Who asks: a service user of the demo account. */
export interface Login {
  readonly account: string
  readonly user: string
  readonly password: string
}

export interface IdentitySidecar {
  /** `{auth_url}/identity`. */
  readonly identityUrl: string
  readonly project: string
  /** With a permission whose scope is Account. */
  readonly user: Login
  /** The same, with the role `iam.admin` besides. */
  readonly administrator: Login
  /** With a permission for nothing. */
  readonly nobody: Login
  stop(): Promise<void>
}

/** Starts a development sidecar and puts further service users into its directory, as a person would. */
export async function startIdentitySidecar(): Promise<IdentitySidecar> {
  const data = mkdtempSync(join(tmpdir(), 'portcullis-interop-data-'))
  const launcher = join('sidecar', 'portcullis.js')
  const flags = ['--dev', '--json', '--grpc', '127.0.0.1:0', '--http', '127.0.0.1:0', '--data', data]
  const child = spawn(process.execPath, [launcher, 'serve', ...flags], {
    cwd: repository,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const { http, demo } = await readyLine(child, () => said)

  const { account, project } = demo
  const file = join(data, 'people.yaml')
  const everything = [{ scope: 'account' }]
  const serviceUsers = [
    { name: 'guard', permissions: everything, roles: ['iam.admin'] },
    { name: 'nobody', permissions: [] },
  ]
  writeFileSync(file, JSON.stringify({ accounts: [{ account, service_users: serviceUsers }] }))
  const applied = await run(process.execPath, [
    launcher,
    'directory',
    'apply',
    file,
    '--data',
    data,
    '--json',
  ])
  const { secrets } = JSON.parse(applied) as { secrets: { user: string; value: string }[] }
  const login = (user: string): Login => ({
    account,
    user,
    password: secrets.find((secret) => secret.user === user)?.value ?? '',
  })
  return {
    identityUrl: `http://${http}/identity`,
    project,
    user: { account, user: demo.service_user.name, password: demo.service_user.password },
    administrator: login('guard'),
    nobody: login('nobody'),
    stop: async () => {
      child.kill('SIGTERM')
      const [code, signal] = await ended
      rmSync(data, { recursive: true, force: true })
      if (code !== 0 || said !== '') throw new Error(`the sidecar ended with ${code ?? signal}: ${said}`)
    },
  }
}

/** What the ready line of `serve --dev --json` says. */
interface Ready {
  readonly http: string
  readonly demo: {
    readonly account: string
    readonly project: string
    readonly service_user: { readonly name: string; readonly password: string }
  }
}

function readyLine(child: ChildProcess, said: () => string): Promise<Ready> {
  return new Promise((resolve, reject) => {
    if (child.stdout === null) throw new TypeError('expected a standard output')
    createInterface(child.stdout).once('line', (line) => resolve(JSON.parse(line)))
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`the sidecar did not start: ${said()}`)))
  })
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
