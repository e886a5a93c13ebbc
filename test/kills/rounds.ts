/** Kills processes at points that are spread over all that they pass. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { randomFrom } from '../support/inputs/random.ts'
import { PostgresServer } from '../support/postgres/server.ts'
import { newFolder } from '../support/suite/resources.ts'
import { COMMANDS, type Command, preloading, Stage } from './stage.ts'

/** Calls of each lane in a round. */
const CALLS = 8
/** After this many kills there is a new folder. */
const KILLS_OF_A_FOLDER = 30

type Victim = Command | 'serve' | 'postgres'
const VICTIMS: readonly Victim[] = ['serve', ...COMMANDS]
/** PostgreSQL itself is ended after this many steps of time, while calls are made. */
const POSTGRES: readonly Counted<Victim>[] = [
  { victim: 'postgres', kind: 'SIGKILL', count: 100 },
  { victim: 'postgres', kind: 'SIGQUIT', count: 100 },
]
const STEP_MS = 4

/** Where a process is killed. */
export interface Point<V extends string> {
  readonly victim: V
  readonly kind: string
  readonly number: number
}

export interface Found {
  kills: number
  /** Different points at which a process was killed. */
  points: number
  /** Kinds of points, of all victims. */
  kinds: number
  acknowledged: number
  refused: number
  /** Records in audit archives, and lines in decision logs, in the end. */
  archived: number
  lines: number
}

/** A broken promise, with the round that shows it. */
export class Broken extends Error {}

export interface Options {
  readonly kills: number
  readonly seed: number
  readonly jobs: number
  /** Rows that each directory has before the first kill; default: none. */
  readonly rows?: number
  /** Loaded into each process: what is wrong on purpose. */
  readonly planted?: readonly string[]
  /** Folder of PostgreSQL's programs: each job has another server for its directories. */
  readonly postgres?: string
  readonly onKill?: (point: string) => void
}

export const POINTS = new URL('./points.ts', import.meta.url).href

/** @throws Broken when a promise was broken */
export async function kill(options: Options): Promise<Found> {
  const { kills, seed, jobs, rows = 0, planted = [], postgres, onKill = () => {} } = options
  const random = randomFrom(seed)
  const preloaded = preloading(POINTS, ...planted)
  const servers: (PostgresServer | undefined)[] = []
  for (let job = 0; job < jobs; job++)
    servers.push(postgres === undefined ? undefined : await PostgresServer.start(postgres))
  const newStage = async (random: () => number, server: PostgresServer | undefined) => {
    const stage = new Stage(random, CALLS, { url: await server?.newDatabase() })
    if (rows > 0) await stage.fill(rows)
    return stage
  }
  const counted = await countPoints(await newStage(randomFrom(seed + 1), servers[0]), preloaded)
  if (postgres !== undefined) counted.push(...POSTGRES)
  const victims = [...new Set(counted.map(({ victim }) => victim))]
  const points = dealt(counted, random)
  const found: Found = {
    ...{ kills: 0, points: 0, kinds: counted.length, acknowledged: 0, refused: 0 },
    ...{ archived: 0, lines: 0 },
  }
  const seen = new Set<string>()
  let folder = 0
  const work = async (server: PostgresServer | undefined) => {
    while (found.kills < kills) {
      const stage = await newStage(randomFrom(seed * 10_000 + folder++), server)
      for (let killed = 0; killed < KILLS_OF_A_FOLDER && found.kills < kills; ) {
        // Sidecars create it: commands need a folder that one has made whole.
        const point = points.next(stage.files.size === 0 ? ['serve'] : victims)
        if (!(await playOn(stage, point, preloaded, server))) continue
        const name = nameOf(point)
        onKill(name)
        killed++
        found.kills++
        seen.add(name)
      }
      await lastJudged(stage)
      found.acknowledged += stage.truth.acknowledged
      found.refused += stage.truth.refused
      found.archived += stage.archived
      found.lines += stage.log.lines
    }
  }
  try {
    await Promise.all(servers.map(work))
  } finally {
    for (const server of servers) await server?.remove()
  }
  found.points = seen.size
  return found
}

export const nameOf = ({ victim, kind, number }: Point<string>) => `${victim} ${kind} ${number}`

/** @returns whether something was killed */
async function playOn(
  stage: Stage,
  point: Point<Victim>,
  preloaded: string,
  server: PostgresServer | undefined,
): Promise<boolean> {
  const { victim, kind, number } = point
  const environment = { NODE_OPTIONS: preloaded, KILL_AT: `${kind} ${number}` }
  try {
    if (victim === 'postgres') {
      await stage.serveDuring({ NODE_OPTIONS: preloaded }, async () => {
        await delay(number * STEP_MS)
        await (kind === 'SIGKILL' ? server?.kill() : server?.stopImmediately())
        await server?.start()
      })
      return true
    }
    const { code } = await (victim === 'serve' ? stage.serve(environment) : stage.run(victim, environment))
    return code === 'SIGKILL'
  } catch (error) {
    throw new Broken(`found after ${nameOf(point)}: ${error instanceof Error ? error.stack : error}`, {
      cause: error,
    })
  }
}

/**
 * The folder that is left after all kills still does all its work. It is killed once more at the end of that.
 */
async function lastJudged(stage: Stage): Promise<void> {
  const unharmed = { NODE_OPTIONS: preloading() }
  await stage.serve(unharmed, 'SIGKILL')
  await stage.start(unharmed)
  await stage.stop()
  await stage.log.search(stage.config)
}

export interface Counted<V extends string> {
  readonly victim: V
  readonly kind: string
  readonly count: number
}

/** Lets each victim do its work once, and counts the points that it passes. */
async function countPoints(stage: Stage, preloaded: string): Promise<Counted<Victim>[]> {
  const counted: Counted<Victim>[] = []
  for (const victim of VICTIMS) {
    const file = join(newFolder(), 'points.json')
    const environment = { NODE_OPTIONS: preloaded, COUNT_POINTS: file }
    if (victim === 'serve') await stage.serve(environment)
    else if (victim !== 'postgres') await stage.run(victim, environment)
    const points = JSON.parse(readFileSync(file, 'utf8')) as Record<string, number>
    counted.push(...Object.entries(points).map(([kind, count]) => ({ victim, kind, count })))
  }
  return counted
}

/**
 * Goes from kind to kind of all victims, and takes one point of each. The points of a kind are taken in
 * random order, each once, before one is taken again.
 */
export function dealt<V extends string>(
  counted: readonly Counted<V>[],
  random: () => number,
): { next(victims: readonly V[]): Point<V> } {
  const kinds = shuffled(counted, random).map((each) => ({ ...each, left: [] as number[], started: false }))
  let turn = 0
  const nextOf = (victims: readonly V[]): Point<V> => {
    for (let tries = 0; tries < kinds.length; tries++) {
      const kind = kinds[turn++ % kinds.length] as (typeof kinds)[number]
      if (!victims.includes(kind.victim)) continue
      if (!kind.started) kind.left = shuffled(numbersTo(kind.count), random)
      kind.started = true
      const number = kind.left.pop()
      if (number !== undefined) return { victim: kind.victim, kind: kind.kind, number }
    }
    for (const kind of kinds) if (victims.includes(kind.victim)) kind.started = false
    return nextOf(victims)
  }
  return { next: nextOf }
}

const numbersTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

function shuffled<T>(values: readonly T[], random: () => number): T[] {
  const left = [...values]
  return values.map(() => left.splice(Math.floor(random() * left.length), 1)[0] as T)
}
