/** The work of `portcullis config`. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Engine } from '../../../engine/index.ts'
import { DIRECTORY_FILE } from '../../base/data-folder.ts'
import { columns } from '../../base/text-table.ts'
import { type Config, sharedDirectoryOf } from '../../config/config.ts'
import type { EffectiveValue } from '../../config/effective.ts'
import { EXIT } from '../terminal/errors.ts'
import { counted, print, printJson } from '../terminal/output.ts'
import { paint } from '../terminal/terminal.ts'
import { type SidecarOptions, sourcesOf } from './serve.ts'

export interface ConfigOptions extends SidecarOptions {
  readonly set?: boolean
  readonly json?: boolean
}

export async function showConfig(options: ConfigOptions): Promise<void> {
  const { effectiveConfig } = await import('../../config/effective.ts')
  const all = effectiveConfig(sourcesOf(options)).values
  const values = options.set ? all.filter(({ source }) => source !== 'default' && source !== 'unset') : all
  if (options.json) printJson({ values })
  else if (values.length === 0) print('every key has its default')
  else print(columns(values.map(({ key, value, source }) => [key, textOf(value), paint('dim', source)])))
}

function textOf(value: EffectiveValue['value']): string {
  if (value === null) return ''
  return Array.isArray(value) ? value.map(String).join(', ') : String(value)
}

export async function validateConfig(options: ConfigOptions): Promise<void> {
  const { problems, warnings } = await problemsOf(options)
  if (options.json) printJson({ problems, warnings })
  else
    print(
      [
        ...problems.map((problem) => `${paint('red', 'problem:')} ${problem}`),
        ...warnings.map((warning) => `${paint('yellow', 'warning:')} ${warning}`),
        problems.length === 0 ? paint('green', 'valid') : paint('red', counted(problems.length, 'problem')),
      ].join('\n'),
    )
  process.exitCode = problems.length === 0 ? EXIT.done : EXIT.denied
}

interface ConfigProblems {
  readonly problems: readonly string[]
  readonly warnings: readonly string[]
}

async function problemsOf(options: ConfigOptions): Promise<ConfigProblems> {
  const { readConfig } = await import('../../config/config.ts')
  let config: Config
  try {
    config = readConfig(sourcesOf(options))
  } catch (error) {
    return { problems: linesOf(error), warnings: [] }
  }
  return problemsOfConfig(config)
}

/**
 * The problems that keep a sidecar from starting with this configuration, as far as it can be known without
 * opening anything.
 */
export async function problemsOfConfig(config: Config): Promise<ConfigProblems> {
  const { checkConfig } = await import('../../process/open/check-config.ts')
  const { openCertificates } = await import('../../process/open/open-certificates.ts')
  const { exposedFiles } = await import('../../config/secret-files.ts')
  const { proxyFindings } = await import('../doctor/proxy-findings.ts')
  const { newLog } = await import('../../signals/log/log.ts')
  const log = newLog({ level: 'silent', format: 'json' })
  const problems: string[] = []
  const denied: string[] = []
  for (const check of [
    () => checkConfig(config, log),
    () => openCertificates(config, log).close(),
    async () => denied.push(...(await checkUnderRules(config))),
    () => checkShadow(config),
  ])
    try {
      await check()
    } catch (error) {
      problems.push(...linesOf(error))
    }
  const warnings = exposedFiles(config).flatMap(({ path, exposure }) =>
    exposure.refused ? [] : [`${path}: ${exposure.problem}`],
  )
  const observed = proxyFindings(config, Date.now()).map(({ subject, message }) => `${subject}: ${message}`)
  // Several checks may stumble over the same file.
  return { problems: [...new Set(problems)], warnings: [...warnings, ...observed, ...denied] }
}

/**
 * The problems that need the matrix: the routes of requests, and those of egress.
 *
 * @returns what is denied, where a matrix was promoted in the directory of this host: then a sidecar starts
 * @throws ConfigError, or an Error of the matrix
 */
async function checkUnderRules(config: Config): Promise<string[]> {
  const { ConfigError } = await import('../../config/config.ts')
  const { engine, isOwn } = await rulesOf(config)
  if (config.routes !== undefined) (await import('../../process/open/open-routes.ts')).openRoutes(config)
  const found = await problemsUnder(config, engine)
  if (isOwn && found.length > 0) throw new ConfigError(found.join('\n'))
  return found.map(
    (problem) => `${problem}; the matrix in force does not have it, so its requests are denied`,
  )
}

/** The ids in the configuration that this matrix does not have. @throws ConfigError */
export async function problemsUnder(config: Config, engine: Engine): Promise<readonly string[]> {
  const { problemsOfRoutes } = await import('../../process/open/under-matrix.ts')
  const found = problemsOfRoutes(config, engine)
  if (config.egress.address === 'off') return found
  const { readEgress } = await import('../../process/open/open-egress.ts')
  const egress = readEgress(config, new Set(Object.keys(config.profiles ?? {})))
  return [...found, ...egress.problemsUnder(engine)]
}

/** The rules in force, and whether they are those of the file, and always were, as far as this host knows. */
async function rulesOf(config: Config): Promise<{ engine: Engine; isOwn: boolean }> {
  const { compile } = await import('../../../engine/index.ts')
  const { readRules } = await import('../read-rules.ts')
  const own = { engine: readRules(config).engine, isOwn: true }
  const file = join(config.data, DIRECTORY_FILE)
  if (sharedDirectoryOf(config) !== undefined || config.directory.hub !== undefined || !existsSync(file))
    return own
  const { inspectPromotion } = await import('../../directory/inspect.ts')
  const { readContent } = await import('../../rules/matrix-file/matrix-content.ts')
  const promoted = async () => {
    const { wasPromoted, inForce } = await inspectPromotion({ file, shared: undefined })
    if (inForce === undefined) return { ...own, isOwn: !wasPromoted }
    const { matrix } = await readContent(inForce, new AbortController().signal)
    return { engine: compile(matrix, { strict: config.strict }), isOwn: false }
  }
  // The doctor says what is wrong with the directory, or with the matrix in it.
  return promoted().catch(() => own)
}

async function checkShadow({ matrix_shadow: path }: Config): Promise<void> {
  if (path !== undefined) (await import('../../rules/matrix-file/read.ts')).readMatrix(path)
}

/**
 * The problems that an error lists, one a line. Anything but an expected error is a defect of this program.
 */
function linesOf(error: unknown): string[] {
  if (!(error instanceof Error) || !['Error', 'ConfigError', 'MatrixError'].includes(error.name)) throw error
  return error.message.split('\n')
}
