/** The report in the Test Anything Protocol, version 14. */
import { nameOf, percentOf } from '../../../../../matrix/policy-tests/index.ts'
import { escaped } from '../../../../base/visible-text.ts'
import { countsOf, failureLines, placeOf, questionText, type Report } from './test-report.ts'

export function tapReport({ files, coverage, digest }: Report): string {
  let number = 0
  const lines = files.flatMap(({ file, results }) =>
    results.flatMap((result) => {
      const { failed, failures, test } = result
      const line = `${failed === 0 ? 'ok' : 'not ok'} ${++number} - ${description(`${file.path}: ${nameOf(test)}`)}`
      if (failed === 0) return [line]
      return [
        line,
        '  ---',
        `  at: ${JSON.stringify(placeOf(file, result))}`,
        `  failed: ${failed}`,
        '  questions:',
        ...failures.flatMap((each) => [
          `    - question: ${JSON.stringify(questionText(each))}`,
          '      said:',
          ...failureLines(each).map(([label, value]) => `        - ${JSON.stringify(`${label}: ${value}`)}`),
        ]),
        '  ...',
      ]
    }),
  )
  return [
    'TAP version 14',
    `# ${digest}`,
    ...Object.entries(coverage ?? {}).map(([name, part]) => `# coverage of ${name}: ${percentOf(part)} %`),
    `1..${countsOf(files).tests}`,
    ...lines,
  ].join('\n')
}

/** A name on one line, in which `#` begins no directive. */
function description(name: string): string {
  return escaped(name).replaceAll('\\', '\\\\').replaceAll('#', '\\#')
}
