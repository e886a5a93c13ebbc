/** The log: lines of JSON on standard error. */
import { type Logger, pino } from 'pino'
import type { Config } from './config/config.ts'

/** @param base what every line says; where several processes write, which one it was */
export function newLog(level: Config['log_level'], base: { readonly pid: number } | null = null): Logger {
  return pino({ level, base }, pino.destination({ fd: 2, sync: true }))
}
