/** The judge: a Go program with porcupine, in test/nightly/postgres/judge. */
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { installed, repository, run } from '../interop/command.ts'
import { ENVIRONMENT } from '../interop/go.ts'
import { type Outcome, obtained } from '../interop/obtain.ts'
import { startProcess } from '../processes/processes.ts'
import type { History } from './history.ts'

const program = join(repository, 'test/nightly/postgres/judge')

export interface Verdict {
  readonly seed: number
  /** `undecided`: the time was not enough. */
  readonly verdict: 'ok' | 'violation' | 'undecided'
  readonly duration_ms: number
  /** Operations that are in no explanation of the most others. */
  readonly unexplained?: readonly string[]
  /** Path of a page that shows the history. */
  readonly picture?: string
}

/** Builds the judge. @returns its path */
export function obtainJudge(): Promise<Outcome<string>> {
  return obtained('the judge of histories', async () => {
    const sources = readdirSync(program).map((name) => readFileSync(join(program, name), 'utf8'))
    const folder = await installed('judge', [await run('go', ['version']), ...sources], async (to) => {
      cpSync(program, to, { recursive: true })
      await run('go', ['build', '-trimpath', '-o', 'judge', '.'], { cwd: to, env: ENVIRONMENT })
    })
    return join(folder, 'judge')
  })
}

/** @param pictures folder for a page about each history that is not ok; default: none is made */
export async function judge(
  path: string,
  histories: readonly History[],
  pictures = '',
): Promise<readonly Verdict[]> {
  const input = histories.map((history) => `${JSON.stringify(history)}\n`).join('')
  const { code, stdout, stderr } = await startProcess([path, `-pictures=${pictures}`], { input }).ended
  if (code !== 0) throw new Error(`the judge ended with ${code}: ${stderr}`)
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Verdict)
}
