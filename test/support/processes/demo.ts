/** A development sidecar as a newcomer starts it: a separate process, and its output. */
import { type RunningProcess, start } from './processes.ts'

export interface Demo extends RunningProcess {
  /**
   * Everything on standard output up to the link to the control panel, or without HTTP to the suggested
   * commands.
   */
  readonly output: string
}

/** Starts `serve --dev` and waits for its welcome. Rejects with what it printed where it ends instead. */
export async function startDemo(flags: readonly string[]): Promise<Demo> {
  const child = start(['serve', '--dev', ...flags])
  const end = flags.includes('off') ? /explain audit-logs.*\n/ : /\/#\/link\?secret=\S+\n/
  const output = await child.until(() => end.test(child.stdout()) && child.stdout())
  return { ...child, output }
}
