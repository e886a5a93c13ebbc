/**
 * Histories of real clients on two real hosts and one PostgreSQL, while all of them fail: the judge explains
 * each by one directory that does one thing after the other, with checks that are late by no more than the
 * staleness bound. By hand, with another number and other seeds: HISTORIES=5000 HISTORIES_SEED=7 npx vitest
 * run --config vitest.interop.config.ts test/nightly/postgres/histories.test.ts
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test, vi } from 'vitest'
import { record } from '../../support/histories/clients.ts'
import { beginFailures, FAILURES } from '../../support/histories/failures.ts'
import type { History } from '../../support/histories/history.ts'
import { judge, obtainJudge, type Verdict } from '../../support/histories/judge.ts'
import { openStage, type Scene, type Stage } from '../../support/histories/stage.ts'
import { repository } from '../../support/interop/command.ts'

vi.mock(
  '../../../sidecar/authority/password-cost.ts',
  () => import('../../support/suite/cheap-password-cost.ts'),
)

const programs = inject('postgres')
const judges = await obtainJudge()
const { HISTORIES = '1000', HISTORIES_SEED = '1' } = process.env
const [COUNT, SEED] = [Number(HISTORIES), Number(HISTORIES_SEED)]
/** Histories at the same time. */
const PARALLEL = 8
const STALENESS_MS = 400
/** A bound for which what others have changed is read only once a second. */
const LONG_MS = 4_000
const UNHEARD = 100
/** Accounts that are made at once. */
const SCENES_AT_ONCE = 100

describe.skipIf(!programs.ok || !judges.ok)('histories of two hosts', () => {
  const path = judges.ok ? judges.value : ''
  const folder = programs.ok ? programs.folder : ''

  test(`${COUNT} histories with failures: one directory explains every answer`, { timeout: 0 }, async () => {
    const stage = await openStage(folder, { a: STALENESS_MS, b: STALENESS_MS })
    const scenes: Scene[] = []
    while (scenes.length < COUNT) scenes.push(...(await stage.newScenes(SCENES_AT_ONCE)))
    const beganMs = performance.now()
    const failures = beginFailures(SEED, stage)
    const { histories, unanswered } = await recordAll(stage, scenes.slice(0, COUNT))
    await failures.end()
    const recordedMs = performance.now()
    await stage.close()

    const { verdicts, said } = await judged(path, histories)
    const operations = histories.reduce((sum, history) => sum + history.operations.length, 0)
    const failed = [...failures.counts].map(([name, count]) => `${name} ${count}`).join(', ')
    const answers = Map.groupBy(
      histories.flatMap((history) => history.operations),
      ({ what, answer }) => (what === 'check' || what === 'issue' ? `${what} ${answer}` : 'change or read'),
    )
    process.stderr.write(
      [
        `interop: ${histories.length} histories, ${operations} operations, ${unanswered} calls without an answer beside them,`,
        `recorded in ${seconds(recordedMs - beganMs)} s, judged in ${seconds(performance.now() - recordedMs)} s`,
        `(longest ${Math.max(...verdicts.map(({ duration_ms }) => duration_ms)).toFixed(0)} ms);`,
        `failures: ${failed};`,
        `answers: ${[...answers].map(([what, { length }]) => `${what} ${length}`).join(', ')}\n`,
      ].join(' '),
    )
    expect(said).toEqual([])
    expect(verdicts).toHaveLength(COUNT)
    // The search is worth nothing where little is allowed, or little of it fails.
    expect(answers.get('check ALLOWED')?.length).toBeGreaterThan(COUNT)
    if (COUNT >= 1_000) expect([...failures.counts.keys()].sort()).toEqual(Object.keys(FAILURES).sort())
  })

  test('a host without notifications has seen the changes before its own', async () => {
    const stage = await openStage(folder, { a: LONG_MS, b: LONG_MS })
    stage.proxy.refuseListeners(true)
    const { histories } = await recordAll(stage, await stage.newScenes(UNHEARD), LONG_MS)
    await stage.close()
    expect((await judged(path, histories)).said).toEqual([])
  })

  test('a host that remembers for longer than stated, without notifications: it is found', async () => {
    const stage = await openStage(folder, { a: STALENESS_MS, b: 3_600_000 })
    stage.proxy.refuseListeners(true)
    // It reads what is new once a second.
    const verdicts: Verdict[] = []
    while (!verdicts.some(({ verdict }) => verdict === 'violation')) {
      const { histories } = await recordAll(stage, await stage.newScenes(PARALLEL))
      verdicts.push(...(await judge(path, histories)))
    }
    await stage.close()
    process.stderr.write(`interop: the fault was found within ${verdicts.length} histories\n`)
    expect(verdicts.filter(({ verdict }) => verdict === 'undecided')).toEqual([])
  })
})

/** Records histories, several at a time. */
async function recordAll(
  stage: Stage,
  scenes: readonly Scene[],
  stalenessMs = STALENESS_MS,
): Promise<{ histories: readonly History[]; unanswered: number }> {
  const histories: History[] = []
  let unanswered = 0
  const left = scenes.entries()
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      for (const [index, scene] of left) {
        const recorded = await record(SEED + index, stage, scene, stalenessMs)
        histories.push(recorded.history)
        unanswered += recorded.unanswered
      }
    }),
  )
  return { histories, unanswered }
}

/** The report on histories that are not ok. Each is kept, with its picture. */
async function judged(
  path: string,
  histories: readonly History[],
): Promise<{ verdicts: readonly Verdict[]; said: readonly string[] }> {
  const kept = join(repository, 'node_modules', '.cache', 'portcullis-histories')
  mkdirSync(kept, { recursive: true })
  const verdicts = await judge(path, histories, kept)
  const said = verdicts
    .map((verdict, index) => ({ ...verdict, history: histories[index] }))
    .filter(({ verdict }) => verdict !== 'ok')
    .map(({ seed, verdict, unexplained = [], picture = '', history }) => {
      const file = join(kept, `history-${seed}.json`)
      writeFileSync(file, JSON.stringify(history))
      return `seed ${seed}: ${verdict}: ${unexplained.join('; ')}; see ${picture} and ${file}`
    })
  return { verdicts, said }
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(0)
}
