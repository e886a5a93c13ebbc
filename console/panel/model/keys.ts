/** API keys as their page shows them: which, in which order, and the faults of a name. */
import { texts } from '../../texts/en/profile.ts'

/** As the contract has it, with times in milliseconds since the epoch. */
export interface ApiKey {
  readonly id: string
  readonly name: string
  /** The end of its text; empty: it is not known. */
  readonly lastFour: string
  /** Id of the kind of token. */
  readonly kind: string
  readonly note: string
  readonly createdAtMs: number
  /** `undefined`: it is active. */
  readonly revokedAtMs: number | undefined
  /** ISO date, in UTC. Empty: no use has been recorded. */
  readonly lastUsedDay: string
}

/** Length of the longest name, in characters. */
const NAME_LENGTH_MAX = 255

/** Control characters, other invisible characters, and blanks of other widths than the space. */
const INVISIBLE =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{13441}\u{13442}\u{16fe4}\u{1d159}]|(?! )\p{Zs}/u

/**
 * The fault of a new name; `undefined`: nothing. The sidecar decides; this says it before anything is sent.
 */
export function nameFault(name: string): string | undefined {
  if (name.trim() === '') return texts.names.empty
  if (name.length > NAME_LENGTH_MAX) return texts.names.long
  if (INVISIBLE.test(name)) return texts.names.invisible
  if (name !== name.trim()) return texts.names.blanks
  if (name !== name.normalize('NFC')) return texts.names.composed
  return undefined
}

/** The fault of a note, which may be empty. */
export function noteFault(note: string): string | undefined {
  return note === '' ? undefined : nameFault(note)
}

/** The fault of the name of a new key. */
export function keyNameFault(name: string, keys: readonly ApiKey[]): string | undefined {
  const isTaken = keys.some((key) => key.name === name && key.revokedAtMs === undefined)
  return nameFault(name) ?? (isTaken ? texts.keys.taken : undefined)
}

/** The keys to show, newest first. @param kept revoked ones that are shown anyway, by id */
export function shownKeys(
  keys: readonly ApiKey[],
  { revoked, kept }: { readonly revoked: boolean; readonly kept: (id: string) => boolean },
): readonly ApiKey[] {
  return keys
    .filter(({ id, revokedAtMs }) => revoked || revokedAtMs === undefined || kept(id))
    .toSorted((one, other) => other.createdAtMs - one.createdAtMs || (one.name < other.name ? -1 : 1))
}

/** Most items that a list draws before the user asks for more. */
export const ITEMS_AT_ONCE = 100

/** When a token or passkey was used last, as far as days are recorded. */
export type LastUse = 'none' | 'today' | 'yesterday' | { readonly day: string }

/**
 * @param isoDate a day in UTC; empty or absent: no use has been recorded
 * @param nowMs by the clock of the sidecar
 */
export function lastUseOf(isoDate: string | null | undefined, nowMs: number): LastUse {
  if (!isoDate) return 'none'
  if (isoDate === dayAt(nowMs)) return 'today'
  if (isoDate === dayAt(nowMs - 86_400_000)) return 'yesterday'
  return { day: isoDate }
}

function dayAt(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** A secret for the eye: only its end, which distinguishes two of them. */
export function masked(secret: string): string {
  const shown = secret.length >= 24 ? 4 : 0
  return `${'•'.repeat(12)}${shown === 0 ? '' : secret.slice(-shown)}`
}

/** A name of a file that every system takes. */
export function fileNameOf(name: string): string {
  const plain = name.replaceAll(/[^\p{L}\p{N}._-]+/gu, '-').replaceAll(/^[-.]+|[-.]+$/g, '')
  return `${[...plain].slice(0, 60).join('') || 'key'}.txt`
}
