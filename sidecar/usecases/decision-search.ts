/** A search in the past of the decision log, and its results. */
import type { Engine } from '../../engine/index.ts'
import type { ShadowDirection } from './shadow.ts'

/** Every member that is given must be so. */
export interface DecisionQuery {
  /** From this time on, in milliseconds since the epoch. */
  readonly sinceMs?: number | undefined
  /** Before this time. */
  readonly untilMs?: number | undefined
  /** Ids of the users of whom one holds the token. */
  readonly users?: readonly string[] | undefined
  /** Fingerprints of which one is that of the credential. */
  readonly tokens?: readonly string[] | undefined
  readonly api?: string | undefined
  readonly reason?: string | undefined
  readonly allowed?: boolean | undefined
  /** The difference of the shadow's answer. */
  readonly shadow?: ShadowDirection | undefined
  /** Of the token, of the resource or of the user. */
  readonly account?: string | undefined
  /** Of the token or of the resource. */
  readonly project?: string | undefined
  /** Id of the request, or of its trace. */
  readonly requestId?: string | undefined
  /** IP address of the client, or of the asker. */
  readonly address?: string | undefined
}

/** The facts about a decision afterwards. */
export interface Afterwards {
  /** The sentence that it came with; `undefined`: other rules made it. */
  readonly message: string | undefined
  /** Whether the rules are the same, by their digest. */
  readonly digest: 'same' | 'other'
  readonly now: Now
}

/** The decision of the present rules: about the same credential, as the authorities saw it then. */
type Now =
  | {
      /** Whether it is the same decision: with the same reason and the same conflicts. */
      readonly same: boolean
      readonly allowed: boolean
      readonly reason: string
      readonly message: string | undefined
    }
  | {
      /** Why that is not known. */
      readonly unknown: string
    }

/** A decision that was found. */
export interface FoundDecision {
  /** The line of the log (`line.schema.json`). */
  readonly line: object
  /** Id of the user; `undefined`: the token is not known. */
  readonly user: string | undefined
  readonly afterwards: Afterwards
}

export interface FoundDecisions {
  /** The newest first. */
  readonly rows: readonly FoundDecision[]
  /** Where the search goes on; `undefined`: it has ended. */
  readonly next: string | undefined
  /** Lines that are not a decision, or not whole. */
  readonly damaged: number
  /** Files that cannot be read, or not to their end. */
  readonly unreadable: readonly string[]
}

export interface SearchTurn {
  /** `next` of the turn before; `undefined`: it begins with the newest. */
  readonly from: string | undefined
  /** Most decisions. */
  readonly rowsMax: number
  /** The rules of now. */
  readonly engine: Engine
  /** The client has gone away. */
  readonly signal: AbortSignal
}

/** Searches the files of a decision log. Others have their turns meanwhile. */
export interface DecisionSearch {
  /** Those that a token may have in the log, whatever prefix it was written with. */
  fingerprintsOf(token: string): readonly string[]
  /**
   * A part of a search: as much as is done in a bounded time.
   *
   * @throws CallError: `INVALID_ARGUMENT` where the file is gone in which the search would go on
   */
  search(query: DecisionQuery, turn: SearchTurn): Promise<FoundDecisions>
}
