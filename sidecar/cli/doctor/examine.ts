/** The work of `portcullis doctor`. */
import { existsSync } from 'node:fs'
import type { Engine } from '../../../engine/index.ts'
import { columns } from '../../base/text-table.ts'
import { type Config, ConfigError, knownFolderOf, readConfig } from '../../config/config.ts'
import { type HubConfig, hubOf } from '../../config/hub-config.ts'
import { knownIn } from '../../directory/feed/known-position.ts'
import { problemsOfConfig } from '../commands/config-check.ts'
import { type SidecarOptions, sourcesOf } from '../commands/serve.ts'
import { EXIT } from '../terminal/errors.ts'
import { counted, print, printJson } from '../terminal/output.ts'
import { paint, type Style } from '../terminal/terminal.ts'
import { directoryFindings } from './directory-findings.ts'
import { environmentFindings } from './environment-findings.ts'
import { diskFindings, keyFindings, pepperFindings, permissionFindings } from './file-findings.ts'
import { type Finding, findingsOf } from './finding.ts'
import { hubFindings } from './hub-findings.ts'
import { certificateFindings, reachFindings } from './network-findings.ts'
import { proxyFindings } from './proxy-findings.ts'
import {
  matrixFindings,
  promotionFindings,
  readinessFindings,
  shadowFindings,
  sidecarFindings,
} from './rule-findings.ts'

export interface DoctorOptions extends SidecarOptions {
  readonly json?: boolean
}

export async function doctor(options: DoctorOptions): Promise<void> {
  const findings = await examine(options, Date.now)
  const count = (severity: Finding['severity']) =>
    findings.filter((each) => each.severity === severity).length
  const [errors, warnings] = [count('error'), count('warning')]
  if (options.json) printJson({ errors, warnings, findings })
  else print(describe(findings, errors, warnings))
  process.exitCode = errors === 0 ? EXIT.done : EXIT.denied
}

/** @param now wall clock, in milliseconds since the epoch */
export async function examine(options: SidecarOptions, now: () => number): Promise<Finding[]> {
  const { error } = findingsOf('configuration')
  const subject = options.config ?? 'configuration'
  let config: Config
  try {
    config = readConfig(sourcesOf(options))
  } catch (caught) {
    if (!(caught instanceof ConfigError)) throw caught
    return caught.message.split('\n').map((problem) => error(subject, problem, FIX_CONFIGURATION))
  }
  const { problems } = await problemsOfConfig(config)
  const findings = [...environmentFindings(config, process.env), ...(await examineConfig(config, now))]
  // A finding of a special check comes with the better advice.
  const said = findings.map(({ message }) => message)
  const others = problems.filter((problem) => !said.some((each) => problem.includes(each)))
  return [...others.map((problem) => error(subject, problem, FIX_CONFIGURATION)), ...findings]
}

const FIX_CONFIGURATION = 'correct the key; docs/operate/configuration.md describes it'

async function examineConfig(config: Config, now: () => number): Promise<Finding[]> {
  const { findings: matrix, engine } = matrixFindings(config, now())
  const { findings: directory, promotedDigest } =
    config.directory.hub === undefined
      ? await examineDirectory(config, now)
      : { findings: await examineHubs(config, engine) }
  return [
    ...directory,
    ...matrix,
    ...promotionFindings(promotedDigest, engine),
    ...shadowFindings(config),
    ...certificateFindings(config, now()),
    ...proxyFindings(config, now()),
    ...(await reachFindings(config)),
    ...(await sidecarFindings(config, engine, promotedDigest)),
    ...(await readinessFindings(config)),
  ]
}

/** A sidecar without a directory has no keys and no pepper. */
async function examineHubs(config: Config, engine: Engine | undefined): Promise<Finding[]> {
  let hub: HubConfig | undefined
  try {
    hub = hubOf(config)
  } catch {
    // The check of the configuration says it.
    return permissionFindings(config)
  }
  return [
    ...permissionFindings(config),
    ...(hub === undefined ? [] : await hubFindings(hub, engine, knownIn(knownFolderOf(config)))),
  ]
}

async function examineDirectory(config: Config, now: () => number): ReturnType<typeof directoryFindings> {
  const { folder, pepper } = await examineFolder(config, now)
  const hasDirectory = existsSync(config.data) || config.directory.url !== undefined
  if (!hasDirectory) return { findings: folder }
  const { findings, promotedDigest } = await directoryFindings(config, pepper, now)
  return { findings: [...folder, ...findings], promotedDigest }
}

/** @returns the fingerprint of the pepper as well */
async function examineFolder(
  config: Config,
  now: () => number,
): Promise<{ folder: Finding[]; pepper?: string | undefined }> {
  if (!existsSync(config.data)) {
    const { warning } = findingsOf('directory')
    return {
      folder: [
        warning(
          config.data,
          'the data folder is missing; the next start makes an empty one, with new keys',
          'check that `data` names the right folder, unless it is new',
        ),
      ],
    }
  }
  const { findings, fingerprint } = pepperFindings(config.data)
  return {
    folder: [
      ...permissionFindings(config),
      ...diskFindings(config.data),
      ...keyFindings(config.data, now()),
      ...findings,
    ],
    pepper: fingerprint,
  }
}

const STYLES: Readonly<Record<Finding['severity'], Style>> = { ok: 'green', warning: 'yellow', error: 'red' }

function describe(findings: readonly Finding[], errors: number, warnings: number): string {
  const rows = findings.flatMap(({ severity, check, subject, message, fix }) => [
    [paint(STYLES[severity], severity), check, subject, message],
    ...(fix === undefined || severity === 'ok' ? [] : [['', '', '', `fix: ${fix}`]]),
  ])
  return `${columns(rows)}\n${counted(errors, 'error')}, ${counted(warnings, 'warning')}`
}
