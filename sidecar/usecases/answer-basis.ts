/**
 * The basis of answers about tokens besides the directory: the signing keys, and the permissions that each
 * kind of token needs. Neither has a position in the feed of changes, so a follower gets both names.
 */
import { hash } from 'node:crypto'
import type { Engine } from '../../engine/index.ts'

export interface AnswerBasis {
  /** Names the basis of genuine tokens: each key by its id, or the basis of a hub. */
  readonly trusted: readonly string[]
  /** The part of the rules that decides whether a token is valid, as a text. */
  readonly kinds: string
  /** Names both. Other processes with the same have the same name. */
  readonly name: string
}

/**
 * Makes the function that says what the answers of an engine rest on now. It is called for each answer, and
 * gives the same object until something changes.
 *
 * @param trusted the same array until it changes
 */
export function answerBasisOf(trusted: () => readonly string[]): (engine: Engine) => AnswerBasis {
  let last: Engine | undefined
  let basis: AnswerBasis | undefined
  return (engine) => {
    const now = trusted()
    if (now === basis?.trusted && engine === last) return basis
    basis = basisOf(now, kindsOf(engine))
    last = engine
    return basis
  }
}

export function basisOf(trusted: readonly string[], kinds: string): AnswerBasis {
  const name = hash('sha256', JSON.stringify([[...trusted].sort(), kinds]), 'base64url')
  return { trusted, kinds, name }
}

function kindsOf({ tokenKinds }: Engine): string {
  return JSON.stringify(
    Array.from(tokenKinds.values(), (kind) => [kind.id, kind.permissionScopes, kind.places]),
  )
}
