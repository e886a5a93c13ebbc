/**
 * The young generation of V8, where the objects of a call live and die. V8 doubles it whenever much in it survives, as nearly everything
 * does while a program loads, and hardly ever makes it smaller. Calls leave nothing behind, so what they need is room for those in flight.
 */
import { setFlagsFromString } from 'node:v8'

/** Enough for calls, of each of its halves: with more, no call got cheaper. */
const HALF_MEGABYTES = 4

/** What the calls are carried by. */
interface Carrier {
  readonly transport: string
}

/**
 * Ends the growth of this process's young generation. Called when the configuration is read: V8 has given it 4 MB by then, and
 * takes its largest size from a flag of Node alone.
 */
export function keepYoungGeneration(carrier: Carrier): void {
  if (mayChoose(carrier)) setFlagsFromString('--semi-space-growth-factor=1')
}

/** The same for a process that is started. */
export function youngGenerationFlags(carrier: Carrier): string[] {
  return mayChoose(carrier) ? [`--max-semi-space-size=${HALF_MEGABYTES}`] : []
}

/** grpc-js holds so much for a call that its batches would cost more. And Node may have been started with a size. */
function mayChoose({ transport }: Carrier): boolean {
  const flags = [...process.execArgv, process.env.NODE_OPTIONS ?? '']
  return transport !== 'grpc-js' && !flags.some((each) => /semi[-_]space/.test(each))
}
