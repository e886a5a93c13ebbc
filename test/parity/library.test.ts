/**
 * A matrix that shares nothing with the shipped one goes through every protocol that asks a sidecar. It is
 * that of a city's library, whose kinds share one header and differ in scheme and prefix.
 */
import { join } from 'node:path'
import { test } from 'vitest'
import { type CredentialReason, compile, fieldValue, type Scope } from '../../engine/index.ts'
import { readMatrix } from '../../sidecar/rules/matrix-file/read.ts'
import { ACCOUNT, issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { answersAs } from './answers.ts'
import { everyProtocol } from './people.ts'
import { PROTOCOLS } from './protocols.ts'
import type { Question } from './questions.ts'

const LIBRARY = join(import.meta.dirname, '../../examples/matrices/city-library.json')
const library = compile(readMatrix(LIBRARY))
const { flags, config } = everyProtocol([...library.apis.keys()])
const sidecar = await runSidecar({ flags: { ...flags, matrix: LIBRARY }, config })
const secrets = await populate(sidecar)

const OWN: Scope = { account: ACCOUNT }
const ALPHA: Scope = { account: ACCOUNT, project: 'alpha' }
const TOKENS: Readonly<
  Record<string, { readonly value: string; readonly scope: Scope; readonly holder: string }>
> = {
  staff_badge: { value: (await issued(sidecar, secrets)).value, scope: OWN, holder: 'service_user' },
  branch_badge: {
    value: (await issued(sidecar, secrets, { project: 'alpha' })).value,
    scope: ALPHA,
    holder: 'service_user',
  },
  kiosk_key: { value: secrets.staticToken, scope: OWN, holder: 'control_panel_user' },
}

/** The request with a genuine token, where tokens of its kind travel. */
function questions(): Question[] {
  const cells = [...library.apis.keys()].flatMap((api) =>
    Array.from(library.tokenKinds.values(), ({ id, header, scheme }): Question => {
      const { value = '', scope = OWN, holder = '' } = TOKENS[id] ?? {}
      return {
        what: `a genuine ${id} for ${api}`,
        ...{ api, subject: { headers: [[header, fieldValue({ scheme }, value)]] } },
        known: { kind: id, scope, holder },
        reason: library.decide({ api, kind: id, scope }).reason,
      }
    }),
  )
  const badge = TOKENS.staff_badge?.value ?? ''
  const key = TOKENS.kiosk_key?.value ?? ''
  const faults: readonly [reason: CredentialReason, authorization: string][] = [
    ['CREDENTIAL_MISSING', 'Bearer'],
    ['CREDENTIAL_AMBIGUOUS', `Bearer ${badge}, Kiosk ${key}`],
    ['CREDENTIAL_MALFORMED', badge],
    ['CREDENTIAL_MALFORMED', 'Basic dXNlcjpwYXNz'],
    ['CREDENTIAL_INVALID', 'Bearer stf_of-nobody'],
    ['WRONG_HEADER', `Kiosk ${badge}`],
    ['WRONG_HEADER', `Bearer ${key}`],
  ]
  return [
    ...cells,
    ...faults.map(
      ([reason, value]): Question => ({
        what: `${reason}: ${value.slice(0, 10)}`,
        ...{ api: 'catalogue', subject: { headers: [['Authorization', value]] }, fault: reason, reason },
      }),
    ),
  ]
}

// A protocol that asks no sidecar is asked about the shipped matrix alone.
const ASKING = PROTOCOLS.filter(({ name }) => name !== 'portcullis explain')

test.each(ASKING.map((protocol) => [protocol.name, protocol] as const))('%s', async (_name, protocol) => {
  await answersAs(library, protocol, sidecar, questions(), library.apis.size * library.tokenKinds.size)
})
