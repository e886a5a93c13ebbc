/** The report as JUnit's XML, which servers for continuous integration read. */
import { nameOf, percentOf, type TestResult } from '../../../../../matrix/policy-tests/index.ts'
import { escapedMarkup } from '../../../../base/visible-text.ts'
import {
  countsOf,
  type FileResult,
  failureLines,
  moreOf,
  placeOf,
  questionText,
  type Report,
} from './test-report.ts'

export function junitReport({ files, coverage }: Report): string {
  const { tests, failed } = countsOf(files)
  const properties = Object.entries(coverage ?? {}).map(
    ([name, part]) => `      <property name="coverage.${name}" value="${percentOf(part)}"/>`,
  )
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="portcullis matrix test" tests="${tests}" failures="${failed}">`,
    ...files.flatMap((each) => suite(each, properties)),
    '</testsuites>',
  ].join('\n')
}

function suite(each: FileResult, properties: readonly string[]): string[] {
  const { file, results } = each
  const { tests, failed } = countsOf([each])
  return [
    `  <testsuite name="${text(file.path)}" tests="${tests}" failures="${failed}" errors="0" skipped="0">`,
    ...(properties.length > 0 ? ['    <properties>', ...properties, '    </properties>'] : []),
    ...results.flatMap((result) => {
      const { line } = file.placeOf(result.index)
      const start = `    <testcase name="${text(nameOf(result.test))}" classname="${text(file.path)}" file="${text(file.path)}" line="${line}"`
      return result.failed === 0
        ? [`${start}/>`]
        : [`${start}>`, failure(placeOf(file, result), result), '    </testcase>']
    }),
    '  </testsuite>',
  ]
}

function failure(place: string, result: TestResult): string {
  const { failures } = result
  const lines = failures.flatMap((each) => [
    questionText(each),
    ...failureLines(each).map(([label, value]) => `  ${label}: ${value}`),
  ])
  const more = moreOf(result)
  const content = [place, ...lines, ...(more > 0 ? [`and ${more} more`] : [])]
  const [first] = failures
  const message = first === undefined ? '' : questionText(first)
  return `      <failure message="${text(message)}">${content.map(text).join('\n')}</failure>`
}

/** A text in XML, on one line: a character that XML may not have is written as an escape of ours. */
function text(value: string): string {
  return escapedMarkup(value.toWellFormed()).replace(/[\ufffe\uffff]/g, '\ufffd')
}
