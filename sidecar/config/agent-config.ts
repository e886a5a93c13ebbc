/** The configuration of the token agent: reads it, checks it, and fills in the defaults. */
import { resolve } from 'node:path'
import { type Problem, problemsBy, problemText } from '../../matrix/document/index.ts'
import { ConfigError } from './config.ts'
import { validate } from './gen/agent.ts'
import type { AgentKeys } from './gen/agent-keys.ts'
import { readTextFile } from './text-file.ts'

export type TokenFormat = 'value' | 'header' | 'json' | 'exec-credential' | 'env'

/** The purpose of a token. */
export type TokenPurpose =
  | { readonly apis: readonly string[]; readonly project?: string }
  | { readonly scope: { readonly account: string; readonly project?: string } }

/** A token that the agent keeps fresh in a file. */
export interface AgentToken {
  readonly profile: string
  readonly purpose: TokenPurpose
  /** The place to send it in, by its name; `undefined`: the first one of its kind. */
  readonly place?: string | undefined
  /** Absolute path. */
  readonly file: string
  readonly format: TokenFormat
  readonly mode: number
  /** Name or number. */
  readonly owner: string | number | undefined
  readonly group: string | number | undefined
  /** Program and arguments to run after each change. */
  readonly command: readonly string[] | undefined
  readonly commandTimeoutMs: number
  readonly signal: { readonly pidFile: string; readonly name: NodeJS.Signals } | undefined
  readonly onExpiry: 'keep' | 'remove'
}

export interface AgentConfig {
  /** `undefined`: the default of the command line. */
  readonly address: string | undefined
  readonly callerTokenFile: string | undefined
  /** Paths of PEM files. `undefined`: as the environment says. */
  readonly tls: NonNullable<AgentKeys['sidecar']>['tls']
  readonly deadlineMs: number
  /** 0: never. */
  readonly checkIntervalMs: number
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'
  readonly tokens: readonly AgentToken[]
}

const DEADLINE_MS = 10_000
const CHECK_INTERVAL_MS = 30_000
const COMMAND_TIMEOUT_MS = 10_000

/**
 * Paths in the file are relative to the working folder.
 *
 * @throws ConfigError that names the file and each key
 */
export function readAgentConfig(path: string): AgentConfig {
  const reading = readTextFile(path)
  const found = reading.ok ? problemsBy(validate, reading.value) : reading.problems
  const problems = found.length > 0 || !reading.ok ? found : tokenProblems(reading.value as AgentKeys)
  if (problems.length > 0 || !reading.ok)
    throw new ConfigError(problems.map((problem) => `${path}: ${problemText(problem)}`).join('\n'))
  const file = reading.value as AgentKeys
  return {
    address: file.sidecar?.address,
    callerTokenFile: file.sidecar?.caller_token_file,
    tls: file.sidecar?.tls,
    deadlineMs: file.sidecar?.deadline_ms ?? DEADLINE_MS,
    checkIntervalMs: file.check_interval_ms ?? CHECK_INTERVAL_MS,
    logLevel: file.log_level ?? 'info',
    tokens: file.tokens.map(tokenOf),
  }
}

function tokenOf(token: AgentKeys['tokens'][number]): AgentToken {
  const { apis = [], project, scope, signal } = token
  return {
    profile: token.profile,
    purpose: scope === undefined ? { apis, ...(project !== undefined && { project }) } : { scope },
    place: token.place,
    file: resolve(token.file),
    format: token.format ?? 'value',
    mode: Number.parseInt(token.mode ?? '600', 8),
    owner: token.owner,
    group: token.group,
    command: token.command,
    commandTimeoutMs: token.command_timeout_ms ?? COMMAND_TIMEOUT_MS,
    signal: signal && { pidFile: signal.pid_file, name: signal.signal ?? 'SIGHUP' },
    onExpiry: token.on_expiry ?? 'keep',
  }
}

/** The faults that the schema cannot find. */
function tokenProblems({ tokens }: AgentKeys): Problem[] {
  const files = new Set<string>()
  return tokens.flatMap(({ apis, scope, project, file, command }, index) => {
    const problems: Problem[] = []
    const at = `tokens[${index}]`
    if ((apis === undefined) === (scope === undefined))
      problems.push({ path: at, expected: 'expected either apis or scope' })
    if (scope !== undefined && project !== undefined)
      problems.push({ path: `${at}.project`, expected: 'expected it within scope' })
    if (files.has(resolve(file)))
      problems.push({ path: `${at}.file`, expected: 'expected a file that no other token has' })
    if (command?.[0] === '') problems.push({ path: `${at}.command[0]`, expected: 'expected a program' })
    files.add(resolve(file))
    return problems
  })
}
