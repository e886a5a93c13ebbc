/**
 * Secrets of links and sessions: 256 random bits. The directory has their SHA-256, which is enough for
 * secrets that cannot be guessed.
 */
import { hash } from 'node:crypto'
import { randomText } from '../../base/random-text.ts'
import { Secret } from '../../base/secret.ts'

/** A secret that was just made, and what is stored of it. */
export interface NewPanelSecret {
  readonly secret: Secret
  readonly hash: Buffer
}

const FORM = /^[\w-]{43}$/

export function newPanelSecret(): NewPanelSecret {
  const value = randomText(32)
  return { secret: new Secret(value), hash: hash('sha256', value, 'buffer') }
}

/** What is stored of a secret; `undefined`: the text is none. */
export function hashOfPanelSecret(text: string): Buffer | undefined {
  return FORM.test(text) ? hash('sha256', text, 'buffer') : undefined
}
