/** Forged tokens are remembered, which harms no genuine one; and many of them change no answer. */
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { IamClaims } from '../../sidecar/authority/iam-claims.ts'
import { IamTokenSigner } from '../../sidecar/authority/iam-token.ts'
import { KeyRing, rotateKeys, withdrawKey } from '../../sidecar/authority/keys.ts'
import { SeenIamTokens } from '../../sidecar/authority/seen-tokens.ts'
import { Turns } from '../../sidecar/base/turns.ts'
import { decodedPart, signedToken, signingKey, type TestKey } from '../support/identity/signed-token.ts'
import { issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFolder, whenTheFileEnds, working } from '../support/suite/resources.ts'

const MINUTE_MS = 60_000
const CLAIMS: IamClaims = {
  ...{ kind: 'iam_token_account_scoped', account: '1', sub: 'user', name: 'user', type: 'service_user' },
  ...{ gen: 1, jti: 'A'.repeat(22), iat: 1 },
}

/** Keys in a file, and what verifies with them. */
function verifying() {
  const folder = newFolder()
  const path = join(folder, 'signing-keys.json')
  const ring = new KeyRing(path, Date.now() - MINUTE_MS, { onRefused: () => {} })
  whenTheFileEnds(() => ring.close())
  const signer = new IamTokenSigner(ring)
  const verified = vi.spyOn(signer, 'verify')
  const turns = new Turns()
  const seen = new SeenIamTokens(signer, turns, 100)
  return {
    path,
    ring,
    turns,
    seen,
    key: signingKey(folder),
    verified,
    find: (token: string) => seen.find(token, {}),
  }
}

/** A key of another issuer, who says that it is this one. */
function posingAs({ id }: TestKey): TestKey {
  return { id, ...generateKeyPairSync('ed25519') }
}

/** The token with another signature, which is refused as fast as can be. */
function damaged(token: string, index: number): string {
  const signature = Buffer.alloc(64, 255)
  signature.writeUInt32BE(index)
  return `${token.slice(0, token.lastIndexOf('.'))}.${signature.toString('base64url')}`
}

test('the signature of a forged token is verified once', async () => {
  const { key, verified, find } = verifying()
  const forged = signedToken(posingAs(key), CLAIMS)
  for (let times = 0; times < 3; times++) expect(await find(forged)).toBeUndefined()
  expect(verified).toHaveBeenCalledTimes(1)
})

/** Takes the time of this turn of the event loop, so that what is asked next waits. */
function busy(turns: Turns): void {
  turns.run({}, () => {
    working(1)
  })
}

test('many questions of a connection about one token are one piece of work', async () => {
  const { key, verified, turns, seen } = verifying()
  const token = signedToken(key, CLAIMS)
  const connection = {}
  busy(turns)
  // More than may wait.
  const found = Array.from({ length: 5_000 }, () => seen.find(token, connection))
  const elsewhere = seen.find(token, {})
  expect(found[0]).toBeInstanceOf(Promise)
  expect(elsewhere).not.toBe(found[0])
  expect(new Set(await Promise.all([...found, elsewhere])).size).toBe(1)
  expect(verified).toHaveBeenCalledTimes(1)
  expect(await found[0]).toBeDefined()
})

test('all who wait for a token that cannot be verified get the error, and the next question is a new one', async () => {
  const { key, verified, turns, seen } = verifying()
  const token = signedToken(key, CLAIMS)
  const connection = {}
  verified.mockImplementationOnce(() => {
    throw new Error('the keys cannot be read')
  })
  busy(turns)
  const found = [seen.find(token, connection), seen.find(token, connection)]
  for (const each of found) await expect(each).rejects.toThrow('the keys cannot be read')
  expect(await seen.find(token, connection)).toBeDefined()
})

test('a token that was issued here waits for nothing, however many wait', async () => {
  const running = await runSidecar()
  const verified = vi.spyOn(IamTokenSigner.prototype, 'verify')
  whenTheFileEnds(() => verified.mockRestore())
  const { value } = await issued(running, await populate(running))
  const { allowed } = await running.client.check({
    api: 'dedicated-servers',
    credentials: [['X-Auth-Token', value]],
  })
  expect(allowed).toBe(true)
  expect(verified).not.toHaveBeenCalled()
})

test('no number of forged tokens displaces a genuine one', async () => {
  const { key, verified, find } = verifying()
  const genuine = signedToken(key, CLAIMS)
  expect(await find(genuine)).toBeDefined()
  for (let index = 0; index < 10_001; index++) expect(await find(damaged(genuine, index))).toBeUndefined()
  verified.mockClear()
  expect(await find(genuine)).toBeDefined()
  // A known token needs no turn: it is answered at once.
  expect(find(genuine)).not.toBeInstanceOf(Promise)
  expect(verified).not.toHaveBeenCalled()
})

test('a token that was refused counts as soon as a key makes it genuine', async () => {
  const { path, ring, key, find } = verifying()
  const other = posingAs(key)
  const token = signedToken(other, CLAIMS)
  expect(await find(token)).toBeUndefined()
  const file = JSON.parse(readFileSync(path, 'utf8')) as { keys: { key_id: string }[] }
  const pem = {
    public_key: other.publicKey.export({ type: 'spki', format: 'pem' }),
    private_key: other.privateKey.export({ type: 'pkcs8', format: 'pem' }),
  }
  const keys = file.keys.map((each) => (each.key_id === key.id ? { ...each, ...pem } : each))
  writeFileSync(path, JSON.stringify({ keys }))
  ring.reload()
  expect(await find(token)).toBeDefined()
})

test('a token of an unknown key is looked at anew each time, and costs no signature', async () => {
  const { path, ring, verified, find } = verifying()
  const elsewhere = join(newFolder(), 'signing-keys.json')
  new KeyRing(elsewhere, Date.now() - MINUTE_MS, { onRefused: () => {} }).close()
  const token = signedToken(signingKey(join(elsewhere, '..')), CLAIMS)
  expect(find(token)).toBeUndefined()
  expect(verified).not.toHaveBeenCalled()
  writeFileSync(path, readFileSync(elsewhere))
  ring.reload()
  expect(await find(token)).toBeDefined()
})

test('a token whose key is withdrawn while it waits is refused', async () => {
  const { path, ring, turns, key, find } = verifying()
  rotateKeys(path, Date.now(), MINUTE_MS)
  ring.reload()
  busy(turns)
  const found = find(signedToken(key, CLAIMS))
  expect(found).toBeInstanceOf(Promise)
  withdrawKey(path, key.id, Date.now())
  ring.reload()
  expect(await found).toBeUndefined()
})

test('among many forged tokens, each check, batch and stream gets the answers to its own tokens', async () => {
  const running = await runSidecar()
  const { value } = await issued(running, await populate(running))
  const key = signingKey(running.folder)
  const claims = decodedPart(value, 1)
  const tokenOf = (signing: TestKey, index: number) =>
    signedToken(signing, { ...claims, jti: String(index).padStart(22, 'A') })
  // Every third one is genuine.
  const forger = posingAs(key)
  const question = (index: number) => ({
    api: 'dedicated-servers',
    credentials: [['X-Auth-Token', tokenOf(index % 3 === 0 ? key : forger, index)]] as [string, string][],
  })
  const expected = (index: number) => (index % 3 === 0 ? 'ALLOWED' : 'CREDENTIAL_INVALID')
  const indices = (from: number) => Array.from({ length: 60 }, (_, index) => from + index)
  const streamed = async (from: number) => {
    const reasons: string[] = []
    for await (const { reason } of running.client.checkStream(indices(from).map(question)))
      reasons.push(reason)
    return reasons
  }
  const [checks, ...others] = await Promise.all([
    Promise.all(indices(0).map(async (index) => (await running.client.check(question(index))).reason)),
    ...[60, 120, 180].map(async (from) =>
      (await running.client.checkBatch(indices(from).map(question))).map(({ reason }) => reason),
    ),
    streamed(240),
  ])
  expect(checks).toEqual(indices(0).map(expected))
  expect(others).toEqual([60, 120, 180, 240].map((from) => indices(from).map(expected)))
})
