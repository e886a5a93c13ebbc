/**
 * nginx, Caddy and HAProxy in front of an application, with the configurations of examples/, which ask a
 * sidecar about each request.
 */
import { globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { type RunningProcess, startProcess } from '../processes/processes.ts'
import { eventually } from '../suite/resources.ts'
import { repository, run } from './command.ts'
import { unpacked } from './debian.ts'
import { installNginx } from './nginx.ts'
import { type Outcome, obtained } from './obtain.ts'

export const PROXIES = ['nginx', 'caddy', 'haproxy'] as const

export type ProxyName = (typeof PROXIES)[number]

/** A program and what it needs to run from where it is. */
export interface Program {
  readonly path: string
  readonly env: Readonly<Record<string, string>>
}

/** Those of Debian's packages, unpacked. A machine's own Caddy or HAProxy may be of any age. */
const INSTALLERS: Readonly<Record<ProxyName, () => Promise<Program>>> = {
  nginx: async () => ({ path: await installNginx(), env: {} }),
  caddy: async () => {
    const path = join(await unpacked('caddy', ['caddy']), 'usr/bin/caddy')
    await run(path, ['version'])
    return { path, env: {} }
  },
  haproxy: async () => {
    const packages = ['haproxy', 'liblua5.3-0', 'libopentracing-c-wrapper0', 'libopentracing1']
    const root = await unpacked('haproxy', packages)
    const env = { LD_LIBRARY_PATH: globSync(join(root, 'usr/lib/*-linux-gnu*')).join(delimiter) }
    const path = join(root, 'usr/sbin/haproxy')
    await run(path, ['-v'], { env })
    return { path, env }
  },
}

export function installProxy(name: ProxyName): Promise<Outcome<Program>> {
  return obtained(name, INSTALLERS[name])
}

/** The addresses that the examples show. */
export const SHOWN = {
  proxy: '127.0.0.1:8080',
  sidecar: '127.0.0.1:8180',
  grpc: '127.0.0.1:50051',
  application: '127.0.0.1:3000',
} as const

export interface Addresses {
  readonly proxy: string
  readonly sidecar: string
  readonly application: string
}

/** The folder of an example. */
export function exampleOf(name: ProxyName): string {
  return join(repository, 'examples', name)
}

/** Copies the files of an example, with other addresses and a new secret. */
export function copyExample(name: ProxyName, folder: string, addresses: Addresses): void {
  for (const file of readdirSync(exampleOf(name))) {
    const text = readFileSync(join(exampleOf(name), file), 'utf8')
    writeFileSync(join(folder, file), withAddresses(text, addresses))
  }
}

/** The text of an example with other addresses. */
export function withAddresses(text: string, { proxy, sidecar, application }: Addresses): string {
  const [, port = ''] = proxy.split(':')
  return (
    text
      .replaceAll(SHOWN.proxy, proxy)
      // Caddy has the address in a separate place.
      .replaceAll('http://:8080', `http://:${port}`)
      .replaceAll(SHOWN.sidecar, sidecar)
      .replaceAll(SHOWN.grpc, '127.0.0.1:0')
      .replaceAll(SHOWN.application, application)
  )
}

const COMMANDS: Readonly<Record<ProxyName, (folder: string) => readonly string[]>> = {
  // One process alone, which a test can stop by its number.
  nginx: (folder) => ['-p', folder, '-c', 'nginx.conf', '-g', 'daemon off; master_process off;'],
  caddy: () => ['run', '--config', 'Caddyfile'],
  haproxy: () => ['-db', '-f', 'haproxy.cfg'],
}

export interface RunningProxy extends RunningProcess {
  /** Everything that it logged so far. */
  log(): string
}

/** Starts the proxy in a folder with the files of its example, and waits until it listens. */
export async function startProxy(
  name: ProxyName,
  { path, env }: Program,
  folder: string,
  { proxy }: Addresses,
  secret: string,
): Promise<RunningProxy> {
  const running = startProcess([path, ...COMMANDS[name](folder)], {
    cwd: folder,
    environment: { ...env, PORTCULLIS_PROXY_SECRET: secret, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder },
  })
  const ended = running.ended.then(({ code, stderr }) => {
    throw new Error(`${name} ended with ${code}: ${stderr}`)
  })
  await Promise.race([ended, eventually(() => listens(proxy))])
  ended.catch(() => {})
  const logs = () =>
    globSync('*.log', { cwd: folder }).map((file) => readFileSync(join(folder, file), 'utf8'))
  return { ...running, log: () => [running.stdout(), running.stderr(), ...logs()].join('\n') }
}

function listens(address: string): Promise<boolean> {
  return run('bash', ['-c', `exec 3<>/dev/tcp/${address.replace(':', '/')}`]).then(
    () => true,
    () => false,
  )
}

/** Addresses that are free now. */
export async function freeAddresses(): Promise<Addresses> {
  const [proxy = '', sidecar = '', application = ''] = await Promise.all([free(), free(), free()])
  return { proxy, sidecar, application }
}

async function free(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `127.0.0.1:${port}`
}
