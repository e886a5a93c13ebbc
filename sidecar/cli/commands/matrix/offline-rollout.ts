/**
 * The matrices of a directory without a sidecar, as the calls of one say them: where the matrix in force
 * keeps one from serving, there is a way back.
 */
import type { Client } from '../../../../clients/typescript/index.ts'
import { commandLine } from '../../../authority/actor.ts'
import type { Administration } from '../../../authority/administration/administration.ts'
import { changeDirectory } from '../../../authority/administration/change-directory.ts'
import { expectDataFolder } from '../../../base/data-folder.ts'
import { readConfig } from '../../../config/config.ts'
import { requestedMatrix, rolloutMessage } from '../../../contract/rollout-messages.ts'
import { MatrixVersionRecords } from '../../../directory/matrix-versions.ts'
import { jsonOfKept, jsonOfMatrix } from '../../../rules/matrix-file/matrix-content.ts'
import { checkReason, rollBack } from '../../../usecases/administration/matrix.ts'
import { administerDirectory } from '../../administration/administer-directory.ts'
import { readRules } from '../../read-rules.ts'
import type { IdentityOptions } from '../../sidecar-connection.ts'
import { CommandError, usageError } from '../../terminal/errors.ts'
import type { ConnectionOptions } from '../../terminal/output.ts'

export type RollBackCalls = Pick<Client['directory'], 'getMatrixRollout' | 'rollBackMatrix'>

interface OfflineOptions extends IdentityOptions, ConnectionOptions {
  readonly config?: string
  readonly matrix?: string
}

/** Runs `work` on the directory of the configuration. @throws CommandError, ConfigError or Error */
export async function withoutSidecar(
  options: OfflineOptions,
  work: (calls: RollBackCalls) => Promise<void>,
): Promise<void> {
  for (const name of ['address', 'callerTokenFile', 'iamTokenFile'] as const)
    if (options[name] !== undefined)
      throw usageError(`--offline: expected no --${name.replace(/[A-Z]/g, '-$&').toLowerCase()} with it`)
  const config = readConfig({
    file: options.config,
    environment: process.env,
    flags: { data: options.data, matrix: options.matrix },
  })
  if (config.directory.hub !== undefined)
    throw new CommandError(
      'FAILED_PRECONDITION',
      '--offline: expected the host of a directory; this one follows a hub, so go back where the hub is',
    )
  expectDataFolder(config.data)
  const { matrix, engine } = readRules(config)
  const { signal } = new AbortController()
  const own = { digest: engine.digest, json: () => jsonOfMatrix(matrix, signal) }
  await administerDirectory(
    config,
    (administration) => work(callsOf(administration, own)),
    options.json === true,
  )
}

function callsOf(
  { directory, records }: Administration,
  own: { readonly digest: string; readonly json: () => Promise<string> },
): RollBackCalls {
  const matrices = new MatrixVersionRecords(records.queries)
  /** `undefined`: it is not kept, or its content is damaged. */
  const jsonOf = async (digest: string) => {
    if (digest === own.digest) return own.json()
    const kept = await matrices.content(digest)
    return kept && jsonOfKept(kept).catch(() => undefined)
  }
  return {
    getMatrixRollout: async ({ matrices: wanted = false, toDigest = '' }) => {
      const versions = await matrices.all()
      const promoted = versions[0]?.digest || undefined
      const digest = promoted ?? own.digest
      return rolloutMessage({
        ...{ digest, configuredDigest: own.digest, promoted: promoted !== undefined, versions },
        ...{ shadow: undefined, matrix: wanted ? await jsonOf(digest) : undefined },
        toMatrix: toDigest === '' ? undefined : await jsonOf(toDigest),
      })
    },
    rollBackMatrix: async ({ digest: inForce = '', reason = '', to }) => {
      const meant = requestedMatrix(to)
      if (meant === undefined) throw new TypeError('expected which matrix to go back to')
      checkReason(reason)
      await changeDirectory(directory, commandLine(), (change) =>
        rollBack(change, { to: meant, configured: own.digest, inForce, reason }),
      )
      return {}
    },
  }
}
