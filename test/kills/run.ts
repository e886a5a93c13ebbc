/**
 * Kills sidecars and commands at points spread over all that they do, or cuts their power, and judges the
 * folders that are left: `npm run kills -- --help`.
 */
import { parseArgs } from 'node:util'
import { keepFigures } from '../../scripts/assurance.ts'
import { obtainPostgres } from '../support/postgres/postgres-programs.ts'
import { closeAll } from '../support/suite/resources.ts'
import { cutPower } from './power/search.ts'
import { kill } from './rounds.ts'
import { killUpgrades } from './upgrades.ts'

const HELP = `usage: npm run kills -- [options]

  --kills N   how many processes are killed; default: 1000
  --postgres  with directories in PostgreSQL, which is killed, too; Debian's is installed
  --rows N    how many rows each directory has before the first kill; default: 0
  --disks N   instead: how many disks of power cuts are judged; it needs gcc
  --seed N    other changes, and other points or disks; default: 1
  --jobs N    folders at the same time, for kills; default: 2
`

const { values } = parseArgs({
  options: {
    ...{ kills: { type: 'string', default: '1000' }, disks: { type: 'string' } },
    ...{ seed: { type: 'string', default: '1' }, jobs: { type: 'string', default: '2' } },
    rows: { type: 'string', default: '0' },
    ...{ postgres: { type: 'boolean' }, help: { type: 'boolean' } },
  },
} as const)

/** One line in this many rounds says how far the search is. */
const TOLD = 50

if (values.help) process.stdout.write(HELP)
else await search()

async function search(): Promise<void> {
  const beganMs = Date.now()
  const seed = Number(values.seed)
  try {
    const [name, found] = await (values.disks === undefined ? killed(seed) : cut(seed))
    const seconds = Math.round((Date.now() - beganMs) / 1_000)
    console.log(`no promise was broken, in ${seconds} s: ${JSON.stringify(found)}`)
    keepFigures(name, { seed, ...found })
  } catch (error) {
    process.exitCode = 1
    console.log(`seed ${seed}: ${error instanceof Error ? error.message : error}`)
  }
  await closeAll()
  process.exit()
}

async function killed(seed: number) {
  let done = 0
  const onKill = (point: string) => {
    if (++done % TOLD === 0) console.log(`${done} kills, the last at ${point}`)
  }
  const options = { seed, jobs: Number(values.jobs), rows: Number(values.rows), onKill }
  if (values.postgres) {
    const programs = await obtainPostgres()
    if (!programs.ok) throw new Error(programs.why)
    const found = await kill({ ...options, kills: Number(values.kills), postgres: programs.folder })
    return ['kills postgres', found] as const
  }
  // One kill of ten hits an upgrade.
  const upgrades = await killUpgrades({ kills: Math.ceil(Number(values.kills) / 10), seed })
  const kills = Number(values.kills) - upgrades.kills
  const found = await kill({ ...options, kills })
  for (const figure of ['kills', 'points', 'kinds'] as const) found[figure] += upgrades[figure]
  return ['kills', { ...found, upgrades: upgrades.kills }] as const
}

async function cut(seed: number) {
  const onDisk = (disk: number) => {
    if (disk % (TOLD * 10) === 0) console.log(`${disk} disks`)
  }
  return ['power', await cutPower({ disks: Number(values.disks), seed, onDisk })] as const
}
