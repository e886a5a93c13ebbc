/**
 * One-time things: invitations, links that log in, one-time codes, and challenges that a passkey answers.
 * Several browsers use the same one at the same time, at any process; meanwhile it ends, or its user does.
 */
import { createHash } from 'node:crypto'
import type { Client } from '../../clients/typescript/index.ts'
import { trusted } from '../../sidecar/authority/actor.ts'
import { CallError } from '../../sidecar/base/call-error.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import {
  acceptInvitation,
  logInByLink,
  logInByPasskey,
  logInByPassword,
  passkeyChallenge,
} from '../../sidecar/usecases/control-panel/log-in.ts'
import { codeAt } from '../support/identity/totp.ts'
import { note, type Said, wasActive } from '../world/standing.ts'
import { type Fleet, operatorOf, type Worker } from './fleet.ts'
import { CALL, CODE_MS, GUEST, type Member } from './members.ts'
import { ACCOUNTS, BOSS } from './operations.ts'
import type { Recorded } from './truth.ts'
import { network, type Panel, Unanswered } from './world/network.ts'
import { Machine, time } from './world/time.ts'
import { world } from './world/world.ts'

/** No two clocks of hosts differ by more, in milliseconds. */
const CLOCKS_MS = 450
/** Before an end, no call is made at rest: a host may take this long to answer, in milliseconds. */
const ANSWER_MS = 10_000

/** A thing that works once. */
interface Single {
  readonly what: 'an invitation' | 'a link that logs in' | 'a one-time code' | 'an answer of a passkey'
  readonly account: string
  readonly user: string
  /** How a login by it is recorded. */
  readonly way: string
  /** It works from then until then, by the clock of the host, in milliseconds since the epoch. */
  readonly beginsAtMs: number
  endsAtMs: number
  /** Since when the directory has it, and its user may log in, or not. Its end is not looked at. */
  readonly said: Said[]
  /** How often it has worked. */
  uses: number
  readonly use: (panel: Panel) => Promise<unknown>
  readonly isThere: () => boolean
  /** Its end in the directory; `undefined`: nothing, or not in its rows. */
  readonly endInRows?: () => number | undefined
}

type NewSingle = Omit<Single, 'said' | 'uses'>

export class Once {
  /** The promise that was broken, as far as one was. */
  wrong: string | undefined
  /** How often something worked, or was refused. */
  readonly found = { used: 0, unused: 0 }
  readonly #fleet: Fleet
  readonly #random: () => number
  readonly #members: readonly Member[]
  readonly #known: Single[] = []
  #bosses: ReadonlySet<string>
  /** How often the last changes of the directory were lost. */
  #losses = 0

  constructor(fleet: Fleet, random: () => number, members: readonly Member[]) {
    this.#fleet = fleet
    this.#random = random
    this.#members = members
    this.#bosses = bosses()
    const step = Math.floor(time.wallMs() / CODE_MS)
    for (const member of members)
      for (const each of [step - 1, step, step + 1]) this.#learn(codeOf(member, each))
  }

  /** An operator makes something that works once, or ends what it belongs to. */
  anyChange(): (client: Client, worker: Worker) => Promise<unknown> {
    const user = { account: this.#pick(ACCOUNTS), name: GUEST }
    const { account } = user
    const dice = this.#random()
    const random = this.#random()
    return async ({ directory }, worker) => {
      if (dice < 0.4) {
        const { secret, expiresAt } = await directory.createInvitation({ account, userName: GUEST })
        this.#learn(linkOf('an invitation', account, secret, Number(expiresAt)))
      } else if (dice < 0.7) await this.#makeLink(worker, account)
      else if (dice < 0.76) await directory.updateControlPanelUser({ ...user, enabled: false })
      else if (dice < 0.82)
        await directory.updateControlPanelUser({
          ...user,
          roles: { roles: random < 0.5 ? ['iam.admin'] : [] },
        })
      else if (dice < 0.86) await directory.deleteControlPanelUser(user)
      else if (dice < 0.93) await directory.updateControlPanelUser({ ...user, enabled: true })
      else await directory.createControlPanelUser(user)
    }
  }

  /** As `portcullis` does on the host, beside its sidecar. */
  async #makeLink({ sidecar, machine }: Worker, account: string): Promise<void> {
    const panel = await sidecar?.administration.controlPanel()
    if (panel === undefined) return
    const actor = trusted(operatorOf(machine.name))
    const { secret, endsAtMs } = await panel.links.create(actor, account, GUEST, 'login')
    this.#learn(linkOf('a link that logs in', account, secret.reveal(), endsAtMs))
  }

  /** Acts as a user in front of a browser. */
  any(): Promise<unknown> {
    const dice = this.#random()
    const working = this.#known.filter(works)
    const single = this.#pick(working.length > 0 && this.#random() < 0.8 ? working : this.#known)
    const link = working.find(({ user }) => user === GUEST)
    if (dice < 0.15 && link !== undefined) this.#age(link.account)
    if (dice < 0.3) return this.#challenge(this.#pick(this.#members))
    const count = this.#random() < 0.6 ? 3 : 1
    return Promise.allSettled(Array.from({ length: count }, () => this.#use(single, this.#anyWorker())))
  }

  /** A day has nearly passed for the links of an account. They are used when it has. */
  #age(account: string): void {
    const leftMs = CLOCKS_MS + Math.floor(this.#random() * 500)
    const endsAtMs = time.wallMs() + leftMs
    const aged = world.directory.alter(
      `UPDATE panel_links SET created_at_ms = created_at_ms - ends_at_ms + ?1, ends_at_ms = ?1
       WHERE ends_at_ms > ?1 AND user_id IN
         (SELECT users.id FROM users JOIN accounts ON accounts.id = account_id WHERE account = ?2)`,
      [endsAtMs, account],
    )
    // A change is under way.
    if (!aged) return void time.after(1, () => this.#age(account))
    // One of a disabled user, too: it may be enabled again.
    for (const each of this.#known) each.endsAtMs = endOf(each)
    for (const each of this.#known.filter((single) => works(single) && single.account === account))
      if (each.user === GUEST)
        time.after(leftMs + CLOCKS_MS, () => void this.#use(each, this.#anyWorker()).catch(() => {}))
  }

  async #challenge({ account, name, passkey }: Member): Promise<void> {
    const { panel = '' } = this.#anyWorker()
    const options = await BROWSER.run(() =>
      network.browse(panel, (services) => passkeyChallenge(services, CALL)),
    ).catch(() => undefined)
    if (options === undefined) return
    const response = passkey.get(options, CALL.page)
    const challenge = Buffer.from(options.challenge, 'base64url')
    const hash = createHash('sha256').update(challenge).digest()
    this.#learn({
      ...{ what: 'an answer of a passkey', account, user: name, way: 'passkey', beginsAtMs: 0 },
      // After random bytes.
      endsAtMs: challenge.readDoubleBE(16),
      use: (services) => logInByPasskey(services, CALL, response),
      isThere: () =>
        isThere(
          `FROM passkeys ${OF_USER} WHERE passkeys.id = ? AND ${MAY_LOG_IN}
           AND NOT EXISTS (SELECT 1 FROM panel_challenges WHERE hash = ?)`,
          [response.id, hash],
        ),
    })
  }

  #learn(single: NewSingle): void {
    const said = [{ atMs: time.nowMs, active: single.isThere() }]
    // None is forgotten: a host may still be asked about it when no browser waits for the answer.
    this.#known.push({ ...single, endsAtMs: endOf(single), said, uses: 0 })
  }

  /** @throws CallError where it does not work, or Unanswered */
  async #use(single: Single, { panel = '', machine }: Worker): Promise<void> {
    const [beganMs, clockMs, losses] = [time.nowMs, time.wallMs(machine), this.#losses]
    try {
      await BROWSER.run(() => network.browse(panel, single.use))
    } catch (error) {
      if (error instanceof CallError) this.found.unused++
      // Anything else is not an answer that a browser expects.
      else if (!(error instanceof Unanswered)) this.wrong ??= String((error as Error).stack)
      throw error
    }
    this.found.used++
    // The last changes are not known where they were lost.
    if (losses !== this.#losses) return
    const { what, said, endsAtMs } = single
    if (++single.uses > 1) this.wrong ??= `${what} worked ${single.uses} times`
    if (!wasActive(said, beganMs, time.nowMs))
      this.wrong ??= `${what}, used at ${beganMs}, worked; the directory said ${JSON.stringify(said.slice(-4))}`
    if (clockMs >= endsAtMs) this.wrong ??= `${what} worked after its end`
  }

  /** Something was committed. */
  recorded(records: readonly Recorded[]): void {
    const worked = this.#known.filter(works)
    for (const { said, isThere } of this.#known) note(said, isThere(), time.nowMs)
    for (const { action, account, subject, details } of records) {
      if (action !== 'control_panel_user.log_in') continue
      const { way } = JSON.parse(details)
      const used = worked.filter(
        (each) => each.account === account && each.user === subject && each.way === way,
      )
      if (used.every(works)) this.wrong ??= `a login by ${way} of ${subject} used nothing up`
    }
    const before = this.#bosses
    this.#bosses = bosses()
    if (records.length === 0) return
    for (const { what, way, account } of this.#known.filter(works))
      if (way === 'invitation' && before.has(account) && !this.#bosses.has(account))
        this.wrong ??= `${what} outlived the right of an administrator`
  }

  /** A directory without the last changes has taken the place of the other one. */
  changesLost(): void {
    this.#losses++
    for (const each of this.#known) {
      each.uses = 0
      each.endsAtMs = endOf(each)
    }
    this.#bosses = bosses()
  }

  /** At rest what the directory has works exactly once, and nothing else does. @throws Error */
  async expectRest(): Promise<void> {
    for (const single of this.#known) {
      const nowMs = time.wallMs()
      const leftMs = single.endsAtMs - nowMs
      if (leftMs > -CLOCKS_MS && leftMs < ANSWER_MS) continue
      if (nowMs < single.beginsAtMs + CLOCKS_MS) continue
      const expected = single.isThere() && nowMs < single.endsAtMs && !isRestricted(single.account)
      await this.#expectUse(single, expected)
      if (expected) await this.#expectUse(single, false)
    }
  }

  async #expectUse(single: Single, expected: boolean): Promise<void> {
    const said = await time.until(
      this.#use(single, this.#anyWorker()).then(
        () => undefined,
        (error: Error) => error.message,
      ),
      60_000,
    )
    // A use from before may come late, and has used it up first.
    if (expected && said !== undefined && !single.isThere()) return
    if ((said === undefined) !== expected)
      throw new Error(
        `${single.what} ${expected ? 'works' : 'does not work'}, and a host says ${said ?? 'that it does'}`,
      )
  }

  #anyWorker(): Worker {
    return this.#pick([...this.#fleet.operators.keys()])
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T
  }
}

/** Browsers are on one machine, which nothing happens to. */
const BROWSER = new Machine('browser')

const OF_USER = 'JOIN users ON users.id = user_id JOIN accounts ON accounts.id = users.account_id'

const MAY_LOG_IN =
  'users.enabled = 1 AND users.deleted_at_ms IS NULL AND accounts.enabled = 1 AND accounts.deleted_at_ms IS NULL'

function isThere(from: string, values: readonly (string | number | Buffer)[]): boolean {
  return world.directory.all(`SELECT 1 AS there ${from}`, values).length > 0
}

function works({ said }: Single): boolean {
  return said.at(-1)?.active === true
}

/** As the directory has it now: it may have changed since the answer. */
function endOf({ endInRows, endsAtMs }: NewSingle): number {
  return endInRows?.() ?? endsAtMs
}

function linkOf(
  what: 'an invitation' | 'a link that logs in',
  account: string,
  secret: string,
  endsAtMs: number,
): NewSingle {
  const hash = createHash('sha256').update(secret).digest()
  const isInvitation = what === 'an invitation'
  return {
    ...{ what, account, user: GUEST, way: isInvitation ? 'invitation' : 'link', beginsAtMs: 0, endsAtMs },
    use: (services) =>
      isInvitation
        ? acceptInvitation(services, CALL, secret, new Secret('a password of people'))
        : logInByLink(services, CALL, secret),
    isThere: () =>
      isThere(
        `FROM panel_links ${OF_USER} WHERE hash = ? AND panel_links.generation = users.generation AND ${MAY_LOG_IN}
         AND since <= change_number AND (purpose <> 'invitation' OR invitations_since <= change_number)`,
        [hash],
      ),
    endInRows: () => {
      const [row] = world.directory.all('SELECT ends_at_ms FROM panel_links WHERE hash = ?', [hash])
      return row && Number(row.ends_at_ms)
    },
  }
}

function codeOf({ account, name, password, codes }: Member, step: number): NewSingle {
  const code = codeAt(codes, step * CODE_MS)
  return {
    ...{ what: 'a one-time code', account, user: name, way: 'password' },
    ...{ beginsAtMs: (step - 1) * CODE_MS, endsAtMs: (step + 2) * CODE_MS },
    use: (services) =>
      logInByPassword(services, CALL, { account, userName: name, password: new Secret(password), code }),
    isThere: () =>
      isThere(
        `FROM panel_codes ${OF_USER} WHERE account = ? AND name = ? AND last_step < ? AND ${MAY_LOG_IN}`,
        [...[account, name, step]],
      ),
  }
}

/** Accounts whose administrator has the role. */
function bosses(): ReadonlySet<string> {
  const rows = world.directory.all(
    `SELECT account FROM user_roles ${OF_USER} WHERE role = 'iam.admin' AND name = ? AND users.deleted_at_ms IS NULL`,
    [BOSS],
  )
  return new Set(rows.map(({ account }) => String(account)))
}

/** Whether the account allows no address of the fleet. */
function isRestricted(account: string): boolean {
  return isThere('FROM address_rules JOIN accounts ON accounts.id = account_id WHERE account = ?', [account])
}
