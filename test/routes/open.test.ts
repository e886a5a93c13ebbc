/**
 * The routes of a sidecar: it does not serve with wrong ones, and an API that a new matrix lacks is closed to
 * all.
 */
import { writeFileSync } from 'node:fs'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { supportMatrix } from '../../matrix/index.ts'
import { openRoutes } from '../../sidecar/process/open/open-routes.ts'
import { followMatrix, problemsOfRoutes } from '../../sidecar/process/open/under-matrix.ts'
import { Rules } from '../../sidecar/rules/rules.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, whenTheFileEnds } from '../support/suite/resources.ts'

const fileOf = (routes: readonly object[]) => newFile(JSON.stringify({ routes }), 'portcullis.json')

test.each<[claim: string, routes: object[], message: string]>([
  [
    'an unknown API',
    [{ path: '/', api: 'balances' }],
    'routes[0].api: expected the id of an API of the matrix',
  ],
  [
    'the same requests twice',
    [
      { path: '/{a}/x', api: 'balance' },
      { path: '/{b}/x', api: 'iam' },
    ],
    'portcullis.json:1: routes[1]: expected other requests than those of routes[0]',
  ],
])('a sidecar does not start with %s', async (_claim, routes, message) => {
  await expect(runSidecar({ config: fileOf(routes) })).rejects.toThrow(message)
})

test('a sidecar starts with routes', async () => {
  const { sidecar } = await runSidecar({ config: fileOf([{ path: '/', api: 'balance' }]) })
  expect(sidecar.grpcAddress).not.toBe('')
})

test('the API of a route that a new matrix no longer has is unknown, and the log says so', () => {
  const path = newFile(JSON.stringify(supportMatrix), 'matrix.json')
  const onRefused = (error: Error) => expect.unreachable(error.message)
  const rules = new Rules({ path, strict: false, pollMs: 0, onRefused })
  whenTheFileEnds(() => rules.close())
  const lines: {
    readonly level: number
    readonly problem?: string
  }[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const settings = [
    { path: '/', api: 'balance' },
    { path: '/iam/', api: 'iam' },
  ]
  const routes = openRoutes({ routes: settings })
  followMatrix((engine) => problemsOfRoutes({ routes: settings }, engine), { rules, log, isOwn: true })
  const ask = () => {
    const match = routes.match({ method: 'GET', host: 'a', target: '/iam/', header: () => undefined })
    const { engine } = rules
    const scope = { account: '1' }
    return engine.decide({ api: match.refused ?? match.api, kind: 'iam_token_account_scoped', scope }).reason
  }
  expect(ask()).toBe('ALLOWED')
  writeFileSync(path, JSON.stringify(smallMatrix()))
  rules.reload()
  expect(ask()).toBe('UNKNOWN_API')
  expect(lines.map(({ level, problem }) => [level, problem])).toEqual(
    [0, 1].map((index) => [40, `routes[${index}].api: expected the id of an API of the matrix`]),
  )
})
