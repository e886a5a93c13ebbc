/**
 * Genuine tokens, and false ones, as a sidecar gets them. `iam-token.test.ts` has every form of a false one,
 * and `test/directory/contract/token-status.ts` says when a genuine one is active.
 */
import { compactVerify } from 'jose'
import { expect, test } from 'vitest'
import { askBatch, credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox } from '../support/contract/black-box.ts'
import { decodedPart, signedToken, signingKey } from '../support/identity/signed-token.ts'
import { ACCOUNT, issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'

const ALLOWED = { allowed: true, reason: 'REASON_ALLOWED' }
const INVALID = { allowed: false, reason: 'REASON_CREDENTIAL_INVALID', verified: false, token: null }

const running = await runSidecar()
const box = new BlackBox(running.address)
const secrets = await populate(running)
const { value: token, tokenId } = await issued(running, secrets)
const key = signingKey(running.folder)

const asIam = (value: string) => credentialQuestion('balance', 'X-Auth-Token', value)
const asStatic = (value: string) => credentialQuestion('balance', 'X-Token', value)

const STATIC_PREFIX = 'pcst_'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** Another character of the alphabet. It differs in all of its six bits, or only in the lowest one. */
const exchanged = (character: string, bits: number) => {
  const index = ALPHABET.indexOf(character)
  return index < 0 ? 'A' : ALPHABET.charAt(index ^ bits)
}
const withCharacter = (text: string, at: number, bits: number) =>
  `${text.slice(0, at)}${exchanged(text.charAt(at), bits)}${text.slice(at + 1)}`

test('a second implementation of JWS verifies the IAM token with only the public key', async () => {
  const { payload, protectedHeader } = await compactVerify(token, key.publicKey, { algorithms: ['EdDSA'] })
  expect(protectedHeader).toEqual({ alg: 'EdDSA', kid: key.id, typ: 'portcullis-iam+jwt' })
  expect(JSON.parse(Buffer.from(payload).toString())).toMatchObject({
    kind: 'iam_token_account_scoped',
    account: ACCOUNT,
    name: 'account',
    type: 'service_user',
    jti: tokenId,
  })
  expect(await box.ask('check', asIam(token))).toMatchObject(ALLOWED)
})

test('replacing any single character of an IAM token makes it invalid', async () => {
  const forged = [...token].flatMap((_, index) => [
    withCharacter(token, index, 63),
    withCharacter(token, index, 1),
  ])
  const answers = await askBatch(box, forged.map(asIam))
  expect(answers).toHaveLength(2 * token.length)
  expect(answers.filter(({ reason }) => reason !== INVALID.reason)).toEqual([])
})

test('replacing any single character of a static token makes it invalid', async () => {
  const { staticToken } = secrets
  // The prefix is not changed, because it identifies the family.
  const forged = Array.from({ length: staticToken.length - STATIC_PREFIX.length }, (_, index) => {
    const at = STATIC_PREFIX.length + index
    const other = staticToken.charAt(at) === '0' ? '1' : '0'
    return `${staticToken.slice(0, at)}${other}${staticToken.slice(at + 1)}`
  })
  const answers = await askBatch(box, [staticToken, ...forged].map(asStatic))
  expect(answers.shift()).toMatchObject(ALLOWED)
  expect(answers.filter(({ reason }) => reason !== INVALID.reason)).toEqual([])
})

test('a genuine signature alone is not enough', async () => {
  const claims = decodedPart(token, 1)
  const changed = [claims, { ...claims, unknown: 'claim' }, { ...claims, name: '' }, 'no JSON']
  const answers = await askBatch(
    box,
    changed.map((each) => asIam(signedToken(key, each))),
  )
  const [ofThese, ...others] = answers.map(({ reason }) => reason)
  expect(ofThese).toBe(ALLOWED.reason)
  expect(others).toEqual(others.map(() => INVALID.reason))
})

test('IAM tokens and static tokens of another data folder are invalid here', async () => {
  const other = await runSidecar()
  const others = await populate(other)
  const foreign = (await issued(other, others)).value
  expect(await new BlackBox(other.address).ask('check', asIam(foreign))).toMatchObject(ALLOWED)
  expect(await box.ask('check', asIam(foreign))).toMatchObject(INVALID)
  expect(await box.ask('check', asStatic(others.staticToken))).toMatchObject(INVALID)
})
