/** The parts of the README that follow from the code, and how to read the others out of it. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { benchmarksPart } from '../../bench/report/markdown.ts'
import { docsChart, readDocs } from '../../bench/report/results.ts'
import { scalarKeys } from '../../sidecar/config/config.ts'

export { benchmarksPart }

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
