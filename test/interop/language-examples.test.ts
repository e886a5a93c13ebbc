/** The examples in other languages: their pages read from top to bottom, then each server asked what the middleware of Node is asked. */
import { cpSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { blocksOf, needOf, pages } from '../docs/page.ts'
import { readPage } from '../docs/story.ts'
import type { Terminal } from '../docs/terminal.ts'
import { engine } from '../support/engines.ts'
import { run } from '../support/interop/command.ts'
import { obtained } from '../support/interop/obtain.ts'
import { ROOT } from '../support/sources.ts'

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

/** A copy of the example, where the page finds it. */
const prepareWith = (example: string) => (terminal: Terminal) => {
  cpSync(join(ROOT, example), join(terminal.folder, example), { recursive: true })
  // The one that Python's package brings: nobody has to install another.
  if (python.ok) terminal.addTool('protoc', `exec '${python.command[0]}' -m grpc_tools.protoc "$@"`)
}

describe.each(examples)('$path', (page) => {
  const terminal = readPage(page, { needs, path, prepare: prepareWith(dirname(page.path)) })
  const servers = blocksOf(page)
    .filter(({ words, text }) => words.includes('in-background') && !/npm start|grpc/.test(text))
    .map(({ text }) => text.trim())

  describe.each(THERE[page.path.split('/')[1] ?? ''] ? servers : [])('%s', (server) => {
    let origin: string
    beforeAll(async () => {
      const [, port] = /port: (\d+)/.exec(await terminal().start(server)) ?? []
      origin = `http://127.0.0.1:${port}`
    })
    const token = () => terminal().meant('STATIC_TOKEN=…').replace('STATIC_TOKEN=', '')
    const account = () => terminal().meant('787613')

    test.each<
      [claim: string, headers: () => [string, string][], account: string, status: number, reason: string]
    >([
      ['no token', () => [], '', 401, 'CREDENTIAL_MISSING'],
      ['a token of nobody', () => [['X-Token', 'nobody']], '', 401, 'CREDENTIAL_INVALID'],
      ['a token in the wrong header', () => [['X-Auth-Token', token()]], '', 401, 'WRONG_HEADER'],
      [
        'two tokens',
        () => [
          ['X-Token', token()],
          ['X-Auth-Token', 'a'],
        ],
        '',
        401,
        'CREDENTIAL_AMBIGUOUS',
      ],
      ['the account of others', () => [['X-Token', token()]], '999999', 403, 'ACCOUNT_MISMATCH'],
    ])('refuses %s', async (_claim, headers, other, status, reason) => {
      const response = await fetch(`${origin}/accounts/${other || account()}/balance`, { headers: headers() })
      const { error } = (await response.json()) as { error: object }
      expect({ status: response.status, error }).toMatchObject({
        status,
        error: { reason, message: expect.any(String), accepted: { length: 2 } },
      })
      expect(response.headers.get('x-portcullis-reason')).toBe(reason)
      expect(response.headers.get('x-portcullis-rules-digest')).toBe(engine.rulesDigest)
      const challenge = response.headers.get('www-authenticate')
      const challenges = ['X-Auth-Token', 'X-Token'].map(
        (name) => `Portcullis header="${name}", reason="${reason}"`,
      )
      expect(challenge).toBe(status === 401 ? challenges.join(', ') : null)
    })

    test('lets a request pass', async () => {
      const response = await fetch(`${origin}/accounts/${account()}/balance`, {
        headers: { 'X-Token': token() },
      })
      expect({ status: response.status, body: await response.json() }).toEqual({
        status: 200,
        body: { balance: 42 },
      })
    })
  })

  // After all others: the sidecar of the page is stopped.
  test.each(THERE[page.path.split('/')[1] ?? ''] ? servers : [])(
    '%s answers 503 without a sidecar',
    async (server) => {
      const output = await terminal().start(`PORTCULLIS_GRPC_ADDRESS=unix:/nobody/listens/here ${server}`)
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
