/** Facts that operators may see about a process: its keys and secrets, without any of them, and its work. */
import type { LeftToRemove } from '../../directory/left-to-remove.ts'

interface SigningKeyView {
  readonly id: string
  readonly state: 'staged' | 'active' | 'retired'
  /** When the key entered its state, in milliseconds since the epoch. */
  readonly sinceMs: number
  /** When it was made; null: that is known of staged keys alone. */
  readonly createdAtMs: number | null
  /** Whether it has signed for so long that it should make way for another. */
  readonly old: boolean
}

export interface CertificateView {
  /** The key of the configuration with its file. */
  readonly what: string
  readonly subject: string
  readonly endsAtMs: number
  readonly state: 'valid' | 'ends_soon' | 'ended'
}

/** The facts about the keys and secrets of this sidecar, without any of them. */
export interface KeysView {
  readonly signing: readonly SigningKeyView[]
  /** Whether this host signs IAM tokens. Otherwise it only checks them. */
  readonly signs: boolean
  readonly certificates: readonly CertificateView[]
  /** The key of the hashes of static tokens: when its file was written. */
  readonly pepper: { readonly writtenAtMs: number | null }
  /** null: it is switched off, or its file is missing. */
  readonly administratorToken: { readonly writtenAtMs: number } | null
}

/** The facts about this process that its parts do not give. */
export interface OperatorFacts {
  /** How many processes serve as one sidecar. */
  readonly workers: number
  /** @param nowMs wall clock, in milliseconds since the epoch */
  keys(nowMs: number): Promise<KeysView>
  /** The deleted rows that the last removal has left; `undefined`: none has begun here. */
  left(): LeftToRemove | undefined
}
