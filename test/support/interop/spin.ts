/** Searches a model with spin: every state, or the steps of a trace. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { newFolder } from '../suite/resources.ts'
import { repository, run } from './command.ts'

/** Where the models are. */
export const MODELS = join(repository, 'test', 'model')

/** The findings of a search. */
export interface Found {
  /** How many assertions failed; the search ends with the first one. */
  readonly errors: number
  readonly states: number
  /** Whether it came to its end: no path was longer than it looks. */
  readonly whole: boolean
}

/** Deeper than any path of the models: a longer one is reported. */
const DEPTH_MAX = 100_000

/** Makes the program that searches a model. @param sizes what the model defines otherwise */
export async function searcherOf(model: string, sizes: Readonly<Record<string, number>>): Promise<string> {
  const cwd = newFolder()
  const defines = Object.entries(sizes).map(([name, value]) => `-D${name}=${value}`)
  await run('spin', ['-a', ...defines, join(MODELS, model)], { cwd })
  const options = ['-O1', '-w', '-DSAFETY', '-DNOREDUCE', '-DNOFAIR', '-DCOLLAPSE', '-DVECTORSZ=40000']
  await run('gcc', [...options, '-o', 'pan', 'pan.c'], { cwd })
  return join(cwd, 'pan')
}

/** Searches every state. @param fault the number of a fault of the model; 0: none */
export async function search(searcher: string, fault = 0): Promise<Found> {
  const cwd = newFolder()
  const said = await run(searcher, [`-m${DEPTH_MAX}`, '-w22'], { cwd, env: { FAULT: String(fault) } })
  const [, errors] = /errors: (\d+)/.exec(said) ?? []
  const [, states] = /(\S+) states, stored/.exec(said) ?? []
  return {
    errors: Number(errors),
    states: Number(states),
    whole: !/too small|Search not completed|out of memory/.test(said),
  }
}

/** Takes the steps of a trace. @returns `accepted N steps`, or `refused step N: STEP` */
export function follow(searcher: string, steps: readonly (readonly number[])[]): string {
  const input = steps.map((values) => `${values.join(' ')}\n`).join('')
  const said = execFileSync(searcher, { cwd: newFolder(), input, encoding: 'utf8' })
  return said.split('\n', 1)[0] ?? ''
}
