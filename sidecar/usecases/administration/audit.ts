/** The operation on the audit trail. */
import { type FieldViolation, invalidArgument } from '../../base/call-error.ts'
import { isTimeMs, TIME_RANGE } from '../../base/written-time.ts'
import type { AuditFilter, AuditRecord } from '../../directory/directory.ts'
import type { Requester } from '../requester.ts'
import { reading } from './operation.ts'
import { keyIn, type Listed, type PageRequest, sizeOf, tokenOf } from './paging.ts'

/** The part of the trail: the records that match everything that is set. */
export interface AuditRequest extends PageRequest {
  /** `undefined`: every account. */
  readonly account: string | undefined
  /** Texts that they contain; empty: any. */
  readonly actor: string
  readonly action: string
  readonly subject: string
  /** Since this time, in milliseconds since the epoch; `undefined`: since the beginning. */
  readonly sinceMs: number | undefined
  /** Before this time; `undefined`: until now. */
  readonly untilMs: number | undefined
  readonly newestFirst: boolean
}

export const AUDIT_OPERATIONS = {
  listAuditRecords: reading<AuditRequest>()({
    need: 'account_administrator',
    subject: { about: ({ account }) => ({ account }), hold: () => ({}), find: async () => undefined },
    work: async ({ records, requester }, request): Promise<Listed<AuditRecord>> => {
      const { account = '', newestFirst } = request
      const size = sizeOf(request)
      const after = positionIn(request)
      expectFilter(request)
      const filter = hasFilter(request) ? request : undefined
      const query = { account, earlier: seesEarlier(requester), newestFirst, after, filter, size }
      const page = await records.auditPage(query)
      return { items: page.records, nextPageToken: tokenAt(page.next, newestFirst) }
    },
  }),
}

/**
 * An account may have a number that another account had before: earlier records are not for its users, nor
 * for callers who administer it.
 */
function seesEarlier(requester: Requester | undefined): boolean {
  if (requester?.type === 'user') return false
  return requester === undefined || requester.caller.rights.everything || requester.caller.rights.read
}

/** Most characters of a text that records are searched for. */
const TEXT_LENGTH_MAX = 500

const TEXT = `at most ${TEXT_LENGTH_MAX} characters without NUL`

/** @throws CallError that names every field with a fault */
function expectFilter(request: AuditRequest): void {
  const { sinceMs, untilMs } = request
  const violations: FieldViolation[] = []
  for (const field of ['actor', 'action', 'subject'] as const)
    if (request[field].length > TEXT_LENGTH_MAX || request[field].includes('\0'))
      violations.push({ field, expected: TEXT })
  for (const [field, ms] of [
    ['since', sinceMs],
    ['until', untilMs],
  ] as const)
    if (ms !== undefined && !isTimeMs(ms)) violations.push({ field, expected: `a time ${TIME_RANGE}` })
  if ((untilMs ?? Infinity) <= (sinceMs ?? -Infinity))
    violations.push({ field: 'until', expected: 'a time after `since`' })
  if (violations.length > 0) throw invalidArgument(...violations)
}

function hasFilter({ actor, action, subject, sinceMs, untilMs }: AuditFilter): boolean {
  // Survives: `[actor, action, subject].some(Boolean) || sinceMs !== undefined || untilMs !== undefined` →
  // `true`. It only spares to look at records by filters that all match.
  return [actor, action, subject].some(Boolean) || sinceMs !== undefined || untilMs !== undefined
}

/**
 * The token says in which direction it leads: the other way it would repeat one part of the trail and leave
 * out another.
 */
const NEWEST_FIRST = 'before '

function tokenAt(sequence: number | undefined, newestFirst: boolean): string {
  if (sequence === undefined) return ''
  return tokenOf(newestFirst ? `${NEWEST_FIRST}${sequence}` : String(sequence))
}

/** The number of the last record before the page; `undefined`: it is the first page. @throws CallError */
function positionIn({ pageToken, newestFirst }: AuditRequest): number | undefined {
  if (pageToken === '') return undefined
  const found = /^(before )?(\d{1,15})$/.exec(keyIn(pageToken))
  if (found === null)
    throw invalidArgument({ field: 'page_token', expected: 'the next_page_token of the previous response' })
  const [, before, sequence] = found
  if ((before === NEWEST_FIRST) !== newestFirst)
    throw invalidArgument({
      field: 'page_token',
      expected: `a token of the same direction; this one is of a list with newest_first ${!newestFirst}`,
    })
  return Number(sequence)
}
