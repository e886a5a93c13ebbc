/** Tokens that a test signs itself, without the code under test. */
import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface TestKey {
  readonly id: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** Reads the key of a data folder that is in this state. */
export function signingKey(folder: string, state = 'active'): TestKey {
  const { keys } = JSON.parse(readFileSync(join(folder, 'signing-keys.json'), 'utf8')) as {
    keys: { key_id: string; state: string; private_key: string }[]
  }
  const found = keys.find((key) => key.state === state)
  if (found === undefined) throw new Error(`the data folder contains no ${state} key`)
  const privateKey = createPrivateKey(found.private_key)
  return { id: found.key_id, privateKey, publicKey: createPublicKey(privateKey) }
}

/** The protected header that Portcullis writes. */
export function headerFor({ id }: TestKey): object {
  return { alg: 'EdDSA', kid: id, typ: 'portcullis-iam+jwt' }
}

/** Signs a token with these contents. A text is signed as it is, and anything else as JSON. */
export function signedToken(key: TestKey, claims: unknown, header: unknown = headerFor(key)): string {
  const text = `${encoded(header)}.${encoded(claims)}`
  return `${text}.${sign(null, Buffer.from(text), key.privateKey).toString('base64url')}`
}

/** Base64url of a text, or of the JSON of a value. */
export function encoded(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
}

/** Reads one part of a token. */
export function decodedPart(token: string, index: 0 | 1): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString()) as Record<
    string,
    unknown
  >
}
