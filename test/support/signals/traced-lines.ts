/** A trace of attempts, and the lines that it writes to the log. */
import { setImmediate } from 'node:timers/promises'
import type { Meters } from '../../../sidecar/usecases/decision-meters.ts'
import { Trace } from '../../../sidecar/usecases/trace.ts'

/** @param now monotonic clock, in milliseconds */
export function newTrace(now?: () => number, meters?: Meters) {
  const lines: object[] = []
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, ...fields, message })
  const log = { info: write('info'), warn: write('warn'), error: write('error') }
  const trace = new Trace(log as never, now, meters)
  return {
    trace,
    /** The lines since the last look. */
    written: async () => {
      await setImmediate()
      return lines.splice(0)
    },
  }
}
