/** The question of an operator about past decisions, and its results. */
import { REASONS } from '../../../engine/index.ts'
import type { Known } from './decisions.ts'
import type { Difference } from './rollout.ts'
import type { Decision } from './tail.ts'

export { REASONS }

/** As it is typed; empty: any. */
export interface PastQuestion {
  /** Of an input for a date and a time, in the time zone of the reader. */
  readonly since: string
  readonly until: string
  readonly user: string
  readonly api: string
  readonly reason: string
  readonly verdict: 'all' | 'allowed' | 'denied'
  /** The difference of the shadow's decision. */
  readonly shadow: '' | Difference
  readonly account: string
  readonly project: string
  /** The value of a token. It is only ever in the body of a request. */
  readonly token: string
  readonly fingerprint: string
  readonly requestId: string
  readonly address: string
}

export const ANY: PastQuestion = {
  ...{ since: '', until: '', user: '', api: '', reason: '', verdict: 'all', shadow: '' },
  ...{ account: '', project: '', token: '', fingerprint: '', requestId: '', address: '' },
}

/** Fields that few searches need. */
export const RARE = ['project', 'address', 'requestId', 'fingerprint', 'token'] as const

/** A decision of the answer. */
export interface FoundRow extends Known {
  readonly line: Decision
}

/** A part of the answer, which may have found nothing yet. */
export interface FoundPart {
  readonly rows: readonly FoundRow[]
  /** Empty: it was the last one. */
  readonly nextPageToken: string
  /** Lines that cannot be read. */
  readonly damaged: number
  /** Files that cannot be read. */
  readonly unreadable: readonly string[]
}

/** The body of the request. */
export function bodyOf(question: PastQuestion, pageToken: string): object {
  const { since, until, verdict, shadow, requestId, user, api, reason, account, project, token, address } =
    question
  const texts = {
    ...{ user, api, reason, shadow, account, project, token, address },
    ...{ fingerprint: question.fingerprint, request_id: requestId, page_token: pageToken },
    verdict: verdict === 'all' ? '' : verdict,
  }
  const given = Object.entries(texts).map(([name, value]) => [name, value.trim()] as const)
  const times = { since_ms: msOf(since), until_ms: msOf(until) }
  return Object.fromEntries(
    [...given, ...Object.entries(times)].filter(([, value]) => value !== '' && value !== undefined),
  )
}

/** @returns `undefined`: nothing is typed, or no time */
function msOf(typed: string): number | undefined {
  const ms = typed === '' ? Number.NaN : new Date(typed).getTime()
  return Number.isNaN(ms) ? undefined : ms
}
