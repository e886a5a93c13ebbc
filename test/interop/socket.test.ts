/** A Unix socket, which is the recommended listener in production, from every language. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkRow, issueRow, responseOf } from '../support/interop/interop-rows.ts'
import { inEveryLanguage } from '../support/interop/languages.ts'

inEveryLanguage(
  (ask, sidecar) => {
    test('a token is issued and checked over the socket', async () => {
      expect(sidecar().address).toMatch(/^unix:.*\.sock$/)
      const { demo } = sidecar()
      const { header, value } = responseOf(await ask(issueRow(demo, { scope: { account: demo.account } })))
      expect(responseOf(await ask(checkRow('balance', [header, value])))).toMatchObject({ allowed: true })
    })
  },
  (folder) => ['--grpc', `unix:${join(folder, 'portcullis.sock')}`],
)
