/**
 * The decision log: a line of JSON for each decision (`line.schema.json`). A line is made at once and in
 * place, from parts that many lines have in common, and is written later.
 */
import type { Logger } from 'pino'
import type { Decision, Extraction, Scope } from '../../../engine/index.ts'
import { looksLikeStaticToken } from '../../authority/static-token.ts'
import { callError } from '../../base/call-error.ts'
import type { Health } from '../../base/health.ts'
import type { DecisionListener, OwnToken } from '../../usecases/asker.ts'
import type { AskerFacts, LineFollower, DecisionLog as Log } from '../../usecases/decision-recorder.ts'
import type { DecisionSearch } from '../../usecases/decision-search.ts'
import type { CheckOutcome, ClaimsQuestion, CredentialsQuestion } from '../../usecases/questions.ts'
import type { ShadowDirection } from '../../usecases/shadow.ts'
import { Backlog, type Block, type Destination } from '../backlog.ts'
import { Drops } from './drops.ts'
import type { Fingerprints } from './fingerprints.ts'
import { LineStart, line, number, part, putPart, REST_BYTES_MAX, scope, text } from './line.ts'
import { askerPart, isLong, membersOf, Parts } from './line-parts.ts'

export interface DecisionLogOptions {
  readonly destination: Destination
  readonly fingerprints: Fingerprints
  /** How many of a hundred decisions have a line that allow and are not contested. All others have one. */
  readonly samplePercent: number
  /** Whether a decision without a line is not an answer. */
  readonly required: boolean
  /** Most bytes of lines that wait to be written. */
  readonly bytesMax: number
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
  readonly log: Pick<Logger, 'warn' | 'info'>
  readonly health: Pick<Health, 'set'>
  /** Counts decisions without a line; `undefined`: metrics are off. */
  readonly onDropped?: ((decisions: number) => void) | undefined
  /** Searches the lines where the destination keeps them. */
  readonly search?: DecisionSearch | undefined
  /** How long a line may wait for others; default: 200. */
  readonly delayMs?: number | undefined
}

const DELAY_MS = 200

/** How long the rest may take to be written when the sidecar stops, in milliseconds. */
const CLOSE_MS = 5_000

/**
 * The answer was there before the question: looking it up takes less than a microsecond, and timing it would
 * take as long.
 */
const NO_LATENCY = ',"latency_us":0'

// The fields of each question, beside those of the asker and the decision.
const OF_CLAIMS = line<ClaimsQuestion>('claims', [
  scope('scope', (question) => question.scope),
  scope('target', (question) => question.target),
  NO_LATENCY,
])
const OF_KIND = line('kind', [NO_LATENCY])
const OF_CREDENTIALS = line<Verified>('credentials', [
  part(({ token }) => token),
  text('header', ({ header }) => header),
  part(({ form }) => form),
  text('client_address', ({ question }) => question.clientAddress),
  scope('target', ({ question }) => question.target),
  number('latency_us', ({ latencyMs }) => Math.round(latencyMs * 1_000)),
])
const OF_OWN_TOKEN = line<OwnToken | undefined>('own_token', [
  scope('scope', (token) => token?.scope),
  NO_LATENCY,
])

const CUT = Buffer.from(',"cut":true')
const OBSERVED = Buffer.from(',"observed":true')
const SHADOW: Readonly<Record<ShadowDirection, Buffer>> = {
  opened: Buffer.from(',"shadow":"opened"'),
  closed: Buffer.from(',"shadow":"closed"'),
  unknown: Buffer.from(',"shadow":"unknown"'),
}
const END = Buffer.from('}\n')

/** A question about credentials, and the facts about them. */
interface Verified {
  readonly question: CredentialsQuestion
  /** The part about the token. */
  readonly token: Buffer
  /** The header that it was in, and its scheme, if any: `authorization bearer`. */
  readonly header: string | undefined
  /** The part about the form of a token that was not verified, where that matters. */
  readonly form: Buffer | undefined
  readonly latencyMs: number
}

/** A promise of the past, so that something is done at the end of this turn. */
const NOW = Promise.resolve()

export class DecisionLog implements Log {
  readonly #options: DecisionLogOptions
  readonly #backlog: Backlog
  readonly #drops: Drops
  readonly #parts: Parts
  readonly #sample: Buffer | undefined
  follower: LineFollower | undefined
  #nowMs: number | undefined
  readonly #forget: (() => void)[] = []
  readonly #turnEnds = () => {
    this.#nowMs = undefined
  }

  constructor(options: DecisionLogOptions) {
    const { destination, fingerprints, samplePercent, bytesMax, delayMs = DELAY_MS } = options
    this.#options = options
    this.#parts = new Parts(fingerprints)
    this.#drops = new Drops(options)
    this.#backlog = new Backlog({
      ...{ destination, bytesMax, delayMs },
      onRefused: (lines, problem) => this.#drops.refused(lines, problem),
      onAttempt: (error) => this.#drops.attempted(error),
    })
    this.#sample = samplePercent < 100 ? membersOf({ sample_percent: samplePercent }) : undefined
  }

  get search(): DecisionSearch | undefined {
    return this.#options.search
  }

  get samplePercent(): number {
    return this.#options.samplePercent
  }

  listener(facts: AskerFacts, next: DecisionListener | undefined): DecisionListener {
    return new LogListener(this, new LineStart(askerPart(facts), facts.observed), next)
  }

  listeners<Context extends object>(
    factsOf: (context: Context) => AskerFacts,
    next: DecisionListener | undefined,
  ): (context: Context) => DecisionListener {
    let known = new WeakMap<Context, DecisionListener>()
    let last: Context | undefined
    let listener: DecisionListener | undefined
    this.#forget.push(() => {
      known = new WeakMap()
      last = undefined
    })
    return (context) => {
      if (context === last && listener !== undefined) return listener
      last = context
      listener = known.get(context)
      if (listener === undefined) {
        listener = this.listener(factsOf(context), next)
        known.set(context, listener)
      }
      return listener
    }
  }

  /** The identity of an asker may have changed. */
  forgetAskers(): void {
    for (const forget of this.#forget) forget()
  }

  /** Writes the rest. */
  async close(): Promise<void> {
    this.#drops.close(await this.#backlog.close(CLOSE_MS))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** @throws CallError where the decision must be logged and cannot be; so do the others */
  ofClaims(
    asker: LineStart,
    question: ClaimsQuestion,
    decision: Decision,
    difference?: ShadowDirection,
  ): void {
    const { api, kind, scope, target } = question
    if (this.#isLeftOut(decision, difference)) return
    const block = this.#begin(asker, this.#parts.ofDecision(decision, api, kind))
    if (block === undefined) return
    OF_CLAIMS(block, question)
    this.#end(
      block,
      asker,
      decision,
      isLong(api) || isLong(kind) || isLongScope(scope) || isLongScope(target),
      difference,
    )
  }

  ofKind(
    asker: LineStart,
    api: string,
    kind: string,
    decision: Decision,
    difference?: ShadowDirection,
  ): void {
    if (this.#isLeftOut(decision, difference)) return
    const block = this.#begin(asker, this.#parts.ofDecision(decision, api, kind))
    if (block === undefined) return
    OF_KIND(block, undefined)
    this.#end(block, asker, decision, isLong(api) || isLong(kind), difference)
  }

  ofCredentials(
    asker: LineStart,
    question: CredentialsQuestion,
    found: Extraction | undefined,
    { decision, token }: CheckOutcome,
    latencyMs: number,
    difference?: ShadowDirection,
  ): void {
    if (this.#isLeftOut(decision, difference)) return
    const { api, target } = question
    const { header, value } = found?.ok === true ? { header: found.place, value: found.value } : NOT_FOUND
    const tokenPart = this.#parts.ofToken(token, value)
    const block = this.#begin(asker, this.#parts.ofDecision(decision, api, token?.kind), tokenPart)
    if (block === undefined) return
    const form = decision.reason === 'WRONG_HEADER' && token === undefined ? formPart(value) : undefined
    OF_CREDENTIALS(block, { question, token: tokenPart, header, form, latencyMs })
    const isCut = isLong(api) || isLongScope(token?.scope) || isLongScope(target)
    this.#end(block, asker, decision, isCut, difference)
  }

  ofOwnToken(
    asker: LineStart,
    api: string,
    token: OwnToken | undefined,
    decision: Decision,
    difference?: ShadowDirection,
  ): void {
    if (this.#isLeftOut(decision, difference)) return
    const block = this.#begin(asker, this.#parts.ofDecision(decision, api, token?.kind))
    if (block === undefined) return
    OF_OWN_TOKEN(block, token)
    this.#end(block, asker, decision, isLong(api) || isLongScope(token?.scope), difference)
  }

  /** The part about the sample that the decision belongs to; `undefined`: every such decision has a line. */
  #sampleOf({ allowed, conflicts }: Decision, difference?: ShadowDirection): Buffer | undefined {
    return allowed && conflicts.length === 0 && difference === undefined ? this.#sample : undefined
  }

  #isLeftOut(decision: Decision, difference?: ShadowDirection): boolean {
    const isSampled = this.#sampleOf(decision, difference) !== undefined
    return isSampled && Math.random() * 100 >= this.#options.samplePercent
  }

  /** A block with the beginning of a line; `undefined`: there is no room. */
  #begin(start: LineStart, decision: Buffer, token?: Buffer): Block | undefined {
    const length = REST_BYTES_MAX + start.length + decision.length + (token?.length ?? 0)
    const block = this.#backlog.room(length)
    if (block === undefined) {
      this.#drops.full()
      if (this.#options.required) throw callError('DECISION_NOT_LOGGED', {})
      return undefined
    }
    if (this.#nowMs === undefined) {
      // Looking at the clock costs a third of a line, so it is done once in each turn of the event loop.
      this.#nowMs = this.#options.now()
      void NOW.then(this.#turnEnds)
    }
    putPart(block, start.at(this.#nowMs))
    putPart(block, decision)
    return block
  }

  #end(
    block: Block,
    { observed }: LineStart,
    decision: Decision,
    isCut: boolean,
    difference?: ShadowDirection,
  ): void {
    if (isCut) putPart(block, CUT)
    if (observed && !decision.allowed) putPart(block, OBSERVED)
    if (difference !== undefined) putPart(block, SHADOW[difference])
    const sample = this.#sampleOf(decision, difference)
    if (sample !== undefined) putPart(block, sample)
    if (this.#drops.untold > 0) putPart(block, this.#drops.tell())
    putPart(block, END)
    block.lines++
    // There is nearly never one.
    if (this.follower !== undefined) show(block, this.follower)
  }
}

/** Lines have no other end of a line in them, so the last line begins behind the one before. */
function show({ bytes, length }: Block, follower: LineFollower): void {
  follower(bytes, bytes.lastIndexOf(LINE_FEED, length - 2) + 1, length)
}

const LINE_FEED = 0x0a

const NOT_FOUND = { header: undefined, value: undefined }

/** Such a token was not verified, so its form is all that is known of it. */
function formPart(value = ''): Buffer {
  return membersOf({ form: looksLikeStaticToken(value) ? 'control_panel' : 'issue' })
}

function isLongScope(scope: Scope | undefined): boolean {
  return scope !== undefined && (isLong(scope.account) || isLong(scope.project))
}

class LogListener implements DecisionListener {
  readonly #log: DecisionLog
  readonly #start: LineStart
  readonly #next: DecisionListener | undefined

  constructor(log: DecisionLog, start: LineStart, next: DecisionListener | undefined) {
    this.#log = log
    this.#start = start
    this.#next = next
  }

  startMs(): number {
    return performance.now()
  }

  ofClaims(question: ClaimsQuestion, decision: Decision, difference?: ShadowDirection): void {
    this.#log.ofClaims(this.#start, question, decision, difference)
    this.#next?.ofClaims(question, decision)
  }

  ofKind(api: string, kind: string, decision: Decision, difference?: ShadowDirection): void {
    this.#log.ofKind(this.#start, api, kind, decision, difference)
    this.#next?.ofKind(api, kind, decision)
  }

  ofCredentials(
    question: CredentialsQuestion,
    found: Extraction | undefined,
    outcome: CheckOutcome,
    startMs: number,
    difference?: ShadowDirection,
  ): void {
    this.#log.ofCredentials(this.#start, question, found, outcome, performance.now() - startMs, difference)
    this.#next?.ofCredentials(question, found, outcome, startMs)
  }

  ofOwnToken(
    api: string,
    token: OwnToken | undefined,
    decision: Decision,
    difference?: ShadowDirection,
  ): void {
    this.#log.ofOwnToken(this.#start, api, token, decision, difference)
    this.#next?.ofOwnToken(api, token, decision)
  }
}
