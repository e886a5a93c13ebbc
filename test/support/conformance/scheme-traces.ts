/** Traces of a matrix whose kinds share a header and differ in their schemes. */
import { ENGINES } from './rules.ts'
import { type Answer, GENUINE as COMMON, type Question, type Token, type Trace } from './trace.ts'

const KIND = 'kiosk_key'
const API = 'printers'
const TOKEN: Token = { id: 't1', kind: KIND, account: '1', user: 'u1' }
const GENUINE: Answer = { ...COMMON, token: TOKEN }

const sent = (value: string, more: Partial<Question> = {}): Question => ({
  api: API,
  headers: [['Authorization', value]],
  ...more,
})

const allowed = () => ({
  ...{ allowed: true, reason: 'ALLOWED' },
  message: ENGINES.library?.decide({ api: API, kind: KIND, scope: { account: '1' } }).message ?? '',
})

export const SCHEME_TRACES: Readonly<Record<string, (trace: Trace) => void>> = {
  'a token behind a scheme is known however the scheme is spelled': (trace) => {
    trace.follow({ rules: 'library' })
    trace.learn(trace.asked(sent('Kiosk one')), GENUINE)
    for (const value of ['Kiosk one', 'kiosk one', 'KIOSK   one', ' Kiosk one '])
      trace.check(sent(value), allowed())
  },
  'a token is not known behind another scheme of its header': (trace) => {
    trace.follow({ rules: 'library' })
    trace.learn(trace.asked(sent('Kiosk one')), GENUINE)
    trace.learn(trace.asked(sent('Bearer one')), {
      ...{ reason: 'WRONG_HEADER', message: 'in another place', verified: false, token: TOKEN },
      position: [10, 1_000_010],
    })
    trace.asked(sent('Bearer one'))
  },
  'a fault of the scheme is found without the sidecar': (trace) => {
    trace.follow({ rules: 'library' })
    const faults = { Kiosk: 'CREDENTIAL_MISSING', 'Basic one': 'CREDENTIAL_MALFORMED' }
    for (const [value, reason] of Object.entries(faults)) {
      trace.learn(trace.asked(sent(value)), { reason, message: `words of ${reason}` })
      trace.check(sent(value), { allowed: false, reason, message: `words of ${reason}` })
    }
    trace.check(sent('one'), {
      ...{ allowed: false, reason: 'CREDENTIAL_MALFORMED', message: 'words of CREDENTIAL_MALFORMED' },
    })
  },
  'a known token is found behind many spaces': (trace) => {
    trace.follow({ rules: 'library' })
    trace.learn(trace.asked(sent('Kiosk one')), GENUINE)
    trace.check(sent(`Kiosk${' '.repeat(100_000)}one`), allowed())
  },
  'a known token may be long': (trace) => {
    trace.follow({ rules: 'library' })
    const long = sent(`Kiosk ${'a'.repeat(20_000)}`)
    trace.learn(trace.asked(long), GENUINE)
    trace.check(long, allowed())
  },
  'a message names the scheme and what a token begins with': (trace) => {
    trace.follow({ rules: 'library' })
    const scope = { account: '1' }
    const { message = '' } = ENGINES.library?.decide({ api: 'fines', kind: 'staff_badge', scope }) ?? {}
    trace.check({ api: 'fines', kind: 'staff_badge', scope }, { allowed: true, reason: 'ALLOWED', message })
  },
}
