/** The 90 cells of §5.4 with real credentials, checked by clients in other languages. */
import { beforeAll, expect, test } from 'vitest'
import type { Ask } from '../support/interop/client.ts'
import { issueRow } from '../support/interop/interop-rows.ts'
import { inEveryLanguage } from '../support/interop/languages.ts'
import type { Sidecar } from '../support/interop/sidecar.ts'
import { cells, printedKinds } from '../support/matrices/oracle.ts'

inEveryLanguage((ask, sidecar) => {
  let credentials: ReadonlyMap<string, object>
  beforeAll(async () => {
    credentials = await credentialsOf(ask, sidecar())
  })

  test.each(printedKinds())('a real %s opens exactly the APIs of its column', async (kind) => {
    const column = cells().filter((cell) => cell.kind === kind)
    const checks = column.map(({ api }) => ({ api, credentials: credentials.get(kind) }))
    const { responses } = await ask({ call: 'AuthorizationService/CheckBatch', requests: [{ checks }] })
    const opened = responses[0]?.results.map((result: object, index: number) => ({
      ...column[index],
      ...result,
    }))
    expect(opened).toMatchObject(
      column.map(({ api, accepted }) => ({ api, allowed: accepted, verified: true, token: { kind } })),
    )
  })
})

/** A credential of each kind: two issued, one from the control panel (§4.2). */
async function credentialsOf(ask: Ask, { demo }: Sidecar): Promise<ReadonlyMap<string, object>> {
  const { account, project, static_token: staticToken } = demo
  const issued = await Promise.all([
    ask(issueRow(demo, { scope: { account } })),
    ask(issueRow(demo, { scope: { account, project } })),
  ])
  return new Map([
    ...issued.map(({ responses: [token] }): [string, object] => [
      token?.kind,
      { headers: [{ name: token?.header, value: token?.value }] },
    ]),
    ['static_token', { headers: [{ name: 'X-Token', value: staticToken }] }],
  ])
}
