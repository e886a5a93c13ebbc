/**
 * Each of the matrices made from a document of a provider is served, and goes through every protocol. Their
 * kinds are obtained at the provider; here the authority makes them in the control panel, so that a genuine
 * token of each can be asked about.
 */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  type CredentialReason,
  carriageOf,
  compile,
  type Engine,
  type Matrix,
  type Place,
  type TokenKind,
} from '../../engine/index.ts'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { readMatrix } from '../../sidecar/rules/matrix-file/read.ts'
import { withHostileIds } from '../support/matrices/hostile-ids.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'
import { answersAs, decisionOf } from './answers.ts'
import { everyCell, headersIn, type Token } from './every-cell.ts'
import { everyProtocol } from './people.ts'
import { ASKING } from './protocols.ts'
import type { Header, Question } from './questions.ts'

const example = (name: string) =>
  readMatrix(join(import.meta.dirname, `../../examples/matrices/${name}.yaml`))

/** Whether the authority could give out tokens of the kind: they must fit into a header as they are. */
const canBeMade = ({ places: [first] = [] }: TokenKind) =>
  first?.basic === undefined && first?.with === undefined

/** A sidecar with the matrix, and a token of each kind that its authority can give out. */
async function serving({ tokenKinds: kinds, ...matrix }: Matrix) {
  const obtained = { by: 'control_panel', steps: ['Choose Add Key.'] } as const
  const tokenKinds = kinds.map((kind) => (canBeMade(kind) ? { ...kind, obtained } : kind))
  const served: Matrix = { ...matrix, tokenKinds }
  const library = compile(served)
  const { flags, config } = everyProtocol([...library.apis.keys()])
  const file = newFile(JSON.stringify(served), 'matrix.json')
  const sidecar = await runSidecar({ flags: { ...flags, matrix: file }, config })
  const static_tokens = kinds.filter(canBeMade).map(({ id }, index) => ({ name: `key ${index}`, kind: id }))
  const people = { accounts: [{ account: ACCOUNT, control_panel_users: [{ name: 'owner', static_tokens }] }] }
  const { secrets } = await applyFile(sidecar.sidecar.administration, TESTER, people)
  const values = secrets.filter(({ type }) => type === 'static_token')
  const tokens = kinds.map((kind): Token | undefined => {
    const value = canBeMade(kind) ? values.shift()?.value.reveal() : undefined
    return value === undefined
      ? undefined
      : { value, scope: { account: ACCOUNT }, holder: 'control_panel_user' }
  })
  return { library, sidecar, questions: [...everyCell(library, tokens), ...faultQuestions(library)] }
}

/** A protocol about requests is asked for these at least. */
const REASONS = 4

type Row = readonly [what: string, reason: Question['reason'], api: string, headers: readonly Header[]]

/** Requests without a token, with a wrong one, with two, and without the header beside it. */
function faultQuestions(library: Engine): readonly Question[] {
  const [closed = ''] = [...library.apis.values()].filter((api) => !api.public).map(({ id }) => id)
  const [open] = [...library.apis.values()].filter((api) => api.public).map(({ id }) => id)
  const places = [...library.tokenKinds.values()].flatMap((kind) => kind.places)
  const sent = (place: Place) => headersIn(place, `${place.prefix ?? ''}unheard-of`)
  const [first] = places as [Place]
  const rows: Row[] = [
    ['no token', 'CREDENTIAL_MISSING', closed, []],
    ['a scheme of others', 'CREDENTIAL_MALFORMED', closed, [['Authorization', 'Digest dXNlcjpwYXNz']]],
    ...places.flatMap((place): Row[] => {
      const where = `in ${carriageOf(place)}`
      const unknown: Row = [`an unknown token ${where}`, 'CREDENTIAL_INVALID', closed, sent(place)]
      const second: Row = [
        ...([`a second token ${where}`, 'CREDENTIAL_AMBIGUOUS', closed] as const),
        [...sent(first), ...sent(place)],
      ]
      const alone: Row = [
        ...([`a token ${where} without ${place.with}`, 'CREDENTIAL_MALFORMED', closed] as const),
        sent(place).slice(0, 1),
      ]
      return [unknown, second, ...(place.with === undefined ? [] : [alone])]
    }),
  ]
  const opened: Row[] = open === undefined ? [] : [['no token where none is needed', 'ALLOWED', open, []]]
  return [...rows, ...opened].map(([what, reason, api, headers]) => ({
    ...{ what, reason, api, subject: { headers } },
    fault: reason === 'ALLOWED' ? 'CREDENTIAL_MISSING' : (reason as CredentialReason),
  }))
}

describe.each([
  ...['cloudflare', 'gitlab', 'stripe', 'twilio', 'github', 'slack'].map(
    (name) => [name, example(name)] as const,
  ),
  ['github, with hostile ids', withHostileIds(example('github'))] as const,
])('%s', async (_name, matrix) => {
  const { library, sidecar, questions } = await serving(matrix)

  test('has the reasons of the rows', () => {
    expect(questions.map((each) => [each.what, decisionOf(library, each).reason])).toEqual(
      questions.map(({ what, reason }) => [what, reason]),
    )
  })

  test.each(ASKING.map((protocol) => [protocol.name, protocol] as const))('%s', async (_name, protocol) => {
    await answersAs(library, protocol, sidecar, questions, REASONS)
  })
})
