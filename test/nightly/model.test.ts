/**
 * The protocol of staleness as a model (test/model): spin searches every state of it for small sizes, finds
 * each fault that is put in on purpose, and the acts of the simulated fleet are possible in it.
 */
import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { FleetTrace, MESSAGES_MAX, QUESTIONS_MAX, STEPS, type Step } from '../model/fleet-trace.ts'
import { FleetWorld } from '../model/fleet-world.ts'
import { repository, run } from '../support/interop/command.ts'
import { unpacked } from '../support/interop/debian.ts'
import { obtained } from '../support/interop/obtain.ts'
import { follow, MODELS, search, searcherOf } from '../support/interop/spin.ts'

const FILES = ['directory.pml', 'follower.pml', 'follower-search.pml', 'follower-trace.pml']
const text = (name: string) => readFileSync(join(MODELS, name), 'utf8')

/** Faults of the model: `#define NAME NUMBER`, and its fault. */
const FAULTS = Array.from(
  text('follower.pml').matchAll(/^#define ([A-Z_]+) +(\d+) +\/\* (.+) \*\/$/gm),
  ([, name = '', number, what = '']) => ({ name, number: Number(number), what }),
)

/** Sizes of searches, and how many states there are at least: a model that lost an action has fewer. */
const SIZES = {
  histories: { RECORDS: 2, BOUND: 1, ANYWHERE: 1 },
  times: { RECORDS: 1, BOUND: 2, ANYWHERE: 1 },
  keys: { RECORDS: 1, BOUND: 1, KEY_CHANGES: 1, ANYWHERE: 1 },
  responses: { RECORDS: 2, BOUND: 1, ANYWHERE: 1, MESSAGES: 2 },
  keysInResponses: { RECORDS: 1, BOUND: 1, KEY_CHANGES: 1, ANYWHERE: 1, MESSAGES: 2 },
}

/** Where a fault is looked for; elsewhere with two responses on their way. */
const LOOKED_FOR: Readonly<Record<string, keyof typeof SIZES>> = {
  WITHDRAWAL_UNSAID: 'keys',
  OTHER_KEYS_COUNT: 'keys',
  EARLIER_STREAM_HEARD: 'times',
  PROMISE_UNBOUND: 'times',
  CLOCK_BACKWARDS: 'keysInResponses',
}

test('each action of the model names functions of the code that are there', () => {
  const named = FILES.flatMap((name) => [...text(name).matchAll(/\bdo: (\S+\.ts) (#?\w+)/g)])
  expect(named.length).toBeGreaterThan(20)
  const missing = named.filter(([, path = '', name = '']) => {
    const code = readFileSync(join(repository, path), 'utf8')
    return !new RegExp(`(^|[ .])${name}(\\(|<|:| =| extends| \\{)`, 'm').test(code)
  })
  expect(missing.map(([all]) => all)).toEqual([])
})

/** Debian's, if there is none on the path. */
const spin = await obtained('spin', async () => {
  await run('gcc', ['--version'])
  try {
    await run('spin', ['-V'])
  } catch {
    process.env.PATH = `${join(await unpacked('spin', ['spin']), 'usr/bin')}${delimiter}${process.env.PATH}`
    await run('spin', ['-V'])
  }
})

describe.skipIf(!spin.ok)('the protocol of staleness', () => {
  const searchers = new Map<string, string>()
  let tracer = ''

  beforeAll(async () => {
    for (const [name, sizes] of Object.entries(SIZES))
      searchers.set(name, await searcherOf('follower.pml', sizes))
    const sizes = { TRACE: 1, ANYWHERE: 1, RECORDS: 1_000, BOUND: 1_000_000, UNKNOWN: 5_000_000 }
    const most = { MESSAGES: MESSAGES_MAX, QUESTIONS: QUESTIONS_MAX }
    tracer = await searcherOf('follower.pml', { ...sizes, ...most })
  })

  test.each<[sizes: keyof typeof SIZES, statesMin: number]>([
    ['histories', 4_000_000],
    ['times', 600_000],
    ['keys', 1_800_000],
  ])('allows nothing beyond the bound in any state: %s', async (sizes, statesMin) => {
    const found = await search(searchers.get(sizes) as string)
    expect(found).toMatchObject({ errors: 0, whole: true })
    expect(found.states).toBeGreaterThan(statesMin)
  })

  test.each(FAULTS)('is found wrong where $what', async ({ name, number }) => {
    const searcher = searchers.get(LOOKED_FOR[name] ?? 'responses') as string
    expect((await search(searcher, number)).errors).toBe(1)
  })

  test('has the faults of its list', () => {
    expect(FAULTS.length).toBeGreaterThanOrEqual(16)
    expect(FAULTS.map(({ number }) => number)).toEqual(FAULTS.map((_, index) => index + 1))
  })

  describe('a run of a simulated fleet', () => {
    const traces = new Map<number, readonly Step[]>()
    beforeAll(async () => {
      for (const seed of [1, 2, 3, 4]) {
        const trace = new FleetTrace()
        await new FleetWorld(seed, trace).run(4_000)
        traces.set(seed, trace.steps)
      }
    })

    test.each([1, 2, 3, 4])('is possible: seed %d', (seed) => {
      const steps = traces.get(seed) as readonly Step[]
      // Every kind of step is among those of all seeds; and most of them are in each.
      expect(new Set(steps.map(([step]) => step)).size).toBeGreaterThanOrEqual(13)
      expect(follow(tracer, steps)).toBe(`accepted ${steps.length} steps`)
    })

    test('has every kind of step', () => {
      const seen = new Set([...traces.values()].flat().map(([step]) => step))
      expect([...seen].sort((a, b) => a - b)).toEqual(Object.values(STEPS))
    })

    /** A step of the kind, far from the beginning, and the replacement. */
    test.each<
      [what: string, kind: keyof typeof STEPS, where: (step: Step) => boolean, false_: (step: Step) => Step[]]
    >([
      ['an answer from memory is another one', 'said', () => true, ([step, ok]) => [[step, 1 - Number(ok)]]],
      ['a response does not void everything', 'written', at(2, 1), (step) => [changed(step, 2, 0)]],
      ['a response does not name the token', 'written', at(3, 1), (step) => [changed(step, 3, 0)]],
      ['a response promises more', 'written', () => true, (step) => [changed(step, 4, 1_000_001)]],
      ['a response has another position', 'written', () => true, (step) => [changed(step, 1, 0)]],
      ['a wrong hub is believed', 'heard', at(2, 0), (step) => [changed(step, 2, 1)]],
      ['a change is not recorded', 'change', () => true, () => []],
      ['a question was not asked', 'asked', () => true, () => []],
      [
        'an answer says another status',
        'reached',
        at(5, 1),
        (step) => [changed(step, 6, 1 - Number(step[6]))],
      ],
      ['an answer comes twice', 'answered', () => true, (step) => [step, step]],
      [
        'a restoration is a change',
        'replace',
        () => true,
        ([, id = 0, , active = 0]) => [[STEPS.change, id, 1, active]],
      ],
    ])('is refused where %s', (_what, kind, where, falsified) => {
      const all = [...traces.values()]
      const steps = all.find((each) =>
        each.some((step) => step[0] === STEPS[kind] && where(step)),
      ) as readonly Step[]
      const those = [...steps.keys()].filter((index) => {
        const step = steps[index] as Step
        return step[0] === STEPS[kind] && where(step)
      })
      const index = those[Math.floor(those.length / 2)] as number
      const other = [...steps.slice(0, index), ...falsified(steps[index] as Step), ...steps.slice(index + 1)]
      expect(follow(tracer, other)).toMatch(/^refused step/)
    })
  })
})

function at(index: number, value: number) {
  return (step: Step) => step[index] === value
}

function changed(step: Step, index: number, value: number): Step {
  return step.with(index, value) as unknown as Step
}
