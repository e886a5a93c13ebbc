/** The findings of the linter, for people and for the programs that show it beside the lines of a file. */
import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { FINDINGS, type Finding, type FindingsReport } from '../../../../matrix/index.ts'
import { packageVersion } from '../../../base/package.ts'
import { columns } from '../../../base/text-table.ts'
import { escaped, escapedJson } from '../../../base/visible-text.ts'
import { counted } from '../../terminal/output.ts'
import { paint } from '../../terminal/terminal.ts'

/** @param file absent: the shipped matrix */
export function reportText(file: string | undefined, report: FindingsReport): string {
  const { conflicts, problems, warnings } = report
  const rows = conflicts.map(({ derived, declared }) => [
    declared?.id ?? paint('red', 'NOT DECLARED'),
    derived.type,
    [...derived.cells.map(({ api, kind }) => `${api} × ${kind}`), ...derived.apis, ...derived.kinds].join(
      ', ',
    ),
    declared === undefined ? '' : `the ${declared.resolution} decides`,
  ])
  const verdict =
    problems.length === 0 ? paint('green', 'no problem') : paint('red', countOf(problems, 'problem'))
  const warned = warnings.length === 0 ? '' : `, ${paint('yellow', countOf(warnings, 'warning'))}`
  const found = [...problems, ...warnings]
  return [
    ...(rows.length > 0
      ? [paint('bold', 'conflicts between the rows and the statements:'), columns(rows)]
      : []),
    `${file ?? 'the shipped matrix'}: ${verdict}${warned}`,
    ...found.map((finding) => `  ${findingText(file, finding)}`),
    ...fixesOf(found),
  ].join('\n')
}

/** The last entry of a list that is too long has no code, and says how many there are beside. */
function countOf(findings: readonly Finding[], what: string): string {
  const listed = findings.filter(({ code }) => code !== undefined).length
  return listed < findings.length ? `more than ${counted(listed, what)}` : counted(listed, what)
}

/** As compilers print it, so that terminals and editors go there. */
function findingText(file: string | undefined, finding: Finding): string {
  const { line, column, path, code, severity } = finding
  const place = file === undefined || line === undefined ? '' : `${file}:${line}:${column}: `
  const style = severity === 'error' ? 'red' : 'yellow'
  const mark = code === undefined ? '' : `${paint(style, severity)}[${code}] `
  return `${place}${mark}${path === '' ? '' : `${path}: `}${expectedOf(finding)}`
}

/** The expected value of a fault of the text itself repeats the place. */
function expectedOf({ expected, line, column }: Pick<Shown, 'expected' | 'line' | 'column'>): string {
  const place = ` at line ${line}, column ${column}`
  return expected.endsWith(place) ? expected.slice(0, -place.length) : expected
}

/** The remedy for each code that was found. */
function fixesOf(found: readonly Finding[]): string[] {
  const fixes = new Map(found.flatMap(({ code, fix }) => (code && fix ? [[code, fix] as const] : [])))
  if (fixes.size === 0) return []
  return ['', paint('bold', 'what to do:'), columns(Array.from(fixes, ([code, fix]) => ['  ', code, fix]))]
}

/** A finding of a command, which its tool has a rule for. */
export interface Shown extends Omit<Finding, 'code'> {
  readonly code?: string
}

/** The command that has found something, and the meaning of its codes. */
export interface Tool {
  readonly name: string
  readonly rules: Readonly<
    Record<string, { readonly means: string; readonly fix: string; readonly severity: Finding['severity'] }>
  >
}

const LINT: Tool = { name: 'portcullis matrix lint', rules: FINDINGS }

/**
 * SARIF 2.1.0 (OASIS): a rule for each code that was found, a result for each finding.
 *
 * @param file absent: the shipped matrix, whose findings have a path and no place
 */
export function sarifText(file: string | undefined, found: readonly Shown[], tool: Tool = LINT): string {
  const codes = [...new Set(found.map(({ code = MORE }) => code))]
  const log = {
    $schema: 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: tool.name,
            version: packageVersion,
            rules: codes.map((code) => sarifRule(code, tool)),
          },
        },
        columnKind: 'utf16CodeUnits',
        results: found.map((finding) => sarifResult(file, finding, codes)),
      },
    ],
  }
  return `${escapedJson(JSON.stringify(log))}\n`
}

/** The code of the entry that says how many more findings there are. */
const MORE = 'more'

function sarifRule(code: string, { rules }: Tool): object {
  const rule = rules[code]
  if (rule === undefined)
    return { id: code, shortDescription: { text: 'There are more findings than are listed.' } }
  const { means, fix, severity } = rule
  return {
    id: code,
    shortDescription: { text: means },
    help: { text: fix },
    defaultConfiguration: { level: severity },
  }
}

function sarifResult(file: string | undefined, finding: Shown, codes: readonly string[]): object {
  const { code = MORE, severity, path, line, column } = finding
  const physical = file !== undefined && {
    physicalLocation: {
      artifactLocation: { uri: uriOf(file) },
      ...(line !== undefined && { region: { startLine: line, startColumn: column } }),
    },
  }
  const logical = path !== '' && { logicalLocations: [{ fullyQualifiedName: path }] }
  return {
    ruleId: code,
    ruleIndex: codes.indexOf(code),
    level: severity,
    message: { text: `${path === '' ? '' : `${path}: `}${expectedOf(finding)}` },
    ...((physical || logical) && { locations: [{ ...physical, ...logical }] }),
  }
}

/** Relative to the folder of the command, as code hosts want it. */
function uriOf(file: string): string {
  if (isAbsolute(file)) return pathToFileURL(file).href
  return file.replaceAll('\\', '/').replace(/^\.\//, '').split('/').map(encodeURIComponent).join('/')
}

/** The workflow commands of GitHub Actions, one a line. */
export function annotations(file: string | undefined, found: readonly Shown[]): string {
  const lines = found.map((finding) => {
    const { code = MORE, severity, path, line, column, fix = '' } = finding
    const properties = Object.entries({ file, line, col: column, title: code })
      .filter(([, value]) => value !== undefined)
      .map(
        ([name, value]) =>
          `${name}=${commandText(String(value)).replaceAll(':', '%3A').replaceAll(',', '%2C')}`,
      )
    const text = `${path === '' ? '' : `${path}: `}${expectedOf(finding)}${fix === '' ? '' : `\n${fix}`}`
    return `::${severity} ${properties.join(',')}::${commandText(text)}\n`
  })
  return lines.join('')
}

function commandText(text: string): string {
  const [first = '', ...others] = text.replaceAll('%', '%25').split(/\r?\n/).map(escaped)
  return [first, ...others].join('%0A')
}
