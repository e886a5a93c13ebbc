/**
 * The clients in local mode, each measured by a program in its own language beside one sidecar: what a check
 * of a known token takes beside a look-up in a map of that language and beside the same check over gRPC, what
 * a token needs, and how soon a token that was revoked is denied. The input and the output of the programs
 * are in `Figures` and `environment`.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  cargo,
  installedFromPython,
  makePythonStubs,
  pythonBuildTools,
  run as runCommand,
} from '../harness/command.ts'
import { median } from '../harness/compare.ts'
import { ROOT } from '../harness/paths.ts'
import { comparedRow, singleRow } from '../harness/rows.ts'
import { Skips } from '../harness/skips.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import { temporaryFolder } from '../harness/temporary.ts'
import { startSidecarOn } from '../servers/start.ts'

export const clientsSuite: Suite = { name: 'clients', run }

/** A program that is ready to run. */
export interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

interface Language {
  /** Begins the ids of its rows. */
  readonly id: string
  readonly name: string
  /** Whether it counts what a check allocates. */
  readonly countsAllocations: boolean
  /** Builds the program that measures. Rejects with CommandFailed where the tools are missing. */
  readonly program: (folder: string) => Promise<Program>
}

const CLIENTS = join(ROOT, 'clients')

/** One row for each language. The first one needs nothing but Node. */
export const LANGUAGES: readonly Language[] = [
  {
    id: 'typescript',
    name: 'TypeScript',
    countsAllocations: false,
    program: async () => ({
      command: process.execPath,
      args: ['--expose-gc', join(CLIENTS, 'typescript', 'bench', 'figures.ts')],
    }),
  },
  {
    id: 'go',
    name: 'Go',
    countsAllocations: true,
    program: goProgram,
  },
  {
    id: 'python',
    name: 'Python',
    countsAllocations: false,
    program: pythonProgram,
  },
  {
    id: 'java',
    name: 'Java',
    countsAllocations: false,
    program: javaProgram,
  },
  {
    id: 'rust',
    name: 'Rust',
    countsAllocations: true,
    program: rustProgram,
  },
]

async function goProgram(folder: string): Promise<Program> {
  const [cwd, program] = [join(CLIENTS, 'go'), join(folder, 'go')]
  const env = { GOWORK: 'off', CGO_ENABLED: '0' }
  await runCommand('go', ['build', '-o', program, './bench'], { cwd, env })
  return { command: program, args: [], cwd }
}

async function javaProgram(folder: string): Promise<Program> {
  const [classes, classpath] = [join(folder, 'java'), join(folder, 'classpath')]
  const build = ['test-compile', 'dependency:build-classpath', `-Dmdep.outputFile=${classpath}`]
  await runCommand('mvn', ['-q', '-B', `-Dbuild.folder=${classes}`, ...build], { cwd: join(CLIENTS, 'java') })
  const path = [join(classes, 'test-classes'), join(classes, 'classes'), readFileSync(classpath, 'utf8')]
  return { command: 'java', args: ['-cp', path.join(':'), 'com.portcullis.client.Benchmark'] }
}

async function pythonProgram(): Promise<Program> {
  const folder = join(CLIENTS, 'python')
  const bin = await installedFromPython('python-client', { files: [join(folder, 'requirements-dev.txt')] })
  await makePythonStubs(await pythonBuildTools())
  const env = { PYTHONPATH: join(folder, 'src'), PYTHONDONTWRITEBYTECODE: '1' }
  return { command: join(bin, 'python'), args: [join(folder, 'bench', 'figures.py')], env }
}

/** It is compiled where the tests of the client compile. */
async function rustProgram(): Promise<Program> {
  const build = ['build', '--release', '--locked', '--quiet', '--message-format', 'json', '--bench', 'client']
  const cwd = join(CLIENTS, 'rust')
  const lines = (await cargo(build, { cwd })).trim().split('\n')
  const made = lines.map((line) => JSON.parse(line) as { readonly executable?: string | null })
  const command = made.findLast(({ executable }) => typeof executable === 'string')?.executable
  if (typeof command !== 'string') throw new Error('cargo made no program')
  return { command, args: [], cwd }
}

/** The output of a program, as one line of JSON. */
interface Figures {
  /** A look-up of a token in the map of the language. */
  readonly lookup_ns: number
  /** A check of a known token from the headers of a request, with a target and an address. */
  readonly local_check_ns: number
  /** The same by a client without local mode. */
  readonly grpc_check_ns: number
  readonly bytes_per_token: number
  /** From connecting to the first answer from memory. */
  readonly first_local_answer_ms: number
  readonly allocations_per_check: number | null
  readonly revocation_ms: { readonly p50: number; readonly p99: number }
}

const SIZES = {
  full: { rounds: 3, tokens: 10_000, seconds: 1 },
  smoke: { rounds: 1, tokens: 50, seconds: 0.02 },
} as const

/** How many tokens a program revokes where it measures for a second. */
const REVOCATIONS = 100

const ACCOUNT = '123456'
const CALLER_TOKEN = 'follower-caller-token-0123456789abcdef'
const OPERATOR_TOKEN = 'operator-caller-token-0123456789abcdef'

const LOCAL_METHOD =
  'A check in local mode of one of 10,000 known static tokens, found among the headers of a request as a framework has them, with a target and an address, against one look-up of the token in a map of the language. Both get texts that were not hashed before, and go through the tokens in the same random order, in slices of 100 that take turns; each look-up says which one comes next. The figure of a run is the median of its slices. The programs of all languages take turns, each in a separate process.'
const GRPC_METHOD =
  'The same check in local mode, against the same check of a client without it, one after the other, in the same program. The sidecar runs on the same machine.'
const BYTES_METHOD =
  'Memory that the program has in use when all 10,000 tokens are known, less what it had in use before, divided by their number. The text of the token that the client keeps is in it.'
const FIRST_METHOD =
  'From connecting until a token that was asked about once is answered from memory, while the sidecar is there.'
const ALLOCATIONS_METHOD = 'Allocations of a check of a known token, counted by the runtime of the language.'
const REVOCATION_METHOD =
  'A static token is created, and known to the client; it is revoked, and checked locally all the time until it is denied. The time runs from the answer to the revocation; the value is the median.'

function idsOf({ id, countsAllocations }: Language): string[] {
  const names = [
    'local',
    'grpc',
    'bytes',
    'first',
    ...(countsAllocations ? ['allocations'] : []),
    'revocation',
  ]
  return names.map((name) => `${id}-${name}`)
}

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const { rounds, tokens, seconds } = SIZES[size]
  const folder = temporaryFolder(stack)
  const skips = new Skips()
  const programs = new Map<Language, Program>()
  for (const language of LANGUAGES) {
    if (size === 'smoke' && language !== LANGUAGES[0]) {
      const why = `\`npm test\` needs nothing but Node; npm run bench -- clients measures ${language.name}`
      skips.list.push(...idsOf(language).map((row) => ({ row, why })))
      continue
    }
    const program = await skips.obtain(idsOf(language), () => language.program(folder))
    if (program !== undefined) programs.set(language, program)
  }
  const environment = await startWithTokens(stack, folder, tokens, seconds)
  const figures = new Map<Language, Figures[]>()
  for (let round = 0; round < rounds; round++)
    for (const [language, program] of programs) {
      const printed = await runOnce(program, environment)
      figures.set(language, [...(figures.get(language) ?? []), printed])
    }
  const rows = [...figures].flatMap(([language, printed]) => rowsOf(language, printed))
  return { rows, skipped: skips.list, answersChecked: programs.size * tokens }
}

/** Runs a program to its end. @returns the JSON that it printed */
async function runOnce(
  { command, args, cwd, env }: Program,
  environment: Readonly<Record<string, string>>,
): Promise<Figures> {
  const printed = await runCommand(command, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...env, ...environment },
  })
  return JSON.parse(printed) as Figures
}

/**
 * Starts a sidecar whose directory has a number of static tokens.
 *
 * @param flags further ones
 * @returns what the programs find in their environment
 */
export async function startWithTokens(
  stack: AsyncDisposableStack,
  folder: string,
  count: number,
  seconds: number,
  flags: readonly string[] = [],
): Promise<Record<string, string>> {
  const owner = join(folder, 'sidecar')
  mkdirSync(owner)
  const write = (name: string, text: string) => {
    writeFileSync(join(owner, name), text, { mode: 0o600 })
    return join(owner, name)
  }
  const names = Array.from({ length: count }, (_, number) => `token-${number}`)
  const users = [{ name: 'owner', static_tokens: names }]
  const declared = write(
    'directory.yaml',
    JSON.stringify({ accounts: [{ account: ACCOUNT, control_panel_users: users }] }),
  )
  const data = join(owner, 'data')
  const launcher = join(ROOT, 'sidecar', 'portcullis.js')
  const apply = ['directory', 'apply', declared, '--data', data, '--json']
  const applied = JSON.parse(await runCommand(process.execPath, [launcher, ...apply])) as {
    readonly secrets: readonly { readonly value: string }[]
  }
  const values = applied.secrets.map(({ value }) => value)
  const callers = [
    { name: 'follower', token_file: write('follower', CALLER_TOKEN), rights: ['follow'] },
    { name: 'operator', token_file: write('operator', OPERATOR_TOKEN), rights: ['everything'] },
  ]
  const config = write('portcullis.json', JSON.stringify({ callers, log: { level: 'error' } }))
  const sidecar = await startSidecarOn(data, { flags: ['--config', config, ...flags] })
  stack.defer(() => sidecar.stop())
  return {
    PORTCULLIS_GRPC_ADDRESS: sidecar.ready.grpc,
    CALLER_TOKEN,
    OPERATOR_TOKEN,
    TOKENS_FILE: write('tokens', values.join('\n')),
    ACCOUNT,
    SECONDS: String(seconds),
  }
}

function rowsOf(language: Language, figures: readonly Figures[]): Row[] {
  const { id, name, countsAllocations } = language
  const all = (figure: Exclude<keyof Figures, 'allocations_per_check' | 'revocation_ms'>) =>
    figures.map((each) => each[figure])
  const local = { name: `local check, ${name}`, samples: all('local_check_ns') }
  const single = (row: string, what: string, method: string, value: number, unit: Row['a']['unit']) =>
    singleRow({ id: `${id}-${row}`, what, method }, { name: what, value, unit })
  const revocations = figures.map((each) => each.revocation_ms)
  const delay = {
    name: `a revoked token is denied, ${name}`,
    value: median(revocations.map(({ p50 }) => p50)),
    unit: 'ms' as const,
    latency: {
      p50Microseconds: 1_000 * median(revocations.map(({ p50 }) => p50)),
      p99Microseconds: 1_000 * median(revocations.map(({ p99 }) => p99)),
      calls: figures.length * REVOCATIONS,
      inFlight: 1,
    },
  }
  const allocations = figures.map((each) => each.allocations_per_check ?? Number.NaN)
  return [
    comparedRow({ id: `${id}-local`, what: local.name, method: LOCAL_METHOD }, 'ns', local, {
      name: 'one look-up in a map',
      samples: all('lookup_ns'),
    }),
    comparedRow({ id: `${id}-grpc`, what: `${local.name}, beside gRPC`, method: GRPC_METHOD }, 'ns', local, {
      name: 'over gRPC',
      samples: all('grpc_check_ns'),
    }),
    single(
      'bytes',
      `memory a known token, ${name}`,
      BYTES_METHOD,
      Math.max(0, median(all('bytes_per_token'))),
      'bytes',
    ),
    single(
      'first',
      `first answer from memory, ${name}`,
      FIRST_METHOD,
      median(all('first_local_answer_ms')),
      'ms',
    ),
    ...(countsAllocations
      ? [
          single(
            'allocations',
            `allocations a local check, ${name}`,
            ALLOCATIONS_METHOD,
            median(allocations),
            'allocations',
          ),
        ]
      : []),
    singleRow({ id: `${id}-revocation`, what: delay.name, method: REVOCATION_METHOD }, delay),
  ]
}
