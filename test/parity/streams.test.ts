/**
 * One stream of questions of chance goes through every protocol, in both modes: each answers as the library
 * does, and so as every other one. `SEED` asks the same ones again, and `QUESTIONS` says how many for each
 * seed and mode.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { randomFrom } from '../support/inputs/random.ts'
import { QUESTIONS, report, SEEDS } from '../support/inputs/seeds.ts'
import { engine, strictEngine } from '../support/matrices/engines.ts'
import { answersAs } from './answers.ts'
import { endedTokens } from './ended-tokens.ts'
import { startSidecars } from './people.ts'
import { PROTOCOLS } from './protocols.ts'
import type { Question } from './questions.ts'
import { questionsOf } from './stream.ts'

/** The most that fits into one batch of any protocol. */
const PART = { questions: 500, characters: 60_000 }

const sidecars = await startSidecars()
const ended = await endedTokens(sidecars.lenient)

const MODES = [
  { mode: 'by default', library: engine, sidecar: sidecars.lenient },
  { mode: 'in strict mode', library: strictEngine, sidecar: sidecars.strict },
]

/** How many questions were asked, and for how many a protocol has no words, with what it says of them. */
let asked = 0
const unasked: Record<string, number> = {}

describe.each(SEEDS)('SEED=%i', (seed) => {
  describe.each(MODES)('$mode', ({ library, sidecar }) => {
    const { people } = sidecars
    const questions = questionsOf(randomFrom(seed), { people, ended, library }, QUESTIONS)
    test.each(PROTOCOLS)('$name answers as the library', { timeout: 0 }, async (protocol) => {
      const [silent, spoken] = [true, false].map((none) =>
        questions.filter((question) => (protocol.silent(question) !== undefined) === none),
      ) as [Question[], Question[]]
      expect(spoken.length).toBeGreaterThan(QUESTIONS / 20)
      for (const part of partsOf(spoken)) await answersAs(library, protocol, sidecar, part, 1)
      asked += spoken.length
      for (const question of silent) {
        const why = protocol.silent(question) as string
        unasked[why] = (unasked[why] ?? 0) + 1
      }
    })
  })
})

afterAll(() => {
  for (const [why, count] of Object.entries(unasked))
    process.stderr.write(`parity: ${count} not asked: ${why}\n`)
  const silent = Object.values(unasked).reduce((sum, count) => sum + count, 0)
  report('protocols', { protocols: PROTOCOLS.length, asked, silent })
})

function partsOf(questions: readonly Question[]): Question[][] {
  const parts: Question[][] = [[]]
  let characters = 0
  for (const question of questions) {
    const length = JSON.stringify(question).length
    const isFull = parts.at(-1)?.length === PART.questions || characters + length > PART.characters
    if (isFull) parts.push([])
    characters = isFull ? length : characters + length
    parts.at(-1)?.push(question)
  }
  return parts
}
