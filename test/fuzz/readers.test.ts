/**
 * Every reader of outside bytes keeps its promises: for the inputs that fuzzing has kept, and for some that
 * are made of them here, always the same. `npm run fuzz` goes on for as long as one likes.
 */
import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readCorpus } from './corpus.ts'
import { Fuzzer } from './fuzzer.ts'
import { loadTarget, TARGETS } from './targets.ts'

const RUNS = 150

describe.each(TARGETS)('%s', (name) => {
  test('keeps its promises', async () => {
    const target = await loadTarget(name)
    const runs = target.runsInTests ?? RUNS
    const { findings, executions } = await new Fuzzer(target).fuzz(readCorpus(name), { seed: 1, runs })
    expect(findings).toEqual([])
    expect(executions).toBeGreaterThanOrEqual(runs)
  })
})

test('every kept corpus belongs to a target', () => {
  const kept = readdirSync(new URL('./corpus', import.meta.url)).map((file) => file.replace(/\.txt$/, ''))
  expect(kept.filter((name) => !TARGETS.includes(name))).toEqual([])
})
