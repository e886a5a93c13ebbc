/** A server of somebody else's under load, measured and ended by its process id. Linux alone: its figures come from /proc. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { CommandFailed } from '../test/support/interop/command.ts'
import { MeasuredProcess } from './server-process.ts'

/** What Linux counts processor time in, whatever the kernel was built with. */
const MICROSECONDS_PER_TICK = 10_000

/** What is not ready by then will not be. */
const READY_MS_MAX = 60_000
const POLL_MS = 50

/** The end of what it printed, which is where the reason stands. */
const SAID_LENGTH_MAX = 4_000

export interface ForeignCommand {
  readonly command: string
  readonly args: readonly string[]
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Resolves to whether it answers; rejects where it cannot be reached yet. */
  readonly ready: () => Promise<boolean>
}

export class ForeignServer extends MeasuredProcess {
  private constructor(child: ChildProcess) {
    super(child)
    // Where this program ends without stopping it.
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    child.once('exit', () => process.off('exit', kill))
  }

  /** Starts it, and resolves when it is ready. @throws Error with what it printed, where it does not come so far */
  static async start({ command, args, env = {}, ready }: ForeignCommand): Promise<ForeignServer> {
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    for (const output of [child.stdout, child.stderr])
      output.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-SAID_LENGTH_MAX)
      })
    const server = new ForeignServer(child)
    try {
      await Promise.race([untilReady(ready), refuseEnd(child)])
    } catch (error) {
      await server.stop()
      throw new Error(`${command} did not start: ${said}`, { cause: error })
    }
    return server
  }

  /** User and system time of the process, threads that have ended included, to the tick. */
  override cpuMicroseconds(): number {
    const stat = readFileSync(`/proc/${this.child.pid}/stat`, 'latin1')
    // The name in parentheses may hold anything; behind it the fields are numbered from 3 on (proc(5)).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [userTicks, systemTicks] = [Number(fields[14 - 3]), Number(fields[15 - 3])]
    return (userTicks + systemTicks) * MICROSECONDS_PER_TICK
  }
}

/** @throws CommandFailed, which skips what needs it, where foreign servers cannot be measured */
export function requireProc(): void {
  if (process.platform !== 'linux')
    throw new CommandFailed('the processor time of foreign servers is read from /proc, which Linux alone has')
}

/** A port on the loopback interface that is free now, as the kernel gives it. @returns `HOST:PORT` */
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

/** Whether anybody accepts connections at `HOST:PORT`. Rejects where nobody does. */
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

async function refuseEnd(child: ChildProcess): Promise<never> {
  const [code, signal] = await once(child, 'exit')
  throw new Error(`it ended with ${code ?? signal}`)
}
