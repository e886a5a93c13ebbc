/** Cuts the power of what sidecars and commands do, at moments of a journal, and judges what is left. */
import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pino } from 'pino'
import { readKeys } from '../../../sidecar/authority/keys.ts'
import { readConfig, startSidecar } from '../../../sidecar/index.ts'
import { randomFrom } from '../../support/inputs/random.ts'
import { connect } from '../../support/sidecar/client.ts'
import { fileOf, NEXT, ROWS } from '../../support/sidecar/shadowed.ts'
import { newFolder, whenTheFileEnds } from '../../support/suite/resources.ts'
import { judged } from '../../world/judge.ts'
import { type Possible, Violation } from '../../world/truth.ts'
import { ARCHIVE, COMMANDS, preloading, Stage } from '../stage.ts'
import { buildDisk, type Cut, KEPT } from './disk.ts'
import { type Journal, readJournal } from './journal.ts'

const JOURNAL = join(import.meta.dirname, 'journal.c')

/** Calls of each lane while a sidecar serves, and users who are created together: each record is written. */
const CALLS = 12
const USERS_MAX = 100

export interface Options {
  readonly disks: number
  readonly seed: number
  /** Loaded into each process: what is wrong on purpose. */
  readonly planted?: readonly string[]
  readonly onDisk?: (disk: number) => void
}

export interface Found {
  /** Disks that were built and judged. */
  disks: number
  /** The events of the journal: writes, names and syncs. */
  events: number
  syncs: number
  acknowledged: number
}

/** A promise that was broken, and on which disk. */
class Lost extends Error {
  constructor(disk: number, { events, kept }: Cut, cause: unknown) {
    const what = cause instanceof Error ? cause.stack : cause
    super(`disk ${disk}, cut after ${events} events, kept ${kept}: ${what}`, { cause })
  }
}

/** The facts that were known at a mark. */
interface Known {
  readonly possible: readonly Possible[]
  readonly files: ReadonlyMap<string, string>
}

interface Recorded {
  readonly root: string
  readonly journal: Journal
  readonly known: readonly Known[]
  readonly acknowledged: number
}

/** @throws Lost when a promise was broken */
export async function cutPower(options: Options): Promise<Found> {
  const { disks, seed, onDisk = () => {} } = options
  const random = randomFrom(seed)
  const recorded = await record(options)
  const { events, marks, syncs } = recorded.journal
  for (let disk = 1; disk <= disks; disk++) {
    // Half of them right after an answer, or right before a call.
    const at = disk % 2 === 0 ? pick(marks, random) : Math.floor(random() * (events.length + 1))
    const cut = { events: at, kept: KEPT[Math.floor(disk / 2) % KEPT.length] as Cut['kept'] }
    try {
      await judgeDisk(recorded, cut, random)
    } catch (error) {
      throw new Lost(disk, cut, error)
    }
    onDisk(disk)
  }
  return { disks, events: events.length, syncs, acknowledged: recorded.acknowledged }
}

/** Has sidecars and commands work on a folder, and writes down what they do and what is known of it. */
async function record({ seed, planted = [] }: Options): Promise<Recorded> {
  const library = join(newFolder(), 'journal.so')
  execFileSync('gcc', ['-shared', '-fPIC', '-O1', '-o', library, JOURNAL])
  const file = join(newFolder(), 'journal')
  const known: Known[] = []
  const onChange = () => {
    known.push({ possible: stage.truth.possible, files: new Map(stage.files) })
    appendFileSync(file, 'M 0\n')
  }
  const stage = new Stage(randomFrom(seed), CALLS, { onChange, usersMax: USERS_MAX })
  const environment = {
    ...{ LD_PRELOAD: library, JOURNAL: file, JOURNAL_ROOT: stage.root },
    NODE_OPTIONS: preloading(...planted),
  }
  // Each command once where the sidecar was killed, and once where it was stopped.
  for (const signal of ['SIGKILL', 'SIGTERM'] as const)
    for (const command of COMMANDS) {
      await stage.serve(environment, signal)
      await stage.run(command, environment)
    }
  await stage.serve(environment)
  return {
    root: stage.root,
    journal: readJournal(file, stage.root),
    known,
    acknowledged: stage.truth.acknowledged,
  }
}

async function judgeDisk({ root, journal, known }: Recorded, cut: Cut, random: () => number): Promise<void> {
  const folder = mkdtempSync(join(newRoot(), 'disk-'))
  try {
    buildDisk(journal, cut, random, { root, folder })
    // Of the marks at that moment, the last one.
    const mark = journal.marks.findLastIndex((events) => events <= cut.events)
    const { possible, files } = known[Math.max(mark, 0)] as Known
    judgeFiles(files, root, folder)
    await judgeDirectory(join(folder, 'data'), possible)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const MEMORY = '/dev/shm'
let rootOfDisks: string | undefined
function newRoot(): string {
  // In memory where that is possible: nothing else needs these disks to last.
  rootOfDisks ??= existsSync(MEMORY) ? mkdtempSync(join(MEMORY, 'portcullis-disks-')) : newFolder()
  whenTheFileEnds(() => rmSync(rootOfDisks as string, { recursive: true, force: true }))
  return rootOfDisks
}

function judgeFiles(files: ReadonlyMap<string, string>, root: string, folder: string): void {
  for (const [path, content] of files) {
    const name = relative(root, path)
    const found = join(folder, name)
    if (!existsSync(found)) throw new Violation(`${name} is lost`)
    if (readFileSync(found, 'utf8') !== content) throw new Violation(`${name} is not as it was acknowledged`)
  }
  const keys = join(folder, 'data', 'signing-keys.json')
  if (existsSync(keys)) readKeys(keys)
}

async function judgeDirectory(data: string, possible: readonly Possible[]): Promise<void> {
  const flags = { data, matrix: fileOf(ROWS), matrix_shadow: fileOf(NEXT), 'http.address': 'off' }
  const log = pino({ level: 'silent' })
  const sidecar = await startSidecar(readConfig({ flags: { ...flags, 'grpc.address': '127.0.0.1:0' } }), {
    log,
  })
  const callerToken = readFileSync(join(data, 'administrator-token'), 'utf8').trim()
  const client = connect(sidecar.grpcAddress, { callerToken })
  try {
    await judged(client, possible, { archive: join(data, ARCHIVE) })
  } finally {
    client.close()
    await sidecar.close()
  }
}

function pick<T>(values: readonly T[], random: () => number): T {
  return values[Math.floor(random() * values.length)] as T
}
