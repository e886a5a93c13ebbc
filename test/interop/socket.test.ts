/** A Unix socket, which is the recommended listener in production, from every language. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkRow, issueRow, responseOf } from '../support/interop/interop-rows.ts'
import { inEveryLanguage } from '../support/interop/languages.ts'
import { cells, scopeFor } from '../support/matrices/oracle.ts'

inEveryLanguage(
  (ask, sidecar) => {
    test('a token is issued and checked over the socket', async () => {
      expect(sidecar().address).toMatch(/^unix:.*\.sock$/)
      const { demo } = sidecar()
      const { header, value } = responseOf(await ask(issueRow(demo, { scope: { account: demo.account } })))
      expect(responseOf(await ask(checkRow('balance', [header, value])))).toMatchObject({ allowed: true })
    })

    test('the 90 cells are the same over the socket', async () => {
      const checks = cells().map(({ api, kind }) => ({ api, token: { kind, scope: scopeFor(kind) } }))
      const row = { call: 'AuthorizationService/CheckBatch', requests: [{ checks }] } as const
      const { results } = responseOf(await ask(row))
      expect(results).toMatchObject(cells().map(({ accepted }) => ({ allowed: accepted })))
    })
  },
  (folder) => ['--grpc', `unix:${join(folder, 'portcullis.sock')}`],
)
