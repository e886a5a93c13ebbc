/** `portcullis health`: how it finds the sidecar, what it prints, and how it ends. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer as createNetServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { command } from '../support/processes/command-line.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const folder = newFolder()
const { sidecar, address } = await runSidecar({
  flags: {
    'health.address': `unix:${join(folder, 'health.sock')}`,
    'grpc.address': `unix:${join(folder, 'grpc.sock')}`,
  },
})
const overTcp = await runSidecar({ flags: { 'health.address': '0.0.0.0:0' } })
const health = sidecar.healthAddress ?? ''
const everywhere = overTcp.sidecar.healthAddress ?? ''

const silent = createNetServer().listen(0, '127.0.0.1')
const other = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1')
await Promise.all([silent, other].map((server) => once(server, 'listening')))
whenTheFileEnds(() => {
  silent.close()
  other.closeAllConnections()
  other.close()
})
const addressOf = (server: { address(): unknown }) => `127.0.0.1:${(server.address() as AddressInfo).port}`

afterEach(() => vi.unstubAllEnvs())

test.each<[claim: string, args: string[], environment: Record<string, string>, stdout: string]>([
  ['the health listener on a Unix socket', ['--health', health], {}, 'alive\n'],
  ['the same, whether it is ready', ['--health', health, '--ready'], {}, 'ready\n'],
  ['the same, as JSON', ['--health', health, '--ready', '--json'], {}, '{"status":"ready"}\n'],
  ['the health listener on every address', ['--health', everywhere, '--ready'], {}, 'ready\n'],
  ['that of the environment', ['--ready'], { PORTCULLIS_HEALTH_ADDRESS: health }, 'ready\n'],
  ['gRPC on a Unix socket', ['--address', address, '--ready'], {}, 'ready\n'],
  ['gRPC over TCP', ['--address', overTcp.address, '--ready'], {}, 'ready\n'],
  [
    'gRPC of the environment',
    ['--ready'],
    { PORTCULLIS_GRPC_ADDRESS: address, PORTCULLIS_HEALTH_ADDRESS: 'off' },
    'ready\n',
  ],
  ['gRPC, as JSON', ['--address', address, '--json'], {}, '{"status":"alive"}\n'],
  [
    'gRPC, because it is given',
    ['--address', address],
    { PORTCULLIS_HEALTH_ADDRESS: 'unix:/nobody' },
    'alive\n',
  ],
])('asks %s', async (_claim, args, environment, stdout) => {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
  expect(await command(['health', ...args])).toEqual({ code: 0, stdout, stderr: '' })
})

test.each<[claim: string, args: string[], stderr: string]>([
  [
    'no server is there',
    ['--health', `unix:${folder}/absent`],
    `no answer from unix:${folder}/absent: ENOENT`,
  ],
  [
    'no server is there for gRPC',
    ['--address', `unix:${folder}/absent`],
    `no answer, UNAVAILABLE: no sidecar answers at unix:${folder}/absent (no such socket); start one with \`portcullis serve\``,
  ],
  [
    'a server says nothing',
    ['--health', addressOf(silent), '--deadline', '50'],
    `no answer from ${addressOf(silent)}: none within 50 ms`,
  ],
  [
    'a server says nothing for gRPC',
    ['--address', addressOf(silent), '--deadline', '50'],
    `no answer, DEADLINE_EXCEEDED: no answer from ${addressOf(silent)} within 50 ms`,
  ],
  [
    'another server is there',
    ['--health', addressOf(other)],
    `${addressOf(other)}: expected a health listener of Portcullis there`,
  ],
  [
    'the address is invalid',
    ['--health', '9180'],
    '--health (or PORTCULLIS_HEALTH_ADDRESS): expected HOST:PORT or unix:PATH',
  ],
  ['both are given', ['--health', health, '--address', address], '--health: expected no --address with it'],
])('has no answer where %s', async (_claim, args, stderr) => {
  expect(await command(['health', ...args])).toEqual({
    code: 2,
    stdout: '',
    stderr: `portcullis: ${stderr}\n`,
  })
})
