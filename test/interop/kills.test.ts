/** Power cuts, on disks that are built from what processes wrote; and that these searches find something. */
import { describe, expect, test } from 'vitest'
import { cutPower } from '../kills/power/search.ts'
import { kill } from '../kills/rounds.ts'
import { run } from '../support/interop/command.ts'
import { obtained } from '../support/interop/obtain.ts'

const compiler = await obtained('gcc', () => run('gcc', ['--version']))

const planted = (name: string) => [new URL(`../kills/planted/${name}.ts`, import.meta.url).href]

test('a change that is half done is found within 60 kills', { timeout: 0 }, async () => {
  const killing = kill({ kills: 60, seed: 1, jobs: 1, planted: planted('half-change') })
  await expect(killing).rejects.toThrow(/expected one of/)
})

describe.runIf(compiler.ok)('after a power cut', () => {
  test('what was acknowledged is there, and nothing is half done', { timeout: 0 }, async () => {
    const { syncs, acknowledged } = await cutPower({ disks: 200, seed: 1 })
    expect(acknowledged).toBeGreaterThan(200)
    expect(syncs).toBeGreaterThan(acknowledged / 4)
  })

  test('a change that was not synced is found lost within 8 disks', { timeout: 0 }, async () => {
    await expect(cutPower({ disks: 8, seed: 1, planted: planted('no-sync') })).rejects.toThrow(
      /disk \d, .*(expected one of|cannot be used|audit trail follows)/s,
    )
  })
})
