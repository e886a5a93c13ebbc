/**
 * A second matrix is computed beside the one in force. Every protocol answers as without it. Each difference
 * of its decision is counted once for each question that a protocol decides.
 */
import { describe, expect, test } from 'vitest'
import { compile, type Engine, type Matrix } from '../../engine/index.ts'
import type { Shadow } from '../../sidecar/usecases/shadow.ts'
import { engine, strictEngine } from '../support/matrices/engines.ts'
import { ANOTHER_KIND, MOVED_HEADER, OTHER_CELLS } from '../support/matrices/shadow-matrices.ts'
import type { RunningSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'
import { answersAs, decisionOf } from './answers.ts'
import { startSidecars } from './people.ts'
import { headersOf } from './protocol.ts'
import { COMMANDS } from './protocols/command-line.ts'
import { MIDDLEWARE } from './protocols/middleware.ts'
import { PROTOCOLS } from './protocols.ts'
import { cellQuestions, otherQuestions, type Question } from './questions.ts'

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

/** The difference of the shadow's answer, by the library alone. */
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

type Mode = 'by default' | 'in strict mode'

interface Row {
  readonly name: string
  readonly matrix: Matrix
  readonly modes: readonly Mode[]
}

const ROWS: readonly Row[] = [
  { name: 'other cells, and a renamed API', matrix: OTHER_CELLS, modes: ['by default', 'in strict mode'] },
  { name: 'a kind more', matrix: ANOTHER_KIND, modes: ['by default'] },
  { name: 'a header that moved', matrix: MOVED_HEADER, modes: ['by default'] },
]

/** Asked about the first row alone: others say the same in another encoding. */
const ENCODED = ['Connect proto Check', 'gRPC-Web Check', 'gRPC-Web JSON Check']
/** Of the cells, one in this many is asked about in each row but the first. */
const CELLS_EVERY = 4

describe.each(ROWS)('beside a matrix with $name', async ({ matrix, modes }) => {
  const file = newFile(JSON.stringify(matrix), 'shadow.json')
  const sidecars = await startSidecars({ matrix_shadow: file, 'health.address': '127.0.0.1:0' })
  const all: { mode: Mode; strict: boolean; inForce: Engine; running: RunningSidecar }[] = [
    { mode: 'by default', strict: false, inForce: engine, running: sidecars.lenient },
    { mode: 'in strict mode', strict: true, inForce: strictEngine, running: sidecars.strict },
  ]

  describe.each(all.filter(({ mode }) => modes.includes(mode)))('$mode', ({ strict, inForce, running }) => {
    const isFirst = matrix === OTHER_CELLS && !strict
    const shadow = running.sidecar.shadow as Shadow
    const beside = compile(matrix, { strict })
    test.each(OWN_PROTOCOLS.filter(({ name }) => isFirst || !ENCODED.includes(name)))(
      '$name answers as without it, and every difference is counted',
      async (protocol) => {
        const { static_token: token = '' } = sidecars.people.genuine
        const cells = cellQuestions(sidecars.people, strict)
        const questions = [
          ...cells.filter((_, index) => isFirst || index % CELLS_EVERY === 0),
          ...otherQuestions(sidecars.people),
          ...more(token),
        ]
        const before = countsOf(shadow)
        await answersAs(
          inForce,
          protocol,
          running,
          questions,
          isFirst ? undefined : cells.length / CELLS_EVERY,
        )
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
