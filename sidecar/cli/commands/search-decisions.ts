/** The work of `portcullis decisions`. It is loaded when the command runs. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { COPIED_TOKEN_EXPECTED, copiedTokens } from '../../base/copied-token.ts'
import { DIRECTORY_FILE, PEPPER_FILE } from '../../base/data-folder.ts'
import { escapedJson, isVisible } from '../../base/visible-text.ts'
import { type Config, readConfig, sharedDirectoryOf } from '../../config/config.ts'
import { logsDecisions } from '../../config/decision-log-config.ts'
import type { DirectoryPlace } from '../../directory/snapshot.ts'
import { type UserName, userNames, usersNamed } from '../../directory/user-names.ts'
import { type Counted, Counts } from '../../signals/decision-log/counts.ts'
import { Fingerprints } from '../../signals/decision-log/fingerprints.ts'
import { filesOfLog, type LogFile } from '../../signals/decision-log/log-files.ts'
import { countIn, type FoundIn, foundIn, merged } from '../../signals/decision-log/log-search.ts'
import { Matcher, newTally, type Tally } from '../../signals/decision-log/matcher.ts'
import type { DecisionQuery } from '../../usecases/decision-search.ts'
import type { ShadowDirection } from '../../usecases/shadow.ts'
import { readSecretLine, secretOfVariable } from '../sidecar-connection.ts'
import { CommandError, EXIT, note, usageError, warn } from '../terminal/errors.ts'
import { counted, print, writePart } from '../terminal/output.ts'
import type { Progress } from '../terminal/progress.ts'
import { forTerminal, type Terminal } from '../terminal/terminal.ts'
import { countsText, explanation, tableOf } from './decision-texts.ts'
import { type LogTimes, timesOf } from './log-times.ts'
import { BLOCK_BYTES, causeOf, namedLogs, progressIn, unreadable } from './named-logs.ts'

export interface DecisionsOptions extends LogTimes {
  readonly user?: string
  readonly token?: boolean
  readonly tokenFile?: string
  readonly fingerprint?: string
  readonly api?: string
  readonly reason?: string
  readonly shadow?: ShadowDirection
  readonly allowed?: boolean
  readonly denied?: boolean
  readonly account?: string
  readonly project?: string
  readonly requestId?: string
  readonly clientAddress?: string
  readonly limit?: number
  readonly oldestFirst?: boolean
  /** `true`: only how many there are. */
  readonly count?: Counted | true
  readonly explain?: boolean
  readonly matrix?: string
  readonly strict?: boolean
  readonly data?: string
  readonly config?: string
  readonly json?: boolean
}

const LIMIT = 100

/** Decisions that are looked up and printed together. */
const BATCH = 500

/** @throws CommandError, ConfigError: nothing was searched */
export async function searchDecisions(
  paths: readonly string[],
  options: DecisionsOptions,
  terminal: Terminal,
): Promise<void> {
  const { json = false, count, explain = false, oldestFirst = false } = options
  if (explain && count !== undefined) throw usageError('--explain: expected no --count with it')
  const limit = options.limit ?? (explain ? 1 : LIMIT)
  const config = readConfig({
    file: options.config,
    environment: process.env,
    flags: { data: options.data, matrix: options.matrix, strict: options.strict },
  })
  const names = new Names(directoryOf(config, options), json)
  const query = await queryOf(options, config, names, terminal, paths)
  const logs =
    paths.length === 0 ? [await configuredLog(config, options.config)] : await namedLogs([...new Set(paths)])
  const tally = newTally()
  const problems: string[] = []
  let leftOut = false
  using progress = progressIn(logs)
  const search = {
    ...{ matcher: new Matcher(query), tally, newestFirst: !oldestFirst },
    ...{ blockBytes: BLOCK_BYTES, keptMax: limit + 1, times: options.everyLine ? undefined : query },
    onRead: (bytes: number) => progress.add(bytes),
    onLeftOut: (bytes: number) => {
      leftOut ||= bytes > 0
      progress.leaveOut(bytes)
    },
    onUnreadable: ({ name }: LogFile, error: Error) => {
      problems.push(`${name} cannot be read${tally.lines > 0 ? ' to its end' : ''} (${causeOf(error)})`)
    },
  }
  let printed: Printed
  if (count !== undefined) {
    const by = count === true ? undefined : count
    const counts = new Counts(by)
    await countIn(logs.flat(), counts, search)
    progress.clear()
    printed = await printCounts(counts, by, names, json)
  } else {
    const found = merged(
      logs.map((files) => foundIn(files, search)),
      search.newestFirst,
    )
    printed = await printFound(found, { names, limit, options, config, progress })
  }
  progress.clear()
  for (const text of [...problems, ...problemsOf(tally)]) warn(text, json)
  if (printed.decisions === 0 && count === undefined && !json)
    note(`no decisions match${leftOut ? LEFT_OUT : ''}`)
  if (printed.more)
    warn(`more decisions match; --limit shows more than ${limit}, --since and --until look elsewhere`, json)
  if (problems.length > 0) process.exitCode = EXIT.noAnswer
  else process.exitCode = printed.decisions > 0 ? EXIT.done : EXIT.denied
}

/** Lines that are far from their place may be in there. */
const LEFT_OUT = '; parts of the log were left out by their times, and --every-line reads them, too'

interface Printed {
  readonly decisions: number
  readonly more: boolean
}

async function printFound(
  found: AsyncGenerator<FoundIn>,
  given: { names: Names; limit: number; options: DecisionsOptions; config: Config; progress: Progress },
): Promise<Printed> {
  const { names, limit, options, config, progress } = given
  const explain = options.explain ? await explanation(config, options) : undefined
  let decisions = 0
  let batch: FoundIn[] = []
  const printBatch = async () => {
    const users = await names.of(batch.map(({ line }) => line.subject?.id))
    let text: string
    if (options.json) text = batch.map((each) => jsonLine(each, users, explain)).join('\n')
    else if (explain) text = batch.map((each) => explain.text(each, users)).join('\n\n')
    else
      text = tableOf(batch, users, decisions === 0, process.stdout.isTTY ? process.stdout.columns : undefined)
    progress.clear()
    const isRead = batch.length === 0 || (await writePart(`${options.json ? text : forTerminal(text)}\n`))
    decisions += batch.length
    batch = []
    return isRead
  }
  for await (const each of found) {
    if (decisions + batch.length === limit) {
      await printBatch()
      return { decisions, more: true }
    }
    batch.push(each)
    if (batch.length === BATCH && !(await printBatch())) break
  }
  await printBatch()
  return { decisions, more: false }
}

async function printCounts(
  counts: Counts,
  by: Counted | undefined,
  names: Names,
  json: boolean,
): Promise<Printed> {
  const users = by === 'user' ? await names.of(counts.rows.map(([id]) => id)) : NO_NAMES
  if (json) process.stdout.write(`${countsJson(counts, by, users)}\n`)
  else print(countsText(counts, by, users))
  return { decisions: counts.decisions, more: false }
}

function countsJson(counts: Counts, by: Counted | undefined, users: UserNames): string {
  const { decisions, further, rows } = counts
  const values = rows.map(([value, count]) => {
    const name = by === 'user' && value !== undefined ? users.get(value)?.name : undefined
    return { [by ?? '']: value ?? null, ...(name !== undefined && { name }), decisions: count }
  })
  return escapedJson(JSON.stringify({ decisions, ...(by !== undefined && { counts: values, further }) }))
}

/** The line as it is, with the names of its ids, and its explanation. */
function jsonLine(
  { line, text }: FoundIn,
  users: UserNames,
  explain: Awaited<ReturnType<typeof explanation>> | undefined,
): string {
  const name = line.subject && users.get(line.subject.id)?.name
  const added = { ...(name !== undefined && { names: { subject: name } }), ...explain?.members(line) }
  // A line of another program can have what a terminal obeys.
  const own = isVisible(text) ? text : escapedJson(JSON.stringify(line))
  if (Object.keys(added).length === 0) return own
  return `${own.slice(0, own.lastIndexOf('}'))},${escapedJson(JSON.stringify(added)).slice(1)}`
}

function problemsOf({ damaged, foreign, foreignProblem }: Tally): string[] {
  return [
    ...(damaged > 0
      ? [`${counted(damaged, 'line')} cannot be read: damaged, cut, or of no decision log`]
      : []),
    ...(foreign > 0
      ? [
          `${counted(foreign, 'decision')} found of another version of Portcullis, or of another program: ${foreignProblem}`,
        ]
      : []),
  ]
}

/** The query of the options. */
async function queryOf(
  options: DecisionsOptions,
  config: Config,
  names: Names,
  terminal: Terminal,
  paths: readonly string[],
): Promise<DecisionQuery> {
  const { user, api, reason, shadow, allowed, denied, account, project, requestId, clientAddress } = options
  if (allowed && denied) throw usageError('expected --allowed or --denied, not both')
  return {
    ...timesOf(options),
    ...{ api, reason, shadow, account, project, requestId, address: clientAddress },
    allowed: allowed ? true : denied ? false : undefined,
    tokens: await fingerprintsOf(options, config, terminal, paths),
    users: user === undefined ? undefined : [user, ...(await names.idsOf(user))],
  }
}

/** The fingerprints of the token that is looked for. Its value is read here, and nowhere kept. */
async function fingerprintsOf(
  { token, tokenFile, fingerprint }: DecisionsOptions,
  { data }: Config,
  terminal: Terminal,
  paths: readonly string[],
): Promise<readonly string[] | undefined> {
  if ([token, tokenFile, fingerprint].filter((each) => each !== undefined).length > 1)
    throw usageError('expected one of --token, --token-file and --fingerprint')
  if (token === undefined && tokenFile === undefined)
    return fingerprint === undefined ? undefined : [fingerprint]
  if (tokenFile === '-' && paths.includes('-'))
    throw usageError('--token-file: expected a file, because standard input has the log')
  const file = join(data, PEPPER_FILE)
  let pepper: string
  try {
    pepper = readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandError(
      'FAILED_PRECONDITION',
      `${file} cannot be read (${causeOf(error)}); a token is found by its value only with the pepper of the sidecar: give its folder in --data, or the fingerprint in --fingerprint`,
    )
  }
  const value =
    tokenFile === undefined ? await askedValue(terminal) : readSecretLine('--token-file', tokenFile)
  const tokens = copiedTokens(value)
  const option = tokenFile === undefined ? '--token' : '--token-file'
  if (tokens.length === 0) throw usageError(`${option}: expected ${COPIED_TOKEN_EXPECTED}`)
  const fingerprints = new Fingerprints(pepper)
  return tokens.flatMap((each) => fingerprints.allOf(each))
}

async function askedValue(terminal: Terminal): Promise<string> {
  const header = secretOfVariable('PORTCULLIS_HEADER')
  if (header !== undefined) return header
  if (!terminal.interactive)
    throw usageError(
      '--token: expected the token in PORTCULLIS_HEADER, or a terminal to type it; or use --token-file',
    )
  const typed = await terminal.askSecret('Token (it is not shown): ')
  if (typed.trim() === '') throw usageError('--token: expected a token')
  return typed
}

type UserNames = ReadonlyMap<string, UserName>

const NO_NAMES: UserNames = new Map()

/** Most names that are kept. */
const NAMES_MAX = 20_000

/** Looks names up where the directory can be read, and says once where it cannot. */
class Names {
  readonly #place: DirectoryPlace | undefined
  readonly #json: boolean
  readonly #known = new Map<string, UserName | undefined>()
  #failed = false

  constructor(place: DirectoryPlace | undefined, json: boolean) {
    this.#place = place
    this.#json = json
  }

  async of(ids: readonly (string | undefined)[]): Promise<UserNames> {
    const place = this.#place
    const wanted = new Set(ids.filter((id) => id !== undefined))
    if (place === undefined || this.#failed) return NO_NAMES
    const unknown = [...wanted].filter((id) => !this.#known.has(id))
    if (this.#known.size + unknown.length > NAMES_MAX) this.#known.clear()
    const missing = [...wanted].filter((id) => !this.#known.has(id))
    if (missing.length > 0)
      try {
        const found = await userNames(place, missing)
        for (const id of missing) this.#known.set(id, found.get(id))
      } catch (error) {
        this.#failed = true
        warn(`names are not shown: ${(error as Error).message}`, this.#json)
      }
    return new Map(
      [...wanted].flatMap((id) => (this.#known.get(id) ? [[id, this.#known.get(id) as UserName]] : [])),
    )
  }

  /** Ids of the users with a name. @throws Error if the directory cannot be read */
  async idsOf(name: string): Promise<readonly string[]> {
    return this.#place === undefined ? [] : (await usersNamed(this.#place, name)).map(({ id }) => id)
  }
}

/** The directory; `undefined`: there is none on this host, and no option names its place. */
function directoryOf(config: Config, { data }: DecisionsOptions): DirectoryPlace | undefined {
  const place = { file: join(config.data, DIRECTORY_FILE), shared: sharedDirectoryOf(config) }
  return place.shared !== undefined || data !== undefined || existsSync(place.file) ? place : undefined
}

/** @throws CommandError that names the file that cannot be read */
async function configuredLog(
  { decision_log: settings }: Config,
  file: string | undefined,
): Promise<readonly LogFile[]> {
  const { path } = settings.file
  if (path === undefined) {
    const whose = file === undefined ? 'the configuration' : file
    throw new CommandError(
      'FAILED_PRECONDITION',
      logsDecisions(settings)
        ? `the decisions go to ${settings.stdout ? 'standard output' : 'an endpoint of OpenTelemetry'}, not to a file: name the files that keep them, or - for standard input`
        : `${whose} has no decision log, so decisions are not kept: set \`decision_log.file.path\`, or name the files of a log`,
    )
  }
  let files: readonly LogFile[] = []
  try {
    files = await filesOfLog(path)
  } catch (error) {
    throw unreadable(path, error)
  }
  if (files.length === 0) throw new CommandError('FAILED_PRECONDITION', `${path} cannot be read (ENOENT)`)
  return files
}
