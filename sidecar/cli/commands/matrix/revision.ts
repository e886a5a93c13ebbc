/** The bytes of a matrix: of a file, or of a file in a revision of git. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { MATRIX_BYTES_MAX } from '../../../../matrix/index.ts'
import { escaped } from '../../../base/visible-text.ts'
import { readMatrixFile } from '../../../rules/matrix-file/read.ts'
import { CommandError } from '../../terminal/errors.ts'

/** Git answers in milliseconds, unless it must fetch what a partial clone left out. */
const GIT_MS_MAX = 60_000

/**
 * Reads `PATH`, or `REVISION:PATH` as `git show` takes it. A path that exists as a file wins.
 *
 * @throws CommandError, MatrixError or Error that names what cannot be read
 */
export async function readFileOrRevision(name: string): Promise<Uint8Array> {
  // Git would take a word that begins with a dash as an option.
  if (existsSync(name) || !name.includes(':') || name.startsWith('-')) return readMatrixFile(name)
  return new Promise((resolve, reject) => {
    execFile(
      'git',
      // The bytes as they were committed: `git show` may convert them, and prints folders as well.
      ['cat-file', 'blob', name],
      {
        ...{ encoding: 'buffer', maxBuffer: MATRIX_BYTES_MAX, timeout: GIT_MS_MAX, windowsHide: true },
        env: { ...process.env, LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0' },
      },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout)
        else reject(new CommandError('FAILED_PRECONDITION', `${name}: ${whyNot(error, stderr.toString())}`))
      },
    )
  })
}

function whyNot(error: Error, stderr: string): string {
  const { code, killed } = error as { readonly code?: unknown; readonly killed?: boolean }
  if (code === 'ENOENT') return 'there is no such file, and to read a revision git must be installed'
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `expected at most ${MATRIX_BYTES_MAX} bytes`
  if (killed) return `git did not answer within ${GIT_MS_MAX / 1_000} seconds`
  const said = stderr.split('\n').find((line) => line.trim() !== '') ?? 'no reason given'
  return `there is no such file, and git has no such revision and path (${escaped(said)})`
}
