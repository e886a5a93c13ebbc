/**
 * `npm run mutants [-- AREA|FILE…]`: changes the code in small ways, one after the other, and looks whether a
 * test fails. Stryker does it. It fails where fewer mutants are killed than the area's least, and where a
 * mutant that a comment names is killed or gone.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { keepFigures } from './assurance.ts'
import { AREAS, type Area, type Part } from './mutants/areas.ts'
import { type Judged, type Mutant, mutantsOf, type Report, verdictOf } from './mutants/report.ts'
import { survivorsOf } from './mutants/survivors.ts'
import { installOnDemand } from './on-demand.ts'
import { ROOT } from './packages.ts'

/** Where a run puts what it makes. */
const OUT = join(ROOT, 'dist/mutants')

/** The paths that the code under `mutate` and its tests do not need. */
const NOT_COPIED = ['dist', '/clients/rust/proto', '/.*', '/bench', '/deploy', '/scripts/*/node_modules']

function main(args: readonly string[]): number {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true })
  const names = positionals.length > 0 ? positionals : Object.keys(AREAS)
  const areas = names.map((name) => ({ name, area: AREAS[name] ?? areaOfFile(name) }))
  const unknown = areas.filter(({ area }) => area.parts.length === 0)
  if (unknown.length > 0) {
    const known = Object.keys(AREAS).join(', ')
    process.stderr.write(`mutants: expected some of ${known}, or their files, not ${unknown[0]?.name}\n`)
    return 2
  }
  const stryker = join(installOnDemand('mutants'), '@stryker-mutator/core/bin/stryker.js')
  const passed = areas.map(({ name, area }) => judge(name, area, stryker))
  return passed.includes(false) ? 1 : 0
}

/** One file of an area, for work on that file. */
function areaOfFile(file: string): Area {
  const parts = Object.values(AREAS).flatMap(({ parts }) => parts)
  const own = parts.filter(({ files }) => files.includes(file))
  return { least: 100, parts: own.map(({ tests }) => ({ files: [file], tests })) }
}

/** Runs an area, and reports the result. @returns whether it is as it must be */
function judge(name: string, area: Area, stryker: string): boolean {
  const mutants = area.parts.flatMap((part, index) =>
    run(stryker, `${name.replaceAll('/', '-')}-${index}`, part),
  )
  const named = area.parts.flatMap(({ files }) => files.flatMap((file) => survivorsOf(file)))
  const { figures, others, gone, share, passes } = verdictOf(mutants, named, area.least)
  for (const each of others) process.stdout.write(`survived: ${tell(each)}\n`)
  for (const each of gone) process.stdout.write(`killed or gone, but named: ${tell(each)}\n`)
  process.stdout.write(
    `${name}: ${figures.killed} of ${figures.mutants} mutants killed, ${figures.named} named survivors, ${others.length} others: ${share.toFixed(2)} %, expected ${area.least} %\n`,
  )
  keepFigures(`mutants ${name}`, figures)
  return passes
}

/** Runs the mutants of some files. */
function run(stryker: string, name: string, { files, tests }: Part): readonly Judged[] {
  const report = join(OUT, `${name}.json`)
  const config = join(OUT, `${name}.config.json`)
  mkdirSync(OUT, { recursive: true })
  rmSync(report, { force: true })
  writeFileSync(config, JSON.stringify(configOf(files, report)))
  const { status } = spawnSync(process.execPath, [stryker, 'run', config], {
    ...{ cwd: ROOT, stdio: 'inherit' },
    env: { ...process.env, MUTANTS_TESTS: tests.join(' '), NODE_COMPILE_CACHE: join(OUT, 'compiled') },
  })
  if (status !== 0) throw new Error(`Stryker ended with ${status}: the tests must pass before it begins`)
  return mutantsOf(JSON.parse(readFileSync(report, 'utf8')) as Report)
}

function configOf(files: readonly string[], report: string): object {
  return {
    mutate: files,
    plugins: ['@stryker-mutator/vitest-runner'],
    testRunner: 'vitest',
    vitest: { configFile: 'scripts/mutants/vitest.config.ts', related: false, pool: 'threads' },
    // Not by test: a test would not seem to need what it finds in memory.
    coverageAnalysis: 'all',
    // Each process has its own, in which the tests run.
    concurrency: availableParallelism(),
    // TypeScript 7 has no interface for programs, and Vitest takes types off without it.
    tsconfigFile: 'none',
    disableTypeChecks: false,
    reporters: ['json', 'progress-append-only'],
    jsonReporter: { fileName: report },
    // A copy of the checkout, in which the code is changed.
    tempDirName: join('dist', 'mutants', 'copies'),
    ignorePatterns: NOT_COPIED,
    allowEmpty: false,
    timeoutMS: 20_000,
    warnings: { slow: false },
  }
}

function tell({ file, line, from, to }: Mutant): string {
  return `${file}: ${line}\n    ${from}  →  ${to}`
}

process.exitCode = main(process.argv.slice(2))
