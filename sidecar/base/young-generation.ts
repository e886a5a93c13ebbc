/**
 * The young generation of V8, where the objects of a call live and die. V8 doubles it whenever much in it survives, as nearly everything
 * does while a program loads, and hardly ever makes it smaller. Calls leave nothing behind, so what they need is room for those in flight.
 */
import { setFlagsFromString } from 'node:v8'

/** Enough for calls, of each of its halves: with more, no call got cheaper. */
const HALF_MEGABYTES = 4

/**
 * Ends the growth of this process's young generation. Called when the command line is loaded: V8 has given it 4 MB by then, and
 * takes its largest size from a flag of Node alone.
 */
export function keepYoungGeneration(): void {
  if (!isChosen()) setFlagsFromString('--semi-space-growth-factor=1')
}

/** The same for a process that is started. */
export function youngGenerationFlags(): string[] {
  return isChosen() ? [] : [`--max-semi-space-size=${HALF_MEGABYTES}`]
}

/** Whether Node was started with a size. */
function isChosen(): boolean {
  return [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((flags) => /semi[-_]space/.test(flags))
}
