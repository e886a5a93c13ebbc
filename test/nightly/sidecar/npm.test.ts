/** A server that npm runs ends together with npm. A server in the background keeps running. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as passing } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { environment } from '../../support/checkout/packages.ts'
import { ROOT } from '../../support/checkout/sources.ts'
import { eventually, newFolder, whenTheFileEnds } from '../../support/suite/resources.ts'

const SERVE = ['npx', 'portcullis', 'serve', '--dev']

describe.concurrent('a server that npm runs ends when npm ends', () => {
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
    // It stopped normally, and left nothing behind.
    await eventually(() => !existsSync(data))
  })
})

describe.concurrent('a server in the background keeps running', () => {
  test('when npx has started it in the background and has ended', async () => {
    const file = join(newFolder(), 'output')
    const { child } = run(['npx', '-c', `portcullis serve --dev > '${file}' 2>&1 &`])
    await ended(child)
    const { address } = await served(() => (existsSync(file) ? readFileSync(file, 'utf8') : ''))
    await passing(1000)
    expect(await answers(address)).toBe(true)
  })

  test('when the shell that started npm in the background ends', async () => {
    const file = join(newFolder(), 'output')
    const { child } = run(['sh', '-c', `npm start > '${file}' 2>&1 &`])
    await ended(child)
    const { address } = await served(() => (existsSync(file) ? readFileSync(file, 'utf8') : ''))
    await passing(1000)
    expect(await answers(address)).toBe(true)
  })
})

/** Runs a command in the checkout, in its own process group, which is killed when the test file ends. */
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
      // The group has already ended.
    }
  })
  return { child, output: () => output }
}

/** The address and the data folder of a development sidecar, from its output. */
function served(output: () => string): Promise<{ address: string; data: string }> {
  return eventually(() => {
    const [, address, data] = /^ {2}gRPC +(\S+)\n(?:.*\n)*? {2}data +(\S+)\n/m.exec(output()) ?? []
    return address !== undefined && data !== undefined && { address, data }
  })
}

/** Whether a server listens on the address. */
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
