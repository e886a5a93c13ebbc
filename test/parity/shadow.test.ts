/**
 * A second matrix is computed beside the one in force. Every protocol answers as without it, and what it
 * would have answered otherwise is counted once for each question that a protocol decides.
 */
import { describe, expect, test } from 'vitest'
import { compile, type Engine, type Matrix } from '../../engine/index.ts'
import type { Shadow } from '../../sidecar/usecases/shadow.ts'
import { engine, strictEngine } from '../support/matrices/engines.ts'
import { ANOTHER_KIND, MOVED_HEADER, OTHER_CELLS } from '../support/matrices/shadow-matrices.ts'
import { newFile } from '../support/suite/resources.ts'
import { answersAs, decisionOf, questionsFor } from './answers.ts'
import { startSidecars } from './people.ts'
import { headersOf } from './protocol.ts'
import { COMMANDS } from './protocols/command-line.ts'
import { MIDDLEWARE } from './protocols/middleware.ts'
import { PROTOCOLS } from './protocols.ts'
import type { Question } from './questions.ts'

/** Those of the sidecar: the command line and middleware ask by gRPC. */
const OWN_PROTOCOLS = PROTOCOLS.filter((protocol) => ![...COMMANDS, ...MIDDLEWARE].includes(protocol))

/** A search enforces nothing. */
const UNCOMPARED = ['AuthZEN, a search for actions']

/** Beside the questions of the table, so that a header of the shadow alone has a token. */
const more = (token: string): readonly Question[] => [
  {
    what: 'a static token in the header of the shadow',
    ...{ api: 'reports', subject: { headers: [['X-Static-Token', token]] } },
    ...{ fault: 'CREDENTIAL_MISSING', reason: 'CREDENTIAL_MISSING' },
  },
  {
    what: 'an API of the shadow',
    ...{ api: 'support-tickets', subject: { headers: [['X-Token', token]] } },
    ...{ fault: 'CREDENTIAL_MISSING', reason: 'UNKNOWN_API' },
  },
]

/** What the answer of the shadow differs in, by the library alone. */
function differenceOf(inForce: Engine, shadow: Engine, question: Question): string | undefined {
  const { allowed } = decisionOf(inForce, question)
  const { subject, api, fault } = question
  const direction = (other: boolean) => (allowed === other ? undefined : other ? 'opened' : 'closed')
  if ('claims' in subject) return direction(decisionOf(shadow, question).allowed)
  const [was, is] = [inForce, shadow].map((each) => each.extract(headersOf(question)))
  if (!shadow.apis.has(api) || !is?.ok) return direction(false)
  if (!inForce.apis.has(api) || !was?.ok || was.value !== is.value) return 'unknown'
  return direction(fault === undefined && decisionOf(shadow, question).allowed)
}

const ROWS: readonly { readonly name: string; readonly matrix: Matrix }[] = [
  { name: 'other cells, and a renamed API', matrix: OTHER_CELLS },
  { name: 'a kind more', matrix: ANOTHER_KIND },
  { name: 'a header that moved', matrix: MOVED_HEADER },
]

describe.each(ROWS)('beside a matrix with $name', async ({ matrix }) => {
  const file = newFile(JSON.stringify(matrix), 'shadow.json')
  const sidecars = await startSidecars({ matrix_shadow: file, 'health.address': '127.0.0.1:0' })
  const all = [
    { mode: 'by default', strict: false, inForce: engine, running: sidecars.lenient },
    { mode: 'in strict mode', strict: true, inForce: strictEngine, running: sidecars.strict },
  ]

  describe.each(all)('$mode', ({ strict, inForce, running }) => {
    const shadow = running.sidecar.shadow as Shadow
    const beside = compile(matrix, { strict })
    test.each(OWN_PROTOCOLS)(
      '$name answers as without it, and every difference is counted',
      async (protocol) => {
        const { static_token: token = '' } = sidecars.people.genuine
        const questions = [...questionsFor(sidecars, strict), ...more(token)]
        const before = countsOf(shadow)
        await answersAs(inForce, protocol, running, questions)
        const counted = subtracted(countsOf(shadow), before)
        if (UNCOMPARED.includes(protocol.name)) return expect(counted).toEqual({})
        const asked = questions.filter((question) => protocol.silent(question) === undefined)
        const expected: Record<string, number> = {}
        for (const question of asked) {
          const direction = differenceOf(inForce, beside, question)
          if (direction === undefined) continue
          const key = `${question.api} ${direction}`
          expected[key] = (expected[key] ?? 0) + 1
        }
        expect(counted).toEqual(expected)
      },
    )

    test('metrics say the same', () => {
      if (matrix === OTHER_CELLS)
        expect(new Set(shadow.differences.map(({ direction }) => direction))).toEqual(
          new Set(['opened', 'closed', 'unknown']),
        )
      const metric = running.sidecar
        .metrics()
        .find(({ name }) => name === 'portcullis_shadow_differences_total')
      const rows = metric?.samples.map(({ labels, value }) => [
        labels.api,
        labels.kind,
        labels.direction,
        value,
      ])
      expect(rows?.toSorted()).toEqual(
        shadow.differences.map(({ api, kind, direction, count }) => [api, kind, direction, count]).toSorted(),
      )
    })
  })
})

function countsOf({ differences }: Shadow): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { api, direction, count } of differences)
    counts[`${api} ${direction}`] = (counts[`${api} ${direction}`] ?? 0) + count
  return counts
}

function subtracted(after: Record<string, number>, before: Record<string, number>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after).flatMap(([key, count]) => {
      const more = count - (before[key] ?? 0)
      return more === 0 ? [] : [[key, more]]
    }),
  )
}
