/**
 * The conformance suite of the clients: that its files are current, and that the TypeScript client passes. It
 * finds credentials with the engine, whose tests have those rows.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ServiceError } from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import { Gate } from '../../clients/typescript/gate.ts'
import { type CheckAnswer, PortcullisError } from '../../clients/typescript/index.ts'
import { LocalRoutes } from '../../clients/typescript/local-routes.ts'
import { LocalRules } from '../../clients/typescript/local-rules.ts'
import { Outage } from '../../clients/typescript/outage.ts'
import { Pauses } from '../../clients/typescript/pauses.ts'
import { ProfileToken } from '../../clients/typescript/profile-token.ts'
import type { AcceptedKind, CredentialReason, Scope } from '../../engine/index.ts'
import { namesMeant } from '../../engine/meant.ts'
import { Routes, Rules } from '../../proto/gen/portcullis/v1/authorization.ts'
import { headersOf, linesOf, OURS, SUITE } from '../support/conformance/files.ts'
import {
  type MeantLine,
  type OutageStep,
  type PauseStep,
  playOutage,
  playPause,
} from '../support/conformance/outages.ts'
import { Player, type Step } from '../support/conformance/player.ts'
import type { RequestLine } from '../support/conformance/route-tables.ts'
import type { RouteExpected } from '../support/conformance/routes.ts'
import { play, type SendingStep } from '../support/conformance/sending.ts'
import { newFolder } from '../support/suite/resources.ts'

const ROOT = join(import.meta.dirname, '../..')

test('the files are those that the engine and the sidecar make', () => {
  const folder = newFolder()
  execFileSync(process.execPath, ['test/support/conformance/make.ts', folder], { cwd: ROOT })
  const files = readdirSync(OURS, { recursive: true, encoding: 'utf8' })
  for (const file of files.filter((each) => /\.(jsonl|binpb)$/.test(each)))
    expect(readFileSync(join(folder, file)).equals(readFileSync(join(OURS, file))), file).toBe(true)
})

test('decisions', () => {
  const [{ questions }, ...lines] = linesOf<DecisionLine>('decisions') as [Questions, ...DecisionLine[]]
  expect(lines.length).toBeGreaterThan(400)
  for (const line of lines) {
    const rules = rulesOf(line.rules)
    if ('accepted' in line) expect(rules.accepted(line.api), line.api).toEqual(line.accepted)
    else
      for (const api of line.apis) {
        const reasons = questions.map((question) =>
          'fault' in question
            ? rules.reasonOfFault(api, line.kind, question.fault)
            : rules.reason(api, line.kind, question.scope, question.target),
        )
        expect(reasons, `${line.rules} ${api} ${line.kind}`).toEqual(line.reasons)
      }
  }
})

describe('routes', () => {
  test.each(linesOf<RoutesLine>('routes'))('$name', ({ routes: encoded, requests }) => {
    const routes = new LocalRoutes(Routes.decode(Buffer.from(encoded, 'base64')))
    for (const { method, host, path, headers = [], expect: expected } of requests)
      expect(routes.find({ method, host, path }, headersOf(headers)) ?? 'ask', path).toEqual(expected)
  })
})

describe('traces', () => {
  test.each(linesOf<TraceLine>('traces'))('$name', ({ options, steps }) => {
    const player = new Player(SUITE, options)
    for (const [number, step] of steps.entries())
      expect(player.play(step), `step ${number}`).toEqual(step.expect)
  })
})

test.each(linesOf<{ readonly name: string; readonly steps: readonly SendingStep[] }>('sending'))(
  'sending: $name',
  ({ steps }) => {
    const token = new ProfileToken()
    for (const [number, step] of steps.entries())
      expect(play(token, step), `step ${number}`).toEqual(step.expect)
  },
)

test.each(linesOf<{ readonly name: string; readonly steps: readonly OutageStep[] }>('outages'))(
  'outages: $name',
  ({ steps }) => {
    const outage = new Outage()
    for (const [number, step] of steps.entries())
      expect(playOutage(outage, step), `step ${number}`).toBe(step.expect)
  },
)

test.each(linesOf<{ readonly name: string; readonly steps: readonly PauseStep[] }>('pauses'))(
  'pauses: $name',
  ({ steps }) => {
    const pauses = new Pauses()
    for (const [number, step] of steps.entries())
      expect(playPause(pauses, step), `step ${number}`).toBe(step.expect_ms)
  },
)

test('names that were meant', () => {
  const lines = linesOf<MeantLine>('meant')
  expect(lines.length).toBeGreaterThan(80)
  for (const { name, known, meant } of lines) expect(namesMeant(name, known), name).toEqual(meant)
})

test('denials', async () => {
  const lines = linesOf<DenialLine>('denials')
  expect(lines.length).toBeGreaterThan(30)
  for (const { answer, failure, status, headers, body } of lines) {
    const check = async (): Promise<CheckAnswer> => {
      if (failure !== undefined) throw failed(failure.code, failure.reason)
      const { rules_digest: rulesDigest = '', ...rest } = answer ?? ({} as NonNullable<typeof answer>)
      const { refused, ...said } = rest
      const route = refused === undefined ? undefined : { api: '', target: undefined, refused }
      return { ...(said as CheckAnswer), allowed: false, rulesDigest, route, cacheForMs: 0 }
    }
    const gate = new Gate(['any', { client: { check }, onFailure: () => {} }])
    const request = { method: 'GET', host: 'a', path: '/' }
    const arrived = { headers: {}, request, address: undefined, signal: new AbortController().signal }
    const verdict = await gate.judge({}, arrived)
    if (verdict.type !== 'denied') throw new Error(`${JSON.stringify(answer)}: ${verdict.type}`)
    const { denial } = verdict
    expect({ ...denial, body: JSON.parse(denial.body) }).toEqual({ status, headers, body })
  }
})

type Questions = {
  readonly questions: readonly (
    | { readonly scope: Scope; readonly target?: Scope }
    | { readonly fault: CredentialReason }
  )[]
}

type DecisionLine = { readonly rules: string } & (
  | { readonly api: string; readonly accepted: readonly AcceptedKind[] }
  | { readonly kind: string; readonly apis: readonly string[]; readonly reasons: readonly string[] }
)

interface RoutesLine {
  readonly name: string
  readonly routes: string
  readonly requests: readonly (RequestLine & { readonly expect: RouteExpected })[]
}

interface TraceLine {
  readonly name: string
  readonly options: ConstructorParameters<typeof Player>[1]
  readonly steps: readonly Step[]
}

interface DenialLine {
  readonly answer?: Pick<CheckAnswer, 'reason' | 'message' | 'accepted'> & {
    readonly rules_digest: string
    readonly refused?: string
  }
  readonly failure?: { readonly code: string; readonly reason: string }
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
}

const RULES = new Map<string, LocalRules>()

function rulesOf(name: string): LocalRules {
  const rules =
    RULES.get(name) ?? new LocalRules(Rules.decode(readFileSync(join(SUITE, 'rules', `${name}.binpb`))))
  RULES.set(name, rules)
  return rules
}

function failed(code: string, reason: string): PortcullisError {
  const error = new PortcullisError({ code: 2, details: code, message: code } as ServiceError)
  return Object.assign(error, { code, reason })
}
