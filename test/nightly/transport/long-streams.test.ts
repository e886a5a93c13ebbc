/**
 * Many questions on one connection, as clients of every kind ask them: on a stream one by one, as fast as
 * they are answered, with rests, on eight streams, and in separate calls. Directly, and with a proxy in
 * between, on which all its clients share a connection. C++, Ruby and PHP have the core of grpcio.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { type AdministeredDemo, serveAdministeredDemo } from '../../support/interop/administered-demo.ts'
import { type Pace, type RunningClient, startClient } from '../../support/interop/client.ts'
import { interopFolder } from '../../support/interop/command.ts'
import { installEnvoy, startEnvoy } from '../../support/interop/envoy.ts'
import { installJava, installRust, PROTO_FLAGS } from '../../support/interop/native.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { freeAddresses, installProxy, startProxy } from '../../support/interop/proxies.ts'
import { cells, scopeFor } from '../../support/matrices/oracle.ts'
import { newFolder } from '../../support/suite/resources.ts'

const QUESTIONS = 6_000

const one = { count: QUESTIONS, streams: 1, in_flight: 1, rest_every: 0, rest_ms: 0 }
const MANNERS = {
  'in separate calls': one,
  'one by one': one,
  'as fast as they are answered': { ...one, in_flight: 1_000 },
  'on eight streams': { ...one, count: QUESTIONS / 8, streams: 8 },
  'with rests': { ...one, in_flight: 100, rest_every: 2_000, rest_ms: 1_100 },
} as const satisfies Record<string, Pace>
type Manner = keyof typeof MANNERS

const questions = cells().map(({ api, kind, accepted }) => ({
  check: { api, token: { kind, scope: scopeFor(kind) } },
  accepted,
}))
const CALLS = questions.map(({ check }) => check)
const MESSAGES = questions.map(({ check }, number) => ({ id: `${number}`, check }))

const [java, rust, envoy, haproxy, nginx] = await Promise.all([
  obtained('grpc-java', installJava),
  obtained('tonic', installRust),
  obtained('Envoy', installEnvoy),
  installProxy('haproxy'),
  installProxy('nginx'),
])
const [go, python] = [inject('go'), inject('python')]

const program = (command: readonly string[]) => ({ ok: true as const, command, env: {} })
const compiled = (outcome: typeof java) => (outcome.ok ? program(outcome.value) : outcome)
const CLIENTS = {
  grpcio: python,
  'grpc-go': go,
  'grpc-java': compiled(java),
  tonic: compiled(rust),
  'grpc-js': program([process.execPath, join(interopFolder, 'node', 'client.ts'), ...PROTO_FLAGS]),
}
type Client = keyof typeof CLIENTS

/** Something between a client and the sidecar. */
interface Path {
  /** Where the client asks. */
  readonly address: string
  stop(): Promise<unknown>
}

const PATHS = {
  directly: {
    ok: true,
    open: async (sidecar: string): Promise<Path> => ({ address: sidecar, stop: async () => {} }),
  },
  'through Envoy': {
    ok: envoy.ok,
    open: (sidecar: string): Promise<Path> => startEnvoy(envoy.ok ? envoy.value : '', sidecar),
  },
  'through HAProxy': {
    ok: haproxy.ok,
    open: (sidecar: string) => proxied('haproxy', 'haproxy.cfg', (proxy) => haproxyConfig(proxy, sidecar)),
  },
  'through nginx': {
    ok: nginx.ok,
    open: (sidecar: string) => proxied('nginx', 'nginx.conf', (proxy) => nginxConfig(proxy, sidecar)),
  },
}

/**
 * The clients, their manners and their paths. A proxy shows what it does with the client that sends
 * most frames and with another one.
 */
const ROWS: readonly (readonly [keyof typeof PATHS, Client, readonly Manner[]])[] = [
  ...(Object.keys(CLIENTS) as Client[]).map(
    (client) => ['directly', client, Object.keys(MANNERS) as Manner[]] as const,
  ),
  ...(['through HAProxy', 'through Envoy', 'through nginx'] as const).flatMap((path) =>
    (['grpcio', 'grpc-go'] as const).map(
      (client) => [path, client, ['one by one', 'on eight streams']] as const,
    ),
  ),
  // It widens two windows for each answer, for every client.
  ['through HAProxy', 'grpc-go', ['in separate calls']],
]

let sidecar: AdministeredDemo
beforeAll(async () => {
  sidecar = await serveAdministeredDemo()
})
afterAll(() => sidecar?.stop())

for (const [path, client, manners] of ROWS) testClient(path, client, manners, () => sidecar.ready.grpc)

function testClient(
  path: keyof typeof PATHS,
  client: Client,
  manners: readonly Manner[],
  sidecar: () => string,
): void {
  const available = CLIENTS[client]
  describe.skipIf(!available.ok || !PATHS[path].ok)(`${client}, ${path}`, () => {
    let between: Path
    let running: RunningClient
    beforeAll(async () => {
      between = await PATHS[path].open(sidecar())
      running = startClient(available, between.address)
    })
    afterAll(async () => {
      await running?.stop()
      await between?.stop()
    })

    test.each(manners)(`${QUESTIONS} questions %s are all answered`, async (manner) => {
      const unary = manner === 'in separate calls'
      const { responses, error } = await running.ask({
        call: unary ? 'AuthorizationService/Check' : 'AuthorizationService/CheckStream',
        requests: unary ? CALLS : MESSAGES,
        deadline_ms: 100_000,
        pace: MANNERS[manner],
      })
      expect(error).toBeUndefined()
      expect(responses).toEqual([expectedOf(MANNERS[manner])])
    })
  })
}

/** How often a client gets which answer. */
function expectedOf({ count, streams }: Pace): Record<string, number> {
  const times = (number: number) => Math.ceil((count - number) / questions.length)
  return Object.fromEntries(
    questions.map(({ accepted }, number) => [`${number} ${accepted}`, streams * times(number)]),
  )
}

async function proxied(
  name: 'haproxy' | 'nginx',
  file: string,
  config: (proxy: string) => string,
): Promise<Path> {
  const installed = name === 'haproxy' ? haproxy : nginx
  if (!installed.ok) throw new Error(installed.why)
  const folder = newFolder()
  const addresses = await freeAddresses()
  writeFileSync(join(folder, file), config(addresses.proxy))
  const running = await startProxy(name, installed.value, folder, addresses, '')
  return { address: addresses.proxy, stop: () => running.stop() }
}

function haproxyConfig(proxy: string, sidecar: string): string {
  return `defaults
    mode http
    timeout connect 5s
    timeout client 120s
    timeout server 120s
frontend front
    bind ${proxy} proto h2
    default_backend sidecar
backend sidecar
    server sidecar ${sidecar} proto h2
`
}

function nginxConfig(proxy: string, sidecar: string): string {
  return `pid nginx.pid;
error_log error.log;
${process.getuid?.() === 0 ? 'user root;' : ''}
events {}
http {
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    server {
        listen ${proxy} http2;
        client_max_body_size 0;
        location / {
            grpc_pass grpc://${sidecar};
            grpc_read_timeout 120s;
            grpc_send_timeout 120s;
        }
    }
}
`
}
