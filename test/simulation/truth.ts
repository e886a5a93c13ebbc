/**
 * The answers of the directory itself, at each commit and without delay. They are about every token that the
 * simulation uses, the matrix in force, and the author of each record.
 */

import type { KeyObject } from 'node:crypto'
import { compile, type Matrix } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { isAllowed } from '../../sidecar/authority/addresses.ts'
import type { IamClaims } from '../../sidecar/authority/iam-claims.ts'
import { queryOf, tokenOf } from '../../sidecar/authority/iam-token.ts'
import { hashStaticToken } from '../../sidecar/authority/static-token.ts'
import { numberParameters } from '../../sidecar/directory/named-parameters.ts'
import { DirectoryVerification } from '../../sidecar/directory/verification.ts'
import { note, type Said, type Since } from '../world/standing.ts'
import { time } from './world/time.ts'
import { world } from './world/world.ts'

const { tokenKinds } = compile(supportMatrix as Matrix)

/** Where all programs are. */
const CLIENT = '127.0.0.1'

/** A token, and since when the directory has said what. */
export interface Held {
  readonly value: string
  /** Those of an IAM token. */
  readonly claims: IamClaims | undefined
  readonly keyId: string | undefined
  readonly said: Said[]
}

/** A record of the audit trail. */
export interface Recorded {
  readonly sequence: number
  readonly atMs: number
  readonly actor: string
  readonly action: string
  readonly account: string
  readonly subject: string
  readonly details: string
}

export class Truth {
  readonly tokens: Held[] = []
  /** Digests of the matrices that were in force, each since when; empty: that of the configurations. */
  readonly matrices: (Since & { readonly digest: string })[] = [{ atMs: 0, digest: '' }]
  /** Called at each commit with what it recorded, and with the tokens that it ended. */
  onRecorded: (records: readonly Recorded[], ended: readonly Held[]) => void = () => {}
  #last = 0
  readonly #pepper: KeyObject
  readonly #verification = new DirectoryVerification({
    all: (sql: string, parameters = {}) => {
      const { text, values } = numberParameters('?', sql, parameters)
      return world.directory.all(text, values)
    },
  } as never)

  constructor(pepper: KeyObject) {
    this.#pepper = pepper
    this.#last = this.lastSequence
    world.directory.onCommit = () => this.look()
  }

  get lastSequence(): number {
    const [row] = world.directory.all('SELECT COALESCE(MAX(sequence), 0) AS last FROM audit')
    // Where the directory cannot be read, nothing is known to be lost.
    return Number(row?.last ?? this.#last)
  }

  add(value: string): Held {
    const [header, body] = value.split('.')
    const isStatic = body === undefined
    const held: Held = {
      value,
      claims: isStatic ? undefined : JSON.parse(Buffer.from(body, 'base64url').toString()),
      keyId: isStatic ? undefined : JSON.parse(Buffer.from(header ?? '', 'base64url').toString()).kid,
      // The earlier answer of the directory is not known, and counts in favour of a process that allowed it.
      said: [{ atMs: Number.NEGATIVE_INFINITY, active: true }],
    }
    this.tokens.push(held)
    this.#lookAt(held)
    return held
  }

  forget(held: Held): void {
    this.tokens.splice(this.tokens.indexOf(held), 1)
  }

  /** Something was committed, or another server has other records. */
  look(): void {
    const ended = this.tokens.filter((held) => this.#lookAt(held))
    const [matrix] = world.directory.all('SELECT digest FROM matrix_versions ORDER BY position DESC LIMIT 1')
    const digest = String(matrix?.digest ?? '')
    if (world.file?.isWhole !== false && this.matrices.at(-1)?.digest !== digest)
      this.matrices.push({ atMs: time.nowMs, digest })
    const after = Math.min(this.#last, this.lastSequence)
    const rows = world.directory.all(
      `SELECT sequence, at_ms AS "atMs", actor, action, account, subject, details FROM audit
       WHERE sequence > ? ORDER BY sequence`,
      [after],
    )
    this.#last = this.lastSequence
    this.onRecorded(rows as unknown as Recorded[], ended)
  }

  /** Whether the token has ended now. */
  #lookAt(held: Held): boolean {
    return note(held.said, this.isActive(held), time.nowMs)
  }

  isActive({ value, claims }: Held): boolean {
    const token = claims && tokenOf(claims)
    const found = token
      ? this.#verification.iamTokenStatus(queryOf(token, tokenKinds.get(token.kind)?.permissionScopes ?? []))
      : this.#verification.staticToken(hashStaticToken(value, this.#pepper))
    if (found instanceof Promise) throw new TypeError('the truth is asked without delay')
    return found?.active === true && isAllowed(CLIENT, found.addresses)
  }
}

/** An API that no matrix has but those that are promoted. */
export const EXTRA_API = 'extra'

/** The APIs that programs ask about, each for a sort of token. */
const APIS = ['reports', 'balance', 'cloud-projects']

/** The matrix of the configurations: a few lines of the shipped one. */
export const matrix: Matrix = {
  ...(supportMatrix as Matrix),
  apis: supportMatrix.apis.filter(({ id }) => APIS.includes(id)),
  ...{ statements: [], conflicts: [] },
}

/** The same with one API more, which a token of that kind opens. */
export function matrixWith(kind: string): Matrix {
  const extra = { id: EXTRA_API, title: 'Extra', accepts: [kind], section: '§5.4' }
  return { ...matrix, apis: [...matrix.apis, extra] }
}
