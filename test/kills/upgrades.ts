/**
 * Kills upgrades of the directories that earlier versions have left. The directory that is left is the one of
 * before or the upgraded one, as a whole. It can be read, and the next upgrade ends it.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SCHEMA_VERSION } from '../../sidecar/directory/schema.ts'
import { folderOf, VERSIONS } from '../support/directory/kept-versions.ts'
import { randomFrom } from '../support/inputs/random.ts'
import { type Ended, run } from '../support/processes/processes.ts'
import { newFolder } from '../support/suite/resources.ts'
import { Violation } from '../world/truth.ts'
import { Broken, type Counted, dealt, nameOf, POINTS } from './rounds.ts'

const EARLIER = VERSIONS.filter((version) => version < SCHEMA_VERSION)

type Victim = `upgrade ${number}`

interface Found {
  kills: number
  points: number
  kinds: number
}

/** The content of a directory before its upgrade, and after it. */
interface Contents {
  readonly before: string
  readonly after: string
}

/** @throws Broken when a promise was broken */
export async function killUpgrades({ kills, seed }: { kills: number; seed: number }): Promise<Found> {
  const contents = new Map<Victim, Contents>()
  const counted: Counted<Victim>[] = []
  for (const version of EARLIER) {
    const victim: Victim = `upgrade ${version}`
    const { folder } = folderOf(version)
    const before = contentOf(folder)
    const file = join(newFolder(), 'points.json')
    await migrate(folder, { COUNT_POINTS: file })
    contents.set(victim, { before, after: contentOf(folder) })
    const points = JSON.parse(readFileSync(file, 'utf8')) as Record<string, number>
    counted.push(...Object.entries(points).map(([kind, count]) => ({ victim, kind, count })))
  }
  const points = dealt(counted, randomFrom(seed))
  const seen = new Set<string>()
  for (let killed = 0; killed < kills; ) {
    const point = points.next([...contents.keys()])
    const { folder } = folderOf(Number(point.victim.split(' ')[1]))
    try {
      const { code } = await migrate(folder, { KILL_AT: `${point.kind} ${point.number}` })
      if (code !== 'SIGKILL') continue
      await judge(folder, contents.get(point.victim) as Contents)
    } catch (error) {
      throw new Broken(`found after ${nameOf(point)}: ${error}`, { cause: error })
    }
    seen.add(nameOf(point))
    killed++
  }
  return { kills, points: seen.size, kinds: counted.length }
}

async function judge(folder: string, { before, after }: Contents): Promise<void> {
  const left = contentOf(folder)
  if (left !== before && left !== after) throw new Violation('the directory is neither of both')
  const { code, stderr } = await migrate(folder)
  if (code !== 0) throw new Violation(`the next upgrade ended with ${code}: ${stderr}`)
  if (contentOf(folder) !== after) throw new Violation('the next upgrade made something else of it')
}

function migrate(folder: string, environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return run(['migrate', '--data', folder], {
    environment: { ...environment, NODE_OPTIONS: `--import=${POINTS}` },
  })
}

/** Each row of each table. */
function contentOf(folder: string): string {
  using database = new DatabaseSync(join(folder, 'directory.sqlite'))
  const [{ user_version: version }] = database.prepare('PRAGMA user_version').all() as [
    { user_version: number },
  ]
  const tables = database
    .prepare("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
    .all() as { name: string; sql: string }[]
  const rows = tables
    .filter(({ sql }) => sql.startsWith('CREATE TABLE'))
    .map(({ name }) =>
      database
        .prepare(`SELECT * FROM ${name}`)
        .all()
        .map((row) => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? String(value) : value)))
        .sort(),
    )
  return JSON.stringify([version, tables, rows])
}
