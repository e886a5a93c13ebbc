/** Plays the steps of a trace with the memory of the TypeScript client. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ask, LocalMemory } from '../../../clients/typescript/local-memory.ts'
import type { LocalQuestion } from '../../../clients/typescript/local-question.ts'
import { WrongSidecar } from '../../../clients/typescript/local-rules.ts'
import type { CheckAnswer } from '../../../clients/typescript/values.ts'
import * as wire from '../../../proto/gen/portcullis/v1/authorization.ts'
import { Reason } from '../../../proto/gen/portcullis/v1/decision.ts'
import type { Answer, Expected, Question, Route, Told } from './trace.ts'

export type Step = { readonly at_ms: number; readonly expect?: unknown } & (
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
  readonly #asked = new Map<number, CheckAnswer | Ask>()
  #rulesDigest = ''
  #count = 0

  /** @param folder of the suite */
  constructor(folder: string, { tokens_max: tokensMax, accounts }: Options) {
    this.#folder = folder
    this.#memory = new LocalMemory({
      ...(tokensMax !== undefined && { tokensMax }),
      ...(accounts !== undefined && { accounts }),
    })
  }

  /** What the client does in the step, in the form of `expect`. */
  play(step: Step): unknown {
    const number = this.#count++
    const nowMs = step.at_ms
    if ('begin' in step) return beginning(this.#memory.begin(nowMs))
    if ('hear' in step) return this.#hear(step.hear, nowMs)
    if ('check' in step) {
      const recalled = this.#memory.recall(questionOf(step.check), nowMs)
      this.#asked.set(number, recalled)
      return expected(recalled)
    }
    const asked = this.#asked.get(step.learn.of)
    if (!(asked instanceof Ask)) throw new Error(`step ${step.learn.of} did not ask`)
    this.#memory.learn(asked, responseOf(step.learn, this.#rulesDigest))
    return undefined
  }

  #hear(told: Told, nowMs: number): 'followed' | 'refused' {
    const rules = told.rules === undefined ? undefined : this.#rules(told.rules)
    this.#rulesDigest = rules?.matrix?.rulesDigest ?? this.#rulesDigest
    try {
      this.#memory.hear(toldMessage(told, rules), nowMs)
      return 'followed'
    } catch (error) {
      if (error instanceof WrongSidecar) return 'refused'
      throw error
    }
  }

  #rules(name: string): wire.Rules {
    return wire.Rules.decode(readFileSync(join(this.#folder, 'rules', `${name}.binpb`)))
  }
}

function beginning({ accounts, after }: wire.WatchChangesRequest): object {
  if (after === undefined) return { accounts, after: null, basis: '' }
  return { accounts, after: [after.change, after.recordedAt?.getTime()], basis: after.basis }
}

function expected(recalled: CheckAnswer | Ask): Expected {
  if (recalled instanceof Ask) return 'ask'
  const { allowed, reason, message, route } = recalled
  if (route === undefined) return { allowed, reason, message }
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

function toldMessage(told: Told, rules: wire.Rules | undefined): wire.WatchChangesResponse {
  const { voided, time_of_day_ms: timeOfDayMs } = told
  return {
    position: positionOf(told),
    rules,
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
      allowed: reason === 'ALLOWED',
      message,
      header,
      scheme: '',
      accepted: [],
      conflicts: [],
      advice: [],
      digest: '',
    },
    ...{ reason: (reason === 'UNSPECIFIED' ? NEWER : number) as Reason, strict: false, verified },
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
