/** curl and h2load know HTTP/2 and nothing of gRPC: they show what is on the wire. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { messageType, refusalOf } from '../../support/contract/black-box.ts'
import { type AdministeredDemo, serveAdministeredDemo } from '../../support/interop/administered-demo.ts'
import { run } from '../../support/interop/command.ts'
import { installH2load } from '../../support/interop/debian.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { newFile, newFolder } from '../../support/suite/resources.ts'

const SERVICE = '/portcullis.v1.AuthorizationService'
const CHECK = { api: 'balance', token: { kind: 'static_token', scope: { account: '1' } } }

const [curl, h2load] = await Promise.all([
  obtained('curl', () => run('curl', ['--version'])),
  obtained('h2load', installH2load),
])
const runH2load = h2load.ok ? h2load.value : undefined

let url: string
let administratorToken: string
let sidecar: AdministeredDemo
beforeAll(async () => {
  sidecar = await serveAdministeredDemo()
  url = `http://${sidecar.ready.grpc}${SERVICE}`
  administratorToken = sidecar.administratorToken
})
afterAll(() => sidecar?.stop())

describe.skipIf(!curl.ok)('curl', () => {
  const GRPC = ['-H', 'content-type: application/grpc', '-H', 'te: trailers']
  const post = async (method: string, body: Buffer, flags = GRPC) => {
    const folder = newFolder()
    const [head, answer] = [join(folder, 'head'), join(folder, 'answer')]
    const request = ['--data-binary', `@${newFile(body)}`, `${url}/${method}`]
    const files = ['--dump-header', head, '--output', answer]
    await run('curl', [
      '--silent',
      '--http2-prior-knowledge',
      '--max-time',
      '60',
      ...flags,
      ...files,
      ...request,
    ])
    return {
      ...headOf(readFileSync(head, 'latin1')),
      body: existsSync(answer) ? readFileSync(answer) : Buffer.alloc(0),
    }
  }

  test('a call is answered with a message and trailers', async () => {
    const { status, fields, body } = await post('Check', message('CheckRequest', CHECK))
    expect(status).toBe(200)
    expect(fields['content-type']).toMatch(/^application\/grpc(\+proto)?$/)
    expect(fields['grpc-status']).toBe('0')
    expect(messagesIn('CheckResponse', body)).toMatchObject([{ allowed: true }])
  })

  test('a call without an answer gets a status, its text and its details', async () => {
    const { status, fields, body } = await post('Check', message('CheckRequest', {}))
    expect([status, body.length, fields['grpc-status']]).toEqual([200, 0, '3'])
    const details = decodeURIComponent(fields['grpc-message'] ?? '')
    const bytes = Buffer.from(fields['grpc-status-details-bin'] ?? '', 'base64')
    const metadata = { get: () => [bytes] }
    expect(refusalOf({ code: 3, details, metadata })).toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'INVALID_ARGUMENT',
      violations: [
        ['api', 'expected the id of an API'],
        ['subject', 'expected exactly one of credentials and token, found neither'],
      ],
    })
  })

  test('a stream is answered message by message, and ends with a status', async () => {
    const questions = ['one', 'two'].map((id) => message('CheckStreamRequest', { id, check: CHECK }))
    const { fields, body } = await post('CheckStream', Buffer.concat(questions))
    expect(fields['grpc-status']).toBe('0')
    expect(messagesIn('CheckStreamResponse', body)).toMatchObject([{ id: 'one' }, { id: 'two' }])
  })

  // Without a body: the server asks for no more of it with a reset, which curl may see before the answer.
  test('an unknown method is unimplemented', async () => {
    const { status, fields } = await post('Nosuch', Buffer.alloc(0))
    expect([status, fields['grpc-status']]).toEqual([200, '12'])
  })

  test('a request that is not a call gets an HTTP status that says so', async () => {
    // Without a body, for the same reason.
    const { status } = await post('Check', Buffer.alloc(0), ['-H', 'content-type: text/plain'])
    expect(status).toBe(415)
  })

  test.each([
    ['HTTP/1.1', '--http1.1', 'http'],
    ['an upgrade to h2c', '--http2', 'http'],
    ['TLS', '--insecure', 'https'],
  ])('%s on the plain port gets an answer that curl and a person can read', async (_what, flag, scheme) => {
    const asked = run('curl', ['--silent', '--show-error', flag, `${scheme}://${sidecar.ready.grpc}/`])
    const read = await asked.catch((error) => String(error))
    expect(read).toMatch(scheme === 'http' ? /--http2-prior-knowledge/ : /alert protocol version/)
  })

  test('a deadline is kept by the server too', async () => {
    const { fields } = await post('WatchMatrix', message('WatchMatrixRequest', {}), [
      ...GRPC,
      '-H',
      'grpc-timeout: 300m',
    ])
    expect(fields['grpc-status']).toBe('4')
  })

  test('metadata arrives, binary metadata too', async () => {
    const revoke = message('RevokeRequest', { token_id: 'A'.repeat(22) })
    const others = [
      'x-long: '.padEnd(4_000, 'v'),
      `x-trace-bin: ${Buffer.from([0, 0xff]).toString('base64')}`,
    ]
    const outcomeOf = async (...headers: string[]) => {
      const flags = [...others, ...headers].flatMap((header) => ['-H', header])
      return (await post('Revoke', revoke, [...GRPC, ...flags])).fields['grpc-status']
    }
    // UNAUTHENTICATED
    expect(await outcomeOf()).toBe('16')
    expect(await outcomeOf(`authorization: Bearer ${administratorToken}`)).not.toBe('16')
  })

  test('large messages arrive, in both directions', async () => {
    const id = 'x'.repeat(3_900_000)
    const { fields, body } = await post('CheckStream', message('CheckStreamRequest', { id, check: CHECK }))
    expect(fields['grpc-status']).toBe('0')
    expect(messagesIn('CheckStreamResponse', body)).toMatchObject([{ id, result: { allowed: true } }])
  })
})

test.skipIf(!h2load.ok)('h2load gets 20,000 answers from 8 connections', async () => {
  const load = ['-c8', '-m16', '-n20000', '-t1', '-d', newFile(message('CheckRequest', CHECK))]
  const headers = ['-H', 'content-type: application/grpc', '-H', 'te: trailers']
  const printed = await runH2load?.([...load, ...headers, `${url}/Check`])
  expect(printed).toContain(
    '20000 total, 20000 started, 20000 done, 20000 succeeded, 0 failed, 0 errored, 0 timeout',
  )
})

function message(type: string, value: object): Buffer {
  const bytes = messageType(type).serialize(value)
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([prefix, bytes])
}

function messagesIn(type: string, body: Buffer): object[] {
  const messages: object[] = []
  for (let at = 0; at < body.length; at += 5 + body.readUInt32BE(at + 1))
    messages.push(messageType(type).deserialize(body.subarray(at + 5, at + 5 + body.readUInt32BE(at + 1))))
  return messages
}

/** The status and all fields, those of the trailers too, as curl writes them down. */
function headOf(text: string): { status: number; fields: Record<string, string | undefined> } {
  const [first = '', ...lines] = text.split('\r\n').filter((line) => line !== '')
  return {
    status: Number(first.split(' ')[1] ?? 0),
    fields: Object.fromEntries(
      lines.map((line) => [line.split(': ')[0] ?? '', line.slice(line.indexOf(': ') + 2)]),
    ),
  }
}
