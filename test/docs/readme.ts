/** The parts of the README that follow from the code, and how to read the others out of it. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ratioText } from '../../bench/chart.ts'
import { gateOf } from '../../bench/gates.ts'
import { type BenchDocs, docsChart, readDocs } from '../../bench/results.ts'
import type { Row } from '../../bench/suite.ts'
import { figureText } from '../../bench/text.ts'
import { scalarKeys } from '../../sidecar/config/config.ts'

const path = fileURLToPath(new URL('../../README.md', import.meta.url))
/** Drawn from the same figures and bounds as the README's table. */
export const chart = fileURLToPath(new URL('../../docs/bench.svg', import.meta.url))
export const launcher = fileURLToPath(new URL('../../sidecar/portcullis.js', import.meta.url))

/** Name of the part → what has to stand between `<!-- name -->` and `<!-- /name -->`. */
export const derivedParts: Readonly<Record<string, () => string>> = {
  configuration: () =>
    [
      '| key | variable | default | meaning |',
      '|---|---|---|---|',
      ...scalarKeys.map(
        (key) =>
          `| \`${key.path.join('.')}\` | \`${key.variable}\` | ${key.default === undefined ? '' : `\`${key.default}\``} | ${key.description} |`,
      ),
    ].join('\n'),
  matrix: () => {
    const table = execFileSync(process.execPath, [launcher, 'matrix'], { encoding: 'utf8' })
    return `\`\`\`text\n$ npx portcullis matrix\n${table}\`\`\``
  },
  benchmarks: () => benchmarksPart(readDocs()),
}

/** The chart with how it was made, and its figures for whoever cannot see it; nothing where nothing is compared or bounded. */
export function benchmarksPart({ command, suites }: BenchDocs): string {
  const lines = suites.flatMap(({ suite, rows }) =>
    rows
      .filter((row) => row.ratio !== undefined || gateOf(suite, row) !== undefined)
      .map((row) => `| ${[suite, ...benchmarkCells(suite, row)].join(' | ')} |`),
  )
  if (lines.length === 0) return ''
  const all = (values: readonly string[]) => [...new Set(values)].sort().join(', ')
  const dates = all(suites.map(({ date }) => date.slice(0, 10)))
  const machines = all(suites.map(({ node, cpu }) => `Node ${node} on ${cpu}`))
  return [
    `![What each call costs, in terms of what it is compared with](docs/bench.svg)`,
    '',
    `\`${command}\`, ${dates}, ${machines}.`,
    '',
    '<details><summary>The figures: medians of pairs that took turns, 10th to 90th percentile, bounds</summary>',
    '',
    '| suite | what | against | ratio | 10th–90th | bound |',
    '|---|---|---|---|---|---|',
    ...lines,
    '',
    '</details>',
  ].join('\n')
}

function benchmarkCells(suite: string, row: Row): string[] {
  const { what, a, b, ratio } = row
  const gate = gateOf(suite, row)
  const bound =
    gate && (gate.of === 'ratio' ? ratioText(gate.bound) : figureText({ ...a, value: gate.bound }))
  return [
    `${what}: ${figureText(a)}`,
    b === undefined ? '' : `${b.name}: ${figureText(b)}`,
    ...(ratio === undefined
      ? ['', '']
      : [ratioText(ratio.median), `${ratioText(ratio.p10)} – ${ratioText(ratio.p90)}`]),
    bound === undefined ? '' : `≤ ${bound}`,
  ]
}

export function readme(): string {
  return readFileSync(path, 'utf8')
}

/** What stands between the marks of a part. */
export function partOf(text: string, name: string): string | undefined {
  return new RegExp(`<!-- ${name} -->\\n([\\s\\S]*?)\\n<!-- /${name} -->`).exec(text)?.[1]
}

/** The fenced blocks of a language, in order. */
export function blocksOf(text: string, language: string): string[] {
  return Array.from(
    text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm')),
    ([, block]) => block ?? '',
  )
}

/** Writes the derived parts into the README, and its chart: `node test/docs/readme.ts`. */
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  let text = readme()
  for (const [name, part] of Object.entries(derivedParts))
    text = text.replace(
      new RegExp(`(<!-- ${name} -->\\n)[\\s\\S]*?(\\n?<!-- /${name} -->)`),
      (_match, before) => `${before}${part()}\n<!-- /${name} -->`,
    )
  writeFileSync(path, text)
  writeFileSync(chart, docsChart(readDocs()))
}
