/**
 * Brings the parts of the pages that follow from the code up to date: `npm run docs`. Such a part stands
 * between `<!-- name -->` and `<!-- /name -->`; a test compares it with what is made here.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { instructionsBlock } from '../bench/instructions/kept.ts'
import {
  coresBlock,
  costSentence,
  fleetBlock,
  headlineBlock,
  ratesBlock,
  sizingBlock,
} from '../bench/report/markdown.ts'
import { docsChart, readDocs } from '../bench/report/results.ts'
import { FINDINGS } from '../matrix/findings.ts'
import { CALL_ERRORS } from '../sidecar/base/call-error.ts'
import { scalarKeys } from '../sidecar/config/config.ts'
import { attackTable, readResults } from '../test/support/attack/results.ts'
import { assuranceTable } from './assurance.ts'

const ROOT = join(import.meta.dirname, '..')

/** Drawn from the same figures and bounds as the tables of the benchmarks. */
export const CHART = join(ROOT, 'docs/bench.svg')

export interface GeneratedPart {
  /** From the root, for example `docs/use/matrix.md`. */
  readonly page: string
  /** The name in its comments. */
  readonly name: string
  /** The text that must stand between them. */
  readonly make: () => string
}

export const generatedParts: readonly GeneratedPart[] = [
  { page: 'README.md', name: 'matrix-excerpt', make: matrixExcerpt },
  { page: 'README.md', name: 'cost', make: () => costSentence(readDocs()) },
  {
    page: 'docs/use/matrix.md',
    name: 'matrix',
    make: () => fenced(['$ npx portcullis matrix', ...matrixLines()]),
  },
  { page: 'docs/use/own-matrix.md', name: 'findings', make: findingsTable },
  { page: 'docs/use/contract.md', name: 'errors', make: errorTable },
  { page: 'docs/operate/configuration.md', name: 'configuration', make: configurationTable },
  { page: 'docs/decide/assurance.md', name: 'assurance', make: assuranceTable },
  { page: 'docs/decide/security/attacks.md', name: 'attacks', make: () => attackTable(readResults()) },
  { page: 'docs/operate/deployment.md', name: 'fleet', make: () => fleetBlock(readDocs()) },
  { page: 'docs/operate/deployment.md', name: 'sizing', make: () => sizingBlock(readDocs()) },
  { page: 'docs/operate/deployment.md', name: 'rates', make: () => ratesBlock(readDocs()) },
  { page: 'docs/operate/deployment.md', name: 'cores', make: () => coresBlock(readDocs()) },
  { page: 'docs/decide/benchmarks.md', name: 'benchmarks-summary', make: () => headlineBlock(readDocs()) },
  { page: 'docs/decide/benchmarks.md', name: 'instructions', make: () => instructionsBlock() },
]

/** The text between the comments of a part; `undefined`: they are not there. */
export function partOf(text: string, name: string): string | undefined {
  return between(name).exec(text)?.[2]
}

/** The page with another text between the comments. */
function withPart(text: string, { name, make }: GeneratedPart): string {
  return text.replace(between(name), (_match, before: string, _old, after: string) => {
    const made = make()
    return `${before}${made}${made === '' ? '' : '\n'}${after}`
  })
}

const between = (name: string) => new RegExp(`(<!-- ${name} -->\\n)([\\s\\S]*?)\\n?(<!-- /${name} -->)`)

/** Rows that differ from each other: every pattern of acceptance, and a contested cell. */
const EXCERPT = ['iam', 'balance', 'reports', 'cloud-projects', 'object-storage', 'cdn', 'audit-logs']

function matrixExcerpt(): string {
  const [header = '', headers = '', ...rows] = matrixLines()
  const shown = EXCERPT.map((api) => rows.find((row) => row.startsWith(`${api} `)) ?? `${api} is missing`)
  return fenced([header, headers, ...shown])
}

function matrixLines(): string[] {
  const launcher = join(ROOT, 'sidecar/portcullis.js')
  return execFileSync(process.execPath, [launcher, 'matrix'], { encoding: 'utf8' }).trimEnd().split('\n')
}

function fenced(lines: readonly string[]): string {
  return ['```text', ...lines.map((line) => line.trimEnd()), '```'].join('\n')
}

/** The reasons by the status that gRPC answers, and whether a retry helps. */
function errorTable(): string {
  const rows = new Map<string, string[]>()
  for (const [reason, { code, retry }] of Object.entries(CALL_ERRORS)) {
    const status = `| \`${code}\` | ${retry ? 'yes' : ''} |`
    rows.set(status, [...(rows.get(status) ?? []), `\`${reason}\``])
  }
  const lines = Array.from(rows, ([status, reasons]) => `${status} ${reasons.join(' ')} |`)
  return ['| status | retry | reasons |', '|---|---|---|', ...lines].join('\n')
}

function findingsTable(): string {
  const rows = Object.entries(FINDINGS).map(
    ([code, { severity, fix }]) => `| \`${code}\` | ${severity} | ${fix} |`,
  )
  return ['| code | severity | what to do |', '|---|---|---|', ...rows].join('\n')
}

function configurationTable(): string {
  const rows = scalarKeys.map(
    ({ path, default: value, description }) =>
      `| \`${path.join('.')}\` | ${value === undefined ? '' : `\`${value}\``} | ${description} |`,
  )
  return ['| key | default | meaning |', '|---|---|---|', ...rows].join('\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const part of generatedParts) {
    const path = join(ROOT, part.page)
    writeFileSync(path, withPart(readFileSync(path, 'utf8'), part))
  }
  writeFileSync(CHART, docsChart(readDocs()))
}
