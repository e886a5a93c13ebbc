/**
 * Claims behind a genuine signature, as a sidecar gets them: they are still input. `iam-claims.test.ts` has
 * every value that Portcullis does not write.
 */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { askBatch, credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox } from '../support/contract/black-box.ts'
import { decodedPart, signedToken, signingKey } from '../support/identity/signed-token.ts'
import { issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'

const running = await runSidecar()
const box = new BlackBox(running.address)
const secrets = await populate(running)
const key = signingKey(running.folder)
const ofAccount = decodedPart((await issued(running, secrets)).value, 1)
const ofProject = decodedPart((await issued(running, secrets, { user: 'alpha', project: 'alpha' })).value, 1)

const question = (claims: unknown) =>
  credentialQuestion('dedicated-servers', 'X-Auth-Token', signedToken(key, claims))
const reasonsOf = async (...claims: unknown[]) =>
  (await askBatch(box, claims.map(question))).map(({ reason }) => reason)

test('a token with the claims of an issued one is allowed, so what follows fails because of the claims', async () => {
  expect(await reasonsOf(ofAccount, ofProject)).toEqual(['REASON_ALLOWED', 'REASON_ALLOWED'])
})

/** The last second of the year 9999, where `google.protobuf.Timestamp` ends. */
const TIME_MAX = 253_402_300_799

test.each<[what: string, claims: unknown]>([
  ['no JSON', 'claims'],
  ['an infinite number in JSON', JSON.stringify(ofAccount).replace(/"exp":\d+/, '"exp":1e999')],
  ['false', { ...ofAccount, name: '' }],
  ['too few', { ...ofAccount, jti: undefined }],
  // A claim that this version does not know may restrict the token.
  ['unknown', { ...ofAccount, unknown: 'claim' }],
])('claims that are %s are refused', async (_what, claims) => {
  expect(await reasonsOf(claims)).toEqual(['REASON_CREDENTIAL_INVALID'])
})

test('any JSON behind a genuine signature gets an answer that can be decoded', async () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.double(),
    fc.maxSafeInteger(),
    fc.constantFrom(0, -0, TIME_MAX, 1e308, -1, ''),
  )
  const changed = fc
    .tuple(
      fc.constantFrom(ofAccount, ofProject),
      fc.dictionary(fc.constantFrom(...Object.keys(ofProject)), value),
    )
    .map(([claims, changes]) => ({ ...claims, ...changes }))
  const documents = fc.array(fc.oneof(changed, fc.jsonValue()), { minLength: 20, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(documents, async (claims) => {
      const answers = await askBatch(box, claims.map(question))
      expect(answers).toHaveLength(claims.length)
      for (const { allowed, reason, token } of answers) {
        expect(allowed).toBe(reason === 'REASON_ALLOWED')
        if (token === null) continue
        const { issued_at, expires_at } = token as Record<string, { seconds: number } | null>
        for (const time of [issued_at, expires_at])
          if (time !== null && time !== undefined) {
            expect(time.seconds).toBeGreaterThanOrEqual(0)
            expect(time.seconds).toBeLessThanOrEqual(TIME_MAX)
          }
      }
    }),
    { numRuns: 50 },
  )
})

test('a token that the staged key signed is allowed', async () => {
  // Hosts learn of a rotation at different moments: the key may be active there already.
  const staged = signingKey(running.folder, 'staged')
  const [answer] = await askBatch(box, [
    credentialQuestion('dedicated-servers', 'X-Auth-Token', signedToken(staged, ofAccount)),
  ])
  expect(answer).toMatchObject({ allowed: true })
})
