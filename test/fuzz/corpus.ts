/** The inputs that are kept: `corpus/TARGET.txt` has one a line, in base64. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/** Most bytes of the inputs of a target, before base64. */
export const KEPT_BYTES_MAX = 6_000

const pathOf = (target: string) => new URL(`./corpus/${target}.txt`, import.meta.url)

export function readCorpus(target: string): Buffer[] {
  const path = pathOf(target)
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Buffer.from(line, 'base64'))
}

export function writeCorpus(target: string, inputs: readonly Buffer[]): void {
  writeFileSync(pathOf(target), inputs.map((input) => `${input.toString('base64')}\n`).join(''))
}
