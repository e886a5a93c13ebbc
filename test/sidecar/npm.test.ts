/** A server that npm runs ends with npm, whatever ends npm, and one that was put into the background outlives it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as passing } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { npmWaits } from '../../sidecar/cli/npm.ts'
import { environment } from '../support/packages.ts'
import { eventually, newFolder, whenTheFileEnds } from '../support/sidecar.ts'
import { ROOT } from '../support/sources.ts'

const SERVE = ['npx', 'portcullis', 'serve', '--dev']

describe.concurrent('what npm runs ends when npm is ended', () => {
  test.each<[NodeJS.Signals, string[]]>([
    ['SIGTERM', ['npm', 'start']],
    ['SIGKILL', ['npm', 'start']],
    ['SIGTERM', SERVE],
    ['SIGKILL', SERVE],
  ])('by %s: %j', async (signal, command) => {
    const { child, output } = run(command)
    const { address, data } = await served(output)
    child.kill(signal)
    await eventually(async () => !(await answers(address)))
    // It ended as it does when it is told to: nothing is left.
    await eventually(() => !existsSync(data))
  })
})

describe.concurrent('what was put into the background stays', () => {
  test('when npx has started it there, and ended', async () => {
    const file = join(newFolder(), 'output')
    const { child } = run(['npx', '-c', `portcullis serve --dev > '${file}' 2>&1 &`])
    await ended(child)
    const { address } = await served(() => (existsSync(file) ? readFileSync(file, 'utf8') : ''))
    await passing(1000)
    expect(await answers(address)).toBe(true)
  })

  test('when the shell ends that put npm there', async () => {
    const file = join(newFolder(), 'output')
    const { child } = run(['sh', '-c', `npm start > '${file}' 2>&1 &`])
    await ended(child)
    const { address } = await served(() => (existsSync(file) ? readFileSync(file, 'utf8') : ''))
    await passing(1000)
    expect(await answers(address)).toBe(true)
  })
})

test.each<[script: string | undefined, waits: boolean]>([
  [undefined, false],
  ['node sidecar/portcullis.js serve --dev', true],
  ["'portcullis'", true],
  ['portcullis serve', true],
  ['NODE_ENV=test portcullis serve > log 2>&1', true],
  ['build && portcullis serve || exit 1', true],
  ['portcullis serve --data \'a & b\' --config "c & d"', true],
  ['portcullis serve |& tee log', true],
  ['portcullis serve &', false],
  ['portcullis serve & vitest run', false],
  ['nohup portcullis serve', false],
  ['setsid -f portcullis serve', false],
  // A program that starts a server is not waited for by npm as the server is.
  ['bash test.sh', false],
  ['vitest run', false],
])('npm waits for a server that it runs by %j: %s', (script, waits) => {
  expect(npmWaits(script)).toBe(waits)
})

/** Runs a command in the checkout, in a process group of its own, of which nothing is left when the file ends. */
function run([command = '', ...args]: readonly string[]): { child: ChildProcess; output: () => string } {
  let output = ''
  const child = spawn(command, args, {
    cwd: ROOT,
    env: { ...environment, PORTCULLIS_GRPC_ADDRESS: '127.0.0.1:0', PORTCULLIS_HTTP_ADDRESS: 'off' },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  })
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`${command} cannot be run`)
  whenTheFileEnds(() => {
    try {
      process.kill(-pid, 'SIGTERM')
    } catch {
      // Nothing of it was left.
    }
  })
  return { child, output: () => output }
}

/** Where a development sidecar serves, and its data are, once it has said so. */
function served(output: () => string): Promise<{ address: string; data: string }> {
  return eventually(() => {
    const [, address, data] = /^ {2}gRPC +(\S+)\n(?:.*\n)*? {2}data +(\S+)\n/m.exec(output()) ?? []
    return address !== undefined && data !== undefined && { address, data }
  })
}

/** Whether somebody listens there. */
function answers(address: string): Promise<boolean> {
  const [host, port] = address.split(':')
  return new Promise((resolve) => {
    const socket = connect(Number(port), host)
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.once('exit', () => resolve()))
}
