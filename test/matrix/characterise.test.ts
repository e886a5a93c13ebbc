/** The policy tests that hold a matrix as it is: their text, and the changes that they notice. */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compile, type Matrix } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { characterise } from '../../matrix/policy-tests/characterise.ts'
import { Coverage } from '../../matrix/policy-tests/coverage.ts'
import type { PolicyTests } from '../../matrix/policy-tests/document.ts'
import { testProblems } from '../../matrix/policy-tests/problems.ts'
import { runTests } from '../../matrix/policy-tests/run.ts'
import { validate } from '../../sidecar/config/gen/policy-tests.ts'
import { matrixForm } from '../../sidecar/rules/matrix-file/read.ts'
import { engine, strictEngine } from '../support/matrices/engines.ts'
import { matrices } from '../support/matrices/generated-matrices.ts'
import { cells } from '../support/matrices/oracle.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'

const engines = { lenient: engine, strict: strictEngine }

/** The small matrix with an API that nothing opens. */
const WRITTEN = `# yaml-language-server: $schema=a.json
# Written by \`portcullis matrix test --init\`. It holds the matrix as it was; change it with the matrix.
title: Doors of a house
mode: both

# The tokens for which the values of credential headers below stand.
tokens:
  expired: { fault: CREDENTIAL_EXPIRED }
  revoked: { fault: CREDENTIAL_REVOKED }
  elsewhere: { fault: ADDRESS_NOT_ALLOWED }
  misplaced: { kind: day_pass }

tests:
  # The kinds that open each API; all other kinds are denied.
  - apis: [library]
    accepted: [day_pass]
  - apis: [cellar]
    accepted: [room_key]
  - apis: [office]
    accepted: []

  # The source contradicts itself about these.
  - mode: lenient
    apis: [lobby]
    accepted: [day_pass, room_key]
  - mode: strict
    apis: [lobby]
    accepted: [day_pass]
  - mode: strict
    apis: [lobby]
    kind: room_key
    reason: CONTESTED

  # The scopes of tokens.
  - name: a day pass opens every project
    api: library
    kind: day_pass
    scope: { account: "1" }
    target: { account: "1", project: two }
    reason: ALLOWED
  - name: a day pass opens no other account
    api: library
    kind: day_pass
    scope: { account: "1" }
    target: { account: "2", project: one }
    reason: ACCOUNT_MISMATCH
  - name: a day pass is bound to an account
    api: library
    kind: day_pass
    scope: { account: "1", project: one }
    reason: INVALID_SCOPE
  - name: a room key opens no other project
    api: cellar
    kind: room_key
    scope: { account: "1", project: one }
    target: { account: "1", project: two }
    reason: PROJECT_MISMATCH
  - name: a room key opens no other account
    api: cellar
    kind: room_key
    scope: { account: "1", project: one }
    target: { account: "2", project: one }
    reason: ACCOUNT_MISMATCH
  - name: a room key is bound to a project
    api: cellar
    kind: room_key
    scope: { account: "1" }
    reason: INVALID_SCOPE

  # Faults of a credential.
  - { api: lobby, headers: {}, reason: CREDENTIAL_MISSING }
  - { api: lobby, headers: { X-Day-Pass: [expired, revoked] }, reason: CREDENTIAL_AMBIGUOUS }
  - { api: lobby, headers: { X-Day-Pass: two words }, reason: CREDENTIAL_MALFORMED }
  - { api: lobby, headers: { X-Room-Key: misplaced }, reason: WRONG_HEADER }
  - { api: lobby, headers: { X-Day-Pass: unheard-of }, reason: CREDENTIAL_INVALID }
  - { api: lobby, headers: { X-Day-Pass: expired }, reason: CREDENTIAL_EXPIRED }
  - { api: lobby, headers: { X-Day-Pass: revoked }, reason: CREDENTIAL_REVOKED }
  - { api: lobby, headers: { X-Day-Pass: elsewhere }, reason: ADDRESS_NOT_ALLOWED }
  - { api: no-such-id, kind: day_pass, reason: UNKNOWN_API }
  - { api: lobby, kind: no-such-id, reason: UNKNOWN_TOKEN_KIND }
`

const enginesOf = (matrix: Matrix) => ({
  lenient: compile(matrix),
  strict: compile(matrix, { strict: true }),
})

/** The tests that hold a matrix, read from their text. */
function testsOf(matrix: Matrix): PolicyTests {
  const text = characterise({ matrix, engines: enginesOf(matrix), schema: 'a.json' })
  const reading = matrixForm('policy-tests.yaml').read(text)
  if (!reading.ok || !validate(reading.value)) throw new Error('expected tests that fit the schema')
  return reading.value as PolicyTests
}

describe('the tests that hold a matrix', () => {
  const tests = testsOf(supportMatrix)

  test('are written for people to read', () => {
    const office = { id: 'office', title: 'Office', accepts: [], section: '§2' }
    const matrix = { ...smallMatrix(), apis: [...smallMatrix().apis, office] }
    expect(characterise({ matrix, engines: enginesOf(matrix), schema: 'a.json' })).toBe(WRITTEN)
    expect(
      `# yaml-language-server: $schema=a.json\n${characterise({ matrix, engines: enginesOf(matrix) })}`,
    ).toBe(WRITTEN)
  })

  test('are few, pass, and ask about all of it', () => {
    const coverage = new Coverage(engines)
    const results = runTests(tests, { engines, mode: 'lenient', coverage })
    expect(tests.tests.length).toBeLessThan(cells().length / 2)
    expect(results.filter(({ failed }) => failed > 0)).toEqual([])
    for (const part of Object.values(coverage.report())) expect(part.missing).toEqual([])
  })

  test.each(cells().map(({ api, kind }) => [api, kind] as const))('fail if %s × %s changes', (api, kind) => {
    const apis = supportMatrix.apis.map((row) => {
      const { accepts } = row
      const others = accepts.filter((each) => each !== kind)
      return row.id === api
        ? { ...row, accepts: others.length < accepts.length ? others : [...accepts, kind] }
        : row
    })
    const changed = { ...supportMatrix, apis } as Matrix
    const failed = runTests(tests, { engines: enginesOf(changed), mode: 'lenient' }).filter(
      (each) => each.failed > 0,
    )
    expect(failed.flatMap(({ failures }) => failures.map(({ question }) => question))).toContain(
      `${api} × ${kind}`,
    )
  })

  test.each(supportMatrix.conflicts.filter((each) => each.cells.length > 0).map(({ id }) => id))(
    'fail if the conflict %s is resolved otherwise or goes',
    (id) => {
      for (const conflicts of [
        supportMatrix.conflicts.filter((each) => each.id !== id),
        supportMatrix.conflicts.map((each) =>
          each.id === id ? { ...each, resolution: 'prose' as const } : each,
        ),
      ]) {
        const changed = { ...supportMatrix, conflicts } as Matrix
        const failed = runTests(tests, { engines: enginesOf(changed), mode: 'lenient' }).some(
          (each) => each.failed > 0,
        )
        // A cell that the table rejects is denied in both modes, with or without the conflict.
        const resolved = conflicts.length === supportMatrix.conflicts.length
        expect(failed).toBe(resolved || id !== 'audit-logs-project-contradiction')
      }
    },
  )

  test('pass and ask about all of any matrix', () => {
    fc.assert(
      fc.property(matrices(), (matrix) => {
        const both = enginesOf(matrix)
        const document = testsOf(matrix)
        expect(testProblems(document, both.lenient, false)).toEqual([])
        const coverage = new Coverage(both)
        const results = runTests(document, { engines: both, mode: 'lenient', coverage })
        expect(results.filter(({ failed }) => failed > 0)).toEqual([])
        for (const part of Object.values(coverage.report())) expect(part.missing).toEqual([])
      }),
      { numRuns: 50 },
    )
  })

  test('have long lists on lines of at most 86 characters, and nothing of conflicts where there are none', () => {
    const ids = Array.from({ length: 6 }, (_, index) => `door-of-house-${index}`)
    const short = Array.from({ length: 10 }, (_, index) => `door-1${index}`)
    const row = (id: string, kind: string) => ({ id, title: id, accepts: [kind], section: '§2' })
    const apis = [...ids.map((id) => row(id, 'day_pass')), ...short.map((id) => row(id, 'room_key'))]
    const matrix = { ...smallMatrix(), title: 'Yes', apis, statements: [], conflicts: [] }
    const text = characterise({ matrix, engines: enginesOf(matrix) })
    const lines = `[${ids.slice(0, 5).join(', ')},\n       ${ids[5]}]`
    const others = `[${short.slice(0, 9).join(', ')},\n       ${short[9]}]`
    expect(text).toContain(
      `  - apis: ${lines}\n    accepted: [day_pass]\n  - apis: ${others}\n    accepted: [room_key]\n\n  # The scopes of tokens.\n`,
    )
    expect(text).toContain('title: "Yes"\n')
  })

  test('are read as they were meant, whatever ids and titles are like', () => {
    const [kind] = supportMatrix.tokenKinds
    if (kind === undefined) throw new Error('expected a kind')
    const matrix: Matrix = {
      title: 'a: b # c\n"d"',
      tokenKinds: [{ ...kind, id: 'null', title: 'yes: "no" # \u2028' }],
      apis: ['true', 'off', 'y', 'no-such-id'].map((id) => ({
        id,
        title: id,
        accepts: ['null'],
        section: '§1',
      })),
      statements: [],
      conflicts: [],
    }
    const { title, tests: found } = testsOf(matrix)
    expect(title).toBe(matrix.title)
    expect(found[0]).toEqual({ apis: ['true', 'off', 'y', 'no-such-id'], accepted: ['null'] })
    expect(found.find(({ reason }) => reason === 'UNKNOWN_API')).toMatchObject({ api: 'no-such-id-either' })
  })
})
