/**
 * Hubs that say what cannot be, or nothing: real servers, and a real sidecar that follows each. The sidecar
 * never allows anything by what it remembers of such a hub.
 */
import type { ServerUnaryCall, ServerWritableStream, sendUnaryData } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import {
  DescribeTokensResponse,
  type WatchChangesRequest,
  WatchChangesResponse,
} from '../../proto/gen/portcullis/v1/authorization.ts'
import { credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox, type Message, refusalOf } from '../support/contract/black-box.ts'
import { fakeSidecar } from '../support/sidecar/fake-sidecar.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFile } from '../support/suite/resources.ts'

const FOLLOWER = newFile('follower-caller-token-0123456789abcdef')
const IAM = `eyJ${'a'.repeat(40)}.${'b'.repeat(40)}.${'c'.repeat(86)}`
const STALENESS_MS = 400
/** What each hub says of itself at first. */
const CHANGE = 100
const SENT_AT_S = 1_000

type Stream = ServerWritableStream<WatchChangesRequest, Buffer>

interface Said {
  readonly change?: number
  readonly sentAtSeconds?: number
  readonly validForSeconds?: number
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
      rules: undefined,
      voided: everything ? voided : undefined,
      validFor: { seconds: validForSeconds, nanos: 0 },
      sentAt: { seconds: sentAtSeconds, nanos: 0 },
      timeOfDay: new Date(),
    }).finish(),
  )
}

function positionOf(change: number) {
  return { change, recordedAt: new Date(1_000_000 + change), basis: 'keys' }
}

/** Says that the token is in force, at the first position of the stream. */
const DESCRIBED = Buffer.from(
  DescribeTokensResponse.encode({
    position: positionOf(CHANGE),
    tokens: [
      {
        active: true,
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

/** A hub, and a sidecar that follows it. The hub describes each token until it is told otherwise. */
async function start(first: Said) {
  const streams: Stream[] = []
  const hub = { describes: true, speaks: true, described: 0 }
  const address = await fakeSidecar({
    watchChanges: (stream: Stream) => {
      streams.push(stream)
      if (hub.speaks) stream.write(response(first))
    },
    describeTokens: (_call: ServerUnaryCall<unknown, Buffer>, answer: sendUnaryData<Buffer>) => {
      hub.described++
      if (hub.describes) answer(null, DESCRIBED)
      else answer({ code: 14, details: 'gone' })
    },
  })
  const config = `directory:
  staleness_ms: ${STALENESS_MS}
  timeout_ms: 200
  hub: { addresses: ['${address}'], token_file: ${FOLLOWER} }
`
  const running = await runSidecar({ config: newFile(config, 'portcullis.yaml') })
  const box = new BlackBox(running.address)
  const question = credentialQuestion('balance', 'X-Auth-Token', IAM)
  return {
    hub,
    say: (said: Said) => streams.at(-1)?.write(response(said)),
    check: () =>
      box.ask('check', question).then(
        (answer) => (answer as Message).reason,
        (error: unknown) => refusalOf(error).reason,
      ),
  }
}

/** From here on, only what is remembered can be allowed. */
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

test.each<[what: string, said: Said]>([
  ['whose clock goes backwards', { sentAtSeconds: SENT_AT_S - 1 }],
  ['whose positions go backwards', { change: CHANGE - 1 }],
  ['that says a time that is none', { validForSeconds: -1 }],
])('a hub %s is believed nothing from then on', async (_what, said) => {
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

test('an answer of a position that the hub has not told counts once', async () => {
  const { hub, check } = await start({ everything: true, change: CHANGE + 1 })
  expect(await check()).toBe('REASON_ALLOWED')
  expect(await check()).toBe('REASON_ALLOWED')
  expect(hub.described).toBe(2)
})
