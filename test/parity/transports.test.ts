/**
 * The stream of questions over both transports of gRPC, to sidecars of one directory: the same bytes of every
 * answer, and the same status, details and metadata of every error. `SEED` and `QUESTIONS` are as in
 * `streams.test.ts`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '@bufbuild/protobuf'
import { afterAll, expect, test } from 'vitest'
import { outcomesOf, type SequenceCall } from '../support/contract/call-sequences.ts'
import { bytesOf } from '../support/contract/contract.ts'
import { messageFrame } from '../support/http2/frames.ts'
import { Dice, randomFrom } from '../support/inputs/random.ts'
import { add, QUESTIONS, report, SEEDS } from '../support/inputs/seeds.ts'
import { engine } from '../support/matrices/engines.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { endedTokens } from './ended-tokens.ts'
import { startSidecars } from './people.ts'
import { checkOf } from './protocols/connect.ts'
import { questionsOf } from './stream.ts'

/** Calls that one connection makes at the same time. */
const AT_ONCE = 6

const sidecars = await startSidecars({ 'grpc.transport': 'sockets' })
const ended = await endedTokens(sidecars.lenient)
const { address } = await sidecars.beside({ 'grpc.transport': 'grpc-js' })
const callerToken = readFileSync(join(sidecars.lenient.folder, 'administrator-token'), 'utf8').trim()

const sums: Record<string, number> = {}
afterAll(() => report('transports', sums))

test.each(SEEDS)(
  'SEED=%i: both transports give the same answers and errors',
  { timeout: 0 },
  async (seed) => {
    const dice = new Dice(randomFrom(seed))
    const checks = questionsOf(
      dice.random,
      { people: sidecars.people, ended, library: engine },
      QUESTIONS,
    ).map(checkOf)
    const calls = checks.flatMap((check, index) => [
      callOf(dice, 'AuthorizationService/Check', [['CheckRequest', check]]),
      ...(index % 10 === 0 ? severalIn(dice, checks.slice(index, index + 10)) : []),
      ...(index % 2 === 0 ? [refused(dice, check)] : []),
    ])
    const statuses: Record<string, number> = {}
    for (let start = 0; start < calls.length; start += AT_ONCE) {
      const together = calls.slice(start, start + AT_ONCE)
      const [sockets, js] = await Promise.all(
        [sidecars.lenient.address, address].map((each) => outcomesOf(each, together)),
      )
      const differing = together.flatMap((_, index) =>
        isDeepStrictEqual(js?.[index], sockets?.[index]) ? [] : [[js?.[index], sockets?.[index]]],
      )
      expect(differing).toEqual([])
      for (const { status = 'none' } of sockets ?? []) statuses[status] = (statuses[status] ?? 0) + 1
    }
    process.stderr.write(`transports: statuses of gRPC: ${JSON.stringify(statuses)}\n`)
    const answered = statuses['0'] ?? 0
    add(sums, { calls: calls.length, refused: calls.length - answered })
    // Answered, not as expected, and without a right: OK, INVALID_ARGUMENT and UNAUTHENTICATED.
    expect(Object.keys(statuses)).toEqual(expect.arrayContaining(['0', '3', '16']))
  },
)

/** Several questions in one call; perhaps with one among them that is refused. */
function severalIn(dice: Dice, checks: readonly JsonObject[]): SequenceCall[] {
  const some = dice.of(3) > 0 ? checks : [...checks, broken(dice, checks[0] as JsonObject)]
  const streamed = some.map((check, index): Message => ['CheckStreamRequest', { id: `q${index}`, check }])
  return [
    callOf(dice, 'AuthorizationService/CheckBatch', [['CheckBatchRequest', { checks: [...some] }]]),
    callOf(dice, 'AuthorizationService/CheckStream', streamed),
  ]
}

/** A call that is no question of the table. None changes anything: both sidecars have one directory. */
function refused(dice: Dice, check: JsonObject): SequenceCall {
  const account = dice.one([ACCOUNT, 'nobody', '', 'restricted'])
  const name = dice.one(['account', 'owner', 'nobody', ''])
  const [path, type, message] = dice.one<readonly [string, string, JsonObject]>([
    ['AuthorizationService/Check', 'CheckRequest', broken(dice, check)],
    ['AuthorizationService/Issue', 'IssueRequest', { profile: 'nosuch', scope: { account } }],
    ['AuthorizationService/Issue', 'IssueRequest', { scope: { account } }],
    ['AuthorizationService/Revoke', 'RevokeRequest', { tokenId: dice.one(['', 'short', 'é']) }],
    ['AuthorizationService/Plan', 'PlanRequest', { apis: [String(check.api)] }],
    ['AuthorizationService/DescribeTokens', 'DescribeTokensRequest', {}],
    ['DirectoryService/CreateAccount', 'CreateAccountRequest', { account: dice.one([ACCOUNT, '']) }],
    ['DirectoryService/GetAccount', 'GetAccountRequest', { account }],
    ['DirectoryService/GetServiceUser', 'GetServiceUserRequest', { account, name }],
    ['DirectoryService/DeleteProject', 'DeleteProjectRequest', { account, name: 'nosuch' }],
    ['DirectoryService/ListServiceUsers', 'ListServiceUsersRequest', { account, pageToken: name }],
    ['DirectoryService/EndSession', 'EndSessionRequest', { account, userName: name, id: 'x' }],
    ['DirectoryService/Nosuch', 'GetAccountRequest', { account }],
  ])
  return callOf(dice, path, [[type, message]])
}

/** A question with something that no caller may send. */
function broken(dice: Dice, check: JsonObject): JsonObject {
  const { credentials: _, token: __, ...without } = check
  return dice.one<JsonObject>([
    without,
    { ...check, api: '' },
    { ...check, api: 'a'.repeat(10_000) },
    { ...check, target: { account: '' } },
    { ...check, target: { account: 'a'.repeat(1_000), project: 'é' } },
    { ...check, clientAddress: 'nowhere' },
    { ...without, token: { kind: '', scope: { account: ACCOUNT } } },
    { ...without, token: { kind: 'static_token' } },
    { ...without, credentials: { headers: [{ name: '', value: 'x' }] } },
    {
      ...without,
      credentials: { headers: Array.from({ length: 2_000 }, () => ({ name: 'a', value: 'b' })) },
    },
  ])
}

type Message = readonly [type: string, message: JsonObject]

function callOf(dice: Dice, path: string, messages: readonly Message[]): SequenceCall {
  const authorization = dice.one([undefined, 'Bearer nobody', `Bearer ${callerToken}`, callerToken, ''])
  const mayAsk = path.startsWith('AuthorizationService/Check') && dice.of(4) > 0
  return {
    what: `${path} ${JSON.stringify(messages).slice(0, 500)}`,
    headers: {
      ...{ ':method': 'POST', ':path': `/portcullis.v1.${path}` },
      ...{ 'content-type': 'application/grpc', te: 'trailers' },
      ...(authorization !== undefined && !mayAsk && { authorization }),
    },
    parts: messages.map(([type, message]) => messageFrame(bytesOf(type, message))),
    ...{ end: 'end', readsAfterMs: 0, messagesMax: Number.POSITIVE_INFINITY },
  }
}
