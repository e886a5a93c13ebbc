/** Messages of the contract and of Envoy, as protobuf and as JSON. */
import { readFileSync } from 'node:fs'
import {
  createFileRegistry,
  createRegistry,
  type DescMessage,
  fromBinary,
  fromJsonString,
  toBinary,
} from '@bufbuild/protobuf'
import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import * as authorization from '../../../proto/gen/portcullis/v1/authorization.ts'
import * as decision from '../../../proto/gen/portcullis/v1/decision.ts'
import * as directory from '../../../proto/gen/portcullis/v1/directory.ts'
import {
  readDescribed,
  readHubResponse,
  readPromotedMatrix,
} from '../../../sidecar/authority/hub/hub-messages.ts'
import { CallError } from '../../../sidecar/base/call-error.ts'
import { readCheck, readCheckBatch, readStreamedCheck } from '../../../sidecar/contract/check-request.ts'
import { EVERY_HEADER } from '../../../sidecar/contract/ext-authz/header-filter.ts'
import { readAsked } from '../../../sidecar/contract/ext-authz/request.ts'
import { traceIn } from '../../../sidecar/contract/ext-authz/request-trace.ts'
import { readIssueRequest, readPlanRequest, readRevokeRequest } from '../../../sidecar/contract/requests.ts'
import { statusOfError } from '../../../sidecar/contract/status.ts'
import { Descriptors } from '../../../sidecar/transports/connect/json-codec.ts'
import { field } from '../../support/contract/protobuf-bytes.ts'
import { Parts, promised, reading, type Target } from '../target.ts'

const contract = createFileRegistry(
  fromBinary(
    FileDescriptorSetSchema,
    readFileSync(new URL('../../../proto/portcullis.binpb', import.meta.url)),
  ),
)
const registry = createRegistry(contract)

interface Generated {
  encode(value: unknown, writer?: BinaryWriter): BinaryWriter
  decode(input: BinaryReader | Uint8Array, length?: number): unknown
}

/** Every message of the contract: the generated reader, and the descriptor for the library's own. */
const MESSAGES = Object.entries({ ...directory, ...authorization, ...decision }).flatMap(
  ([name, value]): { name: string; generated: Generated; descriptor: DescMessage }[] => {
    const descriptor = registry.getMessage(`portcullis.v1.${name}`)
    if (descriptor === undefined || typeof value !== 'object' || !('decode' in value)) return []
    return [{ name, generated: value as unknown as Generated, descriptor }]
  },
)

const encoded = (name: string, json: object): Buffer =>
  Buffer.from(toBinary(messageOf(name), fromJsonString(messageOf(name), JSON.stringify(json))))
const messageOf = (name: string) => registry.getMessage(`portcullis.v1.${name}`) as DescMessage

/** Readers of calls, each with the public part of its message. */
const CALLS = [
  [
    readIssueRequest,
    (bytes: Buffer) => {
      const { requester, purpose } = authorization.IssueRequest.decode(bytes)
      const { userName, account } = requester?.$case === 'password' ? requester.value : {}
      return { purpose, userName, account, profile: requester?.$case === 'profile' && requester.value }
    },
  ],
  [
    readRevokeRequest,
    (bytes: Buffer) => {
      const { token } = authorization.RevokeRequest.decode(bytes)
      return { tokenId: token?.$case === 'tokenId' && token.value }
    },
  ],
  [readPlanRequest, (bytes: Buffer) => authorization.PlanRequest.decode(bytes)],
] as const

const claims = { api: 'balance', token: { kind: 'static_token', scope: { account: '123456' } } }
const credentials = {
  api: 'iam',
  credentials: { headers: [{ name: 'X-Auth-Token', value: 'eyJ.eyJ.x' }] },
  target: { account: '123456', project: 'alpha' },
  clientAddress: '10.0.0.1',
}
const ofRequest = {
  request: { method: 'GET', host: 'api.example.com', path: '/v1/AUTH_web/c?x=1' },
  credentials: { headers: [{ name: 'x-token', value: 'pcst_x' }] },
}
const CHECKS = [claims, credentials, ofRequest]

/** Readings of a field that is there twice, or of a wrong type, may differ by design. */
function isPlain(descriptor: DescMessage, bytes: Buffer, unknown: readonly unknown[]): boolean {
  return (
    unknown.length === 0 && Buffer.from(toBinary(descriptor, fromBinary(descriptor, bytes))).equals(bytes)
  )
}

/** As the messages of a refusal: it says what was expected, and never repeats a value. */
function refused<T>(read: () => T, secret = 'canary'): T | undefined {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    const { message } = statusOfError(error)
    promised(!message.includes(secret), 'a refusal repeats no value')
    promised(message.length < 20_000, 'a refusal is short')
    return undefined
  }
}

/** A refusal may repeat the name of an unknown field, which has letters alone. */
const JSON_SECRET = 'c4nary'

const codecs = new Descriptors()
const METHODS = ['Check', 'CheckBatch', 'Issue', 'Revoke', 'Plan', 'GetMatrix', 'WatchChanges'].flatMap(
  (name) => {
    const codec = codecs.codecOf(`/portcullis.v1.AuthorizationService/${name}`)
    return codec === undefined ? [] : [{ name, codec, input: messageOf(`${name}Request`) }]
  },
)

export const targets: readonly Target[] = [
  {
    name: 'protobuf',
    seeds: CHECKS.flatMap((check) => {
      const [one, batch] = [
        encoded('CheckRequest', check),
        encoded('CheckBatchRequest', { checks: [check, check] }),
      ]
      return [...MESSAGES.keys()]
        .filter((index) => /^Check(Batch|Stream)?Request$/.test(MESSAGES[index]?.name ?? ''))
        .flatMap((index) => [one, batch].map((bytes) => Buffer.concat([Buffer.of(index), bytes])))
    }),
    run: (input) => {
      const parts = new Parts(input)
      const { name, generated, descriptor } = MESSAGES[
        parts.choice(MESSAGES.length)
      ] as (typeof MESSAGES)[number]
      const bytes = parts.rest()
      const value = reading(() => generated.decode(bytes), Error)
      if (value === undefined) return
      const written = reading(() => Buffer.from(generated.encode(value).finish()), Error)
      if (written === undefined) return
      const again = Buffer.from(generated.encode(generated.decode(written)).finish())
      promised(again.equals(written), `a written ${name} is read as the same`)
      const theirs = reading(() => fromBinary(descriptor, bytes, { readUnknownFields: false }), Error)
      if (theirs === undefined || !isPlain(descriptor, bytes, theirs.$unknown ?? [])) return
      promised(
        Buffer.from(toBinary(descriptor, theirs)).equals(
          Buffer.from(toBinary(descriptor, fromBinary(descriptor, written))),
        ),
        `both readers read a ${name} in the same way`,
      )
    },
  },
  {
    name: 'check-request',
    seeds: CHECKS.flatMap((check) => [
      Buffer.concat([Buffer.of(0), encoded('CheckRequest', check)]),
      Buffer.concat([Buffer.of(1), encoded('CheckBatchRequest', { checks: [check, claims] })]),
      Buffer.concat([Buffer.of(2), encoded('CheckStreamRequest', { id: '1', check })]),
    ]),
    run: (input) => {
      const parts = new Parts(input)
      const how = parts.choice(3)
      const bytes = parts.rest()
      if (how === 2) {
        refused(() => readStreamedCheck(bytes))
        return
      }
      if (how === 1) {
        const batch = refused(() => readCheckBatch(bytes, 4))
        promised((batch?.length ?? 0) <= 4, 'a batch is as long as it may be')
        return
      }
      const read = refused(() => readCheck(bytes))
      // Alone and in a batch a check is the same.
      const batch = refused(() => readCheckBatch(field(1, bytes), 1))
      promised(
        JSON.stringify(read && [read]) === JSON.stringify(batch),
        'a check is read in the same way alone and in a batch',
      )
      if (read === undefined) return
      const theirs = reading(() => fromBinary(messageOf('CheckRequest'), bytes), Error)
      promised(theirs !== undefined, 'a text that is read as a check is a message')
    },
  },
  {
    name: 'call-requests',
    seeds: [
      Buffer.concat([
        Buffer.of(0),
        encoded('IssueRequest', {
          password: { userName: 'alice', account: '123456', password: 'canary' },
          scope: { account: '123456', project: 'alpha' },
        }),
      ]),
      Buffer.concat([
        Buffer.of(0),
        encoded('IssueRequest', { profile: 'web', apis: { apis: ['iam', 'balance'] } }),
      ]),
      Buffer.concat([Buffer.of(1), encoded('RevokeRequest', { value: 'canary' })]),
      Buffer.concat([Buffer.of(1), encoded('RevokeRequest', { tokenId: 'AAAAAAAAAAAAAAAAAAAAAA' })]),
      Buffer.concat([Buffer.of(2), encoded('PlanRequest', { apis: ['iam'] })]),
    ],
    words: ['canary'],
    run: (input) => {
      const parts = new Parts(input)
      const [read, openOf] = CALLS[parts.choice(CALLS.length)] as (typeof CALLS)[number]
      const bytes = parts.rest()
      const value = refused(() => read(bytes))
      if (value === undefined) return
      const open = JSON.stringify(openOf(bytes))
      promised(!JSON.stringify(value).includes('canary') || open.includes('canary'), 'a secret is not a text')
    },
  },
  {
    name: 'hub-messages',
    seeds: [
      Buffer.concat([
        Buffer.of(0),
        encoded('WatchChangesResponse', {
          position: { change: '7', recordedAt: '2027-01-31T00:00:00Z' },
          voided: { userIds: ['a'] },
          validFor: '5s',
        }),
      ]),
      Buffer.concat([
        Buffer.of(1),
        encoded('DescribeTokensResponse', {
          position: { change: '7' },
          tokens: [
            {
              active: true,
              token: {
                kind: 'static_token',
                scope: { account: '1' },
                subject: { id: 'a' },
                tokenId: 'x',
                issuedAt: '2027-01-31T00:00:00Z',
              },
            },
          ],
        }),
      ]),
      Buffer.concat([Buffer.of(2), encoded('GetPromotedMatrixResponse', { digest: 'x', content: 'AAAA' })]),
    ],
    run: (input) => {
      const parts = new Parts(input)
      const read = [readHubResponse, readDescribed, readPromotedMatrix][parts.choice(3)] as (
        bytes: Buffer,
      ) => unknown
      // Any error is caught where the hub's answers arrive.
      reading(() => read(parts.rest()), Error)
    },
  },
  {
    name: 'ext-authz',
    seeds: [
      field(
        1,
        Buffer.concat([
          field(1, field(1, field(1, field(2, '10.0.0.1')))),
          field(
            4,
            field(
              2,
              Buffer.concat([
                field(2, 'GET'),
                field(4, '/v1/x?y'),
                field(5, 'api.example.com'),
                field(3, Buffer.concat([field(1, 'x-auth-token'), field(2, 'eyJ.eyJ.x')])),
                field(13, field(1, Buffer.concat([field(1, 'traceparent'), field(3, '00-1')]))),
              ]),
            ),
          ),
          field(10, Buffer.concat([field(1, 'api'), field(2, 'balance')])),
        ]),
      ),
    ],
    run: (bytes) => {
      traceIn(bytes)
      const asked = refused(() => readAsked(bytes, EVERY_HEADER))
      if (asked === undefined) return
      promised(asked.headers.length <= 10_000 && asked.context.length <= 101, 'lists are bounded')
      for (const [name] of asked.headers) promised(!/[A-Z]/.test(name), 'names of headers are in lower case')
      // A message that arrives in two parts is one.
      const twice = refused(() => readAsked(Buffer.concat([bytes, field(1, '')]), EVERY_HEADER))
      promised(JSON.stringify(twice) === JSON.stringify(asked), 'an empty part changes nothing')
    },
  },
  {
    name: 'contract-json',
    seeds: [
      ...CHECKS.flatMap((check) => [
        `\u0000${JSON.stringify(check)}`,
        `\u0001${JSON.stringify({ checks: [check, claims] })}`,
      ]),
      `\u0002${JSON.stringify({ profile: 'web', apis: { apis: ['iam'] } })}`,
      `\u0003${JSON.stringify({ value: JSON_SECRET })}`,
      `\u0004${JSON.stringify({ apis: ['iam'] })}`,
    ],
    words: [JSON_SECRET, '"', '\\u0061', '\\', ':', ',', '{', '}', '[', ']', 'null', ' '],
    run: (input) => {
      const parts = new Parts(input)
      const {
        name,
        codec,
        input: descriptor,
      } = METHODS[parts.choice(METHODS.length)] as (typeof METHODS)[number]
      const bytes = parts.rest()
      const read = refused(() => codec.read(bytes), JSON_SECRET)
      const theirs = reading(
        () => toBinary(descriptor, fromJsonString(descriptor, bytes.toString(), { registry })),
        Error,
      )
      // The library replaces bytes that are not UTF-8.
      if (theirs !== undefined && Buffer.from(bytes.toString()).equals(bytes))
        promised(read !== undefined, `a ${name} that the library reads is read`)
      // Of a `oneof` both may be written here: the reader of checks refuses them.
      if (read !== undefined && theirs === undefined)
        promised(
          refused(() => (name === 'Check' ? readCheck(read) : readCheckBatch(read, 1_000))) === undefined,
          `a ${name} that the library refuses is refused`,
        )
      // An empty text that is there is written, fields are in any order, and it means the same.
      const same = (one: Uint8Array) => Buffer.from(toBinary(descriptor, fromBinary(descriptor, one)))
      if (read !== undefined && theirs !== undefined)
        promised(same(read).equals(theirs), `both readers read a ${name} in the same way`)
      if (codec.readInSteps === undefined) return
      const steps = codec.readInSteps
      const inSteps = () => {
        const running = steps(bytes)
        for (;;) {
          const { done, value } = running.next()
          if (done === true) return value
        }
      }
      const stepped = refused(inSteps, JSON_SECRET)
      // Of a `oneof` both may be written here, too.
      if (stepped !== undefined && refused(() => readCheckBatch(stepped, 1_000)) !== undefined)
        promised(
          read !== undefined && same(read).equals(same(stepped)),
          `a ${name} is read in steps as it is at once`,
        )
    },
  },
]
