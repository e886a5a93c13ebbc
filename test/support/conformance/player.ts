/** Plays the steps of a trace with the memory of the TypeScript client. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { LocalMemory } from '../../../clients/typescript/local-memory.ts'
import { Ask, type LocalQuestion } from '../../../clients/typescript/local-question.ts'
import { WrongSidecar } from '../../../clients/typescript/local-rules.ts'
import { type CheckAnswer, checkAnswer } from '../../../clients/typescript/values.ts'
import { Elapsed } from '../../../engine/elapsed.ts'
import * as wire from '../../../proto/gen/portcullis/v1/authorization.ts'
import { Reason } from '../../../proto/gen/portcullis/v1/decision.ts'
import type { Answer, Expected, Question, Route, Told } from './trace.ts'

export type Step = {
  /** The time of the client's monotonic clock. */
  readonly at_ms: number
  /** The time of its wall clock; default: the same. */
  readonly wall_ms?: number
  readonly expect?: unknown
} & (
  | { readonly begin: object }
  | { readonly hear: Told }
  | { readonly check: Question }
  | { readonly learn: Answer & { readonly of: number } }
)

interface Options {
  readonly tokens_max?: number
  readonly accounts?: readonly string[]
}

/** A reason that no client knows. */
const NEWER = 999 as Reason

export class Player {
  readonly #memory: LocalMemory
  readonly #folder: string
  readonly #asked = new Map<number, readonly [LocalQuestion, Ask]>()
  #rulesDigest = ''
  #count = 0
  #atMs = 0
  #wallMs = 0
  readonly #clock = new Elapsed(
    () => this.#atMs,
    () => this.#wallMs,
  )

  /** @param folder of the suite */
  constructor(folder: string, { tokens_max: tokensMax, accounts }: Options) {
    this.#folder = folder
    this.#memory = new LocalMemory({
      ...(tokensMax !== undefined && { tokensMax }),
      ...(accounts !== undefined && { accounts }),
    })
  }

  /** The client's actions in the step, in the form of `expect`. */
  play(step: Step): unknown {
    const number = this.#count++
    this.#atMs = step.at_ms
    this.#wallMs = step.wall_ms ?? step.at_ms
    const nowMs = this.#clock.now()
    if ('begin' in step) return beginning(this.#memory.begin(nowMs, this.#clock.jumpedMs))
    if ('hear' in step) return this.#hear(step.hear, nowMs)
    if ('check' in step) {
      const question = questionOf(step.check)
      const recalled = this.#memory.recall(question, nowMs)
      if (recalled instanceof Ask) this.#asked.set(number, [question, recalled])
      return expected(recalled)
    }
    const asked = this.#asked.get(step.learn.of)
    if (asked === undefined) throw new Error(`step ${step.learn.of} did not ask`)
    const response = responseOf(step.learn, this.#rulesDigest)
    this.#memory.learn(...asked, response)
    if (step.expect === undefined) return undefined
    const { allowed, reason } = checkAnswer(response, asked[0].request !== undefined)
    return { allowed, reason }
  }

  #hear(told: Told, nowMs: number): 'followed' | 'left' | 'refused' {
    const rules = this.#rules(told.rules)
    this.#rulesDigest = rules?.matrix?.rulesDigest ?? this.#rulesDigest
    try {
      const goesOn = this.#memory.hear(
        toldMessage(told, rules, this.#rules(told.rules_part)),
        nowMs,
        this.#clock.jumpedMs,
      )
      return goesOn ? 'followed' : 'left'
    } catch (error) {
      if (error instanceof WrongSidecar) return 'refused'
      throw error
    }
  }

  #rules(name: string | undefined): wire.Rules | undefined {
    if (name === undefined) return undefined
    return wire.Rules.decode(readFileSync(join(this.#folder, 'rules', `${name}.binpb`)))
  }
}

function beginning({ accounts, after }: wire.WatchChangesRequest): object {
  if (after === undefined) return { accounts, after: null, basis: '' }
  return { accounts, after: [after.change, after.recordedAt?.getTime()], basis: after.basis }
}

function expected(recalled: CheckAnswer | Ask): Expected {
  if (recalled instanceof Ask) return 'ask'
  const { allowed, reason, message, advice, route } = recalled
  if (route === undefined) return { allowed, reason, message, ...(advice.length > 0 && { advice }) }
  const { api, target } = route
  return { allowed, reason, message, route: { api, ...(target && { target: { ...target } }) } as Route }
}

function questionOf({
  api = '',
  request,
  headers = [],
  kind,
  scope,
  target,
  address = '',
}: Question): LocalQuestion {
  const subject =
    kind === undefined || scope === undefined ? { credentials: headers } : { token: { kind, scope } }
  return { api, ...(request && { request }), ...subject, target, clientAddress: address }
}

function toldMessage(
  told: Told,
  rules: wire.Rules | undefined,
  rulesPart: wire.Rules | undefined,
): wire.WatchChangesResponse {
  const { voided, time_of_day_ms: timeOfDayMs } = told
  return {
    position: positionOf(told),
    ...{ rules, rulesPart },
    voided: voided === undefined ? undefined : voidedOf(voided),
    validFor: durationOf(told.valid_for_ms),
    sentAt: durationOf(told.sent_at_ms),
    timeOfDay: timeOfDayMs === undefined ? undefined : new Date(timeOfDayMs),
  }
}

function voidedOf(voided: NonNullable<Told['voided']>): wire.Voided {
  const named = voided === 'everything' ? {} : voided
  const listed = (what: string) => [...(named[what] ?? [])]
  return {
    everything: voided === 'everything',
    ...{ tokenIds: listed('token_ids'), userIds: listed('user_ids') },
    ...{ accounts: listed('accounts'), projectIds: listed('project_ids') },
  }
}

function responseOf(answer: Answer, rulesDigest: string): wire.CheckResponse {
  const {
    reason,
    allowed = reason === 'ALLOWED',
    message = '',
    header = '',
    verified = false,
    token,
    route,
    same_rules: same = true,
  } = answer
  const number = Object.entries(Reason).find(([name]) => name === `REASON_${reason}`)?.[1]
  const {
    id = '',
    kind = '',
    user = '',
    account = '',
    project = '',
    project_id: projectId = '',
  } = token ?? {}
  return {
    ...{
      allowed,
      message,
      header,
      scheme: '',
      accepted: [],
      conflicts: [],
      advice: [],
      digest: '',
    },
    ...{ reason: (reason === 'UNSPECIFIED' ? NEWER : (number ?? 0)) as Reason, strict: false, verified },
    ...{
      rulesDigest: same ? rulesDigest : 'others',
      cacheFor: undefined,
      position: positionOf(answer),
      route: route && { api: route.api ?? '', target: scopeOf(route.target), refused: route.refused ?? '' },
    },
    token: token && {
      ...{ kind, scope: { account, project }, subject: { id: user, name: '', type: '' }, tokenId: id },
      ...{
        issuedAt: undefined,
        roles: [],
        authority: '',
        projectId,
        derivedFrom: [...(token.derived_from ?? [])],
      },
      expiresAt: token.expires_at_ms === undefined ? undefined : new Date(token.expires_at_ms),
    },
  }
}

function scopeOf(scope: Question['target']) {
  return scope && { account: scope.account, project: scope.project ?? '' }
}

function positionOf({ position, basis = '' }: Told | Answer): wire.Position | undefined {
  return position == null ? undefined : { change: position[0], recordedAt: new Date(position[1]), basis }
}

function durationOf(ms: number | null | undefined) {
  return typeof ms === 'number' ? { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1e6 } : undefined
}
