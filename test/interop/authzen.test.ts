/** AuthZEN over https, as the standard demands it: by HTTP/1.1 and HTTP/2, for callers alone. */
import { hash } from 'node:crypto'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { PROTOCOLS, prepareHttps, runHttps } from '../support/interop/https.ts'
import { api, CALL, EVALUATION, METADATA, token } from '../support/proxies/authzen.ts'
import { newFile } from '../support/suite/resources.ts'

prepareHttps()

const TOKEN = 'the-token-of-a-gateway-with-32-characters'
const QUESTION = { subject: token('static_token'), action: CALL, resource: api('balance') }
const config = newFile(
  JSON.stringify({
    http: { authzen: true },
    callers: [{ name: 'gateway', token_sha256: hash('sha256', TOKEN) }],
  }),
  'config.json',
)

describe.skipIf(!inject('openssl').ok)('https', () => {
  let http: string
  beforeAll(async () => {
    http = (await runHttps({ config })).http
  })

  test.each(PROTOCOLS)('%s', async (_protocol, ask) => {
    const headers = {
      'content-type': 'application/json',
      'x-request-id': 'bfe9eb29',
      authorization: `Bearer ${TOKEN}`,
    }
    const question = { method: 'POST', path: EVALUATION, headers, body: JSON.stringify(QUESTION) }
    const id = { 'x-request-id': 'bfe9eb29' }
    expect(await ask(http, question)).toMatchObject({ status: 200, headers: id, json: { decision: true } })
    expect(await ask(http, { ...question, body: '{}' })).toMatchObject({
      status: 400,
      headers: { ...id, 'content-type': 'text/plain; charset=utf-8' },
      text: expect.stringMatching(/^subject: expected an object/),
    })
    const { authorization, ...nobody } = headers
    for (const other of [nobody, { ...nobody, authorization: `${authorization}x` }])
      expect(await ask(http, { ...question, headers: other })).toMatchObject({
        status: 401,
        headers: { ...id, 'www-authenticate': 'Bearer realm="portcullis"' },
      })
    const { json } = await ask(http, { path: METADATA })
    expect(json).toMatchObject({
      policy_decision_point: `https://${http}`,
      access_evaluation_endpoint: `https://${http}${EVALUATION}`,
    })
  })
})
