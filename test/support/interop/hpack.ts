/** HPACK of others: programs that encode and decode header blocks, and lists of fields for all of them. */
import { join } from 'node:path'
import { type RunningProcess, startProcess } from '../processes/processes.ts'
import { interopFolder } from './command.ts'
import { installedFromPython } from './python-packages.ts'

const python = join(interopFolder, 'transport', 'python')

/** A name, a value, and whether it must never be indexed. Characters are octets. */
export type HpackField = readonly [name: string, value: string, how: '' | 'never']

/** A question to a peer: see its source. */
export interface HpackQuestion {
  readonly encode?: readonly HpackField[]
  readonly huffman?: boolean
  readonly decode?: string
  readonly encoder_table?: number
  readonly decoder_table?: number
  readonly fresh?: boolean
}

export interface HpackAnswer {
  readonly block?: string
  readonly fields?: readonly HpackField[]
  readonly error?: string
}

/** @returns the command that runs the HPACK of Python */
export async function installPythonHpack(): Promise<string[]> {
  const programs = await installedFromPython('hpack', { files: [join(python, 'requirements.txt')] })
  return [join(programs, 'python'), join(python, 'peer.py')]
}

/** Another implementation. It answers questions in their order. */
export class HpackPeer {
  readonly #process: RunningProcess
  readonly #waiting: ((answer: HpackAnswer) => void)[] = []

  constructor(command: readonly string[]) {
    this.#process = startProcess(command, { input: 'open' })
    this.#process.onLine((line) => this.#waiting.shift()?.(JSON.parse(line)))
  }

  ask(question: HpackQuestion): Promise<HpackAnswer> {
    const failed = this.#process.ended.then(({ code, stderr }) => {
      throw new Error(`the peer ended with ${code}: ${stderr}`)
    })
    const answered = new Promise<HpackAnswer>((resolve) => this.#waiting.push(resolve))
    this.#process.write(`${JSON.stringify(question)}\n`)
    return Promise.race([answered, failed])
  }

  async stop(): Promise<void> {
    await this.#process.stop()
  }
}

const NAMES = [
  ':path',
  ':method',
  'content-type',
  'grpc-timeout',
  'cookie',
  'user-agent',
  'date',
  'x-own',
  'x-trace-bin',
]

const VALUES = ['', 'POST', '/', 'trailers', 'application/grpc', '200', 'gzip, deflate']

/**
 * A list of fields, with repetitions, of which many fit in a table and some do not.
 *
 * @param random from 0 to 1
 */
export function randomFields(random: () => number): HpackField[] {
  const below = (limit: number) => Math.floor(random() * limit)
  const octets = (length: number, from: number, to: number) =>
    Array.from({ length }, () => String.fromCharCode(from + below(to - from))).join('')
  const value = () => {
    const kind = random()
    if (kind < 0.3) return VALUES[below(VALUES.length)] ?? ''
    if (kind < 0.6) return `value-${below(20)}`
    if (kind < 0.8) return octets(below(200), 0x20, 0x7f)
    if (kind < 0.97) return octets(below(100), 0, 0x100)
    return octets(3000 + below(3000), 0x61, 0x7b)
  }
  const name = () =>
    random() < 0.8 ? (NAMES[below(NAMES.length)] ?? '') : `x-${octets(1 + below(30), 0x61, 0x7b)}`
  return Array.from(
    { length: 1 + below(12) },
    () => [name(), value(), random() < 0.1 ? 'never' : ''] as const,
  )
}
