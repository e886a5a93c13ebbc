/** Our HTTP/2 with other clients: curl, h2load, and Node's own. h2spec is in transport/h2spec.test.ts. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { RepeatedFields } from '../../sidecar/transports/http2/hpack/encoder.ts'
import type { HeaderField } from '../../sidecar/transports/http2/hpack/header-field.ts'
import type { Stream } from '../../sidecar/transports/http2/stream.ts'
import { constant, serve } from '../support/http2/constant.ts'
import { run } from '../support/interop/command.ts'
import { installH2load } from '../support/interop/debian.ts'
import { obtained } from '../support/interop/obtain.ts'
import { newFolder } from '../support/suite/resources.ts'

const [curl, h2load] = await Promise.all([
  obtained('curl', () => run('curl', ['--http2-prior-knowledge', '--version'])),
  obtained('h2load', installH2load),
])
const runH2load = h2load.ok ? h2load.value : undefined

const server = await serve(constant(Buffer.from('hello, world')))
afterAll(() => server.close())

test.skipIf(!curl.ok)('curl gets an answer, and a large body is taken', async () => {
  const body = join(newFolder(), 'body')
  writeFileSync(body, Buffer.alloc(3_000_000))
  const url = `http://127.0.0.1:${server.port}/`
  expect(await run('curl', ['-sS', '--http2-prior-knowledge', url])).toBe('hello, world')
  expect(await run('curl', ['-sS', '--http2-prior-knowledge', '--data-binary', `@${body}`, url])).toBe(
    'hello, world',
  )
})

test.skipIf(!h2load.ok)('h2load gets 20,000 answers on connections with small windows', async () => {
  const said = await runH2load?.([
    ...['-n', '20000', '-c', '4', '-m', '50', '-w', '10', '-W', '12'],
    `http://127.0.0.1:${server.port}/`,
  ])
  expect(said).toMatch(/20000 total, 20000 started, 20000 done, 20000 succeeded, 0 failed, 0 errored/)
})

test("header fields survive the way through Node's encoder and ours, and back", async () => {
  let seen: readonly HeaderField[] = []
  let answer: [string, string][] = []
  const repeated = new RepeatedFields([':status', '200'], ['x-repeated', 'again and again'])
  const respond = (stream: Stream<undefined>) => {
    if (answer.length === 0) stream.sendHeaders(repeated)
    else stream.sendHeaders([[':status', '200'], ...answer])
    stream.end()
  }
  const app = {
    ...constant(Buffer.alloc(0)),
    readHead: ({ fields }: { fields: HeaderField[] }) => {
      seen = fields
      return undefined
    },
    open: respond,
  }
  const echo = await serve(app)
  const client = connect(`http://127.0.0.1:${echo.port}`)
  const field = fc.tuple(
    fc.stringMatching(/^x-[a-z0-9-]{1,20}$/),
    fc.stringMatching(/^(?:[!-~](?:[ -~]{0,60}[!-~])?)?$/),
  )
  const fields = fc.uniqueArray(field, { maxLength: 20, selector: ([name]) => name })
  await fc.assert(
    fc.asyncProperty(fields, fields, async (sent, answered) => {
      answer = answered
      const stream = client.request({ ':path': '/', ...Object.fromEntries(sent) })
      const [received] = await once(stream, 'response')
      stream.resume()
      await once(stream, 'close')
      const custom = seen.filter(({ name }) => name.startsWith('x-'))
      expect(custom.map(({ name, value }) => [name, value])).toEqual(sent)
      const expected = answered.length === 0 ? [['x-repeated', 'again and again']] : answered
      expect(Object.entries(received).filter(([name]) => name.startsWith('x-'))).toEqual(expected)
    }),
    { numRuns: 300 },
  )
  client.close()
  await echo.close()
})
