/**
 * The questions to a sidecar before an identity endpoint: tokens by profile from its cache, and checks of
 * tokens that it knows.
 */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as wire from '../../proto/gen/portcullis/v1/authorization.ts'
import type { GrpcLoad, Workload } from '../harness/grpc.ts'
import { CHECK_PATH, ISSUE_PATH } from '../harness/grpc.ts'
import { tokenFor } from '../servers/identity.ts'
import { checkQuestion, isAllowed } from './checks.ts'
import { cellQuestions, shippedEngine } from './questions.ts'

/** The account that the endpoint verifies. The directory has another one. */
const ACCOUNT = '777777'
const PROJECT = 'web'
const CALLER_TOKEN = 'benchmark-caller-token-0123456789abcdef'

/** Writes the configuration of such a sidecar. @returns its path */
export function upstreamConfiguration(folder: string, url: string): string {
  const config = join(folder, 'portcullis.json')
  const password = join(folder, 'password')
  writeFileSync(password, 'a password of the endpoint\n', { mode: 0o600 })
  const robot = { upstream: 'cloud', account: ACCOUNT, user_name: 'robot', password_file: password }
  writeFileSync(
    config,
    JSON.stringify({
      upstreams: { cloud: { auth_url: url, verify: { profile: 'robot', cache_ms: 3_600_000 } } },
      profiles: { robot },
      callers: [
        {
          name: 'benchmark',
          token_sha256: createHash('sha256').update(CALLER_TOKEN).digest('hex'),
          profiles: ['robot'],
        },
      ],
    }),
  )
  return config
}

/** A Keystone, and a user of it who may validate tokens in a project. */
interface KeystoneUser {
  readonly url: string
  readonly account: string
  readonly user: string
  readonly password: string
  readonly project: string
}

/** Writes the configuration of a sidecar before a Keystone. @returns its path */
export function upstreamConfigurationFor(
  folder: string,
  { url, account, user, password, project }: KeystoneUser,
): string {
  const config = join(folder, 'portcullis.json')
  const file = join(folder, 'password')
  writeFileSync(file, password, { mode: 0o600 })
  const verify = { profile: 'validator', project, cache_ms: 3_600_000 }
  const profiles = { validator: { upstream: 'cloud', account, user_name: user, password_file: file } }
  writeFileSync(config, JSON.stringify({ upstreams: { cloud: { auth_url: url, verify } }, profiles }))
  return config
}

/** Checks of project-scoped tokens that the endpoint verifies, which open the API. */
export async function tokenChecks(load: GrpcLoad, tokens: readonly string[]): Promise<Workload> {
  const questions = tokens.map((token) =>
    checkQuestion({ api: 'cdn', credentials: [['X-Auth-Token', token]] }),
  )
  const answerBytes: number[] = []
  for (const question of questions) {
    const [answer] = await load.ask(CHECK_PATH, [question])
    if (answer === undefined || !isAllowed(answer)) throw new Error('expected the token to open the API')
    answerBytes.push(answer.length)
  }
  return { path: CHECK_PATH, questions, answerBytes }
}

/**
 * Tokens of the endpoint, one for each scope, each against every API that takes such a token or refuses it.
 */
export async function upstreamChecks(load: GrpcLoad): Promise<Workload> {
  const engine = shippedEngine()
  const questions: Buffer[] = []
  const answerBytes: number[] = []
  for (const { api, kind, scope } of cellQuestions(engine, ACCOUNT, PROJECT)) {
    const { header = '', obtained } = engine.tokenKinds.get(kind) ?? {}
    if (obtained?.by !== 'issue') continue
    const question = checkQuestion({ api, credentials: [[header, tokenFor(scope)]] })
    const [answer] = await load.ask(CHECK_PATH, [question])
    if (answer === undefined) throw new Error('an answer is missing')
    const { allowed, verified, token } = wire.CheckResponse.decode(answer)
    if (allowed !== engine.decide({ api, kind, scope }).allowed || !verified || token?.authority !== 'cloud')
      throw new Error(`a wrong answer about ${api} and ${kind} of the endpoint`)
    questions.push(question)
    answerBytes.push(answer.length)
  }
  return { path: CHECK_PATH, questions, answerBytes }
}

/** `Issue` by profile, for the account and for a project. */
export async function cachedIssues(load: GrpcLoad): Promise<Workload> {
  const headers = { authorization: `Bearer ${CALLER_TOKEN}` }
  const questions = [
    { account: ACCOUNT, project: '' },
    { account: ACCOUNT, project: PROJECT },
  ].map((scope) =>
    Buffer.from(
      wire.IssueRequest.encode({
        requester: { $case: 'profile', value: 'robot' },
        purpose: { $case: 'scope', value: scope },
        rejectedValue: '',
        place: '',
      }).finish(),
    ),
  )
  const answerBytes: number[] = []
  for (const question of questions) {
    const [first, second] = [
      await load.ask(ISSUE_PATH, [question], headers),
      await load.ask(ISSUE_PATH, [question], headers),
    ]
    if (first[0] === undefined || !first[0].equals(second[0] ?? Buffer.alloc(0)))
      throw new Error('expected the cached token')
    answerBytes.push(first[0].length)
  }
  return { path: ISSUE_PATH, questions, answerBytes, headers }
}
