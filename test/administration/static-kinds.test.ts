/** Several kinds of token that the control panel gives out: a user who adds a key says of which it is. */
import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Matrix, TokenKind } from '../../engine/index.ts'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { operatorOf } from '../support/sidecar/operator.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const kind = (id: string, prefix: string): TokenKind => ({
  ...{ id, title: `${id} key`, family: id, scopeLevel: 'account', header: 'Authorization', scheme: 'Bearer' },
  ...{ prefix, issuedTo: 'control_panel_user', obtained: { by: 'control_panel' }, permissionScopes: [] },
  ...{ lifetimeSeconds: null, section: '§1' },
})
const MATRIX: Matrix = {
  ...{ title: 'Keys', statements: [], conflicts: [] },
  tokenKinds: [kind('live', 'sk_'), kind('restricted', 'rk_')],
  apis: ['live', 'restricted'].map((id) => ({ id: `${id}-api`, title: id, accepts: [id], section: '§2' })),
}
const matrix = newFile('', 'matrix.json')
writeFileSync(matrix, JSON.stringify(MATRIX))
const running = await runSidecar({ flags: { matrix } })
const { directory } = operatorOf(running)
const account = '4711'
const olga = { account, userName: 'olga' }
await directory.createAccount({ account })
await directory.createControlPanelUser({ account, name: 'olga' })

const opens = async (value: string) => {
  const credentials = { Authorization: `Bearer ${value}` }
  const checks = MATRIX.apis.map(({ id }) => running.client.check({ api: id, credentials }))
  return (await Promise.all(checks)).map(({ reason }) => reason)
}

test.each([
  ['live', /^sk_/, ['ALLOWED', 'TOKEN_KIND_NOT_ACCEPTED']],
  ['restricted', /^rk_/, ['TOKEN_KIND_NOT_ACCEPTED', 'ALLOWED']],
])('a key is of the kind that is asked for: %s', async (id, form, reasons) => {
  const { token, value } = await directory.createStaticToken({ ...olga, name: id, kind: id })
  expect(token?.kind).toBe(id)
  expect(value).toMatch(form)
  expect(await opens(value)).toEqual(reasons)
  expect((await directory.listStaticTokens(olga)).tokens).toContainEqual(token)
})

test.each([{ name: 'none' }, { name: 'other', kind: 'gold' }])('the kinds are named for %j', async (more) => {
  await expect(directory.createStaticToken({ ...olga, ...more })).rejects.toThrow(
    'kind: expected one of the kinds that are obtained in the control panel: `live`, `restricted`',
  )
})

test('a directory file says the kind beside the name', async () => {
  const user = { name: 'pia', static_tokens: [{ name: 'build', kind: 'restricted' }] }
  const apply = () =>
    applyFile(running.sidecar.administration, TESTER, {
      accounts: [{ account, control_panel_users: [user] }],
    })
  const { secrets } = await apply()
  expect(await opens(secrets[0]?.value.reveal() ?? '')).toEqual(['TOKEN_KIND_NOT_ACCEPTED', 'ALLOWED'])
  expect((await apply()).secrets).toEqual([])
})
