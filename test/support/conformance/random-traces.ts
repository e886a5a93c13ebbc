/**
 * Traces of chance, and what the memory of the TypeScript client answers in them. A model of the directory
 * runs beside it: what was ended longer ago than the sidecar promises must not be allowed.
 */
import { join } from 'node:path'
import { fieldValue } from '../../../engine/index.ts'
import { ROUTES } from '../inputs/paths.ts'
import { headersOf } from './files.ts'
import { Player, type Step } from './player.ts'
import { generator, matchOf, randomRequest } from './routes.ts'
import { ENGINES, ROUTED } from './rules.ts'
import { type Answer, DAY_MS, type Question, type Told } from './trace.ts'

const FOLDER = join(import.meta.dirname, '../../../clients/conformance')

const STEPS = 80
const VALID_FOR_MS = 1_500
/** How far ahead the clock of the sidecar is. */
const AHEAD_MS = 70_000
/** Rules that come after one another in a trace: those of one matrix. */
const RULES = [
  ['shipped', 'shipped-strict', 'prose-strict', 'routed'],
  ['library', 'library-strict'],
]
const HOUR_MS = 3_600_000
const ADDRESSES = ['', '192.0.2.1']

/** An answer that no rules would have given. */
const DISAGREEING: readonly ((answer: Answer) => Partial<Answer>)[] = [
  ({ reason }) => ({ allowed: reason !== 'ALLOWED' }),
  () => ({ reason: 'UNSPECIFIED', allowed: false }),
  () => ({ reason: '', allowed: false }),
  ({ verified = false }) => ({ verified: !verified }),
  () => ({ same_rules: false }),
]

/** A token of the model. */
interface Modelled {
  readonly value: string
  readonly header: string
  readonly scheme: string | undefined
  readonly token: NonNullable<Answer['token']>
  /** By the time that has passed; `Infinity`: it is in force. */
  endedAtMs: number
  /** Whether the last answer about it was one that no rules would have given. */
  isDoubtful: boolean
}

/** A question that is not answered yet, by its step, with the answer that was true then. */
interface Open {
  readonly of: number
  readonly modelled: Modelled
  readonly answer: Answer
  /** By which it was decided. */
  readonly rules: string
}

type Touched = readonly [what: string, id: string]

/** @yields this many traces, the same for each seed */
export function* randomTraces(seed: number, count: number): Generator<object> {
  for (let index = 0; index < count; index++) {
    const world = new World(generator(seed * 1_000_003 + index))
    for (let step = 0; step < STEPS; step++) world.step()
    yield { name: `seed ${seed}, trace ${index}`, options: {}, steps: world.steps }
  }
}

class World {
  readonly steps: object[] = []
  readonly #random: (below: number) => number
  readonly #player = new Player(FOLDER, {})
  readonly #tokens: readonly Modelled[]
  readonly #changes: Touched[] = []
  readonly #open: Open[] = []
  readonly #allRules: readonly string[]
  #rules: string
  #atMs = 1_000
  /** For how long the machine of the client has slept. */
  #sleptMs = 0
  /** By how much its wall clock was set. */
  #setMs = 0
  /** Those that the client has. */
  #heard = ''
  /** How many changes were announced; below 0: none. */
  #told = -1

  constructor(random: (below: number) => number) {
    this.#random = random
    this.#allRules = RULES[random(4) === 0 ? 1 : 0] as readonly string[]
    this.#rules = this.#allRules[0] as string
    const kinds = [...(ENGINES[this.#rules]?.tokenKinds.values() ?? [])]
    this.#tokens = Array.from({ length: 6 }, (_, index) => {
      const {
        id: kind = '',
        header = '',
        scheme,
        prefix = '',
        scopeLevel,
      } = kinds[index % kinds.length] ?? {}
      const ofProject = scopeLevel === 'project' && { project: 'p', project_id: `p${random(2)}` }
      const account = String(1 + random(2))
      const derived = index > 3 && { derived_from: ['t0'] }
      const token = { id: `t${index}`, kind, account, ...ofProject, user: `u${random(3)}`, ...derived }
      const value = `${prefix}value-${index}`
      return { value, header, scheme, token, endedAtMs: Number.POSITIVE_INFINITY, isDoubtful: false }
    })
    this.#begin()
  }

  step(): void {
    const dice = this.#random(60)
    if (dice < 36) this.#check()
    else if (dice < 40) this.#learn()
    else if (dice < 42) this.#change()
    else if (dice < 54) this.#hear()
    else if (dice < 55) this.#begin()
    else if (dice < 58) this.#atMs += this.#random(700)
    else if (dice < 59) this.#sleptMs += this.#random(2 * VALID_FOR_MS)
    else this.#setClock()
  }

  get #nowMs(): number {
    return this.#atMs + this.#sleptMs
  }

  #setClock(): void {
    this.#setMs += this.#random(2 * HOUR_MS) - HOUR_MS
    // It must be seen before a sleep that would hide it.
    this.#check()
  }

  #check(): void {
    const random = this.#random
    const engine = ENGINES[this.#allRules[0] as string]
    const apis = [...(engine?.apis.keys() ?? []), 'no-such-api']
    const modelled = this.#tokens[random(this.#tokens.length)] as Modelled
    const request = random(4) === 0 ? randomRequest(ROUTES, random) : undefined
    const question: Question = {
      ...(request === undefined && {
        api: apis[random(3) === 0 ? random(apis.length) : random(3)] as string,
        ...(random(2) === 0 && {
          target: { account: String(1 + random(2)), ...(random(2) === 0 && { project: 'p' }) },
        }),
      }),
      ...(request && { request: { method: request.method, host: request.host, path: request.path } }),
      headers: [...headersOf(request?.headers ?? []), [modelled.header, this.#sent(modelled)]],
      address: ADDRESSES[random(2)] as string,
    }
    const expect = this.#play({ check: question })
    const answer = this.#truth(modelled, question)
    if (expect === 'ask') {
      this.#open.push({ of: this.steps.length - 1, modelled, answer, rules: this.#rules })
      if (random(3) > 0) this.#learn()
    } else this.#expectSafe(modelled, expect as { readonly allowed: boolean })
  }

  /** As one client or another spells the scheme. */
  #sent({ scheme, value }: Modelled): string {
    const spelled = this.#random(2) === 0 ? scheme?.toLowerCase() : scheme
    return fieldValue({ scheme: spelled }, value)
  }

  #expectSafe({ endedAtMs, isDoubtful }: Modelled, { allowed }: { readonly allowed: boolean }): void {
    if (allowed && isDoubtful) throw new Error(`allowed after a doubt: ${JSON.stringify(this.steps)}`)
    if (allowed && this.#nowMs - endedAtMs >= VALID_FOR_MS)
      throw new Error(`allowed ${this.#nowMs - endedAtMs} ms after its end: ${JSON.stringify(this.steps)}`)
  }

  /** The sidecar's answer now. */
  #truth(modelled: Modelled, question: Question): Answer {
    const { request, headers = [] } = question
    if (request === undefined) return this.#decided(modelled, question)
    const match = matchOf(ROUTED, request, headers)
    if (match.refused !== undefined) {
      const { refused, detail: message } = match
      return { reason: 'UNKNOWN_API', message, same_rules: false, route: { refused } }
    }
    const { api, target } = match
    const routed = { ...question, api, ...(target && { target }) }
    return { ...this.#decided(modelled, routed), route: { api, ...(target && { target }) } }
  }

  #decided({ token, endedAtMs }: Modelled, { api = '', target, address }: Question): Answer {
    const engine = ENGINES[engineOf(this.#rules)]
    if (engine === undefined) throw new Error('no such rules')
    const at = { position: this.#position(), basis: this.#random(20) === 0 ? 'others' : 'keys' }
    const fault =
      endedAtMs <= this.#nowMs
        ? 'CREDENTIAL_REVOKED'
        : address !== '' && token.user === 'u2' && 'ADDRESS_NOT_ALLOWED'
    if (!engine.apis.has(api))
      return { reason: 'UNKNOWN_API', message: engine.deny(api, 'CREDENTIAL_MISSING').message }
    const decision = fault
      ? engine.deny(api, fault, token.kind)
      : engine.decide({ api, kind: token.kind, scope: token, target })
    const { reason, message, header } = decision
    return { reason, message, header, verified: !fault, token, ...at }
  }

  #learn(): void {
    const [next] = this.#open.splice(this.#random(Math.max(1, this.#open.length)), 1)
    if (next === undefined) return
    const { of, modelled, answer, rules } = next
    const isOurs = ENGINES[engineOf(rules)]?.rulesDigest === ENGINES[engineOf(this.#heard)]?.rulesDigest
    const said = { ...answer, ...(!isOurs && { same_rules: false }) }
    const isDoubtful = answer.token !== undefined && this.#random(8) === 0
    const change = isDoubtful ? DISAGREEING[this.#random(DISAGREEING.length)]?.(said) : undefined
    modelled.isDoubtful = isDoubtful
    this.#play({ learn: { of, ...said, ...change } })
  }

  #change(): void {
    const random = this.#random
    const what = ['token_ids', 'user_ids', 'accounts', 'project_ids', 'token_ids'][random(5)] as string
    const id = { token_ids: `t${random(6)}`, user_ids: `u${random(3)}`, accounts: String(1 + random(2)) }[
      what
    ]
    const touched: Touched = [what, id ?? `p${random(2)}`]
    this.#changes.push(touched)
    for (const modelled of this.#tokens)
      if (isTouched(modelled.token, touched)) modelled.endedAtMs = Math.min(modelled.endedAtMs, this.#nowMs)
  }

  #hear(): void {
    const random = this.#random
    const news = Map.groupBy(this.#changes.slice(Math.max(0, this.#told)), ([what]) => what)
    const isNew = random(20) === 0
    if (isNew) this.#rules = this.#allRules[random(this.#allRules.length)] as string
    const isEverything = this.#told < 0 || random(60) === 0
    const named = Array.from(news, ([what, all]) => [what, all.map(([, id]) => id)] as const)
    const hear: Told = {
      position: this.#position(),
      ...((isNew || this.#told < 0) && { rules: this.#rules }),
      voided: isEverything ? 'everything' : Object.fromEntries(named),
      valid_for_ms: VALID_FOR_MS,
      sent_at_ms: this.#nowMs + AHEAD_MS,
      basis: 'keys',
      time_of_day_ms: this.#nowMs + DAY_MS,
    }
    if (hear.rules !== undefined) this.#heard = hear.rules
    this.#told = this.#changes.length
    // It is on its way for some time.
    this.#atMs += random(300)
    if (this.#play({ hear }) === 'left') this.#begin()
  }

  #begin(): void {
    this.#play({ begin: {} })
  }

  #position(): readonly [number, number] {
    return [this.#changes.length, 1_000_000 + this.#changes.length]
  }

  #play(step: object): unknown {
    const aheadMs = this.#sleptMs + this.#setMs
    const ahead = aheadMs !== 0 && { wall_ms: this.#atMs + aheadMs }
    const timed = { at_ms: this.#atMs, ...ahead, ...step } as Step
    const expect = this.#player.play(timed)
    this.steps.push(expect === undefined ? timed : { ...timed, expect })
    return expect
  }
}

/** The name of the engine of rules. */
function engineOf(rules: string): string {
  return rules === 'routed' ? 'shipped' : rules
}

function isTouched(
  { id, user, account, project_id: project, derived_from: from = [] }: Modelled['token'],
  [what, name]: Touched,
) {
  const names = { token_ids: [id, ...from], user_ids: [user], accounts: [account] }[what] ?? [project]
  return names.includes(name)
}
