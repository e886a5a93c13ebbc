/** Rules and a matrix that are too long for one response: every door carries them, and the client has all. */
import { type DescMessage, type DescMethod, fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf'
import { Code, type Transport } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { compile, finish } from '../../engine/index.ts'
import { rulesInSteps } from '../../sidecar/contract/change-messages.ts'
import { FORMS, messageOf, methodOf, transportOf } from '../support/contract/contract.ts'
import { manyApis } from '../support/matrices/large-matrix.ts'
import { connect } from '../support/sidecar/client.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, whenTheFileEnds } from '../support/suite/resources.ts'

const APIS = 20_000
const many = manyApis(APIS)
const MATRIX = { ...many, apis: many.apis.map((api) => ({ ...api, title: 'x'.repeat(150) })) }
const { parts, last } = finish(rulesInSteps(compile(MATRIX), []))
const matrix = newFile(JSON.stringify(MATRIX), 'matrix.json')
const callerToken = 'follower-caller-token-0123456789abcdef'
const config = `callers:
  - { name: follower, token_file: ${newFile(callerToken)}, rights: [follow] }
`

const start = (transport: string) =>
  runSidecar({
    config: newFile(config, 'portcullis.yaml'),
    flags: { matrix, 'grpc.transport': transport, 'http.address': '127.0.0.1:0', 'http.connect': true },
  })
const sidecars = { sockets: await start('sockets'), 'grpc-js': await start('grpc-js') }
const addressesOf = (transport: keyof typeof sidecars) => {
  const { address: grpc, sidecar } = sidecars[transport]
  return { grpc, http: sidecar.httpAddress ?? '' }
}

const DOORS: readonly (readonly [door: string, transport: Transport])[] = [
  ['gRPC on sockets', transportOf('gRPC', addressesOf('sockets'))],
  ['gRPC on grpc-js', transportOf('gRPC', addressesOf('grpc-js'))],
  ...FORMS.map((form) => [form, transportOf(form, addressesOf('sockets'))] as const),
]

/** The rules that a follower joins, and the lengths of the responses. */
async function followed(transport: Transport) {
  const method = methodOf('WatchChanges') as DescMethod & { methodKind: 'server_streaming' }
  const ending = new AbortController()
  const headers = { authorization: `Bearer ${callerToken}` }
  const input = async function* () {
    yield fromJson(method.input, {})
  }
  const { message } = await transport.stream(method, ending.signal, undefined, headers, input())
  const found: { readonly rules: Buffer[]; readonly lengths: number[]; readonly goOn: boolean[] } = {
    ...{ rules: [], lengths: [], goOn: [] },
  }
  for await (const response of message) {
    const { rules, rulesPart, validFor } = response as unknown as Readonly<Record<string, unknown>>
    found.lengths.push(toBinary(method.output, response).length)
    found.goOn.push(validFor !== undefined)
    for (const some of [rulesPart, rules])
      if (some !== undefined) found.rules.push(Buffer.from(toBinary(messageOf('Rules'), some as never)))
    if (rules !== undefined) break
  }
  ending.abort()
  return found
}

const jsonOf = (bytes: Uint8Array, message: DescMessage) => toJson(message, fromBinary(message, bytes))

test.each(DOORS)('%s sends the rules in parts', async (_door, transport) => {
  const { rules, lengths, goOn } = await followed(transport)
  expect(rules).toHaveLength(1 + parts.length)
  expect(Math.max(...lengths)).toBeLessThan(150_000)
  expect([goOn.at(-1), goOn.indexOf(true)]).toEqual([true, goOn.length - 1])
  const sent = parts.map((part) => {
    const { rulesPart } = fromBinary(messageOf('WatchChangesResponse'), part) as never
    return Buffer.from(toBinary(messageOf('Rules'), rulesPart))
  })
  const whole = jsonOf(Buffer.concat([...sent, last]), messageOf('Rules')) as { readonly apis: object[] }
  expect(whole.apis).toHaveLength(1 + APIS)
  expect(jsonOf(Buffer.concat(rules), messageOf('Rules'))).toEqual(whole)
})

test.each(DOORS)('%s has the matrix by page', async (_door, transport) => {
  const method = methodOf('GetMatrix') as DescMethod & { methodKind: 'unary' }
  const apis: unknown[] = []
  let pageToken = ''
  do {
    const request = fromJson(method.input, { pageSize: 1_000, pageToken })
    const { message } = await transport.unary(method, undefined, undefined, {}, request)
    const page = toJson(method.output, message) as unknown as {
      readonly matrix: { readonly apis: readonly { readonly id: string }[] }
      readonly nextPageToken: string | undefined
    }
    apis.push(...page.matrix.apis.map(({ id }) => id))
    pageToken = page.nextPageToken ?? ''
  } while (pageToken !== '')
  expect(apis).toEqual(MATRIX.apis.map(({ id }) => id))
})

test.each(DOORS)('%s refuses the whole matrix, and says how to get it', async (_door, transport) => {
  const whole = methodOf('GetMatrix') as DescMethod & { methodKind: 'unary' }
  const watch = methodOf('WatchMatrix') as DescMethod & { methodKind: 'server_streaming' }
  const refused = (asked: Promise<unknown>) =>
    expect(asked).rejects.toMatchObject({
      code: Code.FailedPrecondition,
      rawMessage: expect.stringMatching(
        /^the whole matrix has [\d,]+ bytes, and a message at most 4,194,304; ask `GetMatrix` for pages, with `page_size`$/,
      ),
    })
  await refused(transport.unary(whole, undefined, undefined, {}, fromJson(whole.input, {})))
  const input = async function* () {
    yield fromJson(watch.input, {})
  }
  const watched = async () => {
    const { message } = await transport.stream(watch, undefined, undefined, {}, input())
    for await (const _response of message) throw new Error('expected no matrix')
  }
  await refused(watched())
})

test.each(['sockets', 'grpc-js'] as const)(
  'the client decides by them and has all of the matrix, on %s',
  async (transport) => {
    const client = connect(sidecars[transport].address, { callerToken, local: true })
    whenTheFileEnds(() => client.close())
    const token = { kind: 'static_token', scope: { account: ACCOUNT } }
    const asked = (api: string) => client.checkLocally({ api, token })
    // Every third one accepts a static token.
    await eventually(() => asked('api-2')?.allowed === true)
    expect(asked(`api-${APIS - 3}`)).toMatchObject({ allowed: true })
    expect((await client.getMatrix()).apis.map(({ id }) => id)).toEqual(MATRIX.apis.map(({ id }) => id))
  },
)
