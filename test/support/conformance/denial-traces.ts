/** Traces in which something is wrong with a token. */
import { ASKED, changed, GENUINE, OPEN_TOO, type Question, TOKEN, type Trace, UNKNOWN } from './trace.ts'

const ENDED = { reason: 'CREDENTIAL_REVOKED', message: 'revoked', verified: false }

export const DENIAL_TRACES: Readonly<Record<string, (trace: Trace) => void>> = {
  'a token at another address is another question': (trace) => {
    trace.follow()
    const here = { ...ASKED, address: '192.0.2.1' }
    const there = { ...ASKED, address: '192.0.2.2' }
    trace.know(here)
    trace.allowed(here)
    trace.asked()
    const denied = { reason: 'ADDRESS_NOT_ALLOWED', message: 'not from there', verified: false }
    trace.learn(trace.asked(there), { ...GENUINE, ...denied })
    trace.check(there, { allowed: false, reason: denied.reason, message: denied.message })
    trace.allowed(here)
  },
  'a revoked token is denied without the sidecar': (trace) => {
    trace.follow()
    trace.know()
    trace.hear(changed(11, { token_ids: ['t1'] }))
    trace.know(ASKED, { ...ENDED, position: [11, 1_000_011] })
    trace.check(ASKED, { allowed: false, reason: ENDED.reason, message: ENDED.message })
    trace.asked({ ...ASKED, api: OPEN_TOO })
    trace.hear(changed(12, { user_ids: ['u1'] }))
    trace.asked()
  },
  'a token that is denied at one address is known at none': (trace) => {
    trace.follow()
    const at = (address: string): Question => ({ ...ASKED, address })
    for (const reason of ['CREDENTIAL_REVOKED', 'CREDENTIAL_EXPIRED']) {
      trace.hear({ voided: 'everything' })
      for (const address of ['a', 'b']) trace.know(at(address))
      trace.know(at('c'), { ...ENDED, reason, position: [11, 1_000_011] })
      for (const address of ['a', 'b']) trace.asked(at(address))
      trace.check(at('c'), { allowed: false, reason, message: ENDED.message })
    }
  },
  'an answer from before a denial of a token is not remembered': (trace) => {
    trace.follow()
    const asked = trace.asked()
    trace.know({ ...ASKED, address: 'b' }, { ...ENDED, position: [11, 1_000_011] })
    trace.learn(asked, GENUINE)
    trace.asked()
    trace.hear(changed(10, {}, {}))
    trace.know(ASKED, { position: [11, 7] })
    trace.asked()
    trace.know(ASKED, { position: [11, 1_000_011] })
    trace.allowed()
    trace.hear({ voided: 'everything' })
    trace.know()
    trace.allowed()
  },
  'a denial that is not remembered makes a token unknown, too': (trace) => {
    trace.follow()
    trace.know()
    const elsewhere = trace.asked({ ...ASKED, address: 'b' })
    trace.know(UNKNOWN, { ...ENDED, token: { ...TOKEN, id: 't2' }, position: [12, 1_000_012] })
    trace.learn(elsewhere, { ...GENUINE, ...ENDED, position: [11, 1_000_011] })
    trace.asked()
    trace.asked({ ...ASKED, address: 'b' })
  },
}
