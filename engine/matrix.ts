/**
 * The matrix as data: which API accepts which kind of token, what the prose of the source says, and where the
 * two conflict. Ids are strings. Nothing in the code knows the three kinds or the thirty APIs.
 */

/** The scope of a token of a kind (§1): a whole account, or one project of it. */
export type ScopeLevel = 'account' | 'project'

/** A place among the headers of a request that tokens of a kind travel in (§5.2). */
export interface Place {
  /** Request header, in the source's spelling. Several kinds may share one. */
  readonly header: string
  /**
   * Authentication scheme before the token in that header (RFC 9110 §11.4), for example `Bearer`. Absent: the
   * header has the token alone.
   */
  readonly scheme?: string | undefined
  /** The prefix of every token in this place, for example `bdg_`. Absent: no token is recognised by it. */
  readonly prefix?: string | undefined
  /** The token is this part of the credentials of Basic (RFC 7617), which is the scheme then. */
  readonly basic?: 'user' | 'password' | undefined
  /** A header that must come with it, such as the e-mail address of the holder of a key. */
  readonly with?: string | undefined
}

/** A row of the table of token families (§1, §5.1, §5.2, §8). */
export interface TokenKind<Id extends string = string> {
  readonly id: Id
  /** Name for people, usable in a sentence: "account-scoped IAM token". */
  readonly title: string
  /** Kinds of one family share a header. */
  readonly family: string
  readonly scopeLevel: ScopeLevel
  /** With `scheme` and `prefix`: the one place that it travels in. Absent: there are `places`. */
  readonly header?: string | undefined
  readonly scheme?: string | undefined
  readonly prefix?: string | undefined
  /** Where it travels; a program takes the first, or names one. Absent: there is a `header`. */
  readonly places?: readonly Place[] | undefined
  /** Type of holder it is issued to: `service_user` or `control_panel_user` (§5.1). */
  readonly issuedTo: string
  readonly obtained: {
    /** `issue`: by an API request (§4.1). `control_panel`: by a person (§4.2). `elsewhere`: not from here. */
    readonly by: 'issue' | 'control_panel' | 'elsewhere'
    /** The actions of the person, one step an item. */
    readonly steps?: readonly string[] | undefined
    /** Where a person obtains it or reads how: an address that begins with `https://`. */
    readonly link?: string | undefined
  }
  /** The holder needs a permission with one of these scopes (§5.1). Empty: no permission is needed. */
  readonly permissionScopes: readonly ('account' | 'projects')[]
  /** Lifetime in seconds (§8); `null`: no expiry. */
  readonly lifetimeSeconds: number | null
  readonly section: string
}

/** A row of the support matrix (§5.4). */
export interface Api<Id extends string = string, KindId extends string = string> {
  readonly id: Id
  /** As the source prints it. */
  readonly title: string
  /** Ids of the kinds that the row marks as accepted. */
  readonly accepts: readonly NoInfer<KindId>[]
  /** Whether it needs no token. A token that is sent is judged all the same. */
  readonly public?: boolean | undefined
  /** Kind → what the row says of its cell besides the mark, such as "read only". */
  readonly notes?: Readonly<Record<string, string>> | undefined
  readonly section: string
  /** Line of its row in the document of `source`. It is in no digest. */
  readonly line?: number | undefined
}

/**
 * The content that a statement of the prose claims, in a form that can be compared with the rows.
 *
 * - `manages`: the kind opens these APIs; `complete` says that the list names all of them.
 * - `does_not_manage`: the kind opens none of these APIs.
 * - `only_option`: these APIs, and no others, accept this kind and nothing else.
 * - `most`: the kind opens more than half of the APIs.
 * - `bound_to`: what a token of the kind is bound to.
 * - `issued_to`: who the kind is issued to; `exclusive` excludes all other callers.
 * - `row_repeated`: the table prints the row of this API once more, with these kinds.
 * - `advice`: a text for the user of a token of these kinds held by such a holder.
 * - `remark`: a sentence about the kinds that no row can contradict.
 */
export type Claim =
  | {
      readonly type: 'manages'
      readonly kind: string
      readonly apis: readonly string[]
      readonly complete: boolean
    }
  | { readonly type: 'does_not_manage'; readonly kind: string; readonly apis: readonly string[] }
  | { readonly type: 'only_option'; readonly kind: string; readonly apis: readonly string[] }
  | { readonly type: 'most'; readonly kind: string }
  | { readonly type: 'bound_to'; readonly kind: string; readonly scopeLevel: ScopeLevel }
  | {
      readonly type: 'issued_to'
      readonly kinds: readonly string[]
      readonly holder: string
      readonly exclusive: boolean
    }
  | { readonly type: 'row_repeated'; readonly api: string; readonly accepts: readonly string[] }
  | {
      readonly type: 'advice'
      readonly kinds: readonly string[]
      readonly holder: string
      readonly text: string
    }
  | { readonly type: 'remark'; readonly kinds: readonly string[] }

/** One claim of the source's prose. */
export interface Statement {
  readonly id: string
  readonly section: string
  /** The words of the source. */
  readonly text: string
  readonly claim: Claim
  /** Line of the words in the document of `source`. It is in no digest. */
  readonly line?: number | undefined
}

/** The document that a matrix was read from, and how it was read. It is in no digest. */
export interface MatrixSource {
  /** Path of the document from the folder of the matrix file. */
  readonly document: string
  /** `sha256-` and 64 hex digits: of the bytes of the document. */
  readonly digest: string
  /** The table: its number in the document, or the heading above it. Absent: the only one that fits. */
  readonly table?: number | string | undefined
  /** The side of the table that has the kinds of token. Absent: it is found by the headings. */
  readonly kinds?: 'columns' | 'rows' | undefined
  /** Meanings of marks that only this document has. `note`: yes, with the mark as advice. */
  readonly marks?: Readonly<Record<string, 'yes' | 'no' | 'note'>> | undefined
  /** Heading of a kind or an API → its id. */
  readonly names?: Readonly<Record<string, string>> | undefined
  /** Headings of rows and columns that are not read. */
  readonly leaveOut?: readonly string[] | undefined
  /** Heading of the column that says which APIs need no token. */
  readonly public?: string | undefined
  /** The part of an OpenAPI description that becomes an API. Absent: each operation. */
  readonly by?: 'operation' | 'path' | 'tag' | undefined
}

/** A cell of the matrix. */
export interface Cell {
  readonly api: string
  readonly kind: string
}

/**
 * - `contradiction`: table or prose says yes where the other says no.
 * - `omission`: the table accepts, and a list that should name the cell is silent.
 * - `duplicate_row`: the table prints a row twice with equal values.
 * - `overstatement`: the prose promises more than the table holds.
 */
export type ConflictType = 'contradiction' | 'omission' | 'duplicate_row' | 'overstatement'

/** Two statements of the source that cannot both be the whole truth, and how that is resolved. */
export interface Conflict {
  readonly id: string
  readonly type: ConflictType
  /** The contested cells: their value is in doubt, and strict mode denies them. */
  readonly cells: readonly Cell[]
  /** APIs that the conflict is about without putting a cell in doubt. */
  readonly apis: readonly string[]
  /** Kinds that the conflict is about without putting a cell in doubt. */
  readonly kinds: readonly string[]
  /** Ids of the statements that take part. */
  readonly statements: readonly string[]
  /** The side that rules. `prose` reverses what the table says of the contested cells. */
  readonly resolution: 'table' | 'prose'
  readonly reason: string
}

/** The input of `compile`: a matrix. Absent statements and conflicts mean that it has none. */
export interface MatrixInput<KindId extends string = string, ApiId extends string = string> {
  readonly title: string
  readonly tokenKinds: readonly TokenKind<KindId>[]
  readonly apis: readonly Api<ApiId, KindId>[]
  readonly statements?: readonly Statement[] | undefined
  readonly conflicts?: readonly Conflict[] | undefined
  readonly source?: MatrixSource | undefined
}

/**
 * A whole matrix. `loadMatrix` of `@portcullis/matrix` reads one from a file and checks all of it.
 *
 * The ids are literal types where they are known when the program is compiled, and `string` otherwise.
 */
export interface Matrix<KindId extends string = string, ApiId extends string = string>
  extends MatrixInput<KindId, ApiId> {
  readonly statements: readonly Statement[]
  readonly conflicts: readonly Conflict[]
}
