/** The bytes of a matrix: of a file, or of a file in a revision of git. A name never means both. */
import { type ExecFileException, execFile } from 'node:child_process'
import { isAbsolute, relative, sep } from 'node:path'
import { MATRIX_BYTES_MAX } from '../../../../matrix/index.ts'
import { escaped } from '../../../base/visible-text.ts'
import { readMatrixFile } from '../../../rules/matrix-file/read.ts'
import { CommandError, usageError } from '../../terminal/errors.ts'

/** Git answers in milliseconds, unless it must fetch what a partial clone left out. */
const GIT_MS_MAX = 60_000

/** The prefix of a file of a revision. */
const GIT = 'git:'

/** How git takes the whole id of a commit, whatever else has that name. */
const WHOLE_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/

/** `git:REVISION:PATH` of a file of the working tree. @throws CommandError */
export function inRevision(revision: string, path: string): string {
  if (revision === '' || revision.startsWith('-') || revision.includes(':'))
    throw usageError('--base: expected a revision of git, such as refs/remotes/origin/main')
  refuseEither(path)
  if (path.startsWith(GIT)) throw usageError('expected a file with --base, and not one of a revision')
  return `${GIT}${revision}:./${relative(process.cwd(), path).replaceAll(sep, '/')}`
}

/**
 * Reads `PATH`, or `git:REVISION:PATH` as git takes the rest of it. The choice never depends on the files
 * that exist: else a change could choose what it is compared with, by a file that it adds.
 *
 * @throws CommandError, MatrixError or Error that names what cannot be read
 */
export async function readFileOrRevision(name: string): Promise<Uint8Array> {
  refuseEither(name)
  if (!name.startsWith(GIT)) return readMatrixFile(name)
  const object = name.slice(GIT.length)
  // Git would take a word that begins with a dash as an option.
  if (!object.includes(':') || object.startsWith('-'))
    throw usageError(`${name}: expected git:REVISION:PATH, such as git:HEAD:matrix.json`)
  // The bytes as they were committed: `git show` may convert them, and prints folders as well.
  const { error, stdout, stderr } = await git('cat-file', 'blob', object)
  if (error !== null)
    throw new CommandError('FAILED_PRECONDITION', `${name}: ${whyNot(error, stderr.toString())}`)
  const ambiguous = /^warning: refname '(.+)' is ambiguous/m.exec(stderr.toString())?.[1]
  if (ambiguous !== undefined && !WHOLE_ID.test(ambiguous)) throw await severalRefs(name, ambiguous)
  return stdout
}

/** @throws CommandError for a text that could be a file and a revision */
function refuseEither(name: string): void {
  if (!name.includes(':') || name.startsWith(GIT) || isAbsolute(name) || /^\.\.?[/\\]/.test(name)) return
  throw usageError(
    `${name} could be a file, or a file in a revision of git: write \`./${name}\` or \`${GIT}${name}\``,
  )
}

/** Of several refs git takes the first: a tag of the name of a branch, which any author may have pushed. */
async function severalRefs(name: string, short: string): Promise<CommandError> {
  const named = ['refs/tags', 'refs/heads', 'refs/remotes'].map((folder) => `${folder}/${short}`)
  const { stdout } = await git('for-each-ref', '--format=%(refname)', ...named)
  const found = stdout.toString().split('\n')
  const whole = named.filter((ref) => found.includes(ref)).map((ref) => `\`${name.replace(short, ref)}\``)
  const ways = [...whole, ...(whole.length < 2 ? ['the whole id of the commit'] : [])]
  return usageError(
    `${name}: ${short} means more than one thing in this repository: write ${ways.join(' or ')}`,
  )
}

interface Answer {
  readonly error: ExecFileException | null
  readonly stdout: Buffer
  readonly stderr: Buffer
}

function git(...words: readonly string[]): Promise<Answer> {
  return new Promise((resolve) => {
    execFile(
      'git',
      ['-c', 'core.warnAmbiguousRefs=true', '--no-replace-objects', ...words],
      {
        ...{ encoding: 'buffer', maxBuffer: MATRIX_BYTES_MAX, timeout: GIT_MS_MAX, windowsHide: true },
        env: { ...process.env, LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0' },
      },
      (error, stdout, stderr) => resolve({ error, stdout, stderr }),
    )
  })
}

function whyNot(error: ExecFileException, stderr: string): string {
  const { code, killed } = error as { readonly code?: unknown; readonly killed?: boolean }
  if (code === 'ENOENT') return 'to read a revision git must be installed'
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `expected at most ${MATRIX_BYTES_MAX} bytes`
  if (killed) return `git did not answer within ${GIT_MS_MAX / 1_000} seconds`
  const said = stderr.split('\n').find((line) => line.startsWith('fatal: ')) ?? 'fatal: no reason given'
  return `git has no such revision and path (${escaped(said)})`
}
