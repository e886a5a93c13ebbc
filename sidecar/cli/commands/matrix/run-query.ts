/** The work of `portcullis matrix query`. It is loaded when the command runs. */
import { carriageOf, type Matrix } from '../../../../engine/index.ts'
import { type QueryAnswer, QueryError, queryMatrix, supportMatrix } from '../../../../matrix/index.ts'
import { columns } from '../../../base/text-table.ts'
import { readMatrix } from '../../../rules/matrix-file/read.ts'
import { EXIT, usageError } from '../../terminal/errors.ts'
import { counted, print, printJson } from '../../terminal/output.ts'
import { paint } from '../../terminal/terminal.ts'

export interface QueryOptions {
  readonly matrix?: string
  readonly json?: boolean
}

/** Most lines that are listed. The others are counted. */
const LISTED_MAX = 1_000

/** @throws CommandError with the column of the expression; MatrixError or Error that names the file */
export function runQuery(expression: string, { matrix: path, json = false }: QueryOptions): void {
  const matrix = path === undefined ? supportMatrix : readMatrix(path)
  const answer = answerTo(expression, matrix)
  const rows = rowsOf(answer, matrix)
  if (json) printJson(answer)
  else {
    const more = rows.length - LISTED_MAX
    print(
      [
        ...(rows.length > 0 ? [columns(rows.slice(0, LISTED_MAX))] : []),
        ...(more > 0 ? [paint('dim', `and ${more} more; --json has all`)] : []),
        paint('bold', countOf(answer, rows.length)),
      ].join('\n'),
    )
  }
  process.exitCode = rows.length > 0 ? EXIT.done : EXIT.denied
}

function answerTo(expression: string, matrix: Matrix): QueryAnswer {
  try {
    return queryMatrix(matrix, expression)
  } catch (error) {
    throw error instanceof QueryError ? usageError(`the expression, ${error.message}`) : error
  }
}

function rowsOf(answer: QueryAnswer, { apis, tokenKinds }: Matrix): string[][] {
  switch (answer.about) {
    case 'cells':
      return answer.cells.map(({ api, kind, lenient, strict, conflicts }) => [
        ...[api, kind, lenient, strict === lenient ? '' : `strict: ${strict}`, conflicts.join(', ')],
      ])
    case 'apis': {
      const titles = new Map(apis.map(({ id, title }) => [id, title]))
      return answer.apis.map((id) => [id, titles.get(id) ?? ''])
    }
    case 'kinds': {
      const kinds = new Map(tokenKinds.map((kind) => [kind.id, kind]))
      return answer.kinds.flatMap((id) => {
        const kind = kinds.get(id)
        return kind === undefined ? [] : [[id, `in ${carriageOf(kind)}`, kind.title]]
      })
    }
  }
}

function countOf({ about }: QueryAnswer, count: number): string {
  if (about === 'cells') return counted(count, 'cell')
  return about === 'apis' ? counted(count, 'API') : `${counted(count, 'kind')} of token`
}
