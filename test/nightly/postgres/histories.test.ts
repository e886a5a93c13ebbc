/**
 * Histories of real clients on two real hosts and one PostgreSQL, while all of them fail: the judge explains
 * each by one directory that does one thing after the other, with checks that are late by no more than the
 * staleness bound. By hand, with another number and other seeds: HISTORIES=5000 HISTORIES_SEED=7 npx vitest
 * run --config vitest.interop.config.ts test/nightly/postgres/histories.test.ts
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test, vi } from 'vitest'
import { type History, record, SCENE } from '../../support/histories/clients.ts'
import { beginFailures, FAILURES } from '../../support/histories/failures.ts'
import { openStage, type Scene, type Stage } from '../../support/histories/stage.ts'
import { repository } from '../../support/interop/command.ts'
import { type Call, unexplained } from '../../world/explained.ts'

vi.mock(
  '../../../sidecar/authority/password-cost.ts',
  () => import('../../support/suite/cheap-password-cost.ts'),
)

const programs = inject('postgres')
const { HISTORIES = '1000', HISTORIES_SEED = '1' } = process.env
const [COUNT, SEED] = [Number(HISTORIES), Number(HISTORIES_SEED)]
/** Histories at the same time. */
const PARALLEL = 8
const STALENESS_MS = 400
/** A bound for which what others have changed is read only once a second. */
const LONG_MS = 4_000
const UNHEARD = 100
const KEPT = join(repository, 'node_modules', '.cache', 'portcullis-histories')
/** Accounts that are made at once. */
const SCENES_AT_ONCE = 100

describe.skipIf(!programs.ok)('histories of two hosts', () => {
  const folder = programs.ok ? programs.folder : ''

  test(`${COUNT} histories with failures: one directory explains every answer`, { timeout: 0 }, async () => {
    const stage = await openStage(folder, { a: STALENESS_MS, b: STALENESS_MS })
    const scenes: Scene[] = []
    while (scenes.length < COUNT) scenes.push(...(await stage.newScenes(SCENES_AT_ONCE)))
    const beganMs = performance.now()
    const failures = beginFailures(SEED, stage)
    const histories = await recordAll(stage, scenes.slice(0, COUNT))
    await failures.end()
    const recordedMs = performance.now()
    await stage.close()

    const said = judged(histories)
    const calls = histories.flatMap((history) => history.calls)
    const unanswered = histories.reduce((sum, history) => sum + history.unanswered, 0)
    const failed = [...failures.counts].map(([name, count]) => `${name} ${count}`).join(', ')
    const answers = Map.groupBy(calls, ({ what, answer }) =>
      what === 'check' || what === 'issue' ? `${what} ${answer}` : 'change or read',
    )
    process.stderr.write(
      [
        `interop: ${histories.length} histories, ${calls.length} calls, ${unanswered} without an answer beside them,`,
        `recorded in ${seconds(recordedMs - beganMs)} s, judged in ${seconds(performance.now() - recordedMs)} s;`,
        `failures: ${failed};`,
        `answers: ${[...answers].map(([what, { length }]) => `${what} ${length}`).join(', ')}\n`,
      ].join(' '),
    )
    expect(said).toEqual([])
    expect(histories).toHaveLength(COUNT)
    // The search is worth nothing where little is allowed, or little of it fails.
    expect(answers.get('check ALLOWED')?.length).toBeGreaterThan(COUNT)
    if (COUNT >= 1_000) expect([...failures.counts.keys()].sort()).toEqual(Object.keys(FAILURES).sort())
  })

  test('a host without notifications has seen the changes before its own', async () => {
    const stage = await openStage(folder, { a: LONG_MS, b: LONG_MS })
    stage.proxy.refuseListeners(true)
    const histories = await recordAll(stage, await stage.newScenes(UNHEARD), LONG_MS)
    await stage.close()
    expect(judged(histories, LONG_MS)).toEqual([])
  })

  test('a host that remembers for longer than stated, without notifications: it is found', async () => {
    const stage = await openStage(folder, { a: STALENESS_MS, b: 3_600_000 })
    stage.proxy.refuseListeners(true)
    // It reads what is new once a second.
    let count = 0
    for (let said: readonly string[] = []; said.length === 0; count += PARALLEL)
      said = judged(await recordAll(stage, await stage.newScenes(PARALLEL)))
    await stage.close()
    process.stderr.write(`interop: the fault was found within ${count} histories\n`)
  })
})

/** Records histories, several at a time. */
async function recordAll(
  stage: Stage,
  scenes: readonly Scene[],
  stalenessMs = STALENESS_MS,
): Promise<readonly History[]> {
  const histories: History[] = []
  const left = scenes.entries()
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      for (const [index, scene] of left) histories.push(await record(SEED + index, stage, scene, stalenessMs))
    }),
  )
  return histories
}

/** The report on histories that are not explained. Each is kept. */
function judged(histories: readonly History[], stalenessMs = STALENESS_MS): readonly string[] {
  return histories.flatMap(({ seed, calls }) => {
    const missing = unexplained(SCENE, calls, stalenessMs)
    if (missing.length === 0) return []
    const file = join(KEPT, `history-${seed}.json`)
    mkdirSync(KEPT, { recursive: true })
    writeFileSync(file, JSON.stringify(calls))
    return [`seed ${seed}: ${missing.map(told).join('; ')}; see ${file}`]
  })
}

function told({ what, asked, host, answer }: Call): string {
  return `${what} ${JSON.stringify(asked)} on ${host}: ${answer}`
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(0)
}
