/**
 * The clients of one history: several at once, over both hosts, on one account. The seed decides what they
 * ask for; what they are answered, and when, the hosts do.
 */
import { setTimeout as delay } from 'node:timers/promises'
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
const WEIGHTS: Readonly<Record<Question['what'], number>> = {
  ...{ check: 120, issue: 36, read_user: 8, revoke: 10 },
  ...{ account: 4, delete_account: 0.3, addresses: 8, panel_user: 8 },
  ...{ create_project: 2, project: 5, delete_project: 1 },
  ...{ create_user: 2, user: 7, delete_user: 1, permissions: 10, replace_password: 2, role: 1 },
}

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
      await this.#ask(CLIENTS, host, { what: 'read_user' })
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
      case 'account':
      case 'project':
      case 'user':
      case 'panel_user':
        return { what, enabled: opens }
      case 'addresses':
        return { what, restricted: !opens }
      case 'role':
        return { what, administers: !opens }
      case 'permissions':
        return { what, of_account: this.#random() < 0.6, of_project: this.#random() < 0.5 }
      case 'create_user':
        return { what, password: ++this.#passwordsMade, of_account: true, of_project: false }
      case 'replace_password':
        return { what, password: ++this.#passwordsMade }
      default:
        return { what }
    }
  }

  #weighted(): Question['what'] {
    const all = Object.entries(WEIGHTS) as [Question['what'], number][]
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
    const { what, token = 0, password = 0, enabled, of_account = false, of_project = false } = question
    const account = this.#account
    const robot = { account, name: 'robot' }
    const project = { account, name: 'alpha' }
    const permissions = [
      ...(of_account ? [{ scope: 'PERMISSION_SCOPE_ACCOUNT' }] : []),
      ...(of_project ? [{ scope: 'PERMISSION_SCOPE_PROJECTS', projects: ['alpha'] }] : []),
    ]
    const done = (_answered: Message) => ({ answer: 'OK' })
    switch (what) {
      case 'check':
        return this.#check(line, token)
      case 'issue':
        return this.#issue(line, question)
      case 'revoke':
        return done(await line.ask('Revoke', { value: this.#value(token)?.value }))
      case 'read_user':
        return read(await line.administer('GetServiceUser', robot))
      case 'account':
        return done(await line.administer('UpdateAccount', { account, enabled }))
      case 'delete_account':
        return done(await line.administer('DeleteAccount', { account }))
      case 'addresses': {
        const ranges = question.restricted ? ['192.0.2.0/24'] : []
        return done(await line.administer('SetAddressRestriction', { account, ranges }))
      }
      case 'panel_user':
        return done(await line.administer('UpdateControlPanelUser', { account, name: 'person', enabled }))
      case 'create_project':
        return done(await line.administer('CreateProject', project))
      case 'project':
        return done(await line.administer('UpdateProject', { ...project, enabled }))
      case 'delete_project':
        return done(await line.administer('DeleteProject', project))
      case 'create_user':
        return this.#learn(password, await line.administer('CreateServiceUser', { ...robot, permissions }))
      case 'replace_password':
        return this.#learn(password, await line.administer('ReplaceServiceUserPassword', robot))
      case 'user':
        return done(await line.administer('UpdateServiceUser', { ...robot, enabled }))
      case 'permissions':
        return done(await line.administer('UpdateServiceUser', { ...robot, permissions: { permissions } }))
      case 'role': {
        const roles = { roles: question.administers ? ['iam.admin'] : [] }
        return done(await line.administer('UpdateServiceUser', { ...robot, roles }))
      }
      case 'delete_user':
        return done(await line.administer('DeleteServiceUser', robot))
    }
  }

  #value(token: number): Token | undefined {
    return this.#tokens.find(({ number }) => number === token)
  }

  async #check(line: Line, number: number): Promise<{ answer: string }> {
    const { sort, value } = this.#value(number) as Token
    const [api, name] = TAKEN_BY[sort]
    const { reason } = await line.ask('Check', { api, credentials: { headers: [{ name, value }] } })
    return { answer: String(reason).replace('REASON_', '') }
  }

  async #issue(
    line: Line,
    { password = 0, scope = 'account', token = 0 }: Question,
  ): Promise<{ answer: string }> {
    const account = this.#account
    const { value } = await line.ask('Issue', {
      password: { user_name: 'robot', account, password: this.#passwords.get(password) },
      scope: { account, ...(scope === 'project' && { project: 'alpha' }) },
    })
    this.#tokens.push({ number: token, sort: scope, value: String(value) })
    return { answer: 'OK' }
  }

  #learn(number: number, { password }: Message): { answer: string } {
    this.#passwords.set(number, String(password))
    return { answer: 'OK' }
  }
}

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
