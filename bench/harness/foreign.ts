/** A foreign server under load. It works on Linux only, because the figures come from /proc. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { CommandFailed } from './command.ts'
import { MeasuredProcess } from './process.ts'

/** Linux reports processor time in ticks of this length, however the kernel was built. */
const MICROSECONDS_PER_TICK = 10_000

/** How long a server may take to become ready. */
const READY_MS_MAX = 60_000
const POLL_MS = 50

/** How much of the end of its output is kept: the reason for a failure is there. */
const OUTPUT_LENGTH_MAX = 4_000

export interface ForeignCommand {
  readonly command: string
  readonly args: readonly string[]
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Resolves to whether the server answers. Rejects while it cannot be reached. */
  readonly ready: () => Promise<boolean>
}

export class ForeignServer extends MeasuredProcess {
  private constructor(child: ChildProcess) {
    super(child)
    // The server ends even if this program ends without stopping it.
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    child.once('exit', () => process.off('exit', kill))
  }

  /**
   * Starts a server and waits until it is ready.
   *
   * @throws Error with its output if it does not become ready
   */
  static async start({ command, args, env = {}, ready }: ForeignCommand): Promise<ForeignServer> {
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-OUTPUT_LENGTH_MAX)
      })
    const server = new ForeignServer(child)
    try {
      await Promise.race([untilReady(ready), rejectOnExit(child)])
    } catch (error) {
      await server.stop()
      throw new Error(`${command} did not start: ${output}`, { cause: error })
    }
    return server
  }

  /** User and system time of all threads of the process, also of ended ones, in steps of a tick. */
  override cpuMicroseconds(): number {
    const stat = readFileSync(`/proc/${this.child.pid}/stat`, 'latin1')
    // The name in parentheses may contain anything. The fields after it are numbered from 3 on (proc(5)).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [userTicks, systemTicks] = [Number(fields[14 - 3]), Number(fields[15 - 3])]
    return (userTicks + systemTicks) * MICROSECONDS_PER_TICK
  }
}

/** @throws CommandFailed on a system without /proc: the rows of foreign servers are skipped there */
export function requireProc(): void {
  if (process.platform !== 'linux')
    throw new CommandFailed('the processor time of foreign servers is read from /proc, which only Linux has')
}

/** A port on the loopback interface that is free at this moment. @returns `HOST:PORT` */
export async function freeAddress(): Promise<string> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('expected a port')
  return `127.0.0.1:${address.port}`
}

/** Whether a server accepts connections at `HOST:PORT`. Rejects if none does. */
export async function accepts(address: string): Promise<boolean> {
  const { hostname, port } = new URL(`http://${address}`)
  const socket = connect(Number(port), hostname)
  try {
    await once(socket, 'connect')
    return true
  } finally {
    socket.destroy()
  }
}

async function untilReady(ready: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + READY_MS_MAX
  while (!(await ready().catch(() => false))) {
    if (Date.now() > end) throw new Error(`not ready after ${READY_MS_MAX / 1000} s`)
    await sleep(POLL_MS)
  }
}

async function rejectOnExit(child: ChildProcess): Promise<never> {
  const [code, signal] = await once(child, 'exit')
  throw new Error(`it ended with ${code ?? signal}`)
}
