/** The command line in this process: for what needs no process of its own. */
import { vi } from 'vitest'
import { runCommand } from '../../sidecar/cli/main.ts'
import { buildProgram } from '../../sidecar/cli/program.ts'
import type { Ended } from './processes.ts'

/** Runs a command, and returns what it printed and its exit code. One at a time: it takes over the output of the process. */
export async function command(words: readonly string[]): Promise<Ended> {
  const before = process.exitCode
  let stdout = ''
  let stderr = ''
  const writes = [
    vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
      stdout += chunk
      return true
    }),
    vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
      stderr += chunk
      return true
    }),
  ]
  process.exitCode = 0
  try {
    await runCommand(buildProgram(), words, words.includes('--json'))
    return { code: Number(process.exitCode), stdout, stderr }
  } finally {
    process.exitCode = before
    for (const write of writes) write.mockRestore()
  }
}
