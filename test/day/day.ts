/**
 * A day of operation in a twenty-fourth of its time: real sidecars by a fast clock, with traffic, chores and
 * kills. It is judged throughout by what is promised, and in the end by what it took.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pepperFingerprintIn } from '../../sidecar/authority/keys-backup.ts'
import { DIRECTORY_FILE } from '../../sidecar/base/data-folder.ts'
import { expectSealed } from '../../sidecar/base/sealed-file.ts'
import { fillDirectory, ROWS_OF_A_USER } from '../support/directory/large-directory.ts'
import { openLocation } from '../support/directory/writer.ts'
import { Dice, randomFrom } from '../support/inputs/random.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'
import type { Token } from '../world/accounts.ts'
import { judged, judgeTokens, recordsOfArchive } from '../world/judge.ts'
import { type Possible, Truth, Violation } from '../world/truth.ts'
import { type Chore, planOf } from './chores.ts'
import { Clock, SPEED } from './clock.ts'
import { Fleet, STALENESS_MS } from './fleet.ts'
import { Known } from './known.ts'
import { CLOCKS_MS, Programs } from './programs.ts'
import { nextOfDay } from './traffic.ts'
import { Usage } from './usage.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Changes of each account in a round, and the pause between rounds, by our clock. */
const CHANGES = 3
const PAUSE_MS = 1_200
const QUESTIONS_PAUSE_MS = 250
/** When the day before has changes that are archived while the day passes: in parts of the day. */
const YESTERDAY = [0.1, 0.3, 0.55, 0.8]
/** A look at the file of keys, which is made each second, and what a busy machine adds. */
const KEYS_MS = 1_000 / SPEED + 5_000
const FOLLOWED_MS = STALENESS_MS / SPEED + 500
/** How long something may take to become right when there is nothing new. */
const REST_MS_MAX = 300_000
const BACKUPS_KEPT = 2

export interface Options {
  /** How long it takes, by our clock. */
  readonly forMs: number
  readonly seed: number
  /** Rows that the directory has before the day; default: none. */
  readonly rows?: number
  /** Loaded into each process: what is wrong on purpose. */
  readonly planted?: readonly string[]
  readonly onChore?: (line: string) => void
}

/** The events of a day, and the most that it took in each half. */
export type Found = Readonly<Record<string, number>>

/** @throws Violation when a promise was broken */
export async function live(library: string, options: Options): Promise<Found> {
  const { planted = [] } = options
  const fleet = await Fleet.make({ clock: new Clock(library, Date.now()), planted })
  return new Day(fleet, options).live()
}

class Day {
  readonly #fleet: Fleet
  readonly #options: Options
  readonly #dice: Dice
  readonly #known = new Known()
  readonly #truth: Truth
  readonly #programs: Programs
  readonly #usage: Usage
  readonly #done: Record<string, number> = {}
  readonly #backups: string[] = []
  /** The changes that are being made now. */
  #round: Promise<void> = Promise.resolve()
  #paused = false
  #over = false

  constructor(fleet: Fleet, options: Options) {
    this.#fleet = fleet
    this.#options = options
    const random = randomFrom(options.seed)
    this.#dice = new Dice(random)
    const onChange = () => this.#known.look(this.#truth.possible[0] as Possible)
    this.#truth = new Truth(random, onChange, nextOfDay)
    this.#programs = new Programs(fleet, this.#known, randomFrom(options.seed + 1))
    this.#usage = new Usage(fleet)
  }

  async live(): Promise<Found> {
    const { forMs, onChore = () => {} } = this.#options
    await this.#yesterday()
    await this.#fleet.follower.start()
    const beganMs = performance.now()
    const loops = [
      this.#loop(PAUSE_MS, () => this.#change()),
      this.#loop(QUESTIONS_PAUSE_MS, () => this.#programs.askHost()),
      this.#loop(QUESTIONS_PAUSE_MS, () => this.#programs.askFollower()),
      this.#loop(4 * QUESTIONS_PAUSE_MS, () => this.#programs.logIn()),
      this.#loop(500, async () => this.#usage.look((performance.now() - beganMs) / forMs)),
      this.#chores(beganMs, onChore),
    ]
    try {
      await Promise.all(loops)
      await this.#rest()
    } finally {
      this.#over = true
      await Promise.allSettled(loops)
      for (const [problem, count] of this.#programs.problems)
        onChore(`${count} without an answer: ${problem}`)
    }
    for (const member of [this.#fleet.host, this.#fleet.follower]) await member.end('SIGTERM')
    await this.#judgeFiles()
    if (this.#usage.problem !== undefined) throw new Violation(this.#usage.problem)
    return this.#found()
  }

  /** Some changes, a day before; what they are recorded by is archived today. */
  async #yesterday(): Promise<void> {
    const { clock, host } = this.#fleet
    const startMs = clock.now()
    const hours = (this.#options.forMs * SPEED) / HOUR_MS
    if (this.#options.rows) await this.#fill(this.#options.rows)
    for (const part of YESTERDAY) {
      clock.set(startMs - DAY_MS + part * hours * HOUR_MS)
      await host.start()
      this.#truth.is(await this.#judged())
      await this.#truth.operate(host.client, 20)
      await host.end('SIGTERM')
    }
    clock.set(startMs)
    await host.start()
    this.#truth.is(await this.#judged())
  }

  /** Rows of an account that the truth does not know; their records are archived before the day. */
  async #fill(rows: number): Promise<void> {
    const { clock, host } = this.#fleet
    clock.set(clock.now() - 3 * DAY_MS)
    await host.start()
    await host.end('SIGTERM')
    const file = join(host.folder, DIRECTORY_FILE)
    const store = await openLocation({ type: 'sqlite', file }, () => Math.trunc(clock.now()))
    await fillDirectory(store, rows / ROWS_OF_A_USER, pepperFingerprintIn(host.folder))
    await store.close()
  }

  async #loop(pauseMs: number, work: () => Promise<void>): Promise<void> {
    try {
      while (!this.#over) {
        await work()
        await delay(pauseMs)
      }
    } catch (error) {
      this.#over = true
      throw error
    }
  }

  async #change(): Promise<void> {
    if (this.#paused || this.#truth.isUnsure) return
    this.#round = this.#truth.operate(this.#fleet.host.client, CHANGES)
    await this.#round
  }

  /** Lets nothing change while it works. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    this.#paused = true
    try {
      await this.#round
      return await work()
    } finally {
      this.#paused = false
    }
  }

  async #chores(beganMs: number, onChore: (line: string) => void): Promise<void> {
    const { forMs } = this.#options
    for (const { part, chore } of planOf(forMs, this.#dice.random)) {
      const dueMs = beganMs + part * forMs
      while (performance.now() < dueMs) {
        if (this.#over) return
        await delay(Math.min(200, Math.max(dueMs - performance.now(), 1)))
      }
      const { clock } = this.#fleet
      onChore(`${new Date(clock.now()).toISOString()} ${chore}`)
      try {
        await this.#do(chore)
      } catch (error) {
        this.#over = true
        throw new Violation(`${chore}: ${error instanceof Error ? error.stack : error}`, { cause: error })
      }
      this.#done[chore] = (this.#done[chore] ?? 0) + 1
    }
    await delay(Math.max(0, beganMs + forMs - performance.now()))
    this.#over = true
  }

  #do(chore: Chore): Promise<void> {
    const { host, follower } = this.#fleet
    switch (chore) {
      case 'rest':
        return this.#rest()
      case 'backup':
        return patiently(() => this.#backUp())
      case 'search':
        return patiently(() => this.#search())
      case 'rotate':
        return this.#rotate()
      case 'certificate':
        return this.#renewCertificate()
      case 'withdraw':
        return this.#withdraw()
      case 'restart':
        return this.#again(host, 'SIGTERM')
      case 'kill':
        return this.#again(host, 'SIGKILL')
      case 'restartFollower':
        return this.#again(follower, 'SIGTERM')
      case 'killFollower':
        return this.#again(follower, 'SIGKILL')
      case 'killWorker':
        return this.#killWorker()
    }
  }

  #judged() {
    const { host, clock } = this.#fleet
    const options = { archive: join(host.folder, 'audit-archive'), now: clock.now }
    return patiently(() => judged(host.client, this.#truth.possible, options))
  }

  /** Nothing changes: what was acknowledged is there, and the follower says the same as the host. */
  #rest(): Promise<void> {
    return this.#alone(async () => {
      this.#truth.is(await this.#judged())
      await delay(FOLLOWED_MS)
      await this.#followed()
    })
  }

  /** A follower that hears nothing of its host on a busy machine says so, which breaks no promise. */
  async #followed(): Promise<void> {
    const { follower, clock } = this.#fleet
    try {
      await patiently(async () => {
        for (const account of this.#truth.state.accounts)
          await judgeTokens(follower.client, account, clock.now())
      }, true)
      this.#done.agreed = (this.#done.agreed ?? 0) + 1
    } catch (error) {
      if (error instanceof Violation) throw error
    }
  }

  async #again(member: Fleet['host'], signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#usage.begins()
    await member.end(signal)
    await member.start()
    if (member === this.#fleet.host) await this.#find()
    await delay(FOLLOWED_MS)
    this.#usage.begins()
  }

  /** Finds out what calls without an answer have done. */
  #find(): Promise<void> {
    return this.#alone(async () => this.#truth.is(await this.#judged()))
  }

  async #killWorker(): Promise<void> {
    const { host } = this.#fleet
    host.killWorker()
    await delay(500)
    await this.#find()
    this.#usage.begins()
  }

  async #backUp(): Promise<void> {
    const { host } = this.#fleet
    const file = join(newFolder(), 'backup')
    await this.#fleet.command('backup', file, '--keys', `${file}-keys`, '--data', host.folder)
    await expectSealed(file, 'directory')
    await expectSealed(`${file}-keys`, 'keys')
    this.#backups.push(file)
    for (const old of this.#backups.splice(0, this.#backups.length - BACKUPS_KEPT))
      rmSync(join(old, '..'), { recursive: true })
  }

  /** Finds a decision of a moment ago about a token. */
  async #search(): Promise<void> {
    const { host, decisionLog, clock } = this.#fleet
    const [token] = this.#known.some(1, this.#dice.random)
    if (token === undefined) return
    const askedMs = clock.now()
    await host.client.check({ api: 'balance', credentials: [['X-Auth-Token', token.value]] })
    // Lines are written once in a while.
    await delay(1_000)
    const of = ['--token-file', newFile(token.value), '--data', host.folder]
    const found = await this.#fleet.command('decisions', decisionLog, ...of, '--json', '--limit', '1')
    const { time } = JSON.parse(found) as { readonly time: string }
    if (Date.parse(time) < askedMs - CLOCKS_MS) throw new Violation(`of ${askedMs}, ${time} is found`)
  }

  async #keys(): Promise<readonly { readonly key_id: string; readonly state: string }[]> {
    const { host } = this.#fleet
    return JSON.parse(await this.#fleet.command('keys', 'show', '--data', host.folder, '--json')).keys
  }

  async #rotate(): Promise<void> {
    await this.#fleet.command('keys', 'rotate', '--data', this.#fleet.host.folder, '--yes')
  }

  /** Of the key that signs now: its tokens end, and others are signed by the next one. */
  #withdraw(): Promise<void> {
    return this.#alone(async () => {
      const key = (await this.#keys()).find(({ state }) => state === 'active')?.key_id ?? ''
      const isOfKey = ({ value }: Token) => keyOf(value) === key
      this.#truth.mark('unsure', isOfKey)
      await this.#fleet.command('keys', 'withdraw', key, '--data', this.#fleet.host.folder, '--yes')
      this.#known.allow(isOfKey, performance.now() + KEYS_MS)
      this.#truth.mark('dead', isOfKey)
      await delay(KEYS_MS)
    })
  }

  async #renewCertificate(): Promise<void> {
    const check = { api: 'balance', token: { kind: 'static_token', scope: { account: '1' } } }
    const shown = () =>
      patiently(async () => (await this.#programs.overHttps(check)).certificate.fingerprint256)
    const before = await shown()
    await this.#fleet.renewCertificate()
    const untilMs = performance.now() + REST_MS_MAX
    while ((await shown()) === before) {
      if (performance.now() > untilMs) throw new Violation('the certificate that was replaced is still shown')
      await delay(100)
    }
  }

  /** Judges the files that the day has left on the disk. */
  async #judgeFiles(): Promise<void> {
    const { host, decisionLog, follower } = this.#fleet
    const left = readdirSync(host.folder).filter((name) => name.endsWith('.tmp'))
    if (left.length > LEFT_MAX) throw new Violation(`temporary files are left: ${left}`)
    const folder = join(decisionLog, '..')
    for (const name of readdirSync(folder)) {
      const torn = readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1).filter(isTorn)
      this.#done.torn = (this.#done.torn ?? 0) + torn.length
      if (torn.length > (this.#done.kill ?? 0) + (this.#done.killWorker ?? 0))
        throw new Violation(`${name}: ${torn.length} lines of the decision log are torn`)
    }
    const { restart = 0, kill = 0, killWorker = 0 } = this.#done
    const stops = restart + kill + killWorker
    const expected = { host: [HALF_RENEWED], follower: [HALF_RENEWED, HUB_IS_AWAY] }
    for (const [name, { log }] of Object.entries({ host, follower })) {
      const lines = log.split('\n').filter((line) => /"level":[56]0/.test(line))
      const errors = lines.filter((line) => !expected[name as 'host'].some((text) => line.includes(text)))
      if (errors.length > 0) throw new Violation(`the log has errors: ${errors.slice(0, 3).join('\n')}`)
      const outages = lines.filter((line) => line.includes(HUB_IS_AWAY)).length
      if (outages > OUTAGES_MAX * stops)
        throw new Violation(`the follower was without its hub ${outages} times, with ${stops} stops of it`)
    }
  }

  #found(): Found {
    const archive = join(this.#fleet.host.folder, 'audit-archive')
    const archived = existsSync(archive) ? recordsOfArchive(archive).size : 0
    if (archived === 0) throw new Violation('nothing was archived')
    if (this.#done.agreed === undefined) throw new Violation('the follower has never answered at rest')
    const { acknowledged, refused } = this.#truth
    return {
      seconds: Math.round(this.#options.forMs / 1_000),
      ...this.#programs.asked,
      ...{ acknowledged, refused, archived },
      ...this.#done,
      ...this.#usage.figures,
    }
  }
}

/**
 * Tries again for a while: a machine with other work answers late.
 *
 * @param alsoViolations what is found may become right
 */
async function patiently<T>(work: () => Promise<T>, alsoViolations = false): Promise<T> {
  const untilMs = performance.now() + REST_MS_MAX
  for (;;)
    try {
      return await work()
    } catch (error) {
      if ((error instanceof Violation && !alsoViolations) || performance.now() > untilMs) throw error
      await delay(200)
    }
}

/** Said between the two files of a certificate that is renewed. */
const HALF_RENEWED = 'the TLS certificates cannot be used; the last good ones stay in force'

/** A follower whose hub stops says it. One that starts may be reached, and then be away again. */
const HUB_IS_AWAY = 'the directory does not answer; the sidecar is not ready until it does'
const OUTAGES_MAX = 3

/** Kills may leave some; they must not become more and more. */
const LEFT_MAX = 8

function isTorn(line: string): boolean {
  try {
    JSON.parse(line)
    return false
  } catch {
    return true
  }
}

function keyOf(token: string): string {
  return JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid as string
}
