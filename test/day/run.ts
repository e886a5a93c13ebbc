/** A day of operation, compressed into an hour: `npm run day -- --help`. */
import { parseArgs } from 'node:util'
import { keepFigures } from '../../scripts/assurance.ts'
import { closeAll } from '../support/suite/resources.ts'
import { obtainFaketime } from './clock.ts'
import { live } from './day.ts'

const HELP = `usage: npm run day -- [options]

  --for TIME  how long it takes: 60s, 10m, 1h; default: 1h, which is a whole day of the sidecars
  --rows N    how many rows the directory has before the day; default: 0
  --seed N    other changes and other times; default: 1
`

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }

const { values } = parseArgs({
  options: {
    ...{ for: { type: 'string', default: '1h' }, seed: { type: 'string', default: '1' } },
    ...{ rows: { type: 'string', default: '0' }, help: { type: 'boolean' } },
  },
} as const)

if (values.help) process.stdout.write(HELP)
else await search()

async function search(): Promise<void> {
  const [, count, unit] = /^(\d+)([smh])$/.exec(values.for) ?? []
  if (count === undefined || unit === undefined) throw new Error('--for: expected a time, such as 10m')
  const seed = Number(values.seed)
  const forMs = Number(count) * (UNITS_MS[unit] as number)
  try {
    const found = await live(await obtainFaketime(), {
      forMs,
      seed,
      rows: Number(values.rows),
      onChore: console.log,
    })
    console.log(`no promise was broken: ${JSON.stringify(found)}`)
    keepFigures('day', { seed, ...found })
  } catch (error) {
    process.exitCode = 1
    console.log(`seed ${seed}: ${error instanceof Error ? error.stack : error}`)
  }
  await closeAll()
  process.exit()
}
