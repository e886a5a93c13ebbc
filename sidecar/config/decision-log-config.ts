/** The part of the configuration about the decision log, with the keys of the file. */
import type { ConfigKeys } from './gen/config-keys.ts'

export type DecisionLogSettings = ConfigKeys['decision_log']

/** The key that begins to keep decisions. */
export const KEEPS_DECISIONS = 'decision_log.file.path'

/** Whether there is a decision log. */
export function logsDecisions({ file, stdout, otlp }: DecisionLogSettings): boolean {
  return file.path !== undefined || stdout || otlp.url !== undefined
}
