/** The advice for a listening address that another process has. */
import { type TakenAddress, takenAddressOf } from '../../base/address.ts'
import type { Config } from '../../config/config.ts'
import { readTextFile } from '../../config/text-file.ts'
import { CommandError } from '../terminal/errors.ts'

/** Where `serve` takes its addresses from: flags first, then variables, then the file. */
export interface AddressSources {
  readonly grpc?: string
  readonly http?: string
  /** Path of the configuration file. */
  readonly config?: string
}

/** The error with the place where another address is to be chosen; any other error as it is. */
export function withRemedy(
  error: unknown,
  sources: AddressSources,
  environment: Readonly<Record<string, string | undefined>>,
): unknown {
  const taken = takenAddressOf(error)
  if (taken === undefined) return error
  const { listener, address } = taken
  const where = placeOf(listener, sources, environment)
  return new CommandError(
    'ADDRESS_IN_USE',
    `${listener} address ${address} is in use; choose another ${where}`,
  )
}

function placeOf(
  listener: TakenAddress['listener'],
  sources: AddressSources,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const variable = `PORTCULLIS_${listener.toUpperCase()}_ADDRESS`
  if (listener === 'egress' || listener === 'health' || sources[listener] === undefined) {
    if (environment[variable] !== undefined) return `in ${variable}`
    if (namesAddress(sources.config, listener)) return `in \`${listener}.address\` of ${sources.config}`
  }
  // Neither has a flag: the routes of egress are in the file, and probes know the address of health.
  if (listener === 'egress' || listener === 'health') return `in ${variable}`
  return `with --${listener} HOST:PORT (or ${listener === 'grpc' ? 'unix:PATH' : 'off'})`
}

/** Whether the configuration file has the key. */
function namesAddress(file: string | undefined, listener: TakenAddress['listener']): boolean {
  if (file === undefined) return false
  const reading = readTextFile(file)
  const config = (reading.ok ? reading.value : {}) as Partial<Config>
  return config[listener]?.address !== undefined
}
