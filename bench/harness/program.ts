/** Programs that measure in a separate process, and their needs. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Runs a program on this Node to its end. @returns the JSON that it printed */
export async function runProgram<Result>(
  program: string,
  programArguments: readonly string[],
  nodeFlags: readonly string[],
): Promise<Result> {
  const { stdout } = await promisify(execFile)(process.execPath, [...nodeFlags, program, ...programArguments])
  return JSON.parse(stdout) as Result
}

/** Collects garbage. @throws Error if Node was started without `--expose-gc` */
export function collectGarbage(): void {
  if (gc === undefined) throw new Error('expected Node to be started with --expose-gc')
  gc()
}
