/** The work of `portcullis matrix diff`. It is loaded when the command runs. */
import { finish, type Matrix } from '../../../../engine/index.ts'
import {
  type AllowedFlip,
  bearsOn,
  compareMatrices,
  type Direction,
  judgeFlips,
  MatrixError,
} from '../../../../matrix/index.ts'
import { draftInSteps } from '../../../../matrix/load.ts'
import { matrixForm } from '../../../rules/matrix-file/read.ts'
import { EXIT, usageError } from '../../terminal/errors.ts'
import { print, printJson } from '../../terminal/output.ts'
import { AS_IN_THE_MATRIX, type Diff, type Side } from './diff-lines.ts'
import { diffMarkdown } from './diff-markdown.ts'
import { diffText } from './diff-text.ts'
import { readAllowedFlips } from './read-allowed-flips.ts'
import { inRevision, readFileOrRevision } from './revision.ts'

export interface DiffOptions {
  readonly format: 'text' | 'json' | 'markdown'
  readonly json?: boolean
  readonly base?: string
  readonly failOn?: Direction | 'any'
  readonly allow?: string
}

/** @throws CommandError, MatrixError, ConfigError or Error that names the file */
export async function runDiff(old: string, other: string | undefined, options: DiffOptions): Promise<void> {
  const { failOn, allow } = options
  if (options.json && options.format === 'markdown')
    throw usageError('expected one of --json and --format markdown')
  const [before, after] = namesOf(old, other, options.base)
  const entries: readonly AllowedFlip[] = allow === undefined ? [] : readAllowedFlips(allow)
  const [was, is] = [await readSide(before), await readSide(after)]
  const comparison = compareMatrices(was.matrix, is.matrix)
  const judged = judgeFlips(comparison, entries, new Date().toISOString().slice(0, 10))
  const failing = judged.left.filter(
    (flip) => failOn !== undefined && (failOn === 'any' || bearsOn(flip, failOn)),
  )
  const unsettled = failOn !== undefined && is.side.problems.length > 0
  const diff: Diff = { before: was.side, after: is.side, comparison, judged, failing, unsettled }
  if (options.json || options.format === 'json') printJson(reportOf(diff), AS_IN_THE_MATRIX)
  else print(options.format === 'markdown' ? diffMarkdown(diff) : diffText(diff))
  process.exitCode = failing.length > 0 || unsettled ? EXIT.denied : EXIT.done
}

/** @throws CommandError */
function namesOf(old: string, other: string | undefined, base: string | undefined): [string, string] {
  if (base !== undefined) {
    if (other !== undefined) throw usageError('expected one matrix file with --base')
    return [inRevision(base, old), old]
  }
  if (other === undefined) throw usageError('expected two matrices, or one with --base')
  return [old, other]
}

async function readSide(name: string): Promise<{ readonly matrix: Matrix; readonly side: Side }> {
  const bytes = await readFileOrRevision(name)
  try {
    // The name of a revision ends with that of the file.
    const { matrix, problems } = finish(draftInSteps(bytes, matrixForm(name)))
    return { matrix, side: { name, problems } }
  } catch (error) {
    throw error instanceof MatrixError ? new MatrixError(error.problems, name) : error
  }
}

function reportOf({ before, after, comparison, judged, failing, unsettled }: Diff): object {
  const { title, ...rest } = comparison
  const { signedOff, expired, unused } = judged
  return {
    ...{ before, after, ...rest, ...(title !== undefined && { title }) },
    ...{ signedOff, expired, unused, failing, unsettled },
  }
}
