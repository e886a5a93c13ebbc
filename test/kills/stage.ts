/** A data folder on which sidecars and commands are killed, one after the other. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../../clients/typescript/index.ts'
import { readKeys, type SigningKey } from '../../sidecar/authority/keys.ts'
import { pepperFingerprintIn } from '../../sidecar/authority/keys-backup.ts'
import { DIRECTORY_FILE } from '../../sidecar/base/data-folder.ts'
import { expectSealed } from '../../sidecar/base/sealed-file.ts'
import { examine } from '../../sidecar/cli/doctor/examine.ts'
import { fillDirectory, ROWS_OF_A_USER } from '../support/directory/large-directory.ts'
import { openLocation } from '../support/directory/writer.ts'
import {
  type Ended,
  LAUNCHER,
  type RunningProcess,
  type Served,
  serve,
  startProcess,
} from '../support/processes/processes.ts'
import { connect } from '../support/sidecar/client.ts'
import { fileOf, NEXT, ROWS } from '../support/sidecar/shadowed.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'
import { type Account, largeChange } from '../world/accounts.ts'
import { judged, recordsOfArchive } from '../world/judge.ts'
import { type Caller, perform, RECORDS_MAX } from '../world/operations.ts'
import { isUnanswered, type State, Truth, Unanswered, Violation } from '../world/truth.ts'
import { LOG_BYTES, WrittenLog } from './written-log.ts'

/** The commands that are killed; each is run where no sidecar is. */
export const COMMANDS = ['backup', 'restore', 'rotate', 'administrator', 'apply'] as const
export type Command = (typeof COMMANDS)[number]

const [KEYS, PEPPER, ADMINISTRATOR] = [
  'signing-keys.json',
  'static-token-pepper',
  'administrator-token',
] as const
const DAY_MS = 86_400_000
const RECORDS_OF_A_USER = 2
/**
 * Batches of questions before a sidecar ends, with time for their lines to be written. Their lines take more
 * than a file of the log.
 */
const BATCHES = 4
const BATCH = 600
const LINES_MS = 60
/** On a machine with other work, PostgreSQL answers late. */
const PATIENCE_MS = 60_000
/** Longer than a killed process takes to end. */
const DYING_MS = 10_000

/** In the data folder, so that a power cut can hit it, too. */
export const ARCHIVE = 'audit-archive'

/** Hashes of passwords cost next to nothing. */
export const CHEAP_PASSWORDS = new URL('../support/histories/cheap-passwords.ts', import.meta.url).href
const AT_ONCE = new URL('./kept-for-no-time.ts', import.meta.url).href

/**
 * For every process of a stage: hashes of passwords cost next to nothing, the whole audit trail is archived
 * at each start, deleted rows are removed all the time, and the given modules are loaded.
 */
export function preloading(...modules: string[]): string {
  return [CHEAP_PASSWORDS, AT_ONCE, ...modules].map((module) => `--import=${module}`).join(' ')
}

interface Backup {
  /** Of the directory, and of the keys. */
  readonly files: readonly [string, string]
  readonly state: State
}

type Environment = Readonly<Record<string, string>>

interface StageOptions {
  /** Called when something else is known. */
  readonly onChange?: () => void
  readonly url?: string | undefined
  /** Most users who are created in one change; default: as many as have the most records. */
  readonly usersMax?: number
}

export class Stage {
  /** The journal has all changes in it, where the power is cut. */
  readonly root = newFolder()
  readonly folder = join(this.root, 'data')
  readonly truth: Truth
  /** Files of which a command has said that they are there, with their content. */
  readonly files = new Map<string, string>()
  readonly log = new WrittenLog()
  readonly config: string
  readonly #calls: number
  readonly #onChange: () => void
  #backup: Backup | undefined
  #backupsMade = 0
  #served: Served | undefined
  #client: Client | undefined

  readonly #shared: Environment
  readonly #random: () => number
  readonly #usersMax: number

  /**
   * @param calls of each lane, while a sidecar serves
   * @param url of the directory, where it is shared
   */
  constructor(random: () => number, calls: number, options: StageOptions = {}) {
    const { onChange = () => {}, url, usersMax = RECORDS_MAX / RECORDS_OF_A_USER } = options
    this.#random = random
    this.#usersMax = usersMax
    this.#shared = url === undefined ? {} : { PORTCULLIS_DIRECTORY_URL: url }
    this.truth = new Truth(random, onChange)
    this.#calls = calls
    this.#onChange = onChange
    this.config = newFile(
      JSON.stringify({
        ...{ matrix: fileOf(ROWS), matrix_shadow: fileOf(NEXT), matrix_poll_ms: 10, data: this.folder },
        decision_log: { file: { path: this.log.path, max_bytes: LOG_BYTES, keep: 10_000 } },
        audit: { keep_days: 1, archive: this.#archive },
        ...(url !== undefined && { directory: { url, timeout_ms: PATIENCE_MS } }),
      }),
      'portcullis.json',
    )
  }

  get #archive(): string {
    return join(this.folder, ARCHIVE)
  }

  /** Records of the audit trail that were archived. */
  get archived(): number {
    return recordsOfArchive(this.#archive).size
  }

  get #data(): string[] {
    return ['--data', this.folder]
  }

  /** Gives the directory this number of rows, of an account that the truth does not know. */
  async fill(rows: number): Promise<void> {
    await this.start({ NODE_OPTIONS: preloading() })
    await this.stop()
    const url = this.#shared.PORTCULLIS_DIRECTORY_URL
    const store = await openLocation(
      url === undefined
        ? { type: 'sqlite', file: join(this.folder, DIRECTORY_FILE) }
        : { type: 'postgres', url },
    )
    await fillDirectory(store, rows / ROWS_OF_A_USER, pepperFingerprintIn(this.folder))
    await store.close()
  }

  /** A sidecar that is judged, and changes the directory until it is dead, or has done all. */
  async serve(environment: Environment, signal?: NodeJS.Signals): Promise<Ended> {
    const client = await this.start(environment)
    if (client !== undefined) {
      await this.truth.operate(client, this.#calls)
      await this.#ask(client)
    }
    return this.stop(signal)
  }

  /** While calls are made, a disaster hits the directory; the sidecar lives on, and stops on request. */
  async serveDuring(environment: Environment, disaster: () => Promise<void>): Promise<void> {
    const client = (await this.start(environment)) as Client
    await Promise.all([this.truth.operate(client, this.#calls), disaster()])
    const { code, stderr } = await this.stop()
    if (code !== 0) throw new Violation(`it ended with ${code}: ${stderr}`)
  }

  /** Questions, for the decision log. */
  async #ask(client: Client): Promise<void> {
    const token = { kind: 'static_token', scope: { account: '1' } }
    try {
      for (let batch = 0; batch < BATCHES; batch++) {
        await client.checkBatch(Array.from({ length: BATCH }, () => ({ api: 'balance', token })))
        await delay(LINES_MS)
      }
    } catch (error) {
      if (!isUnanswered(error)) throw error
    }
  }

  /** Starts a sidecar and judges the directory. `undefined`: it was killed before that was done. */
  async start(environment: Environment): Promise<Client | undefined> {
    this.#served = undefined
    try {
      this.#served = await serve(['--config', this.config], {
        environment: { ...environment, ...this.#shared, KEEP_LINES: this.log.kept },
      })
    } catch (error) {
      if (environment.KILL_AT !== undefined && /ended with SIGKILL/.test(String(error))) return undefined
      throw new Violation(`it does not start: ${error}`)
    }
    try {
      this.#client = connect(this.#served.ready.grpc, {
        callerToken: this.#administratorToken(),
      })
      const trail = { archive: this.#archive, skips: this.#shared.PORTCULLIS_DIRECTORY_URL !== undefined }
      this.truth.is(await judged(this.#client, this.truth.possible, trail))
      this.#lasts(...[KEYS, PEPPER, ADMINISTRATOR].map((name) => join(this.folder, name)))
      await this.#examine(this.#served.ready.grpc)
      return this.#client
    } catch (error) {
      if (error instanceof Violation || !(await this.#dies())) throw error
      return undefined
    }
  }

  /** Whether it dies: its connections end a moment before it does. */
  async #dies(): Promise<boolean | undefined> {
    return Promise.race([this.#served?.ended.then(() => true), delay(DYING_MS, false, { ref: false })])
  }

  /** A sidecar may finish its work before it ends; with SIGKILL, it does not. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.#client?.close()
    this.#client = undefined
    this.#served?.signal(signal)
    const ended = await this.#served?.ended
    this.log.judge()
    return ended ?? KILLED
  }

  /** These files must last as they are. */
  #lasts(...paths: readonly string[]): void {
    for (const path of paths) this.files.set(path, readFileSync(path, 'utf8'))
    this.#onChange()
  }

  /** From now on, a file may be as it was or as it will be. */
  #changes(name: string): void {
    this.files.delete(join(this.folder, name))
    this.#onChange()
  }

  #administratorToken(): string {
    const token = readFileSync(join(this.folder, ADMINISTRATOR), 'utf8').trim()
    if (!/^[0-9a-f]{64}$/.test(token)) throw new Violation('the administrator token is not whole')
    return token
  }

  async #examine(grpc: string): Promise<void> {
    const findings = await examine({ config: this.config, grpc, http: 'off' }, Date.now)
    const errors = findings.filter(({ severity }) => severity === 'error')
    if (errors.length > 0) throw new Violation(`the doctor found ${JSON.stringify(errors)}`)
  }

  /** Runs a command, which may be killed, and judges its files. The directory is judged at the next start. */
  run(command: Command, environment: Environment): Promise<Ended> {
    switch (command) {
      case 'backup':
        return this.#backUp(environment)
      case 'restore':
        return this.#restore(environment)
      case 'rotate':
        return this.#rotate(environment)
      case 'administrator':
        return this.#replaceAdministratorToken(environment)
      case 'apply':
        return this.#apply(environment)
    }
  }

  #command(args: readonly string[], environment: Environment): RunningProcess {
    return startProcess([process.execPath, LAUNCHER, ...args, ...this.#data], {
      environment: { ...environment, ...this.#shared },
    })
  }

  async #backUp(environment: Environment): Promise<Ended> {
    const name = join(this.root, `backup-${this.#backupsMade++}`)
    const files = [name, `${name}-keys`] as const
    const ended = await this.#command(['backup', files[0], '--keys', files[1]], environment).ended
    expectDone(ended)
    for (const [index, kind] of (['directory', 'keys'] as const).entries()) {
      const file = files[index] as string
      if (ended.code !== 0 && !existsSync(file)) continue
      await expectSealed(file, kind).catch((error) => {
        throw new Violation(`a backup is not whole: ${error}`)
      })
    }
    if (ended.code === 0) this.#lasts(...files)
    // A call without an answer may or may not be in it.
    const isKnown =
      this.truth.possible.length === 1 && this.truth.possible[0]?.accounts.every(({ length }) => length === 1)
    if (ended.code === 0 && isKnown) this.#backup = { files, state: structuredClone(this.truth.state) }
    return ended
  }

  /** The outcome of calls that were under way when the last sidecar died is known after this. */
  async #find({ KILL_AT: _, ...unharmed }: Environment): Promise<Environment> {
    await this.start(unharmed)
    await this.stop('SIGKILL')
    return unharmed
  }

  /** Many users in one transaction. */
  async #apply(environment: Environment): Promise<Ended> {
    await this.#find(environment)
    const { accounts } = this.truth.state
    const lane = Math.floor(this.#random() * accounts.length)
    const operation = largeChange(accounts[lane] as Account, this.#random, this.#usersMax)
    let ended = KILLED
    const apply = async (file: object) => {
      const path = newFile(JSON.stringify(file), 'directory.json')
      ended = await this.#command(['directory', 'apply', path], environment).ended
      expectDone(ended)
      if (ended.code !== 0) throw new Unanswered('it was killed')
    }
    await this.truth.attempt(lane, operation, () => perform({ apply } as Caller, operation))
    return ended
  }

  /** Whether there is something to restore, and the directory is known. */
  async #restore(environment: Environment): Promise<Ended> {
    const unharmed = await this.#find(environment)
    if (this.#backup === undefined) await this.#backUp(unharmed)
    const { files, state } = this.#backup as Backup
    this.truth.beginRestoration(state)
    const ended = await this.#command(['restore', files[0], '--replace', '--yes'], environment).ended
    expectDone(ended)
    if (ended.code === 0) this.truth.endRestoration()
    return ended
  }

  async #rotate(environment: Environment): Promise<Ended> {
    const keys = join(this.folder, KEYS)
    // As if the last rotation were a day ago: the staged key may become active.
    const aged = readFileSync(keys, 'utf8').replace(/(?<="since_ms": )\d+/g, (at) =>
      String(Number(at) - DAY_MS),
    )
    writeFileSync(keys, aged)
    const before = this.#keys()
    this.#changes(KEYS)
    const ended = await this.#command(['keys', 'rotate'], environment).ended
    expectDone(ended)
    const after = this.#keys()
    const rotated = idOf(after, 'active') === idOf(before, 'staged')
    const [left, right] = [before, after].map((keys) => JSON.stringify(keys.map(({ keyId }) => keyId)))
    if (!rotated && (ended.code === 0 || left !== right)) throw new Violation('the keys were not rotated')
    if (ended.code === 0) this.#lasts(keys)
    return ended
  }

  #keys(): SigningKey[] {
    try {
      return readKeys(join(this.folder, KEYS))
    } catch (error) {
      throw new Violation(`the keys are not whole: ${error}`)
    }
  }

  async #replaceAdministratorToken(environment: Environment): Promise<Ended> {
    const before = this.#administratorToken()
    this.#changes(ADMINISTRATOR)
    const ended = await this.#command(['keys', 'rotate-administrator-token'], environment).ended
    expectDone(ended)
    if (ended.code === 0 && this.#administratorToken() === before)
      throw new Violation('the administrator token was not replaced')
    if (ended.code === 0) this.#lasts(join(this.folder, ADMINISTRATOR))
    return ended
  }
}

const KILLED: Ended = { code: 'SIGKILL', stdout: '', stderr: '' }

function expectDone({ code, stderr }: Ended): void {
  if (code !== 0 && code !== 'SIGKILL') throw new Violation(`the command ended with ${code}: ${stderr}`)
}

function idOf(keys: readonly SigningKey[], state: SigningKey['state']): string | undefined {
  return keys.find((key) => key.state === state)?.keyId
}
