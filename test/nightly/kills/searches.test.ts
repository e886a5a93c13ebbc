/**
 * Power cuts, on disks that are built from what processes wrote; kills with PostgreSQL; and that these
 * searches find something.
 */
import { describe, expect, inject, test } from 'vitest'
import { cutPower } from '../../kills/power/search.ts'
import { kill, POINTS } from '../../kills/rounds.ts'
import { preloading, Stage } from '../../kills/stage.ts'
import { randomFrom } from '../../support/inputs/random.ts'
import { run } from '../../support/interop/command.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { moduleOf } from '../../world/defects.ts'

const compiler = await obtained('gcc', () => run('gcc', ['--version']))

const programs = inject('postgres')

test('a change that is half done is found within 200 kills', { timeout: 0 }, async () => {
  const planted = [moduleOf('a change and its record are two transactions')]
  const killing = kill({ kills: 200, seed: 1, jobs: 1, planted })
  await expect(killing).rejects.toThrow(/expected one of/)
})

test('records that are deleted before they are archived are found lost', { timeout: 0 }, async () => {
  const stage = new Stage(randomFrom(1), 8)
  const late = moduleOf('records are deleted before the file that has them is there')
  const environment = { NODE_OPTIONS: preloading(POINTS, late) }
  await stage.serve(environment)
  await stage.serve({ ...environment, KILL_AT: 'fs.renameSync:before 1' })
  await expect(stage.start(environment)).rejects.toThrow(/audit trail follows/)
  await stage.stop()
})

test('a directory that a killed restoration has moved away is found lost', { timeout: 0 }, async () => {
  const stage = new Stage(randomFrom(1), 8)
  const away = moduleOf('a directory is away while a backup takes its place')
  const environment = { NODE_OPTIONS: preloading(POINTS, away) }
  await stage.serve(environment)
  await stage.run('restore', { ...environment, KILL_AT: 'fs.renameSync:after 1' })
  await expect(stage.start(environment)).rejects.toThrow(/expected one of/)
  await stage.stop()
})

test.runIf(programs.ok)(
  'with PostgreSQL, which is killed, too, nothing is lost or doubled',
  {
    timeout: 0,
  },
  async () => {
    const postgres = programs.ok ? programs.folder : ''
    const { acknowledged } = await kill({ kills: 20, seed: 1, jobs: 1, postgres })
    expect(acknowledged).toBeGreaterThan(50)
  },
)

describe.runIf(compiler.ok)('after a power cut', () => {
  test('every acknowledged change is there, and none is half done', { timeout: 0 }, async () => {
    const { syncs, acknowledged } = await cutPower({ disks: 200, seed: 1 })
    expect(acknowledged).toBeGreaterThan(200)
    expect(syncs).toBeGreaterThan(acknowledged / 4)
  })

  test('a change that was not synced is found lost within 8 disks', { timeout: 0 }, async () => {
    await expect(
      cutPower({ disks: 8, seed: 1, planted: [moduleOf('changes are not made to last')] }),
    ).rejects.toThrow(/disk \d, .*(expected one of|cannot be used|is damaged|audit trail follows)/s)
  })
})
