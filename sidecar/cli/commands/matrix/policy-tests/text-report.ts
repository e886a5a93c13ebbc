/** The report for people. */
import {
  type CoveredPart,
  nameOf,
  percentOf,
  type TestResult,
} from '../../../../../matrix/policy-tests/index.ts'
import { columns } from '../../../../base/text-table.ts'
import { escaped } from '../../../../base/visible-text.ts'
import { counted } from '../../../terminal/output.ts'
import { paint } from '../../../terminal/terminal.ts'
import type { TestFile } from './test-files.ts'
import { countsOf, failureLines, moreOf, placeOf, questionText, type Report } from './test-report.ts'

/** Most tests that are described, and most things that each part of the coverage lists. */
const FAILED_MAX = 100
const MISSING_SHOWN_MAX = 20

export function textReport({ files, coverage, digest }: Report): string {
  const failures = files.flatMap(({ file, results }) =>
    results.filter(({ failed }) => failed > 0).map((result) => ({ file, result })),
  )
  const all = countsOf(files)
  const more = failures.length - FAILED_MAX
  const total = `${verdict(all)}, ${counted(all.questions, 'question')} to ${digest}`
  const [only] = files
  return [
    ...failures.slice(0, FAILED_MAX).flatMap(({ file, result }) => [failedTest(file, result), '']),
    ...(more > 0 ? [`and ${counted(more, 'failed test')} more`, ''] : []),
    ...(coverage === undefined ? [] : [coverageText(coverage), '']),
    ...(files.length > 1 ? files.map((each) => `${each.file.path}: ${verdict(countsOf([each]))}`) : []),
    files.length > 1 ? total : `${only?.file.path}: ${total}`,
  ].join('\n')
}

function verdict({ tests, failed }: ReturnType<typeof countsOf>): string {
  return failed === 0
    ? paint('green', `${counted(tests, 'test')} passed`)
    : paint('red', `${failed} of ${counted(tests, 'test')} failed`)
}

function failedTest(file: TestFile, result: TestResult): string {
  const { test, failures } = result
  const more = moreOf(result)
  return [
    `${paint('bold', placeOf(file, result))}: ${paint('red', escaped(nameOf(test)))}`,
    ...failures.flatMap((failure) => [
      `  ${escaped(questionText(failure))}`,
      columns(failureLines(failure).map(([label, text]) => ['  ', paint('dim', label), text])),
    ]),
    ...(more > 0 ? [`  and ${counted(more, 'question')} more`] : []),
  ].join('\n')
}

function coverageText(coverage: Readonly<Record<string, CoveredPart>>): string {
  const parts = Object.entries(coverage)
  const rows = parts.map(([name, part]) => [name, `${percentOf(part)} %`, `${part.covered} of ${part.total}`])
  const missing = parts
    .filter(([, part]) => part.missing.length > 0)
    .flatMap(([name, part]) => {
      const lines = name === 'cells' ? byApi(part.missing) : part.missing
      const listed = lines.length <= MISSING_SHOWN_MAX && part.missing.length === part.total - part.covered
      return [
        `${name} that no test asks about:`,
        ...lines.slice(0, MISSING_SHOWN_MAX).map((each) => `  ${each}`),
        ...(listed ? [] : ['  and more']),
      ]
    })
  return [paint('bold', 'coverage'), columns(rows), ...missing].join('\n')
}

/** `cdn × a` and `cdn × b` as one line. */
function byApi(cells: readonly string[]): string[] {
  const kinds = Map.groupBy(
    cells.map((cell) => cell.split(' × ')),
    ([api]) => api,
  )
  return Array.from(kinds, ([api, each]) => `${api} × ${each.map(([, kind]) => kind).join(', ')}`)
}
