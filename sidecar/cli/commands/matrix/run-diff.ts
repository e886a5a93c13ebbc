/** What `portcullis matrix diff` does. It is loaded when the command runs. */
import { finish, type Matrix } from '../../../../engine/index.ts'
import {
  type AllowedFlip,
  compareMatrices,
  type Direction,
  judgeFlips,
  MatrixError,
} from '../../../../matrix/index.ts'
import { draftInSteps } from '../../../../matrix/load.ts'
import { matrixForm } from '../../../rules/matrix-file/read.ts'
import { EXIT, usageError } from '../../terminal/errors.ts'
import { print, printJson } from '../../terminal/output.ts'
import { readAllowedFlips } from './allowed-flips.ts'
import type { Diff, Side } from './diff-lines.ts'
import { diffMarkdown } from './diff-markdown.ts'
import { diffText } from './diff-text.ts'
import { readFileOrRevision } from './revision.ts'

export interface DiffOptions {
  readonly format: 'text' | 'json' | 'markdown'
  readonly json?: boolean
  readonly failOn?: Direction | 'any'
  readonly allow?: string
}

/** @throws CommandError, MatrixError, ConfigError or Error that names the file */
export async function runDiff(before: string, after: string, options: DiffOptions): Promise<void> {
  const { failOn, allow } = options
  if (options.json && options.format === 'markdown')
    throw usageError('expected one of --json and --format markdown')
  const entries: readonly AllowedFlip[] = allow === undefined ? [] : readAllowedFlips(allow)
  const [was, is] = [await readSide(before), await readSide(after)]
  const comparison = compareMatrices(was.matrix, is.matrix)
  const judged = judgeFlips(comparison, entries, new Date().toISOString().slice(0, 10))
  const failing = judged.left.filter(
    ({ direction }) => failOn !== undefined && (failOn === 'any' || failOn === direction),
  )
  const unsettled = failOn !== undefined && is.side.problems.length > 0
  const diff: Diff = { before: was.side, after: is.side, comparison, judged, failing, unsettled }
  if (options.json || options.format === 'json') printJson(reportOf(diff))
  else print(options.format === 'markdown' ? diffMarkdown(diff) : diffText(diff))
  process.exitCode = failing.length > 0 || unsettled ? EXIT.denied : EXIT.done
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
