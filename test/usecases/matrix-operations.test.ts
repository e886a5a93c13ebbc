/**
 * The matrix in force as operators look at it, put its shadow in its place, and take that back.
 * `test/rules/promotion.test.ts` does it over the wire.
 */
import { beforeEach, describe, expect, test } from 'vitest'
import { compile, type Matrix } from '../../engine/index.ts'
import { MatrixVersionRecords } from '../../sidecar/directory/matrix-versions.ts'
import type { OperationRequest } from '../../sidecar/usecases/administration/administer.ts'
import { run } from '../../sidecar/usecases/administration/run.ts'
import type { MatrixRollout } from '../../sidecar/usecases/matrix-rollout.ts'
import type { Shadow } from '../../sidecar/usecases/shadow.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { openOffice } from '../support/sidecar/office.ts'
import { byToken } from '../support/sidecar/services.ts'

const titled = (title: string): Matrix => ({ title, tokenKinds: [], apis: [], statements: [], conflicts: [] })
const [CONFIGURED, IN_FORCE, NEXT] = [titled('configured'), titled('in force'), titled('next')]
const digestOf = (matrix: Matrix) => compile(matrix).digest

const SHADOW: Shadow = {
  ...{ engine: compile(NEXT), matrix: NEXT, sinceMs: 1, compared: 2, beyond: 3 },
  differences: [
    {
      ...{ api: 'a', kind: 'k', direction: 'opened', count: 4, firstMs: 5, lastMs: 6 },
      ...{ accounts: [], otherAccounts: 7 },
    },
  ],
}

const followed: string[] = []
/** As the process has it that answers; its matrices are kept as their titles. */
function rolloutOf(
  inForce: Matrix,
  change: Partial<MatrixRollout['rules'] & Pick<MatrixRollout, 'shadow'>> = {},
): MatrixRollout {
  const { shadow = SHADOW, ...rules } = change
  return {
    rules: {
      ...{ engine: compile(inForce), matrix: inForce, overruled: inForce !== CONFIGURED },
      ...{ configured: CONFIGURED, configuredDigest: digestOf(CONFIGURED) },
      ...rules,
    },
    shadow: 'shadow' in change ? change.shadow : shadow,
    follow: async () => void followed.push('followed'),
    jsonOf: async ({ title }) => `JSON of ${title}`,
    jsonOfKept: async ({ content }) => `kept ${content}`,
    contentOf: async ({ title }) => Buffer.from(`content of ${title}`),
  }
}

/** Each test has a separate directory: promotions stay. */
let ask: Awaited<ReturnType<typeof openOffice>>['ask']
let administration: Awaited<ReturnType<typeof openOffice>>['administration']
beforeEach(async () => {
  ;({ ask, administration } = await openOffice('4711', Date.now))
  followed.length = 0
})
const root = byToken('root')
const kept = () => new MatrixVersionRecords(administration.records.queries)
const versionsOf = async () =>
  (await kept().all()).map(({ digest, action, reason }) => [digest, action, reason])

const look = (rollout: MatrixRollout, request: Partial<OperationRequest<'getMatrixRollout'>> = {}) =>
  ask(root, 'getMatrixRollout', { matrices: false, toDigest: '', ...request }, { rollout })
const PROMOTION = { shadowDigest: digestOf(NEXT), digest: digestOf(CONFIGURED), reason: 'agreed' }
const promote = (rollout: MatrixRollout, change: Partial<typeof PROMOTION> = {}) =>
  ask(root, 'promoteMatrix', { ...PROMOTION, ...change }, { rollout })
const rollBack = (
  rollout: MatrixRollout,
  to: OperationRequest<'rollBackMatrix'>['to'],
  digest = digestOf(NEXT),
) => ask(root, 'rollBackMatrix', { digest, reason: 'it was wrong', to }, { rollout })

const replaced = (what: string, seen: Matrix, found: Matrix) =>
  `MATRIX_REPLACED: ${what} is ${digestOf(found)} and no longer ${digestOf(seen)}; look at what it changes, and ask again`

describe('a look', () => {
  test('says which matrix is in force, and what the shadow would answer otherwise', async () => {
    const { engine: _engine, matrix: _matrix, ...counted } = SHADOW
    expect(await look(rolloutOf(IN_FORCE))).toEqual({
      ...{ digest: digestOf(IN_FORCE), configuredDigest: digestOf(CONFIGURED), promoted: true },
      ...{ versions: [], matrix: undefined, toMatrix: undefined },
      shadow: { ...counted, digest: digestOf(NEXT), matrix: undefined },
    })
    expect(await look(rolloutOf(CONFIGURED, { shadow: undefined }))).toMatchObject({
      promoted: false,
      shadow: undefined,
    })
  })

  test('has the matrices where they are asked for and kept', async () => {
    expect(await look(rolloutOf(IN_FORCE), { matrices: true })).toMatchObject({
      matrix: 'JSON of in force',
      shadow: { matrix: 'JSON of next' },
    })
    expect(await look(rolloutOf(IN_FORCE, { matrix: undefined }), { matrices: true })).toMatchObject({
      matrix: undefined,
      shadow: { matrix: 'JSON of next' },
    })
  })

  test('has the matrix to go back to: that of the configuration, or one that is kept', async () => {
    await promote(rolloutOf(CONFIGURED))
    const to = async (matrix: Matrix, configured: Matrix | undefined = CONFIGURED) => {
      const view = await look(rolloutOf(NEXT, { configured }), { toDigest: digestOf(matrix) })
      return typeof view === 'string' ? view : view.toMatrix
    }
    expect(await to(CONFIGURED)).toBe('JSON of configured')
    expect(await to(NEXT)).toBe('kept content of next')
    expect(await to(IN_FORCE)).toBeUndefined()
    const forgotten = rolloutOf(NEXT, { configured: undefined })
    expect(await look(forgotten, { toDigest: digestOf(CONFIGURED) })).toMatchObject({
      toMatrix: 'kept content of configured',
    })
    expect(await look(forgotten)).toMatchObject({ toMatrix: undefined })
  })
})

describe('a promotion', () => {
  test('puts the shadow in force, keeps both matrices, and is followed', async () => {
    expect(await promote(rolloutOf(CONFIGURED))).toBeUndefined()
    expect(followed).toEqual(['followed'])
    expect(await versionsOf()).toEqual([
      [digestOf(NEXT), 'promoted', 'agreed'],
      [digestOf(CONFIGURED), 'replaced', ''],
    ])
    for (const matrix of [NEXT, CONFIGURED]) {
      const digest = digestOf(matrix)
      const content = Buffer.from(`content of ${matrix.title}`)
      expect(await kept().content(digest)).toEqual({ digest, content })
    }
    expect(await look(rolloutOf(NEXT))).toMatchObject({
      versions: await kept().all(),
    })
  })

  const NO_SHADOW = 'NOT_FOUND: there is no shadow: `matrix_shadow` in the configuration names one'
  test.each<[claim: string, rollout: MatrixRollout, change: Partial<typeof PROMOTION>, refusal: string]>([
    ['there is no shadow', rolloutOf(CONFIGURED, { shadow: undefined }), {}, NO_SHADOW],
    ['the matrix in force is not kept', rolloutOf(CONFIGURED, { matrix: undefined }), {}, NO_SHADOW],
    [
      'another shadow was seen',
      rolloutOf(CONFIGURED),
      { shadowDigest: digestOf(IN_FORCE) },
      replaced('the shadow', IN_FORCE, NEXT),
    ],
    [
      'another matrix was seen in force',
      rolloutOf(IN_FORCE),
      {},
      replaced('the matrix in force', CONFIGURED, IN_FORCE),
    ],
  ])('is refused where %s, and nothing changes', async (_claim, rollout, change, refusal) => {
    expect(await promote(rollout, change)).toBe(refusal)
    expect([await versionsOf(), followed]).toEqual([[], []])
  })

  test('is of what was compared, although the rules change meanwhile', async () => {
    const { rules, ...others } = rolloutOf(CONFIGURED)
    let asked = 0
    const rollout = {
      ...others,
      get rules() {
        return {
          ...rules,
          get matrix() {
            return asked === 0 ? CONFIGURED : IN_FORCE
          },
        }
      },
      contentOf: async ({ title }: Matrix) => {
        await Promise.resolve()
        asked++
        return Buffer.from(`content of ${title}`)
      },
    }
    expect(await promote(rollout)).toBeUndefined()
    expect((await kept().content(digestOf(CONFIGURED)))?.content.toString()).toBe('content of configured')
  })
})

test('a promotion where another promoted matrix was in force keeps no other one', async () => {
  await promote(rolloutOf(CONFIGURED))
  const later = { ...rolloutOf(NEXT), shadow: { ...SHADOW, engine: compile(IN_FORCE), matrix: IN_FORCE } }
  const [shadowDigest, digest] = [digestOf(IN_FORCE), digestOf(NEXT)]
  expect(await promote(later, { shadowDigest, digest, reason: 'x'.repeat(1_000) })).toBeUndefined()
  expect((await versionsOf()).map(([version]) => version)).toEqual([IN_FORCE, NEXT, CONFIGURED].map(digestOf))
  // The process that answers may know less than the directory: it compared with another matrix.
  expect(await promote(rolloutOf(CONFIGURED), { digest: digestOf(IN_FORCE) })).toBe(
    replaced('the matrix in force', IN_FORCE, CONFIGURED),
  )
  expect(await promote(rolloutOf(CONFIGURED))).toBe(replaced('the matrix in force', CONFIGURED, IN_FORCE))
})

test('a program without the rules of a sidecar cannot ask for the rollout', async () => {
  const asked = run(administration, TESTER, 'getMatrixRollout', { matrices: false, toDigest: '' })
  await expect(asked).rejects.toThrow(new TypeError('expected the rules of a sidecar'))
})

test.each<[what: string, reason: string]>([
  ['empty', ''],
  ['white space', '   '],
  ['longer than 1,000 characters', 'x'.repeat(1_001)],
  ['with a line feed', 'one\ntwo'],
  ['with a mark of text direction', 'one\u202etwo'],
])('a reason that is %s is refused', async (_what, reason) => {
  const refused = /^INVALID_ARGUMENT: reason: expected 1 to 1000 characters/
  expect(await promote(rolloutOf(CONFIGURED), { reason })).toMatch(refused)
  const back = { ...{ digest: digestOf(NEXT), reason }, to: 'previous' } as const
  expect(await ask(root, 'rollBackMatrix', back, { rollout: rolloutOf(NEXT) })).toMatch(refused)
})

describe('the way back', () => {
  test.each<[to: NonNullable<OperationRequest<'rollBackMatrix'>['to']>, digest: string]>([
    ['previous', digestOf(CONFIGURED)],
    [{ digest: digestOf(CONFIGURED) }, digestOf(CONFIGURED)],
    ['configured', ''],
  ])('to %j is followed', async (to, digest) => {
    await promote(rolloutOf(CONFIGURED))
    followed.length = 0
    expect(await rollBack(rolloutOf(NEXT), to)).toBeUndefined()
    expect((await versionsOf())[0]).toEqual([digest, 'rolled_back', 'it was wrong'])
    expect(followed).toEqual(['followed'])
  })

  test('is refused where another matrix was seen in force', async () => {
    await promote(rolloutOf(CONFIGURED))
    expect(await rollBack(rolloutOf(NEXT), 'previous', digestOf(IN_FORCE))).toBe(
      replaced('the matrix in force', IN_FORCE, NEXT),
    )
    // Nothing was promoted: then that of the configuration is in force.
    const { ask: askAnew } = await openOffice('4711', Date.now)
    const request = { digest: digestOf(IN_FORCE), reason: 'none', to: 'configured' } as const
    expect(await askAnew(root, 'rollBackMatrix', request, { rollout: rolloutOf(CONFIGURED) })).toBe(
      replaced('the matrix in force', IN_FORCE, CONFIGURED),
    )
  })

  const GONE = 'NOT_FOUND: there is no earlier matrix among the last ten'
  test.each<[to: NonNullable<OperationRequest<'rollBackMatrix'>['to']>, refusal: string]>([
    ['previous', GONE],
    ['configured', 'NOT_FOUND: there is no promoted matrix'],
    [{ digest: digestOf(NEXT) }, `${GONE} with that digest`],
    [{ digest: '' }, `${GONE} with that digest`],
  ])('to %j is refused where nothing was promoted', async (to, refusal) => {
    expect(await rollBack(rolloutOf(CONFIGURED), to, digestOf(CONFIGURED))).toBe(refusal)
  })

  test('leads to the matrix before, past the configured one, and to a named one', async () => {
    await promote(rolloutOf(CONFIGURED))
    await rollBack(rolloutOf(NEXT), 'configured')
    // That of the configuration is in force, and it is the last but one of those that are kept.
    expect(await rollBack(rolloutOf(CONFIGURED), 'previous', digestOf(CONFIGURED))).toBeUndefined()
    expect((await versionsOf())[0]?.[0]).toBe(digestOf(NEXT))
    const unknown = { digest: digestOf(IN_FORCE) }
    expect(await rollBack(rolloutOf(NEXT), unknown)).toBe(`${GONE} with that digest`)
    await rollBack(rolloutOf(NEXT), 'configured')
    expect(await rollBack(rolloutOf(CONFIGURED), { digest: '' }, digestOf(CONFIGURED))).toBe(
      `${GONE} with that digest`,
    )
  })

  test('must lead somewhere', async () => {
    expect(await rollBack(rolloutOf(NEXT), undefined)).toBe(
      'INVALID_ARGUMENT: to: expected a digest as `to_digest`, or `to_previous` or `to_configured` set to true',
    )
  })
})
