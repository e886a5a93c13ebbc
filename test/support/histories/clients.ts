/**
 * The clients of one history: several at once, over both hosts, on one account. The seed decides what they
 * ask for; what they are answered, and when, the hosts do.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type Account, newAccount } from '../../world/accounts.ts'
import { type Call, isChange, type Question, readOf, UNKNOWN } from '../../world/explained.ts'
import { type Asked, perform, type What } from '../../world/operations.ts'
import { type Message, refusalOf } from '../contract/black-box.ts'
import { TAKEN_BY, type TokenSort } from '../directory/scene.ts'
import { randomFrom } from '../inputs/random.ts'
import type { HostName, Line, Scene, Stage } from './stage.ts'

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

const PROJECT = 'alpha'
const ROBOT = 'robot'
const [PASSWORD, KEY] = ['password 1', 'key']

/** The account of each history when it begins. Secrets have names, so that no history has a secret. */
export const SCENE: Account = {
  ...{ ...newAccount(0), exists: true, enabled: true, projects: { [PROJECT]: true }, keys: { [KEY]: true } },
  users: { [ROBOT]: { enabled: true, permitted: true, password: PASSWORD } },
}

interface Token {
  /** In the history. */
  readonly name: string
  readonly sort: TokenSort
  readonly value: string
}

/** What the clients of one account did. */
export interface History {
  readonly seed: number
  readonly calls: readonly Call[]
  /** How many calls without an answer are not among them: they told nothing and changed nothing. */
  readonly unanswered: number
}

/** Has the clients do what the seed says, and records it. */
export async function record(
  seed: number,
  stage: Stage,
  scene: Scene,
  stalenessMs: number,
): Promise<History> {
  const clients = new Clients(seed, stage, scene)
  await Promise.all(Array.from({ length: CLIENTS }, (_, client) => clients.askOn(client)))
  // Beyond the bound every host must know everything.
  await delay(stalenessMs)
  await clients.askAtLast()
  const { calls, unanswered } = clients
  return { seed, calls, unanswered }
}

class Clients {
  readonly calls: Call[] = []
  unanswered = 0
  readonly #random: () => number
  readonly #stage: Stage
  readonly #account: string
  readonly #tokens: Token[]
  readonly #passwords = new Map<string, string>()
  #passwordsMade = 1
  #tokensMade = 1

  constructor(seed: number, stage: Stage, { account, password, staticToken }: Scene) {
    this.#random = randomFrom(seed)
    this.#stage = stage
    this.#account = account
    this.#passwords.set(PASSWORD, password)
    this.#tokens = [{ name: KEY, sort: 'static', value: staticToken }]
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
        answered ? chosen : this.#question('check', { token: { value: this.#someToken() } }),
      )
    }
  }

  /** What each host says of the last tokens when everything is over. */
  async askAtLast(): Promise<void> {
    const last = [this.#tokens[0], ...this.#tokens.slice(1).slice(-5)]
    for (const host of ['a', 'b'] as const) {
      await this.#ask(CLIENTS, host, this.#question('readUser', {}))
      for (const token of last)
        await this.#ask(CLIENTS, host, this.#question('check', { token: { value: token?.name ?? '' } }))
    }
  }

  #question(what: Question['what'], asked: Partial<Asked>): Question {
    return { what, asked: { account: this.#account, name: /Project/.test(what) ? PROJECT : ROBOT, ...asked } }
  }

  #choose(): Question {
    const what = this.#weighted()
    const opens = this.#random() < 0.65
    switch (what) {
      case 'check':
      case 'revoke':
        return this.#question(what, { token: { value: this.#someToken() } })
      case 'issue':
        return this.#question(what, {
          password: [...this.#passwords.keys()].at(-1),
          project: this.#random() < 0.6 ? undefined : PROJECT,
        })
      case 'updateAccount':
      case 'updateProject':
      case 'updateOwner':
        return this.#question(what, { enabled: opens })
      case 'restrict':
        return this.#question(what, { restricted: !opens })
      case 'enable':
        return this.#question(OF_USERS[what], { enabled: opens })
      case 'setRole':
        return this.#question(OF_USERS[what], { administers: !opens })
      case 'permit':
        return this.#question(OF_USERS[what], {
          ofAccount: this.#random() < 0.6,
          ofProject: this.#random() < 0.5 ? PROJECT : undefined,
        })
      case 'createUser':
        return this.#question(what, { password: this.#newPassword(), ofAccount: true })
      case 'replacePassword':
        return this.#question(what, { password: this.#newPassword() })
      default:
        return this.#question(what, {})
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
  #someToken(): string {
    const among = this.#random() < 0.7 ? this.#tokens.slice(-3) : this.#tokens
    return among[Math.floor(this.#random() * among.length)]?.name ?? KEY
  }

  #newPassword(): string {
    return `password ${++this.#passwordsMade}`
  }

  /** Returns whether there was an answer. */
  async #ask(client: number, host: HostName, { what, asked }: Question): Promise<boolean> {
    // A name of its own, whatever comes of it.
    const token = what === 'issue' ? { value: `token ${this.#tokensMade++}` } : asked.token
    const question: Question = { what, asked: { ...asked, ...(token && { token }) } }
    const { lines } = this.#stage.hosts[host]
    const line = lines[Math.floor(this.#random() * lines.length)] as Line
    const process = line.process
    const callMs = performance.now()
    const answer = await this.#answer(line, question)
    const returnMs = performance.now()
    if (answer === 'NOT_SENT' || (answer === UNKNOWN && !isChange(question))) {
      this.unanswered++
      await delay(UNANSWERED_PAUSE_MS)
      return false
    }
    this.calls.push({
      ...{ ...question, client, host, callMs, returnMs, answer },
      process: process === line.process ? process : '',
    })
    return answer !== UNKNOWN
  }

  async #answer(line: Line, question: Question): Promise<string> {
    try {
      return await this.#call(line, question)
    } catch (error) {
      const { code, reason, message } = refusalOf(error)
      if (ANSWERS.includes(reason)) return reason
      if (NOT_SENT.test(message)) return 'NOT_SENT'
      if (NO_ANSWER.includes(code) && reason !== 'INTERNAL') return UNKNOWN
      throw new Error(`${question.what}: ${code} ${reason}: ${message}`)
    }
  }

  async #call(line: Line, { what, asked }: Question): Promise<string> {
    const { account, name, password = '', project } = asked
    const token = asked.token !== undefined && 'value' in asked.token ? asked.token.value : ''
    if (what === 'check') return this.#check(line, token)
    if (what === 'readUser') return read(await line.ask('directory', 'GetServiceUser', { account, name }))
    const presented = {
      ...{ ...asked, password: this.#passwords.get(password) },
      token: { value: this.#tokens.find((each) => each.name === token)?.value ?? '' },
    }
    const { secret = '' } = await perform(line.caller, { what: what as What, asked: presented })
    if (what === 'createUser' || what === 'replacePassword') this.#passwords.set(password, secret)
    if (what === 'issue')
      this.#tokens.push({ name: token, sort: project === undefined ? 'account' : 'project', value: secret })
    return 'OK'
  }

  async #check(line: Line, token: string): Promise<string> {
    const { sort, value } = this.#tokens.find(({ name }) => name === token) as Token
    const [api, name] = TAKEN_BY[sort]
    const { reason } = await line.ask('check', 'Check', { api, credentials: { headers: [{ name, value }] } })
    return String(reason).replace('REASON_', '')
  }
}

/** What is read of the service user, as the judge reads it. */
function read({ user }: Message): string {
  const { enabled, permissions, roles } = user as {
    enabled: boolean
    permissions: readonly { readonly scope: string }[]
    roles: readonly string[]
  }
  const permitted = permissions.some(({ scope }) => scope === 'PERMISSION_SCOPE_ACCOUNT')
  return readOf({ enabled, permitted, administers: roles.includes('iam.admin') })
}
