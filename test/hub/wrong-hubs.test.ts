/**
 * Hubs that say what cannot be, or nothing. They are real servers, and a real sidecar follows each. The
 * sidecar never allows anything by what it remembers of such a hub.
 */
import { once } from 'node:events'
import { Metadata, type ServerUnaryCall, type ServerWritableStream, type sendUnaryData } from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import type { Client } from '../../clients/typescript/index.ts'
import {
  DescribeTokensResponse,
  RevokeResponse,
  type WatchChangesRequest,
  WatchChangesResponse,
} from '../../proto/gen/portcullis/v1/authorization.ts'
import { CALL_ERRORS, CallError, type CallErrorReason } from '../../sidecar/base/call-error.ts'
import type { CallStatus } from '../../sidecar/contract/call.ts'
import { statusOfError } from '../../sidecar/contract/status.ts'
import { credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox, type Message, refusalOf, refused } from '../support/contract/black-box.ts'
import { bytesOf } from '../support/contract/contract.ts'
import { fakeSidecar } from '../support/sidecar/fake-sidecar.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFile } from '../support/suite/resources.ts'

const FOLLOWER = newFile('follower-caller-token-0123456789abcdef')
const IAM = `eyJ${'a'.repeat(40)}.${'b'.repeat(40)}.${'c'.repeat(86)}`
const STALENESS_MS = 400
/** The first position and time of each hub. */
const CHANGE = 100
const SENT_AT_S = 1_000

type Stream = ServerWritableStream<WatchChangesRequest, Buffer>

interface Said {
  readonly change?: number
  readonly sentAtSeconds?: number
  /** `null`: the response does not say it. */
  readonly validForSeconds?: number | null
  readonly everything?: boolean
}

/** A response of the hub; unless said otherwise, one that nothing is wrong with. */
function response({
  change = CHANGE,
  sentAtSeconds = SENT_AT_S,
  validForSeconds = 5,
  everything = false,
}: Said) {
  const voided = { everything, tokenIds: [], userIds: [], accounts: [], projectIds: [] }
  return Buffer.from(
    WatchChangesResponse.encode({
      position: positionOf(change),
      ...{ rules: undefined, rulesPart: undefined },
      voided: everything ? voided : undefined,
      validFor: validForSeconds === null ? undefined : { seconds: validForSeconds, nanos: 0 },
      sentAt: { seconds: sentAtSeconds, nanos: 0 },
      timeOfDay: new Date(),
    }).finish(),
  )
}

function positionOf(change: number) {
  return { change, recordedAt: new Date(1_000_000 + change), basis: 'keys' }
}

/** Says whether the token is in force, at the first position of the stream. */
const describedAs = (active: boolean) =>
  Buffer.from(
    DescribeTokensResponse.encode({
      position: positionOf(CHANGE),
      tokens: [
        {
          active,
          addresses: [],
          token: {
            ...{ kind: 'iam_token_account_scoped', scope: { account: ACCOUNT, project: '' }, tokenId: 't' },
            ...{ subject: { id: 'u', name: 'job', type: 'service_user' }, issuedAt: new Date() },
            ...{ expiresAt: new Date(Date.now() + 3_600_000), projectId: '', derivedFrom: [] },
            ...{ roles: [], authority: '' },
          },
        },
      ],
    }).finish(),
  )

/** A hub, and a sidecar that follows it. The hub describes each token unless the test changes that. */
async function start(first: Said, stalenessMs = STALENESS_MS) {
  const streams: Stream[] = []
  const hub = { describes: true, active: true, speaks: true, described: 0 }
  const end = (_call: unknown, answer: sendUnaryData<Buffer>) => {
    hub.active = false
    answer(null, REVOKED)
  }
  const address = await fakeSidecar({
    watchChanges: (stream: Stream) => {
      streams.push(stream)
      if (hub.speaks) stream.write(response(first))
    },
    describeTokens: (_call: ServerUnaryCall<unknown, Buffer>, answer: sendUnaryData<Buffer>) => {
      hub.described++
      if (hub.describes) answer(null, describedAs(hub.active))
      else answer({ code: 14, details: 'gone' })
    },
    ...{ revoke: end, updateServiceUser: end },
  })
  const config = `directory:
  staleness_ms: ${stalenessMs}
  timeout_ms: 1000
  hub: { addresses: ['${address}'], token_file: ${FOLLOWER} }
`
  const running = await runSidecar({ config: newFile(config, 'portcullis.yaml') })
  const box = new BlackBox(running.address)
  const question = credentialQuestion('balance', 'X-Auth-Token', IAM)
  return {
    ...{ hub, client: running.client },
    say: (said: Said) => streams.at(-1)?.write(response(said)),
    sayPart: () => streams.at(-1)?.write(RULES_PART),
    begun: () => streams.length,
    check: () =>
      box.ask('check', question).then(
        (answer) => (answer as Message).reason,
        (error: unknown) => refusalOf(error).reason,
      ),
  }
}

const RULES_PART = bytesOf('WatchChangesResponse', { rulesPart: { apis: [{ api: 'balance', cells: [1] }] } })

/** The answer of the hub to a change: that of a revocation, which others read as an empty one. */
const REVOKED = Buffer.from(RevokeResponse.encode({ tokenId: 't', revokedAt: undefined }).finish())

/** From here on, only a remembered answer can allow. */
function silence(hub: { describes: boolean; speaks: boolean }) {
  hub.describes = false
  hub.speaks = false
}

test('a hub that says nothing wrong is believed, and only as long as the bound', async () => {
  const { hub, check } = await start({ everything: true })
  expect(await check()).toBe('REASON_ALLOWED')
  silence(hub)
  await eventually(async () => (await check()) === 'DIRECTORY_UNAVAILABLE')
})

test('parts of rules, and responses while rules are on their way, neither end nor prolong what is known', async () => {
  const { hub, say, sayPart, begun, check } = await start({ everything: true }, 2_000)
  expect(await check()).toBe('REASON_ALLOWED')
  silence(hub)
  sayPart()
  // It was sent just now, by both clocks.
  const said = { validForSeconds: null, sentAtSeconds: SENT_AT_S + 3_600 }
  say(said)
  expect(await check()).toBe('REASON_ALLOWED')
  await eventually(async () => {
    say(said)
    return (await check()) === 'DIRECTORY_UNAVAILABLE'
  })
  expect(begun()).toBe(1)
})

test.each<[what: string, said: Said]>([
  ['with a clock that goes backwards', { sentAtSeconds: SENT_AT_S - 1 }],
  ['with positions that go backwards', { change: CHANGE - 1 }],
  ['that names an invalid time', { validForSeconds: -1 }],
])('a hub %s is no longer believed', async (_what, said) => {
  const { hub, say, check } = await start({ everything: true })
  expect(await check()).toBe('REASON_ALLOWED')
  // It would still answer.
  hub.speaks = false
  say(said)
  await eventually(async () => (await check()) === 'DIRECTORY_UNAVAILABLE')
})

test('a hub that promises an hour is believed for the bound of the sidecar', async () => {
  const { hub, check } = await start({ everything: true, validForSeconds: 3_600 })
  expect(await check()).toBe('REASON_ALLOWED')
  silence(hub)
  await eventually(async () => (await check()) === 'DIRECTORY_UNAVAILABLE')
})

test('a hub that promises nothing is asked for each check', async () => {
  const { hub, check } = await start({ everything: true, validForSeconds: 0 })
  for (let time = 0; time < 3; time++) expect(await check()).toBe('REASON_ALLOWED')
  expect(hub.described).toBe(3)
  silence(hub)
  expect(await check()).toBe('DIRECTORY_UNAVAILABLE')
})

test('a hub whose first word does not void everything is not followed', async () => {
  const { hub, check } = await start({})
  expect(await check()).toBe('DIRECTORY_UNAVAILABLE')
  expect(hub.described).toBe(0)
})

test('an answer of a position that the hub has not named counts once', async () => {
  const { hub, check } = await start({ everything: true, change: CHANGE + 1 })
  expect(await check()).toBe('REASON_ALLOWED')
  expect(await check()).toBe('REASON_ALLOWED')
  expect(hub.described).toBe(2)
})

test.each<[what: string, end: (client: Client) => Promise<unknown>]>([
  ['a revocation', (client) => client.revoke({ value: IAM })],
  ['a change of a user', ({ directory }) => directory.updateServiceUser({ account: ACCOUNT, name: 'job' })],
])(
  '%s that the hub has acknowledged holds at the next check, though its stream says nothing yet',
  async (_what, end) => {
    const { hub, client, check } = await start({ everything: true, validForSeconds: 60 }, 60_000)
    await eventually(async () => (await check()) === 'REASON_ALLOWED' && hub.described > 0)
    await end(client)
    expect(await check()).toBe('REASON_CREDENTIAL_REVOKED')
  },
)

const CALLER_TOKEN = 'everything-caller-token-0123456789abcdef'
const FAILED = 'a call failed with an unexpected error'
const PROXY_SECRET = 'secret-of-the-proxy-0123456789abcdef'
const LOGIN = { user_name: 'job', account: ACCOUNT, password: 'a password' }
/** Each call that a follower asks its hub for, in gRPC and over HTTP. */
const ASKED: Readonly<Record<string, Message>> = {
  check: credentialQuestion('balance', 'X-Auth-Token', IAM),
  checkBatch: { checks: [credentialQuestion('balance', 'X-Auth-Token', IAM)] },
  issue: { password: LOGIN, scope: { account: ACCOUNT, project: '' } },
  revoke: { value: IAM },
  describeTokens: { tokens: [IAM] },
  getPromotedMatrix: {},
}
const EVALUATION = {
  subject: { type: 'credential', id: 'one', properties: { headers: { 'X-Auth-Token': IAM } } },
  action: { name: 'call' },
  resource: { type: 'api', id: 'balance' },
}

describe('a hub that refuses', async () => {
  /** `undefined`: it answers with bytes that are not a message. */
  let refusal: CallStatus | undefined
  const refuse = (_call: unknown, answer: sendUnaryData<Buffer>) => {
    if (refusal === undefined) return answer(null, Buffer.of(0xff))
    const metadata = new Metadata()
    metadata.set('grpc-status-details-bin', refusal.details as Buffer)
    answer({ code: refusal.code, details: refusal.message, metadata })
  }
  const hub = await fakeSidecar({
    watchChanges: (stream: Stream) => {
      stream.write(response({ everything: true }))
      const speaking = setInterval(() => stream.write(response({})), 500).unref()
      stream.on('cancelled', () => clearInterval(speaking))
    },
    ...{ describeTokens: refuse, issue: refuse, revoke: refuse, getPromotedMatrix: refuse },
  })
  const config = `callers: [{ name: all, token_file: ${newFile(CALLER_TOKEN)}, rights: [everything] }]
http: { authorize: true, authzen: true, trusted_proxies: [127.0.0.1], proxy_secret_file: ${newFile(PROXY_SECRET)} }
directory: { hub: { addresses: ['${hub}'], token_file: ${FOLLOWER} } }
`
  const { address, sidecar, logLines } = await runSidecar({
    config: newFile(config, 'portcullis.yaml'),
    flags: { 'http.address': '127.0.0.1:0' },
  })
  const box = new BlackBox(address)
  const http = `http://${sidecar.httpAddress}`

  /** The reasons of errors, by the call. */
  async function answers(): Promise<Record<string, string>> {
    const reasons: Record<string, string> = {}
    for (const [call, request] of Object.entries(ASKED))
      reasons[call] = (await refused(box.ask(call, request, { callerToken: CALLER_TOKEN }))).reason
    const stream = box.converse('checkStream')
    stream.write({ id: 'one', check: ASKED.check })
    const [ended] = (await once(stream, 'error')) as [unknown]
    reasons.checkStream = refusalOf(ended).reason
    const { headers } = await fetch(`${http}/authorize/balance`, {
      headers: { 'x-auth-token': IAM, 'x-portcullis-proxy-secret': PROXY_SECRET },
    })
    reasons.authorize = String(headers.get('x-portcullis-reason'))
    const evaluated = await fetch(`${http}/access/v1/evaluation`, {
      ...{ method: 'POST', body: JSON.stringify(EVALUATION) },
      headers: { 'content-type': 'application/json', authorization: `Bearer ${CALLER_TOKEN}` },
    })
    expect(evaluated.status).toBe(503)
    return reasons
  }

  /** One of each code, and the one that says more. */
  const REASONS = [
    ...new Map(Object.entries(CALL_ERRORS).map(([reason, { code }]) => [code, reason])).values(),
    'DIRECTORY_UNAVAILABLE',
  ].filter((each) => each !== 'INTERNAL') as CallErrorReason[]
  test.each(REASONS)('with %s makes no call an internal error', async (reason) => {
    refusal = statusOfError(new CallError(reason, 'as the hub says'))
    const { issue, revoke, ...own } = await answers()
    // Those two are forwarded. The refusal of the hub to this sidecar does not describe the caller of this
    // sidecar.
    const isLost = reason === 'DIRECTORY_CHANGES_LOST'
    expect([issue, revoke]).toEqual([reason, reason])
    expect(new Set(Object.values(own))).toEqual(new Set([isLost ? reason : 'DIRECTORY_UNAVAILABLE']))
    expect(logLines.filter((line) => line.includes(FAILED))).toEqual([])
  })

  test('or sends answers that cannot be read makes none either', async () => {
    refusal = undefined
    const { revoke: _, ...own } = await answers()
    expect(new Set(Object.values(own))).toEqual(new Set(['DIRECTORY_UNAVAILABLE']))
  })
})
