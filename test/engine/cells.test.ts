/** Holds every cell of the shipped matrix to the table that the source prints (§5.4). */
import { expect, test } from 'vitest'
import { compile, type Engine } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { cells, printedApis, printedKinds, scopeFor } from '../support/matrices/oracle.ts'

const engine: Engine = compile(supportMatrix)

test('the oracle has 30 rows, 3 columns and no cell twice', () => {
  expect(printedApis()).toHaveLength(30)
  expect(printedKinds()).toHaveLength(3)
  expect(new Set(cells().map(({ api, kind }) => `${api} ${kind}`))).toHaveLength(90)
})

test.each(cells())('§5.4: whether $api accepts $kind is $accepted', ({ api, kind, header, accepted }) => {
  const decision = engine.decide({ api, kind, scope: scopeFor(kind) })
  expect(decision).toMatchObject({
    allowed: accepted,
    reason: accepted ? 'ALLOWED' : 'TOKEN_KIND_NOT_ACCEPTED',
    header,
    digest: engine.digest,
  })
})

test.each(printedApis())('a denial for %s names exactly the kinds that its row accepts', (api) => {
  const opening = cells().filter((cell) => cell.api === api && cell.accepted)
  const denial = engine.deny(api, 'CREDENTIAL_MISSING')
  expect(denial.accepted).toEqual(
    opening.map(({ kind, header }) => ({
      ...{ kind, header, issuable: kind !== 'static_token' },
      obtained: kind === 'static_token' ? 'control_panel' : 'issue',
    })),
  )
})

test('APIs stand in the order of the source, with its titles', () => {
  const titles = new Map(cells().map(({ api, title }) => [api, title]))
  expect([...engine.apis.values()].map(({ id, title }) => [id, title])).toEqual([...titles])
})

test('token kinds stand in the order of the source, with its identifiers', () => {
  expect([...engine.tokenKinds.keys()]).toEqual(printedKinds())
})
