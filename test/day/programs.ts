/**
 * The programs of a day: they ask over every protocol, and judge each answer. No sidecar allows an ended
 * token for longer than its bound, and the host denies no token in force.
 */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import type { TLSSocket } from 'node:tls'
import type { Protocol } from '../parity/protocol.ts'
import { AUTHZEN } from '../parity/protocols/authzen.ts'
import { CONNECT } from '../parity/protocols/connect.ts'
import { CONTRACT } from '../parity/protocols/contract.ts'
import { PROXIES } from '../parity/protocols/proxies.ts'
import type { Question } from '../parity/questions.ts'
import { askAt, loginBody, TOKENS } from '../support/identity/identity.ts'
import type { RunningSidecar } from '../support/sidecar/sidecar.ts'
import { numberOf, type Token } from '../world/accounts.ts'
import { stayedActive, wasActive } from '../world/standing.ts'
import { Violation } from '../world/truth.ts'
import { SPEED } from './clock.ts'
import { type Fleet, STALENESS_MS } from './fleet.ts'
import type { Known, Standing } from './known.ts'

/** Tokens in one round of questions. */
const AT_ONCE = 8
/** Clocks of processes begin with whole seconds, and a busy machine starts a process late. */
export const CLOCKS_MS = 240_000
/** The follower counts its bound by its own clock. */
const FOLLOWER_MS = STALENESS_MS / SPEED + 500

const OVER_HTTPS: Protocol['name'] = 'Connect over HTTPS'

export interface Asked {
  questions: number
  allowed: number
  denied: number
  unanswered: number
  /** Denied because they had expired. */
  expired: number
  logins: number
}

export class Programs {
  readonly asked: Asked = { questions: 0, allowed: 0, denied: 0, unanswered: 0, expired: 0, logins: 0 }
  /** Why there was no answer, and how often. */
  readonly problems = new Map<string, number>()
  readonly #fleet: Fleet
  readonly #known: Known
  readonly #random: () => number
  readonly #protocols = [...CONTRACT, ...CONNECT, ...PROXIES, ...AUTHZEN]

  constructor(fleet: Fleet, known: Known, random: () => number) {
    this.#fleet = fleet
    this.#known = known
    this.#random = random
  }

  /** One round: some tokens over one protocol. @throws Violation */
  async askHost(): Promise<void> {
    const { host } = this.#fleet
    const protocol = this.#protocols[Math.floor(this.#random() * this.#protocols.length)] as Protocol
    const running = { sidecar: { httpAddress: host.http }, address: host.grpc, folder: host.folder }
    await this.#judge(protocol.name, 0, true, async (tokens) => {
      const answers = await protocol.ask(running as unknown as RunningSidecar, tokens.map(questionOf))
      return answers.map(({ allowed, reason }) => ({ allowed, reason }))
    })
  }

  async askFollower(): Promise<void> {
    const { client } = this.#fleet.follower
    await this.#judge('the follower', FOLLOWER_MS, false, (tokens) =>
      client.checkBatch(
        tokens.map(({ value }) => ({ api: 'balance', credentials: [['X-Auth-Token', value]] as const })),
      ),
    )
    await this.#judge(OVER_HTTPS, FOLLOWER_MS, false, async (tokens) => {
      const answers: Answered[] = []
      for (const { value } of tokens.slice(0, 1)) {
        const credentials = { headers: [{ name: 'X-Auth-Token', value }] }
        const { text } = await this.overHttps({ api: 'balance', credentials })
        const { allowed = false, reason } = JSON.parse(text) as Partial<Answered>
        answers.push({ allowed, reason: String(reason).replace('REASON_', '') })
      }
      return answers
    })
  }

  /** Asks the follower over a new connection. @returns what it said, and the certificate that it showed */
  overHttps(check: object): Promise<{ text: string; certificate: X509Certificate }> {
    const [hostname, port] = this.#fleet.follower.http.split(':')
    return new Promise((resolve, reject) => {
      const asking = request(
        {
          ...{ hostname, port, method: 'POST', path: '/portcullis.v1.AuthorizationService/Check' },
          agent: new Agent({ keepAlive: false, maxCachedSessions: 0 }),
          ca: readFileSync(this.#fleet.authority.certificate),
          headers: {
            'Content-Type': 'application/json',
            Authorization: `Bearer ${this.#fleet.follower.token}`,
          },
          timeout: 60_000,
        },
        (response) => {
          const { raw } = (response.socket as TLSSocket).getPeerCertificate()
          let text = ''
          response.setEncoding('utf8')
          response.on('data', (part: string) => {
            text += part
          })
          response.on('error', reject)
          response.on('end', () =>
            response.statusCode === 200
              ? resolve({ text, certificate: new X509Certificate(raw) })
              : reject(new Error(`${response.statusCode} ${text}`)),
          )
        },
      )
      asking.on('timeout', () => asking.destroy(new Error('no answer')))
      asking.on('error', reject)
      asking.end(JSON.stringify(check))
    })
  }

  async #judge(
    how: string,
    boundMs: number,
    atOnce: boolean,
    ask: (tokens: readonly Token[]) => Promise<readonly Answered[]>,
  ): Promise<void> {
    const tokens = this.#known.some(AT_ONCE, this.#random)
    if (tokens.length === 0) return
    const beganMs = performance.now()
    const dayMs = this.#fleet.clock.now()
    let answers: readonly Answered[]
    try {
      answers = await ask(tokens)
    } catch (error) {
      this.#unanswered(how, error)
      return
    }
    const nowMs = performance.now()
    for (const [index, { allowed, reason }] of answers.entries()) {
      const { user, expiresMs, value } = tokens[index] as Token
      const { said } = this.#known.of(value) as Standing
      // A proxy gets a status in place of an answer, too.
      if (reason === undefined) {
        this.#unanswered(how, 'no reason')
        continue
      }
      this.asked.questions++
      this.asked[allowed ? 'allowed' : 'denied']++
      if (reason === 'CREDENTIAL_EXPIRED') this.asked.expired++
      if (allowed && !wasActive(said, beganMs - boundMs, nowMs))
        throw new Violation(`${how} allows what was ended: ${JSON.stringify(said.slice(-4))} (user ${user})`)
      if (allowed && expiresMs < dayMs - CLOCKS_MS)
        throw new Violation(`${how} allows a token that expired at ${new Date(expiresMs).toISOString()}`)
      const isInForce = stayedActive(said, beganMs, nowMs) && expiresMs > dayMs + CLOCKS_MS
      if (!allowed && atOnce && isInForce) throw new Violation(`${how} denies a token in force: ${reason}`)
    }
  }

  #unanswered(how: string, error: unknown): void {
    this.asked.unanswered++
    const problem = `${how}: ${error instanceof Error ? error.message : error}`
      .replace(/\d+/g, 'N')
      .slice(0, 80)
    this.problems.set(problem, (this.problems.get(problem) ?? 0) + 1)
  }

  /** As an application of the cloud: logs in, and looks at its token. @throws Violation */
  async logIn(): Promise<void> {
    const [token] = this.#known.some(1, this.#random)
    const standing = token && this.#known.of(token.value)
    const password = standing?.account.users[standing.token.user]?.password
    if (standing === undefined || password === undefined) return
    const beganMs = performance.now()
    const port = Number(this.#fleet.host.http.split(':')[1])
    const body = loginBody({ user: standing.token.user, account: numberOf(standing.account), password })
    try {
      const { status, headers } = await askAt(port, { method: 'POST', path: TOKENS, body })
      const subject = headers['x-subject-token']
      if (subject === undefined) {
        if (stayedActive(standing.said, beganMs, performance.now()) && status === 401)
          throw new Violation('a login with the right password is refused')
        return
      }
      const own = { 'x-auth-token': subject, 'x-subject-token': subject }
      const seen = await askAt(port, { path: TOKENS, headers: own })
      if (seen.status === 200) this.asked.logins++
    } catch (error) {
      if (error instanceof Violation) throw error
      this.#unanswered('login', error)
    }
  }
}

interface Answered {
  readonly allowed: boolean
  readonly reason?: string | undefined
}

function questionOf({ value }: Token): Question {
  return {
    ...{ what: 'a question of the day', api: 'balance', reason: 'ALLOWED' },
    subject: { headers: [['X-Auth-Token', value]] },
  }
}
