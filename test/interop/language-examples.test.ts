/**
 * The examples in other languages: their pages are read from top to bottom, and each server gets the
 * questions of the middleware of Node.
 */
import { cpSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { blocksOf, needOf, pages } from '../docs/page.ts'
import { readPage } from '../docs/story.ts'
import type { Terminal } from '../docs/terminal.ts'
import { connectionTo } from '../parity/protocols/http.ts'
import { ROOT } from '../support/checkout/sources.ts'
import { run } from '../support/interop/command.ts'
import { obtained } from '../support/interop/obtain.ts'
import { engine } from '../support/matrices/engines.ts'
import { connect } from '../support/sidecar/client.ts'

const python = inject('python')
const grpcurl = inject('grpcurl')
const curl = await obtained('curl', () => run('curl', ['--version']))

const THERE: Readonly<Record<string, boolean>> = {
  go: inject('go').ok && python.ok && curl.ok,
  grpcurl: inject('go').ok && grpcurl.ok && python.ok,
  python: python.ok && curl.ok,
}
const needs = new Set(Object.keys(THERE).filter((need) => THERE[need]))
const path = grpcurl.ok ? [dirname(grpcurl.command[0] ?? '')] : []

/** The examples of proxies are read in examples.test.ts. */
const examples = pages.filter(({ path }) => /^examples\/(?!nginx|caddy|haproxy|envoy)/.test(path))

test('every example is read, and every need is known here', () => {
  expect(examples.map((page) => page.path)).toEqual(['examples/go/README.md', 'examples/python/README.md'])
  const named = examples.flatMap((page) => blocksOf(page).flatMap((block) => needOf(block) ?? []))
  expect([...new Set(named)].sort()).toEqual(Object.keys(THERE).sort())
})

type Headers = readonly (readonly [name: string, value: string])[]

/** Credentials of the demo: a static token, and IAM tokens of its account and of its project. */
type Tokens = Readonly<Record<'fixed' | 'iam' | 'project', string>>

/** From the questions of test/parity, those that can be asked about one API. */
const REFUSED: readonly [claim: string, reason: string, headers: (tokens: Tokens) => Headers, of?: string][] =
  [
    ['no token', 'CREDENTIAL_MISSING', () => []],
    [
      'an empty header beside a good one',
      'CREDENTIAL_MISSING',
      ({ fixed }) => [
        ['X-Auth-Token', ''],
        ['X-Token', fixed],
      ],
    ],
    [
      'the header twice, first empty, in two spellings',
      'CREDENTIAL_AMBIGUOUS',
      ({ fixed }) => [
        ['x-token', ''],
        ['X-TOKEN', fixed],
      ],
    ],
    ['a letter beyond ASCII', 'CREDENTIAL_MALFORMED', ({ fixed }) => [['X-Token', `${fixed}é`]]],
    ['a project token', 'TOKEN_KIND_NOT_ACCEPTED', ({ project }) => [['X-Auth-Token', project]]],
    ['the account of others', 'ACCOUNT_MISMATCH', ({ fixed }) => [['X-Token', fixed]], '999999'],
  ]

const LET_PASS: readonly [claim: string, headers: (tokens: Tokens) => Headers][] = [
  ['a static token', ({ fixed }) => [['X-Token', fixed]]],
  ['an IAM token', ({ iam }) => [['X-Auth-Token', iam]]],
  ['the header in another spelling', ({ iam }) => [['x-AUTH-tOKEN', iam]]],
  ['blanks around a token', ({ fixed }) => [['X-Token', ` \t${fixed} `]]],
  [
    'other headers around a token',
    ({ fixed }) => [
      ['Authorization', 'Bearer x'],
      ['X-Token', fixed],
      ['X-Portcullis-Kind', 'iam_token_account_scoped'],
    ],
  ],
]

/** A copy of the example, where the page finds it. */
const prepareWith = (example: string) => (terminal: Terminal) => {
  // In place of the link to the checkout, where the example must not be changed.
  rmSync(join(terminal.folder, 'examples'))
  cpSync(join(ROOT, example), join(terminal.folder, example), { recursive: true })
  // The one that Python's package brings, so no other must be installed.
  if (python.ok) terminal.addTool('protoc', `exec '${python.command[0]}' -m grpc_tools.protoc "$@"`)
}

describe.each(examples)('$path', (page) => {
  const terminal = readPage(page, { needs, path, prepare: prepareWith(dirname(page.path)) })
  const servers = blocksOf(page)
    .filter(({ words, text }) => words.includes('in-background') && !/npm start|grpc/.test(text))
    .map(({ text }) => text.trim())

  describe.each(THERE[page.path.split('/')[1] ?? ''] ? servers : [])('%s', (server) => {
    let address: string
    let tokens: Tokens
    beforeAll(async () => {
      const [, port] = /port: (\d+)/.exec(await terminal().start(server)) ?? []
      address = `127.0.0.1:${port}`
      const sidecar = connect(terminal().meant('127.0.0.1:50051'))
      const login = { userName: 'demo', account: account(), password: secret('PORTCULLIS_PASSWORD') }
      const issued = async (project?: string) => {
        const scope = { account: account(), ...(project !== undefined && { project }) }
        return (await sidecar.issue({ password: login, scope })).value
      }
      tokens = { fixed: secret('STATIC_TOKEN'), iam: await issued(), project: await issued('demo-project') }
      sidecar.close()
    })
    const secret = (name: string) => terminal().meant(`${name}=…`).replace(`${name}=`, '')
    const account = () => terminal().meant('787613')
    const send = (headers: Headers, of = account()) =>
      connectionTo(address)({ path: `/accounts/${of}/balance`, headers })

    test.each(REFUSED)('refuses %s', async (_claim, reason, headers, of) => {
      const { status, headers: told, text } = await send(headers(tokens), of)
      const isUnknown = reason !== 'ACCOUNT_MISMATCH' && reason !== 'TOKEN_KIND_NOT_ACCEPTED'
      expect({ status, error: JSON.parse(text).error }).toMatchObject({
        status: isUnknown ? 401 : 403,
        error: { reason, message: expect.any(String), accepted: { length: 2 } },
      })
      const challenges = ['X-Auth-Token', 'X-Token'].map(
        (name) => `Portcullis header="${name}", reason="${reason}"`,
      )
      expect(told).toMatchObject({
        'x-portcullis-reason': reason,
        'x-portcullis-rules-digest': engine.rulesDigest,
      })
      expect(told['www-authenticate']).toBe(isUnknown ? challenges.join(', ') : undefined)
    })

    test.each(LET_PASS)('lets %s pass', async (_claim, headers) => {
      const { status, text } = await send(headers(tokens))
      expect({ status, body: JSON.parse(text) }).toEqual({ status: 200, body: { balance: 42 } })
    })
  })

  // After all others: the sidecar of the page is stopped.
  test.each(THERE[page.path.split('/')[1] ?? ''] ? servers : [])(
    '%s answers 503 without a sidecar',
    async (server) => {
      const output = await terminal().start(`PORTCULLIS_GRPC_ADDRESS=unix:/absent/socket/here ${server}`)
      const [, port] = /port: (\d+)/.exec(output) ?? []
      const response = await fetch(`http://127.0.0.1:${port}/accounts/1/balance`, {
        headers: { 'X-Token': 'a' },
      })
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 503,
        body: { error: { message: 'the request could not be authorized; try again later' } },
      })
    },
  )
})
