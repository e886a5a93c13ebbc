/**
 * A matrix that shares nothing with the shipped one goes through every protocol that asks a sidecar. It is
 * that of a city's library, whose kinds share one header and differ in scheme and prefix. Here one of them
 * has further places, and an API needs no token. Then it has ids that look like paths, properties and values
 * of other languages.
 */
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { type CredentialReason, compile, type Engine, type Matrix, type Scope } from '../../engine/index.ts'
import { readMatrix } from '../../sidecar/rules/matrix-file/read.ts'
import { withHostileIds } from '../support/matrices/hostile-ids.ts'
import { ACCOUNT, issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'
import { answersAs } from './answers.ts'
import { everyCell, type Token } from './every-cell.ts'
import { everyProtocol } from './people.ts'
import { ASKING } from './protocols.ts'
import type { Question } from './questions.ts'

const OWN: Scope = { account: ACCOUNT }
const ALPHA: Scope = { account: ACCOUNT, project: 'alpha' }

/** A sidecar with the matrix, and what is asked of it. */
async function serving(matrix: Matrix) {
  const library = compile(matrix)
  const { flags, config } = everyProtocol([...library.apis.keys()])
  const file = newFile(JSON.stringify(matrix), 'matrix.json')
  const sidecar = await runSidecar({ flags: { ...flags, matrix: file }, config })
  const secrets = await populate(sidecar)
  const staff = { value: (await issued(sidecar, secrets)).value, scope: OWN, holder: 'service_user' }
  const { value } = await issued(sidecar, secrets, { project: 'alpha' })
  const branch = { value, scope: ALPHA, holder: 'service_user' }
  const kiosk = { value: secrets.staticToken, scope: OWN, holder: 'control_panel_user' }
  return { library, sidecar, questions: questionsOf(library, [staff, branch, kiosk]) }
}

function widened(matrix: Matrix): Matrix {
  const [first, ...apis] = matrix.apis
  if (first === undefined) throw new TypeError('expected an API')
  const noted = { ...first, notes: Object.fromEntries(first.accepts.map((kind) => [kind, 'at the desk'])) }
  return {
    ...matrix,
    tokenKinds: matrix.tokenKinds.map(({ header, scheme, ...kind }) =>
      kind.id !== 'kiosk_key'
        ? { ...kind, header, scheme }
        : {
            ...kind,
            places: [
              { header: String(header), scheme },
              { header: 'Authorization', basic: 'password' },
              { header: 'X-Kiosk-Key', with: 'X-Kiosk-Name' },
            ],
          },
    ),
    apis: [
      noted,
      ...apis,
      { id: 'opening-hours', title: 'Opening hours', accepts: [], public: true, section: first.section },
    ],
  }
}

const wrong = (value: string) =>
  ({
    subject: { headers: [['Authorization', value]] },
    fault: 'CREDENTIAL_INVALID',
    reason: 'CREDENTIAL_INVALID',
  }) as const
const incomplete = (key: string) =>
  ({
    subject: { headers: [['X-Kiosk-Key', key]] },
    fault: 'CREDENTIAL_MALFORMED',
    reason: 'CREDENTIAL_MALFORMED',
  }) as const

/** The request with a genuine token, where tokens of its kind travel. @param tokens one of each kind */
function questionsOf(library: Engine, tokens: readonly Token[]): Question[] {
  const apis = [...library.apis.keys()]
  const cells = everyCell(library, tokens)
  const [badge = '', , key = ''] = tokens.map(({ value }) => value)
  const faults: readonly [reason: CredentialReason, authorization: string][] = [
    ['CREDENTIAL_MISSING', 'Bearer'],
    ['CREDENTIAL_AMBIGUOUS', `Bearer ${badge}, Kiosk ${key}`],
    ['CREDENTIAL_MALFORMED', badge],
    ['CREDENTIAL_MALFORMED', 'Digest dXNlcjpwYXNz'],
    ['CREDENTIAL_MALFORMED', 'Basic dXNlcjpwYXNzMQ'],
    ['CREDENTIAL_INVALID', 'Basic dXNlcjpwYXNz'],
    ['CREDENTIAL_INVALID', 'Bearer stf_unheard-of'],
    ['WRONG_HEADER', `Kiosk ${badge}`],
    ['WRONG_HEADER', `Bearer ${key}`],
  ]
  const open: Question = {
    what: 'no token for an API that needs none',
    ...{ api: apis.at(-1) ?? '', subject: { headers: [] }, fault: 'CREDENTIAL_MISSING', reason: 'ALLOWED' },
  }
  return [
    open,
    { ...open, what: 'a wrong token for it', ...wrong('Bearer stf_unheard-of') },
    { ...open, what: 'a key without the header beside it', ...incomplete(key) },
    ...cells,
    ...faults.map(
      ([reason, value]): Question => ({
        what: `${reason}: ${value.slice(0, 10)}`,
        ...{ api: apis[0] ?? '', subject: { headers: [['Authorization', value]] }, fault: reason, reason },
      }),
    ),
  ]
}

const city = widened(readMatrix(join(import.meta.dirname, '../../examples/matrices/city-library.json')))

describe.each([
  ['the city library', await serving(city)],
  ['the city library with hostile ids', await serving(withHostileIds(city))],
])('%s', (_matrix, { library, sidecar, questions }) => {
  test.each(ASKING.map((protocol) => [protocol.name, protocol] as const))('%s', async (_name, protocol) => {
    await answersAs(library, protocol, sidecar, questions, library.apis.size * library.tokenKinds.size)
  })
})
