/**
 * Requests that no client of Connect would send: each is refused as its protocol says. No error repeats the
 * request.
 */
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { bytesOf, CHECK, enveloped, envelopesIn, post } from '../support/contract/contract.ts'
import type { RequestHeaders } from '../support/identity/identity.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'

const MESSAGE_BYTES_MAX = 1_048_576
const { sidecar, logLines } = await runSidecar({
  flags: {
    'http.address': '127.0.0.1:0',
    'http.connect': true,
    'grpc.max_message_bytes': MESSAGE_BYTES_MAX,
  },
})
const address = sidecar.httpAddress ?? ''
const SERVICE = '/portcullis.v1.AuthorizationService'
const JSON_TYPE = { 'content-type': 'application/json' }
const PROTO_TYPE = { 'content-type': 'application/proto' }

const claims = { kind: 'static_token', scope: { account: ACCOUNT } }
const good = { api: 'balance', token: claims }
const text = JSON.stringify(good)
/** It must not come back in an error. */
const SECRET = 'pcst_canary4'

const NO_OBJECT =
  'the body: expected a JSON object with the fields of portcullis.v1.CheckRequest, each of them once'

describe('JSON', () => {
  test.each<[claim: string, body: string | Buffer, message: string]>([
    ['that is malformed', `{"api": "${SECRET}"`, 'the body: expected JSON'],
    ['that is empty', '', 'the body: expected JSON'],
    ['with more behind it', `${text} {}`, 'the body: expected JSON'],
    ['with two byte order marks', `\ufeff\ufeff${text}`, 'the body: expected JSON'],
    ['that is a list', '[]', NO_OBJECT],
    ['that is null', 'null', NO_OBJECT],
    ['with an unknown name', `{"api":"balance","${SECRET}":1}`, NO_OBJECT],
    [
      'with an unknown name of a field',
      `{"apis":["${SECRET}"],"token":{}}`,
      `${NO_OBJECT}; \`apis\` is unknown`,
    ],
    [
      'with an unknown name further inside',
      `{"api":"balance","token":{"kind":"${SECRET}","scopes":{}}}`,
      `${NO_OBJECT.replace('CheckRequest', 'TokenClaims')}; \`scopes\` is unknown`,
    ],
    ['with `__proto__`', '{"api":"balance","__proto__":{}}', NO_OBJECT],
    [
      'with a name that is there twice',
      `{"api":"iam","api":"balance","token":{}}`,
      `${NO_OBJECT}; \`api\` is there twice`,
    ],
    [
      'with one that is there twice, once with an escape',
      '{"api":"iam","ap\\u0069":"balance"}',
      `${NO_OBJECT}; \`api\` is there twice`,
    ],
    [
      'with one that is there twice, between spaces',
      '{"api" : "iam" , "api"\t:"balance"}',
      `${NO_OBJECT}; \`api\` is there twice`,
    ],
    [
      'with one that is there twice further inside',
      '{"api":"balance","token":{"kind":"static_token","scope":{"account":"1","account":"2"}}}',
      `${NO_OBJECT}; \`account\` is there twice`,
    ],
    [
      'with both names of a field',
      '{"clientAddress":"127.0.0.1","client_address":"127.0.0.2"}',
      'CheckRequest.client_address: expected it once',
    ],
    ['with a number for a text', '{"api":5}', 'CheckRequest.api: expected a text of Unicode characters'],
    [
      'with a secret in the wrong place',
      `{"target":"${SECRET}"}`,
      NO_OBJECT.replace('CheckRequest', 'CheckRequest'),
    ],
    ['with half a character', '{"api":"\\ud800"}', 'CheckRequest.api: expected a text of Unicode characters'],
    [
      'with both of what may be there once',
      `{"api":"balance","token":${JSON.stringify(claims)},"credentials":{}}`,
      'subject: expected exactly one of credentials and token, found both',
    ],
    [
      'with a null for one of them',
      '{"api":"balance","token":null,"credentials":{}}',
      'subject: expected exactly one of credentials and token, found several',
    ],
    [
      'with a wrong target',
      `{"api":"balance","token":${JSON.stringify(claims)},"target":{}}`,
      'target.account: expected the account that owns the resource',
    ],
  ])('%s', async (_claim, body, message) => {
    const { status, body: answered } = await post(address, CHECK, body)
    expect([status, JSON.parse(answered.toString())]).toMatchObject([
      400,
      { code: 'invalid_argument', message },
    ])
    expect(answered.toString()).not.toContain(SECRET)
  })

  /** A longer body than is read at once. */
  const many = Array(10_000).fill('{"api":""}').join()

  test.each([
    ['; `requests` is unknown', '{"requests":[]}'],
    ['; `checks` is there twice', '{"checks":[],"checks":[]}'],
    ['; `requests` is unknown: {"checks": [...]}', `{"requests":[${many}]}`],
    ['; `strict` is unknown: {"checks": [...]}', `{"checks":[${many}] , "strict":true}`],
    ['; `checks` is there twice: {"checks": [...]}', `{"checks":[${many}],"checks":[]}`],
    [': {"checks": [...]}', `{"${SECRET}":[${many}]}`],
  ])('of a batch%s', async (found, body) => {
    const message = `${NO_OBJECT.replace('CheckRequest', 'CheckBatchRequest')}${found}`
    expect(await errorOf(`${CHECK}Batch`, body)).toEqual([400, 'invalid_argument', message])
  })

  test('that is not UTF-8', async () => {
    const body = Buffer.concat([Buffer.from('{"api":"'), Buffer.of(0xff), Buffer.from('"}')])
    expect(await errorOf(CHECK, body)).toEqual([400, 'invalid_argument', 'the body: expected UTF-8'])
  })

  test('with too many values, before it is read', async () => {
    const body = `{"credentials":{"headers":[${'{},'.repeat(5_000)}{}]}}`
    expect(await errorOf(CHECK, body)).toEqual([
      400,
      'invalid_argument',
      'the body: expected at most 5000 values in a message',
    ])
  })

  test('with many commas in one text is read', async () => {
    const headers = [{ name: 'X-Token', value: ','.repeat(60_000) }]
    const { status } = await post(
      address,
      CHECK,
      JSON.stringify({ api: 'balance', credentials: { headers } }),
    )
    expect(status).toBe(200)
  })
})

describe('the protocol', () => {
  test.each<
    [claim: string, path: string, body: string | Buffer, headers: RequestHeaders, expected: unknown[]]
  >([
    [
      'another version',
      CHECK,
      text,
      { ...JSON_TYPE, 'connect-protocol-version': '2' },
      [400, 'invalid_argument', 'connect-protocol-version: expected 1'],
    ],
    [
      'an invalid timeout',
      CHECK,
      text,
      { ...JSON_TYPE, 'connect-timeout-ms': '1s' },
      [400, 'invalid_argument', 'connect-timeout-ms: expected up to ten digits'],
    ],
    [
      'an unknown encoding',
      CHECK,
      text,
      { ...JSON_TYPE, 'content-encoding': 'br' },
      [501, 'unimplemented', 'content-encoding: expected identity or gzip'],
    ],
    [
      'invalid gzip',
      CHECK,
      text,
      { ...JSON_TYPE, 'content-encoding': 'gzip' },
      [400, 'invalid_argument', 'a compressed message that is not gzip'],
    ],
    [
      'a message that grows beyond the limit',
      CHECK,
      gzipSync(Buffer.alloc(131_073)),
      { ...JSON_TYPE, 'content-encoding': 'gzip' },
      [429, 'resource_exhausted', 'Received message larger than max (131072 bytes)'],
    ],
    [
      'a message beyond the limit',
      CHECK,
      Buffer.alloc(MESSAGE_BYTES_MAX + 1),
      PROTO_TYPE,
      [429, 'resource_exhausted', `Received message larger than max (${MESSAGE_BYTES_MAX} bytes)`],
    ],
    [
      'bytes that are not a message',
      CHECK,
      Buffer.of(0xff),
      PROTO_TYPE,
      [400, 'invalid_argument', 'expected a message of the contract; the bytes cannot be decoded'],
    ],
    [
      'an unknown method',
      `${SERVICE}/Nosuch`,
      text,
      JSON_TYPE,
      [404, 'unimplemented', 'there is no such method'],
    ],
  ])('%s', async (_claim, path, body, headers, expected) => {
    expect(await errorOf(path, body, headers)).toEqual(expected)
  })

  test.each<[claim: string, path: string, headers: RequestHeaders, status: number]>([
    [
      'JSON with the name of its characters',
      CHECK,
      { 'content-type': 'Application/JSON; charset="utf-8"' },
      200,
    ],
    ['other characters', CHECK, { 'content-type': 'application/json; charset=latin1' }, 415],
    ['no type', CHECK, {}, 200],
    ['the type that curl sends', CHECK, { 'content-type': 'application/x-www-form-urlencoded' }, 200],
    [
      'the type that a form of a page sends',
      CHECK,
      { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'cross-site' },
      415,
    ],
    ['no type, from a page', CHECK, { 'sec-fetch-site': 'none' }, 415],
    ['text', CHECK, { 'content-type': 'text/plain' }, 415],
    ['gRPC', CHECK, { 'content-type': 'application/grpc' }, 415],
    ['a stream for one message', CHECK, { 'content-type': 'application/connect+json' }, 415],
    ['one message for a stream', `${SERVICE}/WatchMatrix`, JSON_TYPE, 415],
    [
      'JSON of reflection',
      '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
      { 'content-type': 'application/connect+json' },
      415,
    ],
    [
      'two directions over HTTP/1.1',
      `${SERVICE}/CheckStream`,
      { 'content-type': 'application/connect+json' },
      505,
    ],
    ['an unknown service', '/portcullis.v2.AuthorizationService/Check', JSON_TYPE, 404],
    ['the service of Envoy', '/envoy.service.auth.v3.Authorization/Check', PROTO_TYPE, 404],
    ['another host', CHECK, { ...JSON_TYPE, host: 'example.com' }, 403],
    ['a page', CHECK, { ...JSON_TYPE, origin: 'https://example.com' }, 403],
    ['a page of this server', CHECK, { ...JSON_TYPE, origin: `http://${address}` }, 403],
  ])('%s', async (_claim, path, headers, status) => {
    const answer = await post(address, path, text, headers)
    expect(answer.status).toBe(status)
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'))).toEqual([])
  })

  test.each(['GET', 'HEAD', 'PUT', 'DELETE'])('%s is not a call, and says what is', async (method) => {
    const { status, headers } = await post(address, CHECK, '', {}, method)
    expect([status, headers.allow]).toEqual([405, 'OPTIONS, POST'])
  })

  test('answers are for no cache, and compressed requests are read', async () => {
    const { status, headers } = await post(address, CHECK, gzipSync(text), {
      ...JSON_TYPE,
      'content-encoding': 'gzip',
    })
    expect([status, headers['cache-control']]).toEqual([200, 'no-store'])
  })
})

const WEB = { 'content-type': 'application/grpc-web+proto' }
const STREAM = { 'content-type': 'application/connect+json' }

describe('envelopes', () => {
  test.each<[claim: string, path: string, body: Buffer, headers: RequestHeaders, status: string]>([
    ['no message', CHECK, Buffer.alloc(0), WEB, '12'],
    ['two messages', CHECK, Buffer.concat([enveloped(''), enveloped('')]), WEB, '12'],
    ['half a message', CHECK, enveloped(bytesOf('CheckRequest', good)).subarray(0, -1), WEB, '3'],
    ['a message beyond the limit', CHECK, enveloped(Buffer.alloc(MESSAGE_BYTES_MAX + 1)), WEB, '8'],
    ['compression that was not announced', CHECK, enveloped(gzipSync(''), 1), WEB, '13'],
    ['an unknown encoding', CHECK, enveloped(''), { ...WEB, 'grpc-encoding': 'br' }, '12'],
    ['an invalid timeout', CHECK, enveloped(''), { ...WEB, 'grpc-timeout': '1' }, '3'],
    ['an unknown method', `${SERVICE}/Nosuch`, enveloped(''), WEB, '12'],
    [
      'text that is not base64',
      CHECK,
      Buffer.from('AAA=A==='),
      { 'content-type': 'application/grpc-web-text' },
      '3',
    ],
    ['half of base64', CHECK, Buffer.from('AAAAA'), { 'content-type': 'application/grpc-web-text' }, '3'],
  ])('of gRPC-Web with %s', async (_claim, path, body, headers, status) => {
    const answer = await post(address, path, body, headers)
    const content =
      headers === WEB || 'grpc-encoding' in headers || 'grpc-timeout' in headers
        ? answer.body
        : Buffer.from(answer.body.toString(), 'base64')
    const [last] = envelopesIn(content)
    expect([answer.status, last?.flags]).toEqual([200, 0x80])
    expect(last?.bytes.toString()).toContain(`grpc-status: ${status}\r\n`)
  })

  test.each<[claim: string, body: Buffer, headers: RequestHeaders, code: string]>([
    ['no message', Buffer.alloc(0), STREAM, 'unimplemented'],
    ['two messages', Buffer.concat([enveloped('{}'), enveloped('{}')]), STREAM, 'unimplemented'],
    ['half a message', enveloped('{}').subarray(0, -1), STREAM, 'invalid_argument'],
    ['malformed JSON', enveloped(SECRET), STREAM, 'invalid_argument'],
    ['the mark of an end', enveloped('{}', 2), STREAM, 'internal'],
    [
      'an unknown encoding',
      enveloped('{}'),
      { ...STREAM, 'connect-content-encoding': 'br' },
      'unimplemented',
    ],
  ])('of a stream with %s', async (_claim, body, headers, code) => {
    const answer = await post(address, `${SERVICE}/WatchMatrix`, body, headers)
    const [last] = envelopesIn(answer.body)
    expect([answer.status, last?.flags, JSON.parse(last?.bytes.toString() ?? '')]).toMatchObject([
      200,
      2,
      { error: { code } },
    ])
    expect(answer.body.toString()).not.toContain(SECRET)
  })

  test('base64 is read in pieces that each end with padding', async () => {
    const message = enveloped(bytesOf('CheckRequest', good))
    const pieces = [message.subarray(0, 4), message.subarray(4, 9), message.subarray(9)]
    const body = pieces.map((piece) => piece.toString('base64')).join('')
    const { body: answer } = await post(address, CHECK, body, { 'content-type': 'application/grpc-web-text' })
    const texts = answer.toString().match(/[^=]+={0,2}/g) ?? []
    const [first, last] = envelopesIn(Buffer.concat(texts.map((each) => Buffer.from(each, 'base64'))))
    expect([first?.flags, last?.bytes.toString()]).toEqual([0, 'grpc-status: 0\r\n'])
  })
})

test('none of these requests is an error of the sidecar', () => {
  const levels = logLines.map((line) => (JSON.parse(line) as { level: number }).level)
  expect(levels.filter((level) => level >= 50)).toEqual([])
  expect(logLines.join()).not.toContain(SECRET)
})

/** The status of HTTP, and the error of Connect. */
async function errorOf(
  path: string,
  body: string | Buffer,
  headers: RequestHeaders = JSON_TYPE,
): Promise<unknown[]> {
  const answer = await post(address, path, body, headers)
  const { code, message } = JSON.parse(answer.body.toString())
  return [answer.status, code, message]
}
