/** Finds and reads the files of policy tests. */
import { readdirSync, statSync } from 'node:fs'
import { join, normalize } from 'node:path'
import type { Engine } from '../../../../../engine/index.ts'
import {
  type Place,
  type Problem,
  pathOf,
  problemsBy,
  segmentsOf,
} from '../../../../../matrix/document/index.ts'
import { type PolicyTests, testProblems } from '../../../../../matrix/policy-tests/index.ts'
import { FileTooLong, readAtMost } from '../../../../base/bounded-file.ts'
import { validate } from '../../../../config/gen/policy-tests.ts'
import { matrixForm } from '../../../../rules/matrix-file/read.ts'
import { CommandError } from '../../../terminal/errors.ts'

/** A file whose form is right. */
export interface TestFile {
  readonly path: string
  readonly tests: PolicyTests
  /** The place of the test with that index. */
  readonly placeOf: (index: number) => Partial<Place>
  /** The same of paths such as `tests[3].apis[0]`. */
  readonly placesOf: (paths: readonly string[]) => readonly (Place | undefined)[]
}

const NAME = /(?:^|[._-])policy-tests\.(?:ya?ml|json)$/
const FILES_MAX = 1_000
const FILE_BYTES_MAX = 2 * 1024 * 1024
const BYTES_MAX = 16 * 1024 * 1024
/** Most entries of folders that are looked at: in the wrong folder, the search would have no end. */
const ENTRIES_MAX = 100_000

/**
 * The files that the arguments name, each once, in their order; those of a folder by name.
 *
 * @throws CommandError where there is none, or a path cannot be read
 */
export function findTestFiles(paths: readonly string[]): string[] {
  const found = new Set<string>()
  let entries = 0
  const look = (folder: string): void => {
    const inside = readdirSync(folder, { withFileTypes: true })
    entries += inside.length
    if (entries > ENTRIES_MAX)
      throw invalid(`${folder}: expected at most ${ENTRIES_MAX} files and folders to look through`)
    for (const entry of inside.toSorted((one, other) => (one.name < other.name ? -1 : 1)))
      if (entry.isFile() && NAME.test(entry.name)) found.add(join(folder, entry.name))
      else if (entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules')
        look(join(folder, entry.name))
  }
  for (const path of paths) {
    try {
      const named = statSync(path)
      if (named.isDirectory()) look(path)
      // A device or a pipe may have no end, and cannot be read again.
      else if (named.isFile()) found.add(normalize(path))
      else throw invalid(`${path}: expected a file or a folder`)
    } catch (error) {
      throw error instanceof CommandError ? error : unreadable(path, error)
    }
  }
  if (found.size === 0)
    throw invalid(
      `no tests in ${paths.join(', ')}: expected files named policy-tests.yaml; \`portcullis matrix test --init\` writes one`,
    )
  if (found.size > FILES_MAX)
    throw invalid(`expected at most ${FILES_MAX} files of tests, found ${found.size}`)
  return [...found]
}

/** @throws CommandError that lists the problems of all files, each with its line and column */
export function readTestFiles(paths: readonly string[]): TestFile[] {
  let bytes = 0
  const problems: FileProblem[] = []
  const files = paths.flatMap((path): TestFile[] => {
    const text = readText(path)
    bytes += text.length
    if (bytes > BYTES_MAX) throw invalid(`${path}: expected at most ${BYTES_MAX} bytes in all files of tests`)
    const form = matrixForm(path)
    const reading = form.read(text)
    const placesOf = (places: readonly string[]) => form.placesOf(text, places)
    const misfits = reading.ok ? placed(problemsBy(validate, reading.value), placesOf) : reading.problems
    problems.push(...misfits.map((problem) => ({ ...problem, file: path })))
    if (!reading.ok || misfits.length > 0) return []
    const tests = reading.value as PolicyTests
    return [{ path, tests, placeOf: placesOfTests(tests, placesOf), placesOf }]
  })
  refuse(problems)
  return files
}

/**
 * Refuses tests of what is not in the matrix.
 *
 * @throws CommandError as `readTestFiles` does
 */
export function refuseProblems(
  files: readonly TestFile[],
  engine: Engine,
  hasRoutes: (file: TestFile) => boolean,
): void {
  refuse(
    files.flatMap((file) =>
      placed(testProblems(file.tests, engine, hasRoutes(file)), file.placesOf).map((problem) => ({
        ...problem,
        file: file.path,
      })),
    ),
  )
}

interface FileProblem extends Problem {
  readonly file: string
}

/** The text is looked at again for all of them at once, and only on request. */
function placesOfTests({ tests }: PolicyTests, placesOf: TestFile['placesOf']): TestFile['placeOf'] {
  let places: readonly (Place | undefined)[] | undefined
  return (index) => {
    places ??= placesOf(tests.map((_, each) => `tests[${each}]`))
    return places[index] ?? {}
  }
}

function placed(problems: readonly Problem[], placesOf: TestFile['placesOf']): Problem[] {
  const places = placesOf(problems.map(({ path }) => path))
  return problems.map(({ path, expected }, index) => ({
    ...{ path: withoutValues(path), expected },
    ...(path !== '' && places[index]),
  }))
}

/** Keys of `tokens` are values of credential headers, and an author may have copied a true one. */
function withoutValues(path: string): string {
  const [first, value, ...rest] = segmentsOf(path)
  return first !== 'tokens' || value === undefined ? path : pathOf(['tokens', '…', ...rest])
}

function refuse(problems: readonly FileProblem[]): void {
  if (problems.length === 0) return
  const lines = problems.map(({ file, line, column, path, expected }) => {
    const place = line === undefined ? '' : `:${line}:${column}`
    return `  ${file}${place}: ${path === '' ? '' : `${path}: `}${expected}`
  })
  throw new CommandError(
    'TESTS_INVALID',
    ['the tests cannot be run:', ...lines].join('\n'),
    problems.map(({ file, line, path, expected }) => ({
      path: `${file}${line === undefined ? '' : `:${line}`}${path === '' ? '' : `: ${path}`}`,
      expected,
    })),
  )
}

function readText(path: string): string {
  let bytes: Buffer
  try {
    bytes = readAtMost(path, FILE_BYTES_MAX)
  } catch (error) {
    throw error instanceof FileTooLong
      ? invalid(`${path}: ${error.message}, found ${error.bytes}`)
      : unreadable(path, error)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalid(`${path}: expected UTF-8 text`)
  }
}

function invalid(message: string): CommandError {
  return new CommandError('TESTS_INVALID', message)
}

function unreadable(path: string, error: unknown): CommandError {
  const { code } = error as NodeJS.ErrnoException
  return new CommandError('FAILED_PRECONDITION', `${path} cannot be read (${code})`)
}
