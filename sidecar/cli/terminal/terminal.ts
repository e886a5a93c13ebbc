/** The terminal: colours, and questions to the person who sits at it. */
import { randomInt } from 'node:crypto'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { inspect, styleText } from 'node:util'
import { escaped } from '../../base/visible-text.ts'

/** A style of `util.styleText`. */
export type Style = Exclude<Parameters<typeof styleText>[0], readonly unknown[]>

/**
 * The text in a colour where the stream is a terminal that shows colours, and unchanged elsewhere. `NO_COLOR`
 * and `FORCE_COLOR` are heeded as Node heeds them.
 */
export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  if (styleText(style, 'x', { stream }) === 'x') return text
  const [begin, end] = inspect.colors[style] as [number, number]
  return `${ownCode(begin)}${text}${ownCode(end)}`
}

/**
 * Numbers that each escape code of `paint` has beside its own, until `forTerminal` has distinguished it from
 * those of a server or a file, which cannot know them.
 */
const OWN = Array.from({ length: 4 }, () => randomInt(1_000, 10_000)).join(';')

const ownCode = (code: number) => `\u001b[${code};${OWN}m`

/** Line breaks, tabs, and the escape codes of `paint`. */
const OWN_CONTROLS = new RegExp(`(\\n|\\t|\\u001b\\[\\d+;${OWN}m)`)

/**
 * A text as it may be shown on a terminal. Whatever came from a server or a file can have characters that
 * move the cursor, hide text, turn its direction or look like a verdict in colour. They are written as
 * escapes; the codes of `paint` stay.
 */
export function forTerminal(text: string): string {
  return text
    .split(OWN_CONTROLS)
    .map((part, index) => (index % 2 === 0 ? escaped(part) : part.replace(`;${OWN}`, '')))
    .join('')
}

/** `--no-color`: no colour from now on, in this process and in those that it starts. */
export function forbidColor(): void {
  delete process.env.FORCE_COLOR
  process.env.NO_COLOR = '1'
}

/** Where a person can be asked. Tests bring their own. */
export interface Terminal {
  /** Whether a person can see the question and type the answer. */
  readonly interactive: boolean
  /** Asks and returns the line that was typed; empty where the input ended. */
  ask(question: string): Promise<string>
  /** As `ask`, without showing the typed text. */
  askSecret(question: string): Promise<string>
}

/** The terminal of this process. Standard output stays free for the answer of the command. */
export const processTerminal: Terminal = {
  get interactive() {
    return process.stdin.isTTY === true && process.stderr.isTTY === true
  },
  async ask(question) {
    process.stderr.write(question)
    // The terminal itself edits the line, so that Ctrl-C ends the command as it does anywhere else.
    const lines = createInterface({ input: process.stdin, terminal: false })
    try {
      for await (const line of lines) return line
      // The input ended on the line of the question.
      process.stderr.write('\n')
      return ''
    } finally {
      lines.close()
    }
  },
  async askSecret(question) {
    process.stderr.write(question)
    // The line is edited here, without output.
    const output = new Writable({ write: (_chunk, _encoding, done) => done() })
    const lines = createInterface({ input: process.stdin, output, terminal: true })
    // Else Ctrl-C would be an empty answer.
    lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
    try {
      for await (const line of lines) return line
      return ''
    } finally {
      lines.close()
      process.stderr.write('\n')
    }
  },
}
