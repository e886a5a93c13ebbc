/**
 * Both transports of gRPC get generated calls of every method, with every credential, in any framing and with
 * any breach of the protocol. They answer with the same HTTP statuses, headers, messages, trailers, statuses
 * and details, but for the named differences. Both serve the methods of one sidecar. `SEED` and `QUESTIONS`
 * are as in `test/parity/streams.test.ts`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createFileRegistry,
  type DescField,
  type DescMethod,
  fromBinary,
  type JsonObject,
} from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import * as fc from 'fast-check'
import { afterAll, expect, test, vi } from 'vitest'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import type { Method, Methods } from '../../sidecar/contract/call.ts'
import type { StartTransport } from '../../sidecar/transports/transport.ts'
import { endedTokens } from '../parity/ended-tokens.ts'
import { startSidecars } from '../parity/people.ts'
import { checkOf } from '../parity/protocols/connect.ts'
import { questionsOf } from '../parity/stream.ts'
import { bytesOf } from '../support/contract/contract.ts'
import { randomFrom } from '../support/inputs/random.ts'
import { add, QUESTIONS, report, SEEDS } from '../support/inputs/seeds.ts'
import { ACCOUNT_KIND, engine } from '../support/matrices/engines.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { DIFFERENCES, differenceOf } from '../support/transports/differences.ts'
import {
  type Asked,
  callsOf,
  type GeneratedCall,
  MESSAGE_BYTES_MAX,
  requestsOf,
  USUAL,
} from '../support/transports/generated-calls.ts'
import type { TextsOf } from '../support/transports/messages.ts'
import { outcomesOf } from '../support/transports/outcomes.ts'

/** The common parts of the transports, by the address of the one on sockets. */
const both = vi.hoisted(() => new Map<string, { readonly grpcJs: string; readonly methods: Methods }>())

vi.mock('../../sidecar/transports/sockets/sockets-transport.ts', async (original) => {
  const { startTransport: onSockets } = await original<{ startTransport: StartTransport }>()
  const { startTransport: onGrpcJs } = await import('../../sidecar/transports/grpc-js/grpc-js-transport.ts')
  const startTransport: StartTransport = async (given, options) => {
    const methods = new Map([...given].map(([path, method]) => [path, changingOnce(path, method)]))
    const sockets = await onSockets(methods, options)
    const grpcJs = await onGrpcJs(methods, options)
    both.set(sockets.address, { grpcJs: grpcJs.address, methods })
    const close = async (ms: number) => void (await Promise.all([sockets.close(ms), grpcJs.close(ms)]))
    return { address: sockets.address, close }
  }
  return { startTransport }
})

/** Methods that change nothing. */
const READS = /\/(Check|CheckBatch|Plan|Describe\w+|Get\w+|List\w+|Preview\w+)$/
const changes = ({ path, type }: Pick<Asked, 'path' | 'type'>) => type === 'unary' && !READS.test(path)

/** Changes under way. */
const underWay = new Set<Promise<unknown>>()

/** A change is made for the first of both transports that asks for it, and the other gets the same answer. */
function changingOnce(path: string, method: Method): Method {
  if (!changes({ path, type: method.type })) return method
  const { handle } = method as Method & { type: 'unary' }
  const answers = new Map<string, Promise<Buffer>>()
  return {
    ...method,
    type: 'unary',
    handle: (request, context) => {
      const id = `${context.metadata('x-request-id').join()} ${request.toString('hex')}`
      let answer = answers.get(id)
      if (answer === undefined) {
        const own = Buffer.from(request)
        answer = (async () => handle(own, context))()
        answer.catch(() => {})
        answers.set(id, answer)
        underWay.add(answer)
      }
      return answer
    },
  }
}

const sidecars = await startSidecars({ 'grpc.max_message_bytes': MESSAGE_BYTES_MAX })
const { lenient, people } = sidecars
const ended = await endedTokens(lenient)
const MADE = ['made-1', 'made-2']
const made = (account: string) => ({
  account,
  projects: ['alpha'],
  service_users: [{ name: 'robot', permissions: [{ scope: 'account' as const }] }],
  control_panel_users: [{ name: 'owner', static_tokens: ['made'] }],
})
const { secrets } = await applyFile(lenient.sidecar.administration, TESTER, {
  accounts: [...MADE, 'kept'].map(made),
})
const issuer = {
  userName: 'robot',
  account: 'kept',
  password:
    secrets.find(({ type, account }) => type === 'password' && account === 'kept')?.value.reveal() ?? '',
}
const administrator = `Bearer ${readFileSync(join(lenient.folder, 'administrator-token'), 'utf8').trim()}`
const { grpcJs, methods } = both.get(lenient.address) as { grpcJs: string; methods: Methods }

/** The values in the fields of requests, by their names. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  ...{ project: ['alpha', 'made'], projects: ['alpha'], scope: ['account', 'projects'] },
  ...{ api: ['balance', 'iam', 'nosuch'], apis: ['balance', 'iam'], kind: Object.keys(people.genuine) },
  ...{ name: ['robot', 'owner', 'made', 'X-Auth-Token'], user_name: ['robot', 'owner'] },
  ...{ value: Object.values(people.genuine), tokens: Object.values(people.genuine) },
  ...{ roles: ['iam.admin', 'iam.viewer'], page_token: [''], profile: [''] },
  ...{ ranges: ['203.0.113.0/24'], client_address: ['203.0.113.7'], service: ['', 'nosuch'] },
}
const odd = fc.constantFrom('', 'é', 'x'.repeat(300), 'nosuch', people.expired)

/** Accounts that all else is asked about are not changed. */
function textsOf(path: string): TextsOf {
  const accounts = path.endsWith('/DeleteAccount') ? ['made-2'] : READS.test(path) ? [ACCOUNT, ...MADE] : MADE
  return ({ name }: DescField) => {
    const known = /^accounts?$/.test(name) ? accounts : (TEXTS[name] ?? ['a text'])
    return fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...known) }, odd)
  }
}

const registry = createFileRegistry(
  ...['portcullis', 'health', 'envoy'].map((name) => {
    const descriptors = readFileSync(new URL(`../../proto/${name}.binpb`, import.meta.url))
    return createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptors))
  }),
)
const checks = questionsOf(randomFrom(SEEDS[0] ?? 1), { people, ended, library: engine }, 200).map(checkOf)
const wellFormed: Readonly<Record<string, readonly JsonObject[]>> = {
  CheckRequest: checks,
  CheckBatchRequest: checks.map((_, index) => ({ checks: checks.slice(index, index + 10) })),
  IssueRequest: [{ password: issuer, scope: { account: 'kept' } }],
  CreateServiceUserRequest: MADE.map((account) => ({ account, name: 'made' })),
  CheckStreamRequest: checks.map((check, index) => ({ id: `q${index}`, check })),
}
/** Of reflection there is no descriptor: the list of services, a symbol, a file, and no question. */
const REFLECTED = ['3a00', '220a6e6f737563682e412e62', '1a016a', ''].map((hex) => Buffer.from(hex, 'hex'))

const ASKED = [...methods].map(([path, { type }]): Asked => {
  const [service = '', name] = path.slice(1).split('/')
  const method = registry.getService(service)?.methods.find((each: DescMethod) => each.name === name)
  if (method === undefined) return { path, type, requests: fc.constantFrom(...REFLECTED) }
  const any = requestsOf(method.input, textsOf(path))
  const known = service.startsWith('portcullis') ? wellFormed[method.input.name] : undefined
  if (known === undefined) return { path, type, requests: any }
  const whole = fc.constantFrom(...known).map((json) => bytesOf(method.input.name, json))
  return { path, type, requests: fc.oneof({ weight: 4, arbitrary: whole }, any) }
})
/** Those of which it is true, and the others. */
function partitioned<T>(all: readonly T[], isTrue: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isTrue), all.filter((one) => !isTrue(one))]
}

const ALLOWED = { authorization: administrator }
const [genuine = '', other = ''] = [people.genuine[ACCOUNT_KIND], people.revoked]
const CREDENTIALS = [
  ...Array(5).fill(ALLOWED),
  ...[{}, { authorization: '' }, { authorization: 'Bearer nobody' }, { authorization: genuine }],
  ...[{ 'x-auth-token': genuine }, { 'x-auth-token': other }, { 'x-auth-token': genuine, ...ALLOWED }],
  ...[{ 'x-auth-token': [genuine, other] }, { 'x-auth-token': ['', genuine] }],
]

const sums: Record<string, number> = {}
const seen = new Set<unknown>()
const answered = new Set<string>()
afterAll(() => report('transports', sums))

/** Makes the calls at the same time, over a connection to each of both. */
async function expectSame(calls: readonly GeneratedCall[], windowBytes?: number): Promise<void> {
  const ask = async () => {
    const [ours = [], theirs = []] = await Promise.all(
      [lenient.address, grpcJs].map((address) => outcomesOf(address, calls, windowBytes)),
    )
    const changed = underWay.size > 0
    // Calls that come next must find the same directory on both.
    await Promise.allSettled(underWay)
    underWay.clear()
    return { ours, theirs, changed }
  }
  let { ours, theirs, changed } = await ask()
  const differs = (call: GeneratedCall, index: number) => {
    const [sockets, other] = [ours[index], theirs[index]]
    return sockets && other && Array.isArray(differenceOf(call, sockets, other))
  }
  // The process may have read the record of the last change between both answers, which name its position.
  if (!changed && calls.some(differs)) ({ ours, theirs } = await ask())
  for (const [index, call] of calls.entries()) {
    const [sockets, other] = [ours[index], theirs[index]]
    if (sockets === undefined || other === undefined) throw new Error('a call has no outcome')
    const difference = differenceOf(call, sockets, other)
    if (Array.isArray(difference)) expect(difference[0], call.what).toEqual(difference[1])
    seen.add(difference)
    const isAnswered = sockets.messages.length > 0
    if (isAnswered) answered.add(call.path)
    add(sums, { calls: 1, refused: isAnswered ? 0 : 1 })
  }
}

test('every method, asked correctly, answers the same', async () => {
  const [last, first] = partitioned(ASKED, ({ path }) => /\/(Delete|Revoke)/.test(path))
  for (const round of [1, 2])
    for (const asked of [...first, ...last]) {
      const some = { numRuns: 6, seed: 100 * (SEEDS[0] ?? 1) + round }
      await expectSame(fc.sample(callsOf([asked], [ALLOWED], [USUAL]), some))
    }
  // Some need what no call can make: a session, an application credential, another matrix; some need luck.
  expect(answered.size).toBeGreaterThan(0.7 * ASKED.length)
})

test('whatever a client sends, both answer the same', { timeout: 0 }, async () => {
  const [changing, reading] = partitioned(ASKED, changes)
  const together = (methods: Asked[]) =>
    fc.array(callsOf(methods, CREDENTIALS), { minLength: 1, maxLength: 6 })
  // A change beside a question would change its answer on one of both.
  const calls = fc.oneof({ weight: 2, arbitrary: together(reading) }, together(changing))
  // With a small window answers are sent in many parts.
  const windows = fc.constantFrom(65_535, 65_535, 500)
  await fc.assert(fc.asyncProperty(calls, windows, expectSame), { numRuns: 4 * QUESTIONS })
  expect(DIFFERENCES.filter((each) => !seen.has(each)).map(({ claim }) => claim)).toEqual([])
})
