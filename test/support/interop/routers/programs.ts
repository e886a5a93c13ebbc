/** Starts servers of other languages with the routes of a table, each behind the guard of its client. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { whenTheFileEnds } from '../../suite/resources.ts'

export interface Served {
  readonly name: string
  readonly url: string
}

/**
 * Starts a program, which is stopped when the test file ends.
 *
 * @param ready finds in a line of its output that it serves: a name, and the URL or the port
 * @param all the names that are waited for
 */
export async function startProgram(
  [command = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  ready: (line: string) => Served | undefined,
  all: number,
  cwd?: string,
): Promise<readonly Served[]> {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: 'pipe', ...(cwd && { cwd }) })
  const ended = once(child, 'exit')
  whenTheFileEnds(async () => {
    child.stdin.end()
    child.kill('SIGTERM')
    await ended
  })
  const served: Served[] = []
  const said: string[] = []
  const isServing = new Promise<void>((resolve) => {
    for (const output of [child.stdout, child.stderr])
      createInterface(output).on('line', (line) => {
        if (served.length === all) return
        said.push(line)
        const found = ready(line)
        if (found !== undefined) served.push(found)
        if (served.length === all) resolve()
      })
  })
  const early = ended.then(() => {
    throw new Error(`${command} has ended: ${said.join('\n').slice(-3_000)}`)
  })
  early.catch(() => {})
  await Promise.race([isServing, early])
  return served
}
