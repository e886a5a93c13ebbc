/** The question and the answer. */
import type { Conflict, Place, TokenKind } from './matrix.ts'
import type { Reason } from './reasons.ts'

/** The account or project that a token is bound to, or that a resource belongs to. */
export interface Scope {
  /** Account number (`<account_id>`, §2.2). */
  readonly account: string
  /** Project name within the account. Absent: the whole account. */
  readonly project?: string | undefined
}

/** May a token of this kind and scope open this API? */
export interface Question<KindId extends string = string, ApiId extends string = string> {
  readonly api: ApiId
  readonly kind: KindId
  /** The scope that the token is bound to. */
  readonly scope: Scope
  /** The scope that the requested resource belongs to. Absent: only the matrix is asked. */
  readonly target?: Scope | undefined
  /** Type of the token's holder, where it is known: brings the advice that the source gives for it (§5.1). */
  readonly holder?: string | undefined
}

/** A kind that an API would take. */
export interface AcceptedKind<KindId extends string = string> {
  readonly kind: KindId
  /** Request header that carries it (§5.2). */
  readonly header: string
  /** Scheme before the token in that header, for example `Bearer`. Absent: the header has the token alone. */
  readonly scheme?: string
  /** Whether the sidecar's `Issue` can obtain it. It cannot obtain a static token (§4.2). */
  readonly issuable: boolean
  readonly obtained: TokenKind['obtained']['by']
  /** Where a person obtains it or reads how. */
  readonly link?: string
}

/** A conflict as decisions name it: with the sections of its statements. */
export interface NamedConflict extends Omit<Conflict, 'statements'> {
  readonly sections: readonly string[]
}

/** An answer that explains itself. Shared and frozen: the same question gets the same object. */
export interface Decision<KindId extends string = string> {
  readonly allowed: boolean
  readonly reason: Reason
  /** One sentence a person can act on. */
  readonly message: string
  /** Header that carries the kind; empty where the kind is not known. */
  readonly header: string
  /** Scheme before the token in that header; empty where there is none, or the kind is not known. */
  readonly scheme: string
  /** On a denial, every kind that the API would take; empty when allowed. */
  readonly accepted: readonly AcceptedKind<KindId>[]
  /** The conflicts of the source that bear on this cell. */
  readonly conflicts: readonly NamedConflict[]
  /** Recommendations of the source about such a token, and the note of the cell. */
  readonly advice: readonly string[]
  /** Digest of the matrix that decided. */
  readonly digest: string
  /** Whether strict mode decided, in which contested cells are denied. */
  readonly strict: boolean
  /**
   * Digest of the exact rules: of the matrix and the mode. Two engines with the same one give the same
   * answers.
   */
  readonly rulesDigest: string
}

/** A kind of token of a compiled matrix. Header, scheme and prefix are those of its first place. */
export interface CompiledKind<Id extends string = string> extends TokenKind<Id> {
  readonly header: string
  readonly places: readonly Place[]
}

/** An API with the conflicts' resolutions and the mode applied. */
export interface CompiledApi<KindId extends string = string, ApiId extends string = string> {
  readonly id: ApiId
  readonly title: string
  readonly section: string
  /** Kinds that open it, in the order of the matrix. */
  readonly accepted: readonly AcceptedKind<KindId>[]
  /** Whether it needs no token. */
  readonly public: boolean
  /** Kind → the note of its cell. */
  readonly notes: Readonly<Record<string, string>>
  /** Ids of the kinds whose cell a conflict names. */
  readonly contested: readonly KindId[]
  /** The conflicts that bear on a cell of this API, by kind id. */
  readonly conflicts: ReadonlyMap<KindId, readonly NamedConflict[]>
}
