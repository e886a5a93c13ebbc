/**
 * The clients of one history: several at once, over both hosts, on one account. The seed decides what they
 * ask for; what they are answered, and when, the hosts do.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type Asked, perform } from '../../world/operations.ts'
import { type Message, refusalOf } from '../contract/black-box.ts'
import { TAKEN_BY, type TokenSort } from '../directory/scene.ts'
import { randomFrom } from '../inputs/random.ts'
import { type History, type HostName, isChange, type Operation, type Question } from './history.ts'
import type { Line, Scene, Stage } from './stage.ts'

const CLIENTS = 4
const QUESTIONS_OF_A_CLIENT = 10
/** Longest pause of a client between two questions, and its pause after one without an answer. */
const PAUSE_MS_MAX = 60
const UNANSWERED_PAUSE_MS = 250

/** Answers that are no success, and say what the directory is like. */
const ANSWERS = ['NOT_FOUND', 'ALREADY_EXISTS', 'NO_SUCH_PROJECT', 'LOGIN_FAILED', 'PERMISSION_MISSING']
/** What a client gets that does not know whether its call took effect. */
const NO_ANSWER = ['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'CANCELLED', 'INTERNAL']

/** What grpc-js says where nothing has left the client. */
const NOT_SENT = /^No connection established/

/** How often each is asked for. A change in both directions is made more often in the one that opens. */
const WEIGHTS = {
  ...{ check: 120, issue: 36, readUser: 8, revoke: 10 },
  ...{ updateAccount: 4, deleteAccount: 0.3, restrict: 8, updateOwner: 8 },
  ...{ createProject: 2, updateProject: 5, deleteProject: 1 },
  ...{ createUser: 2, enable: 7, deleteUser: 1, permit: 10, replacePassword: 2, setRole: 1 },
} as const satisfies Partial<Record<Question['what'] | keyof typeof OF_USERS, number>>

/** Three changes of a user. */
const OF_USERS = { enable: 'updateUser', permit: 'updateUser', setRole: 'updateUser' } as const

interface Token {
  readonly number: number
  readonly sort: TokenSort
  readonly value: string
}

/** A history, and how many calls without an answer are not in it: they told nothing and changed nothing. */
export interface Recorded {
  readonly history: History
  readonly unanswered: number
}

/** Has the clients do what the seed says, and records it. */
export async function record(
  seed: number,
  stage: Stage,
  scene: Scene,
  stalenessMs: number,
): Promise<Recorded> {
  const clients = new Clients(seed, stage, scene)
  await Promise.all(Array.from({ length: CLIENTS }, (_, client) => clients.askOn(client)))
  // Beyond the bound every host must know everything.
  await delay(stalenessMs)
  await clients.askAtLast()
  const { operations, unanswered } = clients
  return { history: { seed, staleness_us: stalenessMs * 1_000, operations }, unanswered }
}

class Clients {
  readonly operations: Operation[] = []
  unanswered = 0
  readonly #random: () => number
  readonly #stage: Stage
  readonly #account: string
  readonly #tokens: Token[]
  readonly #passwords = new Map<number, string>()
  #passwordsMade = 1
  #tokensMade = 1

  constructor(seed: number, stage: Stage, { account, password, staticToken }: Scene) {
    this.#random = randomFrom(seed)
    this.#stage = stage
    this.#account = account
    this.#passwords.set(1, password)
    this.#tokens = [{ number: 0, sort: 'static', value: staticToken }]
  }

  async askOn(client: number): Promise<void> {
    let answered = true
    for (let question = 0; question < QUESTIONS_OF_A_CLIENT; question++) {
      await delay(this.#random() * PAUSE_MS_MAX)
      // Half of the clients of each host stay there.
      const host = this.#random() < 0.6 === client % 2 < 1 ? 'a' : 'b'
      const chosen = this.#choose()
      // Without an answer, a client only checks until it gets one: it adds no other change whose outcome
      // nobody knows.
      answered = await this.#ask(
        client,
        host,
        answered ? chosen : { what: 'check', token: this.#someToken() },
      )
    }
  }

  /** What each host says of the last tokens when everything is over. */
  async askAtLast(): Promise<void> {
    const last = [this.#tokens[0], ...this.#tokens.slice(1).slice(-5)]
    for (const host of ['a', 'b'] as const) {
      await this.#ask(CLIENTS, host, { what: 'readUser' })
      for (const token of last) await this.#ask(CLIENTS, host, { what: 'check', token: token?.number ?? 0 })
    }
  }

  #choose(): Question {
    const what = this.#weighted()
    const opens = this.#random() < 0.65
    switch (what) {
      case 'check':
      case 'revoke':
        return { what, token: this.#someToken() }
      case 'issue':
        return { what, password: this.#lastPassword(), scope: this.#random() < 0.6 ? 'account' : 'project' }
      case 'updateAccount':
      case 'updateProject':
      case 'updateOwner':
        return { what, enabled: opens }
      case 'restrict':
        return { what, restricted: !opens }
      case 'enable':
        return { what: OF_USERS[what], enabled: opens }
      case 'setRole':
        return { what: OF_USERS[what], administers: !opens }
      case 'permit':
        return {
          what: OF_USERS[what],
          ...{ of_account: this.#random() < 0.6, of_project: this.#random() < 0.5 },
        }
      case 'createUser':
        return { what, password: ++this.#passwordsMade, of_account: true, of_project: false }
      case 'replacePassword':
        return { what, password: ++this.#passwordsMade }
      default:
        return { what }
    }
  }

  #weighted(): keyof typeof WEIGHTS {
    const all = Object.entries(WEIGHTS) as [keyof typeof WEIGHTS, number][]
    let left = this.#random() * all.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [what, weight] of all) {
      left -= weight
      if (left < 0) return what
    }
    return 'check'
  }

  /** Mostly one of the last ones, of which something is still to be found out. */
  #someToken(): number {
    const among = this.#random() < 0.7 ? this.#tokens.slice(-3) : this.#tokens
    return among[Math.floor(this.#random() * among.length)]?.number ?? 0
  }

  #lastPassword(): number {
    return Math.max(...this.#passwords.keys())
  }

  /** Returns whether there was an answer. */
  async #ask(client: number, host: HostName, asked: Question): Promise<boolean> {
    // A number of its own, whatever comes of it.
    const question = asked.what === 'issue' ? { ...asked, token: this.#tokensMade++ } : asked
    const { lines } = this.#stage.hosts[host]
    const line = lines[Math.floor(this.#random() * lines.length)] as Line
    const process = line.process
    const call_us = nowUs()
    const { answer, ...found } = await this.#answer(line, question)
    const return_us = nowUs()
    if (answer === 'NOT_SENT' || (answer === 'UNKNOWN' && !isChange(question))) {
      this.unanswered++
      await delay(UNANSWERED_PAUSE_MS)
      return false
    }
    this.operations.push({
      ...{ ...question, ...found, client, host, call_us, return_us, answer },
      process: process === line.process ? process : '',
    })
    return answer !== 'UNKNOWN'
  }

  async #answer(line: Line, question: Question): Promise<Partial<Question> & { answer: string }> {
    try {
      return await this.#call(line, question)
    } catch (error) {
      const { code, reason, message } = refusalOf(error)
      if (ANSWERS.includes(reason)) return { answer: reason }
      if (NOT_SENT.test(message)) return { answer: 'NOT_SENT' }
      if (NO_ANSWER.includes(code) && reason !== 'INTERNAL') {
        return { answer: 'UNKNOWN' }
      }
      throw new Error(`${question.what}: ${code} ${reason}: ${message}`)
    }
  }

  async #call(line: Line, question: Question): Promise<Partial<Question> & { answer: string }> {
    const { what, token = 0, password = 0 } = question
    const account = this.#account
    if (what === 'check') return this.#check(line, token)
    if (what === 'readUser')
      return read(await line.ask('directory', 'GetServiceUser', { account, name: ROBOT }))
    const { secret = '' } = await perform(line.caller, { what, asked: this.#asked(question) })
    if (what === 'createUser' || what === 'replacePassword') this.#passwords.set(password, secret)
    if (what === 'issue')
      this.#tokens.push({ number: token, sort: question.scope ?? 'account', value: secret })
    return { answer: 'OK' }
  }

  /** With what the numbers of tokens and passwords stand for. */
  #asked({ what, token = 0, password = 0, scope, of_account, of_project, ...question }: Question): Asked {
    const { enabled, restricted, administers } = question
    return {
      ...{ account: this.#account, name: /Project/.test(what) ? PROJECT : ROBOT },
      ...{ enabled, restricted, administers, ofAccount: of_account },
      ...{ ofProject: of_project ? PROJECT : undefined, project: scope === 'project' ? PROJECT : undefined },
      ...{ password: this.#passwords.get(password), token: { value: this.#value(token)?.value ?? '' } },
    }
  }

  #value(token: number): Token | undefined {
    return this.#tokens.find(({ number }) => number === token)
  }

  async #check(line: Line, number: number): Promise<{ answer: string }> {
    const { sort, value } = this.#value(number) as Token
    const [api, name] = TAKEN_BY[sort]
    const { reason } = await line.ask('check', 'Check', { api, credentials: { headers: [{ name, value }] } })
    return { answer: String(reason).replace('REASON_', '') }
  }
}

const PROJECT = 'alpha'
const ROBOT = 'robot'

/** What is read of the service user, as the judge reads it. */
function read({ user }: Message): Partial<Question> & { answer: string } {
  const { enabled, permissions, roles } = user as {
    enabled: boolean
    permissions: readonly { readonly scope: string }[]
    roles: readonly string[]
  }
  return {
    ...{ answer: 'OK', enabled, administers: roles.includes('iam.admin') },
    of_account: permissions.some(({ scope }) => scope === 'PERMISSION_SCOPE_ACCOUNT'),
  }
}

function nowUs(): number {
  return Math.floor(performance.now() * 1_000)
}
