/** How costs grow: of a decision with more APIs and kinds of token, and of a check with more live tokens. */
import type { Size, Suite, SuiteReport } from '../harness/suite.ts'
import { growthOfDecide } from './growth-decide.ts'
import { growthOfTokens } from './growth-tokens.ts'

export const growthSuite: Suite = { name: 'growth', run }

const SIZES = {
  full: {
    decide: { apis: [30, 1_000, 10_000, 100_000], kinds: [3, 16], rounds: 15, questions: 30_000 },
    // The sidecar remembers 50,000 (`REMEMBERED_MAX`, sidecar/authority/embedded.ts).
    tokens: { remembered: 200_000, many: 200_000, rounds: 10, calls: 10_000 },
  },
  smoke: {
    decide: { apis: [30, 100], kinds: [3, 5], rounds: 2, questions: 300 },
    tokens: { remembered: 50, many: 200, rounds: 2, calls: 50 },
  },
} as const

async function run(size: Size): Promise<SuiteReport> {
  const { decide, tokens } = SIZES[size]
  const parts = [await growthOfDecide(decide), await growthOfTokens(tokens)]
  return {
    rows: parts.flatMap(({ rows }) => rows),
    answersChecked: parts.reduce((sum, part) => sum + part.answersChecked, 0),
  }
}
