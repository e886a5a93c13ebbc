/** The common parts of every protocol's rows. */
import type { Stage } from './stage.ts'

/** A request with secrets in it. */
export interface Row {
  readonly what: string
  /** @returns everything that came back */
  readonly ask: (stage: Stage) => Promise<unknown>
  /** Names of the secrets that the answer rightly holds, and why. */
  readonly rightly?:
    | {
        readonly secrets: readonly string[]
        readonly because: string
        /** The one transport of gRPC on which it does; default: on each. */
        readonly on?: 'grpc-js'
      }
    | undefined
}

/** All of an answer as one text: names and values of whatever it consists of, and bytes as they are. */
export function textOf(value: unknown, seen = new Set<unknown>()): string {
  if (Buffer.isBuffer(value) || value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  if (typeof value !== 'object' || value === null) return String(value)
  if (seen.has(value)) return ''
  seen.add(value)
  const own = Reflect.ownKeys(value).map(
    (key) => [String(key), (value as Record<PropertyKey, unknown>)[key]] as const,
  )
  const entries = value instanceof Headers || value instanceof Map ? [...value.entries(), ...own] : own
  return entries.map(([key, each]) => `${textOf(key, seen)}: ${textOf(each, seen)}\n`).join('')
}

/** The outcome of a promise, an error with all that is in it. */
export async function settled(answer: Promise<unknown>): Promise<unknown> {
  const [outcome] = await Promise.allSettled([answer])
  return outcome?.status === 'rejected' ? outcome.reason : outcome?.value
}
