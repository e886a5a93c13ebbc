/** Header fields of gRPC as texts: timeouts, the message of a status, its details. */
import type { CallStatus } from '../contract/call.ts'

/** A header field. */
type Field = readonly [name: string, value: string]

/** Units of `grpc-timeout` in milliseconds. */
const UNITS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 0.001,
  n: 0.000_001,
}

/** Milliseconds; undefined: the value is not a timeout. */
export function timeoutMs(value: string): number | undefined {
  const [, amount, unit] = /^(\d{1,8})([HMSmun])$/.exec(value) ?? []
  return amount === undefined || unit === undefined ? undefined : Number(amount) * (UNITS[unit] as number)
}

/**
 * Clients accept about 8 KB of header fields by default. Longer details are left out, because they only add
 * to the message, and a longer message is cut.
 */
const MESSAGE_BYTES_MAX = 2_048
const DETAILS_BYTES_MAX = 4_096

/** Printable ASCII except `%` stands for itself in `grpc-message`. */
const ENCODED = /[^\x20-\x24\x26-\x7e]/g

/** The fields that say how a call ended. */
export function statusFields({ code, message, details }: CallStatus): Field[] {
  const fields: Field[] = [['grpc-status', String(code)]]
  if (message !== '') fields.push(['grpc-message', percentEncoded(message)])
  if (details !== undefined && details.length <= DETAILS_BYTES_MAX)
    fields.push(['grpc-status-details-bin', details.toString('base64').replace(/=+$/, '')])
  return fields
}

function percentEncoded(message: string): string {
  const octets = Buffer.from(message).subarray(0, MESSAGE_BYTES_MAX).toString('latin1')
  const text = octets.replace(
    ENCODED,
    (octet) => `%${octet.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
  // White space at an end of a field value does not arrive (RFC 9113, §8.2.1).
  return text.replace(/^ | $/g, '%20')
}
