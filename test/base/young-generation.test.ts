/**
 * The young generation of V8, for the objects of calls: a size that loading the sidecar does not enlarge,
 * unless Node has a setting for another one. Of workers: test/process/workers.test.ts.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { mayChooseYoungGeneration, youngGenerationFlags } from '../../sidecar/base/young-generation.ts'
import { ROOT } from '../support/checkout/sources.ts'
import { serveDemo } from '../support/processes/processes.ts'
import { youngGenerations } from '../support/processes/young-generations.ts'
import { newFile } from '../support/suite/resources.ts'

/** The sizes of `serve` at its end. */
async function sizeOf(nodeFlags: readonly string[] = []): Promise<number[]> {
  const young = youngGenerations()
  const { stop } = await serveDemo([], { environment: young.environment(...nodeFlags) })
  await stop()
  return young.megabytes()
}

test('it stays at 1 MB while the sidecar starts', async () => {
  expect(await sizeOf()).toEqual([1])
})

test('it grows where Node has a setting for its size', async () => {
  const [size = 0] = await sizeOf(['--max-semi-space-size=16'])
  expect(size).toBeGreaterThan(1)
})

test.each<[setting: Parameters<typeof youngGenerationFlags>[0], flags: readonly string[]]>([
  [{ grpc: { transport: 'sockets' } }, ['--max-semi-space-size=4']],
  // Its calls hold more.
  [{ grpc: { transport: 'grpc-js' } }, []],
  // It may be large.
  [{ grpc: { transport: 'sockets' }, matrix: 'matrix.yaml' }, []],
])('%j: a sidecar keeps it small, or lets it grow: %j', (setting, flags) => {
  expect(youngGenerationFlags(setting)).toEqual(flags)
  expect(mayChooseYoungGeneration(setting)).toBe(flags.length > 0)
})

/**
 * Objects that survive, as those of calls in flight do, with turns of the event loop between them. While V8
 * marks the old generation, which takes long on a busy machine, the young one goes beyond its size: the least
 * of several readings is the size that it returns to.
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
