/** The details of a decision, and the pages to which they lead. */
import { texts } from '../../texts/en/operators.ts'
import type { Decision } from './tail.ts'

const words = texts.decisions

/** A member of the details: what it is, and its value. Values that the line does not have are left out. */
export type Member = readonly [name: string, value: string]

/** @param past what else is known of a decision of the past */
export function membersOf(decision: Decision, past?: Known): readonly Member[] {
  const { members } = words
  const { caller, subject, conflicts, sample_percent: percent, dropped } = decision
  const all: readonly (readonly [string, string | undefined])[] = [
    [members.time, decision.time],
    [members.reason, decision.reason],
    [members.observed, decision.observed && words.passed],
    [members.api, decision.api],
    [members.kind, decision.kind],
    [members.protocol, decision.protocol],
    [members.caller, [caller.name, caller.address].filter(Boolean).join(', ') || words.anonymous],
    [members.scope, ownerOf(decision.scope)],
    [members.target, ownerOf(decision.target)],
    [members.subject, subject && [subject.type, past?.userName, subject.id].filter(Boolean).join(' ')],
    [members.token, decision.token],
    [members.header, decision.header],
    [members.client_address, decision.client_address],
    [members.conflicts, conflicts.join(', ') || undefined],
    [members.mode, decision.strict ? words.strict : words.resolved],
    [members.matrix, decision.matrix],
    [members.request_id, decision.request_id],
    [members.trace_id, decision.trace_id],
    [members.latency, words.microseconds(decision.latency_us)],
    [members.sampled, percent === undefined ? undefined : words.ofHundred(percent)],
    [members.dropped, dropped?.toLocaleString('en')],
    ...(past === undefined ? [] : afterwardsOf(past)),
  ]
  return all.filter((member): member is Member => member[1] !== undefined)
}

/** The facts about a decision beside its line. */
export interface Known {
  /** `undefined`: the directory does not have the user now. */
  readonly userName?: string
  readonly afterwards: Afterwards
}

/** The sentence of a decision, and the decision of the present rules. */
interface Afterwards {
  readonly message?: string
  readonly digest: 'same' | 'other'
  readonly now:
    | {
        readonly same: boolean
        readonly allowed: boolean
        readonly reason: string
        readonly message?: string
      }
    | { readonly unknown: string }
}

function afterwardsOf({
  afterwards: { message, digest, now },
}: Known): readonly [string, string | undefined][] {
  const { members } = words
  const known = 'unknown' in now ? words.past.unknown(now.unknown) : words.past.now(now)
  return [
    [members.sentence, message],
    [members.rules, words.past.rules[digest]],
    [members.now, known],
  ]
}

/** The caller, in a word. */
export function callerOf({ caller }: Decision): string {
  return caller.name ?? caller.address ?? words.anonymous
}

/** The account that the token is bound to, or that was asked about. */
export function accountOf({ scope, target }: Decision): string {
  return scope?.account ?? target?.account ?? ''
}

/** The time of day, to the millisecond, in the reader's time zone. */
export function timeOf({ time }: Decision): string {
  const date = new Date(time)
  const two = (value: number) => String(value).padStart(2, '0')
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
  return `${clock}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/**
 * The link to the cell in the explorer, or without a kind to its row, in the mode that decided. It is written
 * here, because the code for all links of the explorer would be a separate script for this one.
 */
export function cellOf({ api, kind, strict }: Decision): string {
  const cell = kind === undefined ? api : `${api}~${kind}`
  return `#/matrix?mode=${strict ? 'strict' : 'resolved'}&cell=${encodeURIComponent(cell.toWellFormed())}`
}

function ownerOf(owner: Decision['scope']): string | undefined {
  if (owner === undefined) return undefined
  return owner.project === undefined ? owner.account : words.project(owner.account, owner.project)
}
