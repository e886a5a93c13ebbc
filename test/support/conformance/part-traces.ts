/** Traces in which rules come in parts. */
import { ASKED, OPEN, OPEN_TOO, STATIC, type Trace } from './trace.ts'

const AFTER = { after: [10, 1_000_010], basis: 'keys' } as const

export const PART_TRACES: Readonly<Record<string, (trace: Trace) => void>> = {
  'rules in parts count when all of them are there': (trace) => {
    trace.begin()
    trace.hear({ voided: 'everything', valid_for_ms: null })
    trace.hearPart('routed-1')
    const claims = { api: OPEN, kind: STATIC, scope: { account: '1' } }
    trace.check(claims, 'ask')
    trace.hearPart('routed-2')
    trace.check(claims, 'ask')
    trace.hear({ rules: 'routed-end' })
    trace.know()
    // Of each of the three.
    for (const api of [OPEN, OPEN_TOO, 'balance']) trace.allowed({ ...ASKED, api })
    trace.found('/iam/users', { api: 'iam' }, { message: 'not with that' })
    trace.found('/ledger/book', { api: 'balance' })
    trace.asked(trace.requested('/else/%77here'))
  },
  'while rules are on their way, the earlier ones count for as long as was said': (trace) => {
    trace.follow()
    trace.know()
    trace.wait(1_000)
    trace.hear({ valid_for_ms: null })
    trace.hearPart('routed-1')
    trace.hearPart('routed-2')
    trace.allowed()
    trace.wait(4_000)
    trace.asked()
    trace.hear({ rules: 'routed-end' })
    trace.allowed()
    trace.found('/ledger/book', { api: 'balance' })
  },
  'a change is heard of between two parts': (trace) => {
    trace.follow()
    trace.know()
    trace.hearPart('routed-1')
    trace.hear({ position: [11, 1_000_011], voided: { token_ids: ['t1'] }, valid_for_ms: null })
    trace.asked()
    trace.hearPart('routed-2')
    trace.hear({ position: [11, 1_000_011], rules: 'routed-end' })
    trace.asked()
  },
  'the parts of a stream that has ended do not count': (trace) => {
    trace.follow()
    trace.know()
    trace.hearPart('routed-1')
    trace.hearPart('routed-2')
    trace.begin(AFTER)
    trace.hear({ rules: 'shipped' })
    trace.allowed()
    trace.asked(trace.requested('/ledger/book'))
  },
  'the parts before other rules do not count for the next ones': (trace) => {
    trace.follow()
    trace.know()
    trace.hearPart('routed-1')
    trace.hearPart('routed-2')
    trace.hear({ rules: 'routed-end' })
    trace.found('/ledger/book', { api: 'balance' })
    trace.hear({ rules: 'shipped' })
    trace.allowed()
    trace.asked(trace.requested('/ledger/book'))
  },
  'rules without their first part are refused': (trace) => {
    trace.follow()
    trace.know()
    trace.hearPart('routed-2')
    trace.hear({ rules: 'routed-end' }, 'refused')
    trace.asked()
  },
  'rules that do not say where tokens travel are refused': (trace) => {
    trace.follow()
    trace.know()
    trace.hear({ rules: 'released' }, 'refused')
    trace.asked()
  },
}
