/** A search in the audit trail: as a link, and as the request that finds it. */
import { texts } from '../../texts/en/iam.ts'
import type { AuditRecord } from './iam-records.ts'

const { audit: words } = texts

export interface AuditFilters {
  readonly who: string
  readonly what: string
  readonly subject: string
  /** ISO dates, in the time zone of the reader; empty: no bound. Both days are inside. */
  readonly from: string
  readonly to: string
}

export const FILTERS = ['who', 'what', 'subject', 'from', 'to'] as const

/** As long as the sidecar takes it. */
const TEXT_LENGTH_MAX = 500

/** Reads what stands behind `?`. Total: an unknown part counts as absent. */
export function filtersOf(given: Readonly<Record<string, string>>): AuditFilters {
  const text = (name: string) => (given[name] ?? '').slice(0, TEXT_LENGTH_MAX)
  const day = (name: string) => (startOf(given[name] ?? '', 0) === undefined ? '' : (given[name] as string))
  return {
    ...{ who: text('who'), what: text('what'), subject: text('subject') },
    ...{ from: day('from'), to: day('to') },
  }
}

export function isFiltered(filters: AuditFilters): boolean {
  return FILTERS.some((name) => filters[name] !== '')
}

export interface AuditRequest {
  readonly account: string
  readonly actor: string
  readonly action: string
  readonly subject: string
  readonly since?: Date
  readonly until?: Date
  readonly newestFirst: true
}

/** Everything but the page. */
export function auditRequest(account: string, { who, what, subject, from, to }: AuditFilters): AuditRequest {
  const since = startOf(from, 0)
  const until = startOf(to, 1)
  return {
    ...{ account, actor: who, action: what, subject, newestFirst: true },
    ...(since !== undefined && { since: new Date(since) }),
    ...(until !== undefined && { until: new Date(until) }),
  }
}

/** When a day begins, here. @param later that many days later @returns `undefined`: it is not a day */
function startOf(isoDate: string, later: number): number | undefined {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(isoDate) ?? []
  if (year === undefined) return undefined
  const date = new Date(Number(year), Number(month) - 1, Number(day))
  // 31 April is not one.
  if (date.getMonth() !== Number(month) - 1 || date.getDate() !== Number(day)) return undefined
  date.setDate(date.getDate() + later)
  return date.getTime()
}

/** A person or thing with the id beside the name: another one with the name is a different one. */
export interface Named {
  readonly name: string
  /** Empty: there is none, or an earlier version did not record it. */
  readonly id: string
}

/** Users, as the audit trail names who made a change. */
const USER = /^(?:control_panel_user|service_user) (\S+) \((.*)\)$/s

/** The author of a change. @param actor as the audit trail has it */
export function namedActor(actor: string): Named {
  const [, id = '', name = actor] = USER.exec(actor) ?? []
  return { name, id }
}

/** The subject of a change: a key with its user, a token without a name by its user. */
export function namedSubject({ action, subject, subjectId, details = {} }: AuditRecord): Named {
  const text = (key: string) => (typeof details[key] === 'string' ? (details[key] as string) : '')
  const isToken = action === 'static_token.create' || action === 'token.revoke'
  if (!isToken) return { name: subject, id: subjectId }
  // Earlier versions had the id as the subject, and the key name among the details.
  const id = subjectId || subject
  return { name: words.token(subject === id ? text('name') : subject, text('user')) || id, id }
}
