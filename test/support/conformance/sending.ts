/** The token that a client sends requests with: when it asks for another one, and what it sends. */
import { ProfileToken } from '../../../clients/typescript/profile-token.ts'
import { issuedToken } from '../../../clients/typescript/values.ts'
import { IssueResponse } from '../../../proto/gen/portcullis/v1/authorization.ts'
import { generator } from './routes.ts'

/** One request needs a token. */
export interface SendingStep {
  readonly at_ms: number
  /** An API has refused this one with 401. */
  readonly refused?: string
  /** The sidecar's answer, if it is asked: a token, or nothing. */
  readonly sidecar: {
    readonly value: string
    readonly scheme?: string
    readonly basic?: 'user' | 'password'
    readonly expires_in_ms?: number
  } | null
  readonly expect: {
    /** The rejected value, if the sidecar is asked. */
    readonly asked: string | null
    /** The content of the header that is sent; `null`: nothing. */
    readonly value: string | null
  }
}

type Wish = Omit<SendingStep, 'expect'>

const NO_TOKEN = IssueResponse.decode(new Uint8Array())
const MINUTE = 60_000
const a = { value: 'a' }
const b = { value: 'b' }

const FLOWS: Readonly<Record<string, readonly Wish[]>> = {
  'a token that never expires is kept for five minutes': [
    { at_ms: 0, sidecar: a },
    { at_ms: 5 * MINUTE - 1, sidecar: b },
    { at_ms: 5 * MINUTE, sidecar: b },
    { at_ms: 10 * MINUTE - 1, sidecar: a },
    { at_ms: 10 * MINUTE, sidecar: null },
    { at_ms: 1_000 * MINUTE, sidecar: null },
  ],
  'a token with a long life, too': [
    { at_ms: 0, sidecar: { ...a, expires_in_ms: 60 * MINUTE } },
    { at_ms: 5 * MINUTE - 1, sidecar: b },
    { at_ms: 5 * MINUTE, sidecar: b },
  ],
  'a token is renewed when a tenth of its life is left': [
    { at_ms: 0, sidecar: { ...a, expires_in_ms: 100_000 } },
    { at_ms: 89_999, sidecar: b },
    { at_ms: 90_000, sidecar: b },
  ],
  'without an answer a token is used until it expires': [
    { at_ms: 0, sidecar: { ...a, expires_in_ms: 100_000 } },
    { at_ms: 90_000, sidecar: null },
    { at_ms: 99_999, sidecar: null },
    { at_ms: 100_000, sidecar: null },
    { at_ms: 100_001, sidecar: b },
  ],
  'a token that has expired on its way is sent once': [
    { at_ms: 0, sidecar: { ...a, expires_in_ms: -1_000 } },
    { at_ms: 1, sidecar: null },
    { at_ms: 2, sidecar: b },
  ],
  'without a token nothing is sent': [
    { at_ms: 0, sidecar: null },
    { at_ms: 1, sidecar: null },
    { at_ms: 2, sidecar: a },
  ],
  'a token that an API refuses is rejected once': [
    { at_ms: 0, sidecar: a },
    { at_ms: 1, refused: 'a', sidecar: b },
    { at_ms: 2, sidecar: a },
    { at_ms: 5 * MINUTE + 1, sidecar: a },
  ],
  'others that had sent it get the one that came since': [
    { at_ms: 0, sidecar: a },
    { at_ms: 1, refused: 'a', sidecar: b },
    { at_ms: 2, refused: 'a', sidecar: a },
    { at_ms: 3, refused: 'b', sidecar: a },
  ],
  'without another one it is rejected until one comes': [
    { at_ms: 0, sidecar: a },
    { at_ms: 1, refused: 'a', sidecar: null },
    { at_ms: 2, sidecar: null },
    { at_ms: 3, sidecar: b },
    { at_ms: 5 * MINUTE + 3, sidecar: null },
  ],
  'a token is sent behind its scheme, and refused without it': [
    { at_ms: 0, sidecar: { ...a, scheme: 'Bearer' } },
    { at_ms: 1, sidecar: b },
    { at_ms: 2, refused: 'a', sidecar: { ...b, scheme: 'Key' } },
  ],
  'a token of Basic is its user or its password': [
    { at_ms: 0, sidecar: { ...a, scheme: 'Basic', basic: 'user' } },
    { at_ms: 1, refused: 'a', sidecar: { ...b, scheme: 'Basic', basic: 'password' } },
    // Without a part it is all that follows the scheme.
    { at_ms: 2, refused: 'b', sidecar: { ...a, scheme: 'Basic' } },
  ],
  'a profile that has no other one gives it again': [
    { at_ms: 0, sidecar: a },
    { at_ms: 1, refused: 'a', sidecar: a },
    { at_ms: 2, sidecar: b },
  ],
}

export function* sending(seed: number, count: number): Generator<object> {
  for (const [name, steps] of Object.entries(FLOWS)) yield { name, steps: expecting(steps) }
  for (let index = 0; index < count; index++)
    yield { name: `seed ${seed}, flow ${index}`, steps: expecting(randomFlow(seed * 1_000_003 + index)) }
}

function* randomFlow(seed: number): Generator<Wish> {
  const random = generator(seed)
  let atMs = 0
  for (let step = 0; step < 30; step++) {
    atMs += random(4) === 0 ? random(6 * MINUTE) : random(1_000)
    const life = [undefined, 100_000, 200_000, 3_600_000, 0, -5_000][random(6)]
    const issued = { value: `token-${random(4)}`, ...(life !== undefined && { expires_in_ms: life }) }
    yield {
      at_ms: atMs,
      ...(random(3) === 0 && { refused: `token-${random(4)}` }),
      sidecar: random(4) === 0 ? null : issued,
    }
  }
}

/** The actions of the TypeScript client. */
function expecting(steps: Iterable<Wish>): SendingStep[] {
  const token = new ProfileToken()
  return Array.from(steps, (step) => ({ ...step, expect: play(token, step) }))
}

/** Plays a step. */
export function play(token: ProfileToken, { at_ms: nowMs, refused, sidecar }: Wish): SendingStep['expect'] {
  if (refused !== undefined) token.refuse(refused)
  const kept = token.current(nowMs)
  if (kept !== undefined) return { asked: null, value: kept.headerValue }
  const asked = token.rejected ?? ''
  if (sidecar === null) return { asked, value: token.lasting(nowMs)?.headerValue ?? null }
  const leftMs = sidecar.expires_in_ms ?? Number.POSITIVE_INFINITY
  const { value, scheme = '', basic = '' } = sidecar
  const said = { ...NO_TOKEN, header: 'X-Auth-Token', value, scheme, basic }
  return { asked, value: token.came(issuedToken(said), leftMs, nowMs).headerValue }
}
