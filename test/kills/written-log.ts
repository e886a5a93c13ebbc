/** The decision log of a stage: each line that a whole write made is there, whatever was killed since. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { run } from '../support/processes/processes.ts'
import { newFolder } from '../support/suite/resources.ts'
import { Violation } from '../world/truth.ts'

/** From this size a file is replaced: the smallest one that can be configured. */
export const LOG_BYTES = 1_048_576

export class WrittenLog {
  readonly path = join(newFolder(), 'decisions.log')
  /** The file in which processes keep their writes (`points.ts`). */
  readonly kept = join(newFolder(), 'lines')
  /** Lines that are not whole: at most one for each process that was killed. */
  torn = 0
  lines = 0

  /** @throws Violation if a line is lost */
  judge(): void {
    const folder = dirname(this.path)
    const names = readdirSync(folder)
    const texts = names.map((name) => readFileSync(join(folder, name), 'utf8'))
    /** Questions of one call have the same line. */
    const found = new Map<string, number>()
    this.torn = 0
    for (const line of texts.flatMap((text) => text.split('\n')).filter((each) => each !== '')) {
      // Behind the beginning of one that was cut off, the next one is whole.
      const whole = line.slice(line.lastIndexOf('{"time":"'))
      if (line !== whole || !isJson(line)) this.torn++
      if (isJson(whole)) found.set(whole, (found.get(whole) ?? 0) + 1)
    }
    this.lines = [...found.values()].reduce((sum, count) => sum + count, 0)
    const written = existsSync(this.kept) ? readFileSync(this.kept, 'utf8').split('\n') : []
    for (const line of written.filter((each) => each !== '')) {
      const left = found.get(line) ?? 0
      if (left === 0) throw new Violation(`a line of the decision log is lost: ${line}`)
      found.set(line, left - 1)
    }
  }

  /**
   * `decisions` finds them all, and says what is torn.
   *
   * @param config of the sidecar
   * @throws Violation if it does not
   */
  async search(config: string): Promise<void> {
    const { code, stdout, stderr } = await run(['decisions', '--config', config, '--count', '--json'])
    const { decisions } = JSON.parse(stdout || '{}') as { readonly decisions?: number }
    const isTold = this.torn === 0 || stderr.includes('cannot be read')
    if (code !== 0 || decisions !== this.lines || !isTold)
      throw new Violation(
        `\`decisions\` ended with ${code} and found ${decisions} of ${this.lines}, ${this.torn} torn: ${stderr}`,
      )
  }
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line)
    return true
  } catch {
    return false
  }
}
