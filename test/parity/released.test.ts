/**
 * Today's version and the contract of the last release, in both directions. Clients of that time get the
 * answers of the stream from today's sidecar, and can make every call that they know. Today's clients get
 * them from a sidecar that knows no more than the release.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type DescMessage,
  type DescMethod,
  fromBinary,
  fromJson,
  type JsonValue,
  toBinary,
  toJson,
} from '@bufbuild/protobuf'
import { credentials, Metadata, makeGenericClientConstructor } from '@grpc/grpc-js'
import { afterAll, describe, expect, test } from 'vitest'
import type { Client, ClientOptions } from '../../clients/typescript/index.ts'
import { messageOf } from '../support/contract/contract.ts'
import { releasedChecks, releasedService, releasedSidecar, SERVICES } from '../support/contract/released.ts'
import { randomFrom } from '../support/inputs/random.ts'
import { QUESTIONS, report, SEEDS } from '../support/inputs/seeds.ts'
import { engine, strictEngine } from '../support/matrices/engines.ts'
import { connect } from '../support/sidecar/client.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { whenTheFileEnds } from '../support/suite/resources.ts'
import { answersAs } from './answers.ts'
import { endedTokens } from './ended-tokens.ts'
import { startSidecars } from './people.ts'
import { COMMANDS } from './protocols/command-line.ts'
import { CONTRACT, contractBy } from './protocols/contract.ts'
import { MIDDLEWARE } from './protocols/middleware.ts'
import { questionsOf } from './stream.ts'

const sidecars = await startSidecars()
const { people } = sidecars
const ended = await endedTokens(sidecars.lenient)
const callerToken = readFileSync(join(sidecars.lenient.folder, 'administrator-token'), 'utf8').trim()

const MODES = [
  { mode: 'by default', library: engine, today: sidecars.lenient },
  { mode: 'in strict mode', library: strictEngine, today: sidecars.strict },
]

let asked = 0
afterAll(() => report('release', { calls: LIFE.length, asked }))

describe.each(SEEDS)('SEED=%i', (seed) => {
  describe.each(MODES)('$mode', async ({ library, today }) => {
    const questions = questionsOf(randomFrom(seed), { people, ended, library }, QUESTIONS)
    const address = await releasedSidecar(today.address)
    const released = { ...today, address, client: connectedTo(address) }

    test.each(contractBy('a client of the release,', releasedChecks))(
      '$name: asks the sidecar of today',
      { timeout: 0 },
      async (protocol) => {
        await answersAs(library, protocol, today, questions, 1)
        asked += questions.length
      },
    )
    // Those that decide nothing of themselves.
    const clients = [
      ...CONTRACT,
      ...MIDDLEWARE,
      ...COMMANDS.filter(({ name }) => name === 'portcullis check'),
    ]
    test.each(clients)('$name asks a sidecar of the release', { timeout: 0 }, async (protocol) => {
      const spoken = questions.filter((question) => protocol.silent(question) === undefined)
      await answersAs(library, protocol, released, spoken, 1)
      asked += spoken.length
    })
  })
})

function connectedTo(address: string, options: ClientOptions = {}): Client {
  const client = connect(address, options)
  whenTheFileEnds(() => client.close())
  return client
}

test('a client in local mode asks a sidecar of the release, which sends it no changes', async () => {
  const client = connectedTo(await releasedSidecar(sidecars.lenient.address), { callerToken, local: true })
  const check = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }
  for (let time = 0; time < 20; time++) {
    expect(client.checkLocally(check)).toBeUndefined()
    expect(await client.check(check)).toMatchObject({ allowed: true, reason: 'ALLOWED' })
  }
})

/** Answers so far, by the names of their methods. */
type Answers = Readonly<Record<string, JsonValue & Readonly<Record<string, never>>>>

const account = 'released'
const robot = { account, name: 'robot' }
const owner = { account, name: 'owner' }
const password = (of: Answers) => ({
  ...{ userName: 'robot', account },
  password: (of.ReplaceServiceUserPassword ?? of.CreateServiceUser)?.password as unknown as string,
})

/** Every unary call that the release has, in the life of an account. */
const LIFE: readonly (readonly [method: string, request: (answers: Answers) => JsonValue])[] = [
  ['CreateAccount', () => ({ account })],
  ['GetAccount', () => ({ account })],
  ['ListAccounts', () => ({ pageSize: 100 })],
  ['CreateProject', () => ({ account, name: 'alpha' })],
  ['GetProject', () => ({ account, name: 'alpha' })],
  ['ListProjects', () => ({ account })],
  ['CreateServiceUser', () => ({ ...robot, permissions: [{ scope: 'PERMISSION_SCOPE_ACCOUNT' }] })],
  ['GetServiceUser', () => robot],
  ['ListServiceUsers', () => ({ account })],
  ['UpdateServiceUser', () => ({ ...robot, roles: { roles: ['member'] } })],
  ['ReplaceServiceUserPassword', () => robot],
  ['CreateControlPanelUser', () => ({ ...owner, owner: true })],
  ['GetControlPanelUser', () => owner],
  ['ListControlPanelUsers', () => ({ account })],
  ['UpdateControlPanelUser', () => ({ ...owner, owner: true })],
  ['ReissueControlPanelUserToken', () => ({ ...owner, project: 'alpha' })],
  ['CopyControlPanelUserToken', () => ({ ...owner, project: 'alpha' })],
  ['CreateStaticToken', () => ({ account, userName: 'owner', name: 'key' })],
  ['ListStaticTokens', () => ({ account, userName: 'owner' })],
  ['Issue', (of) => ({ password: password(of), scope: { account } })],
  ['Check', (of) => ({ api: 'iam', credentials: headersOf(of) })],
  ['CheckBatch', (of) => ({ checks: [{ api: 'iam', credentials: headersOf(of) }] })],
  ['Plan', () => ({ apis: ['iam', 'secrets'] })],
  ['GetMatrix', () => ({})],
  ['Revoke', (of) => ({ value: of.Issue?.value as unknown as string })],
  ['SetAddressRestriction', () => ({ account, ranges: ['127.0.0.0/8'] })],
  ['GetAddressRestriction', () => ({ account })],
  ['ListRevocations', () => ({ pageSize: 100 })],
  ['RevokeStaticToken', () => ({ account, userName: 'owner', name: 'key' })],
  ['ListAuditRecords', () => ({ account, pageSize: 100 })],
  ['UpdateProject', () => ({ account, name: 'alpha', enabled: false })],
  ['DeleteProject', () => ({ account, name: 'alpha' })],
  ['DeleteServiceUser', () => robot],
  ['DeleteControlPanelUser', () => owner],
  ['UpdateAccount', () => ({ account, enabled: false })],
  ['DeleteAccount', () => ({ account })],
]

function headersOf({ Issue: issued }: Answers): JsonValue {
  return { headers: [{ name: issued?.header ?? '', value: issued?.value ?? '' }] }
}

test('a client of the release makes every call that it knows, and reads what today’s would', async () => {
  const released = new Map(
    SERVICES.flatMap((name) => releasedService(name).methods)
      .filter(({ methodKind }) => methodKind === 'unary')
      .map((method) => [method.name, method] as const),
  )
  expect(LIFE.map(([method]) => method).toSorted()).toEqual([...released.keys()].toSorted())
  const answers: Record<string, Answers[string]> = {}
  for (const [name, request] of LIFE) {
    const { parent, input, output } = released.get(name) as DescMethod
    const asked = Buffer.from(toBinary(input, fromJson(input, request(answers))))
    const bytes = await answerTo(`/${parent.typeName}/${name}`, asked)
    const read = toJson(output, fromBinary(output, bytes)) as Answers[string]
    const newer = messageOf(output.name)
    expect(read, name).toEqual(onlyReleased(toJson(newer, fromBinary(newer, bytes)), output))
    answers[name] = read
  }
  expect(answers.Check).toMatchObject({ allowed: true, reason: 'REASON_ALLOWED' })
})

/** A call with bytes. @throws ServiceError */
function answerTo(path: string, bytes: Buffer): Promise<Buffer> {
  const Client = makeGenericClientConstructor({}, 'any')
  const client = new Client(sidecars.lenient.address, credentials.createInsecure())
  const metadata = new Metadata()
  metadata.set('authorization', `Bearer ${callerToken}`)
  const asIs = (given: Buffer) => given
  return new Promise<Buffer>((resolve, reject) => {
    client.makeUnaryRequest(path, asIs, asIs, bytes, metadata, (error, answer) =>
      error === null ? resolve(answer as Buffer) : reject(error),
    )
  }).finally(() => client.close())
}

/** JSON without the fields that the release does not have. */
function onlyReleased(json: JsonValue, message: DescMessage): JsonValue {
  if (!message.typeName.startsWith('portcullis.')) return json
  const fields = Object.entries(json as Readonly<Record<string, JsonValue>>).flatMap(([name, value]) => {
    const field = message.fields.find(({ jsonName }) => jsonName === name)
    if (field === undefined) return []
    const of = field.message
    if (of === undefined) return [[name, value]]
    return [
      [name, Array.isArray(value) ? value.map((each) => onlyReleased(each, of)) : onlyReleased(value, of)],
    ]
  })
  return Object.fromEntries(fields)
}
