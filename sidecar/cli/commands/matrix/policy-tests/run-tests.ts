/** The work of `portcullis matrix test`. It is loaded when the command runs. */
import { writeFileSync } from 'node:fs'
import { compile, type Engine } from '../../../../../engine/index.ts'
import {
  Coverage,
  countQuestions,
  type Mode,
  percentOf,
  QUESTIONS_MAX,
  runTests,
} from '../../../../../matrix/policy-tests/index.ts'
import { escapedJson } from '../../../../base/visible-text.ts'
import { readConfig } from '../../../../config/config.ts'
import { readRules } from '../../../read-rules.ts'
import { CommandError, EXIT, failWith, usageError, warn } from '../../../terminal/errors.ts'
import { print } from '../../../terminal/output.ts'
import { jsonReport } from './json-report.ts'
import { junitReport } from './junit-report.ts'
import { TestRoutes } from './route-tests.ts'
import { tapReport } from './tap-report.ts'
import { findTestFiles, readTestFiles, refuseProblems, type TestFile } from './test-files.ts'
import type { TestOptions } from './test-options.ts'
import { countsOf, type FileResult, type Report } from './test-report.ts'
import { textReport } from './text-report.ts'
import { runOnChanges } from './watch.ts'

const FORMATS = { text: textReport, json: jsonReport, junit: junitReport, tap: tapReport }

/** @throws CommandError, ConfigError or MatrixError where the tests cannot be run */
export async function testMatrix(paths: readonly string[], options: TestOptions): Promise<void> {
  const places = paths.length === 0 ? ['.'] : paths
  /** The files that the answers depend on, beside the tests. */
  const known = new Set([options.matrix, options.config].filter((path) => path !== undefined))
  if (!options.watch) return runOnce(places, options, known)
  await runOnChanges(
    () => [...known, ...testFilesNow(places)],
    () => {
      try {
        runOnce(places, options, known)
      } catch (error) {
        // A file may be in the middle of a change, and the tests run again after it.
        failWith(error, { json: options.json === true })
      }
    },
  )
}

function testFilesNow(places: readonly string[]): readonly string[] {
  try {
    return findTestFiles(places)
  } catch {
    return places
  }
}

function runOnce(places: readonly string[], options: TestOptions, known: Set<string>): void {
  const report = makeReport(places, options, known)
  const format = options.format ?? (options.json ? 'json' : 'text')
  const text = FORMATS[format](report)
  if (options.output !== undefined) writeReport(options.output, text)
  if (options.output !== undefined || format === 'text') print(textReport(report))
  // A program reads it, and a line break of it is one.
  else process.stdout.write(`${format === 'json' ? escapedJson(text) : text}\n`)
  const tooLittle = uncovered(report, options.coverageMin)
  for (const part of tooLittle) warn(part, options.json === true)
  process.exitCode = countsOf(report.files).failed > 0 || tooLittle.length > 0 ? EXIT.denied : EXIT.done
}

function makeReport(places: readonly string[], options: TestOptions, known: Set<string>): Report {
  const files = readTestFiles(findTestFiles(places))
  const { engines, config, mode } = readSurroundings(options, known)
  const routes = new TestRoutes(engines.lenient, config)
  const finders = new Map(files.map((file) => [file, routes.finderFor(file)]))
  for (const path of routes.paths) known.add(path)
  refuseProblems(files, engines.lenient, (file) => finders.get(file) !== undefined)
  refuseTooMany(files, engines.lenient)
  const covers = options.coverage === true || options.coverageMin !== undefined
  const coverage = covers ? new Coverage(engines) : undefined
  const { filter } = options
  const results = files.map((file): FileResult => {
    const findRoute = finders.get(file)
    return { file, results: runTests(file.tests, { engines, mode, findRoute, coverage, filter }) }
  })
  const found = results.filter((each) => each.results.length > 0)
  if (found.length === 0) throw usageError('--filter: no test has this text in its name, its API or its kind')
  const routesPart = routes.coverage()
  return {
    ...{ digest: engines.lenient.digest, mode, files: found },
    coverage: coverage && { ...coverage.report(), ...(routesPart && { routes: routesPart }) },
    coverageMin: options.coverageMin,
  }
}

/** The rules. The command line comes before the configuration. */
function readSurroundings(options: TestOptions, known: Set<string>) {
  const file = options.config
  const config = file === undefined ? undefined : readConfig({ file, environment: process.env })
  const path = options.matrix ?? config?.matrix
  if (path !== undefined) known.add(path)
  const { matrix, engine: lenient } = readRules({ ...(path !== undefined && { matrix: path }) })
  const engines: Record<Mode, Engine> = { lenient, strict: compile(matrix, { strict: true }) }
  const mode: Mode = (options.strict ?? config?.strict) ? 'strict' : 'lenient'
  return { engines, config, mode }
}

function refuseTooMany(files: readonly TestFile[], { tokenKinds }: Engine): void {
  let questions = 0
  for (const { path, tests } of files)
    for (const test of tests.tests) {
      questions += countQuestions(tests, test, tokenKinds.size)
      if (questions > QUESTIONS_MAX)
        throw new CommandError(
          'TESTS_INVALID',
          `${path}: expected at most ${QUESTIONS_MAX} questions in a run`,
        )
    }
}

/** The parts with less coverage than was asked for. */
function uncovered({ coverage }: Report, percentMin = 0): string[] {
  return Object.entries(coverage ?? {})
    .filter(([, part]) => percentOf(part) < percentMin)
    .map(
      ([name, part]) => `coverage of ${name}: expected at least ${percentMin} %, found ${percentOf(part)} %`,
    )
}

function writeReport(path: string, text: string): void {
  try {
    writeFileSync(path, `${text}\n`)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new CommandError('FAILED_PRECONDITION', `--output: ${path} cannot be written (${code})`)
  }
}
