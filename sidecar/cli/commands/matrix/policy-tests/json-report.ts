/** The report as one line of JSON. */
import { nameOf, percentOf } from '../../../../../matrix/policy-tests/index.ts'
import { jsonOf } from '../../../terminal/output.ts'
import { countsOf, type Report } from './test-report.ts'

export function jsonReport({ digest, mode, files, coverage, coverageMin }: Report): string {
  return JSON.stringify(
    jsonOf({
      ...{ digest, mode },
      ...countsOf(files),
      files: files.map(({ file, results }) => ({
        file: file.path,
        tests: results.map((result) => ({
          ...file.placeOf(result.index),
          name: nameOf(result.test),
          passed: result.failed === 0,
          questions: result.questions,
          ...(result.failed > 0 && { failed: result.failed, failures: result.failures }),
        })),
      })),
      ...(coverage && {
        coverage: Object.fromEntries(
          Object.entries(coverage).map(([name, part]) => [name, { percent: percentOf(part), ...part }]),
        ),
      }),
      ...(coverageMin !== undefined && { coverageMin }),
    }),
  )
}
