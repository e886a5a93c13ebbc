/**
 * The young generation of V8, where the objects of a call live and die. V8 doubles it whenever much in it
 * survives, as nearly everything does while a program loads, and hardly ever makes it smaller. Calls leave
 * nothing behind, so they only need room for those in flight.
 */
import { setFlagsFromString } from 'node:v8'

/** Enough for calls, of each of its halves: with more, no call got cheaper. */
export const HALF_MEGABYTES = 4

/** Of the configuration: the values that decide how many objects survive. */
interface Setting {
  readonly grpc: { readonly transport: string }
  readonly matrix?: string | undefined
}

/**
 * Ends the growth of this process's young generation. Called when the configuration is read: without a light
 * start V8 has given it 4 MB by then, and it takes its largest size from a flag of Node alone.
 */
export function keepYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** The same for a process that is started. */
export function youngGenerationFlags(setting: Setting): string[] {
  return mayChooseYoungGeneration(setting) ? [`--max-semi-space-size=${HALF_MEGABYTES}`] : []
}

/**
 * Not where much survives: grpc-js holds enough for a call that batches would cost more, and the collections
 * while a large matrix is exchanged would take longer. And not where Node was started with a size.
 */
export function mayChooseYoungGeneration({ grpc, matrix }: Setting): boolean {
  const flags = [...process.execArgv, process.env.NODE_OPTIONS ?? '']
  const isChosen = flags.some((each) => /semi[-_]space/.test(each))
  return grpc.transport !== 'grpc-js' && matrix === undefined && !isChosen
}
