/**
 * What V8 takes for the objects of calls: a size that loading the sidecar does not enlarge, unless Node was
 * told another one.
 */
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { ROOT } from '../support/checkout/sources.ts'
import { serveDemo } from '../support/processes/processes.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

/**
 * Loaded into every process: writes down the megabytes of a half of its young generation when the process
 * ends.
 */
const REPORT = `
import { writeFileSync } from 'node:fs'
import { getHeapSpaceStatistics } from 'node:v8'
process.on('exit', () => {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  const bytes = young.space_used_size + young.space_available_size
  writeFileSync(process.env.REPORTS + '/' + process.pid, String(Math.round(bytes / 2 ** 20)))
})`
const preload = `--import=${pathToFileURL(newFile(REPORT, 'report.mjs'))}`

const SHIPPED = join(ROOT, 'matrix/support-matrix.json')

interface Start {
  readonly workers?: number
  readonly transport?: 'sockets' | 'grpc-js'
  readonly nodeFlags?: readonly string[]
  readonly flags?: readonly string[]
}

/** What each process had at its end. */
async function sizesOf({
  workers = 1,
  transport = 'sockets',
  nodeFlags = [],
  flags = [],
}: Start = {}): Promise<number[]> {
  const reports = newFolder()
  const environment = {
    NODE_OPTIONS: [preload, ...nodeFlags].join(' '),
    REPORTS: reports,
    PORTCULLIS_GRPC_TRANSPORT: transport,
  }
  const { stop } = await serveDemo(['--workers', String(workers), ...flags], { environment })
  await stop()
  return globSync('*', { cwd: reports }).map((name) => Number(readFileSync(join(reports, name), 'utf8')))
}

test('it stays at 1 MB while the sidecar starts', async () => {
  expect(await sizesOf()).toEqual([1])
})

/**
 * Objects that survive, as those of calls in flight do, with turns of the event loop between them. While V8
 * marks the old generation, which takes long on a busy machine, the young one goes beyond its size for a
 * time: the least of several readings is the size that it returns to.
 */
const SURVIVORS = `
import { setTimeout } from 'node:timers/promises'
import { getHeapSpaceStatistics } from 'node:v8'
import { beginLightStart, endLightStart, endLightStartForCalls } from '${pathToFileURL(join(ROOT, 'sidecar/base/light-start.ts'))}'
const kept = []
async function megabytes() {
  for (let turn = 0; turn < 25; turn++) await survivors()
  const readings = []
  for (let turn = 0; turn < 25; turn++) {
    await survivors()
    readings.push(reading())
  }
  return Math.min(...readings)
}
async function survivors() {
  for (let made = 0; made < 40_000; made++) kept.push({ made })
  await setTimeout(1)
}
function reading() {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  return Math.round((young.space_used_size + young.space_available_size) / 2 ** 20)
}
beginLightStart()
const sizes = [await megabytes()]
if (process.argv[2] === 'calls') endLightStartForCalls()
else endLightStart()
sizes.push(await megabytes())
process.stdout.write(JSON.stringify(sizes))`

test.each<[until: string, how: string, least: number, most: number]>([
  ['to 4 MB for calls, and no further', 'calls', 4, 4],
  ['as V8 sees fit where a start ends otherwise', 'otherwise', 16, 64],
])('after a light start it grows %s', (_until, how, least, most) => {
  const program = newFile(SURVIVORS, 'survivors.mjs')
  const environment = { PATH: process.env.PATH }
  const output = execFileSync(process.execPath, [program, how], { env: environment, encoding: 'utf8' })
  const [during, after] = JSON.parse(output)
  expect(during).toBe(1)
  expect(after).toBeGreaterThanOrEqual(least)
  expect(after).toBeLessThanOrEqual(most)
})

test('workers start with that as their largest size', async () => {
  const sizes = await sizesOf({ workers: 2 })
  expect([sizes.length, Math.max(...sizes)]).toEqual([3, 4])
})

test.each<[claim: string, start: Start]>([
  ['where Node was told a size', { nodeFlags: ['--max-semi-space-size=16'] }],
  ['for grpc-js, whose calls hold more', { transport: 'grpc-js' }],
  ['for a matrix of one’s own, which may be large', { flags: ['--matrix', SHIPPED] }],
])('it grows %s', async (_claim, start) => {
  const [size = 0] = await sizesOf(start)
  expect(size).toBeGreaterThan(1)
})
