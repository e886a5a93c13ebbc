/**
 * The issuer and the audience that IAM tokens name: on which tokens they are, and which others are accepted.
 */
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import { run } from '../../sidecar/usecases/administration/run.ts'
import { ACCOUNT, rescopeBody, startIdentity, TOKENS } from '../support/identity/identity.ts'
import { signedToken, signingKey } from '../support/identity/signed-token.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { type RunningSidecar, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const ISSUER = 'https://tokens.example.com'
const AUDIENCE = 'products'

const configOf = (tokens: object) =>
  newFile(JSON.stringify({ tokens, http: { compatibility: { token_method: 'any' } } }), 'config.json')

const reasonOf = async ({ client }: RunningSidecar, value: string) =>
  (await client.check({ api: 'iam', credentials: [['X-Auth-Token', value]] })).reason

const { running, ask, tokenFor } = await startIdentity({
  config: configOf({
    issuer: ISSUER,
    audience: AUDIENCE,
    accepted_issuers: ['earlier', 'next'],
    accepted_audiences: ['others'],
  }),
})
const { administration } = running.sidecar
const panelToken = async (
  how: 'reissueControlPanelUserToken' | 'copyControlPanelUserToken',
  project?: string,
  of = administration,
) => (await run(of, TESTER, how, { account: ACCOUNT, name: 'panel', project })).value.reveal()

test.each<[what: string, token: () => Promise<string> | string]>([
  ['a login', () => tokenFor({})],
  [
    'an exchange',
    async () => {
      const body = rescopeBody(await tokenFor({}), { project: 'alpha' })
      return (await ask({ method: 'POST', path: TOKENS, body })).headers['x-subject-token'] ?? ''
    },
  ],
  ['the control panel', () => panelToken('reissueControlPanelUserToken', 'alpha')],
])('a token of %s names both', async (_what, token) => {
  expect(decodeJwt(await token())).toMatchObject({ iss: ISSUER, aud: AUDIENCE })
})

describe('a genuine token', async () => {
  const issued = decodeJwt(await tokenFor({}))
  const key = signingKey(running.folder)

  test.each<[claims: Record<string, unknown>, accepted: boolean]>([
    [{ iss: 'next', aud: 'others' }, true],
    [{ iss: 'other' }, false],
  ])('with %j: accepted is %s', async (claims, accepted) => {
    const token = signedToken(key, { ...issued, ...claims })
    expect(await reasonOf(running, token)).toBe(accepted ? 'ALLOWED' : 'CREDENTIAL_INVALID')
  })
})

describe('when the configuration changes, on the same data folder,', async () => {
  /** Starts another sidecar there. */
  const restarted = (of: object) => runSidecar({ folder: running.folder, config: configOf(of) })
  const named = await tokenFor({})
  const panel = await panelToken('reissueControlPanelUserToken')

  test.each<[what: string, of: object, reason: string]>([
    ['is accepted under the same names', { issuer: ISSUER, audience: AUDIENCE }, 'ALLOWED'],
    ['is refused where none are configured any more', {}, 'CREDENTIAL_INVALID'],
    ['is refused under another issuer', { issuer: 'other', audience: AUDIENCE }, 'CREDENTIAL_INVALID'],
    [
      'is accepted where both are still accepted',
      { issuer: 'other', accepted_issuers: [ISSUER], accepted_audiences: [AUDIENCE] },
      'ALLOWED',
    ],
    [
      'is accepted where they are accepted ahead, and no token names any',
      { accepted_issuers: [ISSUER], accepted_audiences: [AUDIENCE] },
      'ALLOWED',
    ],
  ])('a token that names both %s, and is copied where it is accepted', async (_what, of, reason) => {
    const next = await restarted(of)
    expect(await reasonOf(next, named)).toBe(reason)
    const copied = panelToken('copyControlPanelUserToken', undefined, next.sidecar.administration)
    if (reason === 'ALLOWED') expect(await copied).toBe(panel)
    else await expect(copied).rejects.toThrow('reissue makes one')
  })

  test('a token from before them is accepted', async () => {
    const before = await startIdentity()
    const token = await before.tokenFor({})
    expect(Object.keys(decodeJwt(token))).toEqual(expect.not.arrayContaining(['iss', 'aud']))
    const next = await runSidecar({
      folder: before.running.folder,
      config: configOf({ issuer: ISSUER, audience: AUDIENCE }),
    })
    expect(await reasonOf(next, token)).toBe('ALLOWED')
  })
})

test.each<[tokens: object, problem: string]>([
  [{ issuer: '' }, 'tokens.issuer: expected'],
  [{ issuer: 'two words' }, 'tokens.issuer: expected'],
  [{ issuer: 'a'.repeat(256) }, 'tokens.issuer: expected'],
  [{ audience: 'ä' }, 'tokens.audience: expected'],
  [{ audience: ['products'] }, 'tokens.audience: expected'],
  [{ accepted_issuers: ['two words'] }, 'tokens.accepted_issuers[0]: expected'],
  [{ accepted_audiences: 'products' }, 'tokens.accepted_audiences: expected'],
  [{ issuers: [] }, 'tokens'],
])('the configuration %j is refused', async (of, problem) => {
  await expect(runSidecar({ config: configOf(of) })).rejects.toThrow(problem)
})
